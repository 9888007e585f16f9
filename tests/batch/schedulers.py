"""The recipes of examples/batch, run for real: GNU parallel, a Slurm array on this machine, and the Kubernetes Job
held against its schema.

    schedulers.py --build build/release [TEST...]

Needs root, and the Debian packages parallel, slurmctld, slurmd, slurm-client and munge; what is missing is skipped.
Ends with the line `N passed, N failed, N skipped`.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import schema  # noqa: E402

RECIPES = ROOT / "examples/batch"

SLURM = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort=16817
SlurmdPort=16818
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Skipped(Exception):
    pass


def need(*programs: str) -> None:
    for name in programs:
        if not shutil.which(name):
            raise Skipped(f"{name} is not installed")


def zoo(folder: pathlib.Path, count: int) -> None:
    (folder / "zoo").mkdir()
    for i in range(count):
        torch.manual_seed(i)
        net = nn.Sequential(nn.Linear(4, 8 * (i + 1)), nn.ReLU(), nn.Linear(8 * (i + 1), 2)).eval()
        torch.jit.trace(net, torch.rand(2, 4)).save(str(folder / f"zoo/m{i}.pt"))


def merged(out: pathlib.Path, tool: str) -> dict:
    report = out / "all.jsonl"
    subprocess.run([tool, "batch", str(out.parent / "zoo"), "-o", str(out), "--merge", "--report", str(report)], check=True,
                   capture_output=True)
    return {d["batch"]["id"]: d["batch"]["status"] for d in map(json.loads, report.read_text().splitlines())}


def test_parallel(folder: pathlib.Path, tool: str) -> None:
    need("parallel")
    zoo(folder, 6)
    subprocess.run(["sh", str(RECIPES / "parallel.sh"), "zoo", "out", "3"], cwd=folder, check=True, capture_output=True)
    assert len(list((folder / "out").glob("*.journal"))) == 3
    assert merged(folder / "out", tool) == {f"m{i}.onnx": "ok" for i in range(6)}


def test_slurm(folder: pathlib.Path, tool: str) -> None:
    need("munged", "slurmctld", "slurmd", "sbatch")
    if os.geteuid() != 0:
        raise Skipped("the daemons start as root only")
    zoo(folder, 5)
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge/key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    host = socket.gethostname().split(".")[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 512
    configuration = folder / "slurm.conf"
    text = SLURM.format(host=host, folder=folder, cpus=os.cpu_count(), memory=memory)
    configuration.write_text(text + f"AuthInfo=socket={folder}/munge/socket\n")
    environment = os.environ | {"SLURM_CONF": str(configuration)}
    started = []

    def start(*words: str) -> None:
        log = open(folder / f"{pathlib.Path(words[0]).name}.out", "w")
        started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=subprocess.STDOUT))

    def said() -> str:
        return "".join(f"{p.name}: {p.read_text()[-1500:]}\n" for p in [*folder.glob("*.out"), *folder.glob("*.log")])

    try:
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge/socket",
              f"--pid-file={folder}/munge/pid", f"--seed-file={folder}/munge/seed", f"--log-file={folder}/munge/log")
        time.sleep(1)
        start("slurmctld", "-D", "-f", str(configuration))
        start("slurmd", "-D", "-f", str(configuration), "-N", host)
        deadline = time.monotonic() + 60
        while "idle" not in subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True).stdout:
            assert time.monotonic() < deadline, said()
            time.sleep(0.5)
        # The recipe's own array and memory are for a cluster.
        done = subprocess.run(["sbatch", "--wait", "--array=4-5", "--mem=1G", "--cpus-per-task=1", str(RECIPES / "slurm.sh")], cwd=folder,
                              env=environment | {"ZOO": "zoo", "OUT": "out"}, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr + said()
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=30)
    assert sorted(p.name for p in (folder / "out").glob("*.journal")) == ["onnx-export.1-of-2.journal", "onnx-export.2-of-2.journal"]
    assert merged(folder / "out", tool) == {f"m{i}.onnx": "ok" for i in range(5)}


def test_indexed_job(folder: pathlib.Path, tool: str) -> None:
    """The Job is one, and what its pods would run works in the environment that Kubernetes gives them."""
    problem = schema.kubernetes_problem((RECIPES / "job.yaml").read_text())
    assert not problem, problem
    zoo(folder, 4)
    for index in range(2):
        subprocess.run([tool, "batch", "zoo", "-o", "out", "--resume", "-q"], cwd=folder, check=True,
                       env=os.environ | {"JOB_COMPLETION_INDEX": str(index), "JOB_COMPLETIONS": "2"})
    assert merged(folder / "out", tool) == {f"m{i}.onnx": "ok" for i in range(4)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("only", nargs="*", metavar="TEST")
    options = parser.parse_args()
    build = options.build.resolve()
    os.environ["PATH"] = f"{build}:{os.environ['PATH']}"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if options.only and name.removeprefix("test_") not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder), str(build / "onnx-export"))
                counts["passed"] += 1
            except Skipped as e:
                counts["skipped"] += 1
                print(f"SKIP {name}: {e}", flush=True)
            except (AssertionError, subprocess.SubprocessError, OSError) as e:
                counts["failed"] += 1
                print(f"FAIL {name}: {e}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
