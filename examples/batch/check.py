"""Each model has its file, the checkpoint is left out, and two parts make the same report."""
import json
import pathlib
import shutil
import subprocess


def report(name: str) -> dict:
    documents = map(json.loads, pathlib.Path(name).read_text().splitlines())
    return {d["batch"]["id"]: d["batch"]["status"] for d in documents}


whole = report("report.jsonl")
assert whole == {"small.onnx": "ok", "vision/wide.onnx": "ok", "vision/deep.onnx": "ok",
                 "vision/checkpoint.onnx": "skipped"}, whole
assert sorted(str(p) for p in pathlib.Path("out").rglob("*.onnx")) == [
    "out/small.onnx", "out/vision/deep.onnx", "out/vision/wide.onnx"]
if shutil.which("parallel"):
    subprocess.run(["sh", "parallel.sh", "zoo", "parts", "2"], check=True)
else:
    for part in ("1/2", "2/2"):
        subprocess.run(["onnx-export", "batch", "zoo", "-o", "parts", "--shard", part, "-q"], check=True)
    subprocess.run(["onnx-export", "batch", "zoo", "-o", "parts", "--merge", "--report", "parts/report.jsonl"], check=True)
assert report("parts/report.jsonl") == whole
