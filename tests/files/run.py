"""Files as they open. Those that today's LibTorch cannot open by itself: what the .onnx gives is compared with
PyTorch's own functions, since no loader of LibTorch's is there to judge. All others that the suite makes: the
same module as LibTorch's loader gives (load_tests).

    run.py --build build/release
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

import extensions
import legacy
import mobile
import results

TESTS = pathlib.Path(__file__).resolve().parents[1]
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed", re.M)
FAMILIES = {"legacy": legacy, "mobile": mobile, "extensions": extensions}


def problem(tool: str, file: pathlib.Path, runs: list[tuple[tuple, object]], options: list[str]) -> str:
    """What is wrong; empty where nothing is. The first run is the example of the conversion."""
    inputs, out = file.with_suffix(".inputs"), file.with_suffix(".onnx")
    torch.save(runs[0][0], inputs)
    made = subprocess.run([tool, str(file), "-o", str(out), "--force", "--inputs", str(inputs), "--verify", *options],
                          capture_output=True, text=True, check=False, timeout=300)
    if made.returncode:
        return f"exit code {made.returncode}\n{made.stderr}"
    return next(filter(None, (results.difference(out, *run, rtol=1e-5, atol=1e-5) for run in runs)), "")


def loaded_alike(build: pathlib.Path, folder: pathlib.Path) -> tuple[int, int]:
    """How many files of the command line tests and of the small models do and do not."""
    subprocess.run([sys.executable, str(TESTS / "cli/make_fixtures.py"), str(folder)], check=True,
                   capture_output=True)
    sys.path.insert(0, str(TESTS / "models"))
    import catalogue
    import make_models
    for model in catalogue.small():
        for form in ("traced", "scripted"):
            make_models.make(model, form, folder / f"{model.name}.{form}.pt")
    run = subprocess.run([str(build / "load_tests"), *map(str, sorted(folder.glob("*.pt")))],
                         capture_output=True, text=True, check=False)
    closing = CLOSING.search(run.stdout)
    if not closing:
        print(f"FAIL load_tests ended with {run.returncode}: {run.stdout[-500:]}{run.stderr[-500:]}")
        return 0, 1
    if run.returncode:
        print(f"FAIL {run.stdout}")
    return int(closing[1]), int(closing[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    tool = str(options.build.resolve() / "onnx-export")
    with tempfile.TemporaryDirectory() as name:
        passed, failed = loaded_alike(options.build.resolve(), pathlib.Path(name) / "suite")
        for family, maker in FAMILIES.items():
            folder = pathlib.Path(name) / family
            folder.mkdir()
            # A maker may add what else the tool is given, and runs beside the example's.
            for file, arguments, expected, *rest in maker.make(folder):
                extra, more = rest or ([], [])
                if why := problem(tool, folder / file, [(arguments, expected), *more], extra):
                    print(f"FAIL {family}/{file}: {why}")
                    failed += 1
                else:
                    passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
