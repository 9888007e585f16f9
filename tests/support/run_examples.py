"""Runs every folder of examples/: model.py, the line in `command`, check.py, beside the folder's other files and
what the build made of its .cpp.

    run_examples.py --tool build/release/onnx-export
"""
import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(folder: pathlib.Path, tool: str) -> str:
    """The output of the first step that fails; empty when none does."""
    typed = shlex.split((folder / "command").read_text())
    assert typed[0] == "onnx-export", f"{folder}/command does not start with onnx-export"
    steps = [[sys.executable, str(folder / "model.py")], [tool, *typed[1:]],
             [sys.executable, str(folder / "check.py")]]
    with tempfile.TemporaryDirectory() as work:
        made = pathlib.Path(tool).parent / "examples" / folder.name
        for file in [*folder.iterdir(), *(made.iterdir() if made.is_dir() else [])]:
            shutil.copy(file, work)
        environment = os.environ | {"PATH": f"{pathlib.Path(tool).parent}:{os.environ['PATH']}"}
        for step in steps:
            done = subprocess.run(step, cwd=work, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                return f"{shlex.join(step)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    tool = str(pathlib.Path(parser.parse_args().tool).resolve())
    passed = failed = 0
    # cpp_api has no command: it is a project that the group `api` builds and runs.
    for folder in sorted(p.parent for p in EXAMPLES.glob("*/command")):
        problem = run(folder, tool)
        if problem:
            failed += 1
            print(f"FAIL {folder.name}: {problem}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
