"""Files that today's LibTorch cannot open by itself: what the .onnx gives is compared with PyTorch's own
functions, since no loader of LibTorch's is there to judge.

    run.py --tool build/release/onnx-export
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import onnxruntime
import torch

import extensions
import legacy
import mobile

FAMILIES = {"legacy": legacy, "mobile": mobile, "extensions": extensions}


def difference(session: onnxruntime.InferenceSession, arguments: tuple, expected: object) -> str:
    names = [i.name for i in session.get_inputs()]
    given = {n: t.numpy() for n, t in zip(names, arguments, strict=True)}
    wanted = expected if isinstance(expected, (tuple, list)) else (expected,)
    for got, want in zip(session.run(None, given), wanted, strict=True):
        try:
            torch.testing.assert_close(torch.from_numpy(got), want, rtol=1e-5, atol=1e-5)
        except AssertionError as e:
            return f"{[list(a.shape) for a in arguments]}: {e}"
    return ""


def problem(tool: str, file: pathlib.Path, runs: list[tuple[tuple, object]], options: list[str]) -> str:
    """What is wrong; empty where nothing is. The first run is the example of the conversion."""
    inputs, out = file.with_suffix(".inputs"), file.with_suffix(".onnx")
    torch.save(runs[0][0], inputs)
    made = subprocess.run([tool, str(file), "-o", str(out), "--force", "--inputs", str(inputs), "--verify", *options],
                          capture_output=True, text=True, check=False, timeout=300)
    if made.returncode:
        return f"exit code {made.returncode}\n{made.stderr}"
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    return next(filter(None, (difference(session, *run) for run in runs)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for family, maker in FAMILIES.items():
            folder = pathlib.Path(name) / family
            folder.mkdir()
            # A maker may add what else the tool is given, and runs beside the example's.
            for file, arguments, expected, *rest in maker.make(folder):
                extra, more = rest or ([], [])
                if why := problem(options.tool, folder / file, [(arguments, expected), *more], extra):
                    print(f"FAIL {family}/{file}: {why}")
                    failed += 1
                else:
                    passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
