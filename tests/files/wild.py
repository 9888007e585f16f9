"""Files that strangers published: each opens as LibTorch's own loader opens it, converts and verifies.

    wild.py --build build/release [--jobs N] [FILE...]

They are the data of others and not part of the project: ONNX_EXPORT_WILD names their folder (default:
shared/wild beside the checkout), whose index.jsonl says which inputs each takes. Without it: skipped.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

import results

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What does not convert yet, with what is said of it.
REFUSED = {
}


def example(entry: dict) -> object:
    """Arguments with the nesting that `tree` says: T the n-th tensor, C a constant, L, U, D containers."""
    generator = torch.Generator().manual_seed(0)

    def tensor(shape: list[int], dtype: str) -> torch.Tensor:
        kind = getattr(torch, dtype)
        if kind.is_floating_point:
            return torch.randn(shape, generator=generator).to(kind)
        return torch.randint(0, 2, shape, generator=generator).to(kind)

    tensors = [tensor(*i) for i in entry["inputs"]]

    def build(node: object) -> object:
        kind, what = node[0], node[1]
        if kind == "T":
            return tensors[what]
        if kind == "C":
            return what
        if kind == "D":
            return {k: build(v) for k, v in (what.items() if isinstance(what, dict) else what)}
        return (list if kind == "L" else tuple)(build(v) for v in what)

    return tuple(build(node) for node in eval(entry["tree"], {"__builtins__": {}}))


def problem(build: pathlib.Path, wild: pathlib.Path, entry: dict, folder: pathlib.Path) -> str:
    """What is wrong with one file; empty where nothing is."""
    file = wild / entry["file"]
    opened = subprocess.run([build / "load_tests", file], capture_output=True, text=True, check=False)
    if opened.returncode:
        return f"opens differently\n{opened.stdout}{opened.stderr}"
    if not entry.get("forward", True) or "inputs" not in entry:
        return ""
    inputs, out = folder / f"{file.stem}.inputs", folder / f"{file.stem}.onnx"
    torch.save(example(entry), inputs)
    made = subprocess.run([build / "onnx-export", file, "-o", out, "--inputs", inputs, "--verify"],
                          capture_output=True, text=True, check=False, timeout=600)
    if wanted := REFUSED.get(file.name):
        return "" if made.returncode == 5 and re.search(wanted, made.stderr) else f"is no longer refused so\n{made.stderr}"
    if made.returncode:
        return f"exit code {made.returncode}\n{made.stderr}"
    if "expected" not in entry:
        return ""
    # What LibTorch's wheel cannot give.
    case = torch.load(wild / entry["expected"], weights_only=True)
    return results.difference(out, case["inputs"], case["outputs"], rtol=1e-4, atol=1e-5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    wild = pathlib.Path(os.environ.get("ONNX_EXPORT_WILD", ROOT.parent / "shared/wild"))
    index = wild / "index.jsonl"
    if not index.exists():
        # Not counted as skipped: where nothing may be skipped, others' data may be absent all the same.
        print("SKIPPED: there is no folder of published files (ONNX_EXPORT_WILD)")
        print("0 passed, 0 failed")
        return 0
    entries = [json.loads(line) for line in index.read_text().splitlines()]
    if options.files:
        entries = [e for e in entries if e["file"] in options.files]
    failed = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        for entry, why in zip(entries, pool.map(
                lambda e: problem(options.build.resolve(), wild, e, folder), entries), strict=True):
            if why:
                print(f"FAIL {entry['file']} ({entry['source']}): {why.strip()[:600]}")
                failed += 1
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
