"""Files converted from the file alone, run on the inputs that they are really used with.

    real_inputs.py --build build/release [--jobs N] [--list] [FILE...]

Each published file (ONNX_EXPORT_WILD, as in wild.py) whose inputs the index knows is converted with nothing said but
`--dynamic-axes`; ONNX Runtime then runs the result on the inputs of the index, and LibTorch the file. All but those
of KNOWN have to run and agree. Without the folder: skipped.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
import torch

import wild

# Files for which other inputs are found than those that they are really used with.
KNOWN = {
    "e2434c09eab04a7a.pt": "a state without the batch axis, which linear layers take too",
    "07b8b3e192383c5e.pt": "inputs without the batch axis, which linear layers take too",
    "318ee5afa290640e.pt": "16 features, where four are used",
}

# The inputs of the index come from a blind search. Here they are unusual ones: the model takes those that are found too.
UNUSUAL = {
    "32ebc9421c737c39.pt": "one number for eight features, which broadcasting allows",
    "0147641518daba4f.pt": "one number for eight features, which broadcasting allows",
    "08e8f0da9930feff.pt": "a batch of matrices for a branch that multiplies by a vector",
    "f860dec5975f284a.pt": "rank 3 for concatenated features",
    "73e8e2ac55e4c160.pt": "rank 1 for single numbers",
}


def leaves(value: object) -> list[torch.Tensor]:
    if isinstance(value, (torch.Tensor, bool, int, float)):
        return [torch.as_tensor(value)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    return []


def named(value: object) -> list[object]:
    """Tensors and numbers, in the order in which the model lists its inputs."""
    if isinstance(value, dict):
        return [t for v in value.values() for t in named(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in named(v)]
    return [value]


def outcome(build: pathlib.Path, folder: pathlib.Path, entry: dict, out: pathlib.Path) -> str:
    """Empty where the file runs on its real inputs and agrees."""
    source, target = folder / entry["file"], out / f"{entry['file']}.onnx"
    run = subprocess.run([build / "onnx-export", source, "-o", target, "--dynamic-axes", "-q"], capture_output=True,
                         text=True, check=False, timeout=300)
    if run.returncode:
        return f"not converted ({run.returncode}): {run.stderr.strip().splitlines()[0] if run.stderr else ''}"
    given = wild.example(entry)
    torch.manual_seed(0)
    try:
        module = torch.jit.load(source, map_location="cpu")
    except RuntimeError:
        module = None  # a format that Python's loader does not read: that it runs is all that is seen
    expected = leaves(module.eval()(*given)) if module else None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(target), options, providers=["CPUExecutionProvider"])
    values = [numpy.asarray(v) for v in named(given) if v is not None]
    wanted = [i for i in session.get_inputs()]
    stated = ", ".join(f"{i.name} {i.type} {i.shape}" for i in wanted)
    if len(wanted) > len(values):
        return f"has {len(wanted)} inputs ({stated}), {len(values)} are used"
    try:
        actual = session.run(None, {i.name: v for i, v in zip(wanted, values)})
    except Exception as e:  # whatever ONNX Runtime raises
        shapes = ", ".join(f"{list(v.shape)} {v.dtype}" for v in values)
        return f"converted for {stated}, used with {shapes}: {str(e).splitlines()[0][:160]}"
    if expected is None:
        return ""
    got = [torch.as_tensor(a) for a in actual if isinstance(a, numpy.ndarray)]
    if len(got) != len(expected):
        return f"{len(got)} outputs, LibTorch gives {len(expected)}"
    for a, e in zip(got, expected):
        if list(a.shape) != list(e.shape):
            return f"gives {list(a.shape)}, LibTorch {list(e.shape)} (converted for {stated})"
        if not torch.allclose(a.double(), e.detach().double(), rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"WRONG numbers (converted for {stated})"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    folder = pathlib.Path(os.environ.get("ONNX_EXPORT_WILD", wild.ROOT.parent / "shared/wild"))
    if not (folder / "index.jsonl").exists():
        print("0 passed, 0 failed")
        return 0
    entries = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    entries = [e for e in entries if e.get("inputs") and e.get("forward", True)
               and (not options.files or e["file"] in options.files)]
    apart = [e["file"] for e in entries if e["file"] in UNUSUAL]
    entries = [e for e in entries if e["file"] not in UNUSUAL]
    good = wrong = surprises = 0
    with tempfile.TemporaryDirectory() as out, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def one(entry: dict) -> str:
            try:
                return outcome(options.build.resolve(), folder, entry, pathlib.Path(out))
            except Exception as e:  # LibTorch itself may refuse them
                return f"{type(e).__name__}: {str(e).splitlines()[0][:200]}"
        for entry, what in zip(entries, pool.map(one, entries)):
            good += not what
            surprises += bool(what) != (entry["file"] in KNOWN)
            if not what and entry["file"] in KNOWN:
                print(f"FAIL {entry['file']} runs: take it out of KNOWN")
            if what and entry["file"] not in KNOWN:
                print(f"FAIL {entry['file']} does not run, and KNOWN does not name it")
            wrong += "WRONG" in what
            if what:
                print(f"{entry['file']} {entry['source'].split('/')[-1]}: {what}", flush=True)
    enough = not surprises and not wrong
    print(f"{good} of {len(entries)} run on their real inputs; {len(apart)} with unusual ones are counted apart")
    print("1 passed, 0 failed" if enough else "0 passed, 1 failed")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
