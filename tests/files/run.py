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

import legacy
import mobile

FAMILIES = {"legacy": legacy, "mobile": mobile}


def problem(tool: str, file: pathlib.Path, arguments: tuple, expected: object) -> str:
    """What is wrong; empty where nothing is."""
    inputs, out = file.with_suffix(".inputs"), file.with_suffix(".onnx")
    torch.save(arguments, inputs)
    made = subprocess.run([tool, str(file), "-o", str(out), "--force", "--inputs", str(inputs), "--verify"],
                          capture_output=True, text=True, check=False, timeout=300)
    if made.returncode:
        return f"exit code {made.returncode}\n{made.stderr}"
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    given = {n: t.numpy() for n, t in zip(names, arguments, strict=True)}
    wanted = expected if isinstance(expected, (tuple, list)) else (expected,)
    for got, want in zip(session.run(None, given), wanted, strict=True):
        try:
            torch.testing.assert_close(torch.from_numpy(got), want, rtol=1e-5, atol=1e-5)
        except AssertionError as e:
            return str(e)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for family, maker in FAMILIES.items():
            folder = pathlib.Path(name) / family
            folder.mkdir()
            for file, arguments, expected in maker.make(folder):
                if why := problem(options.tool, folder / file, arguments, expected):
                    print(f"FAIL {family}/{file}: {why}")
                    failed += 1
                else:
                    passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
