"""dask_parts.py SCHEDULER ZOO OUT PARTS: the parts of a batch as tasks of a Dask cluster."""
import subprocess
import sys

from dask.distributed import Client

scheduler, zoo, out, parts = sys.argv[1:]
runs = Client(scheduler).map(
    lambda k: subprocess.run(["onnx-export", "batch", zoo, "-o", out, "--shard", f"{k}/{parts}", "--resume", "-q"]).returncode,
    range(1, int(parts) + 1))
print([run.result() for run in runs])
