"""What the tests of tests/safety share: cases that count, figures, runs of the tool with a time limit."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import traceback
from typing import Callable


def command_line(description: str) -> argparse.ArgumentParser:
    """The options that every test of tests/safety has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--figures", type=pathlib.Path, help="where the measured figures are written, as JSON")
    return parser


class Suite:
    """Collects cases and the figures of docs/reliability.md. A case fails by an exception."""

    def __init__(self, description: str, test: str):
        self.parser, self.test = command_line(description), test
        self.figures: list[dict[str, str]] = []
        self.passed = self.failed = 0

    def start(self) -> argparse.Namespace:
        self.options = self.parser.parse_args()
        self.build = self.options.build.resolve()
        self.tool = self.build / "onnx-export"
        return self.options

    def case(self, name: str, check: Callable[[], None]) -> None:
        try:
            check()
            self.passed += 1
        except Exception as e:  # a failed assertion, or whatever the case met
            self.failed += 1
            text = str(e) if isinstance(e, AssertionError) and str(e) else traceback.format_exc()
            print(f"FAIL {name}: {text}", flush=True)

    def figure(self, promise: str, figure: str) -> None:
        self.figures.append({"promise": promise, "test": self.test, "figure": figure})

    def end(self) -> int:
        if self.options.figures:
            self.options.figures.write_text(json.dumps(self.figures, indent=2) + "\n")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


Result = collections.namedtuple("Result", "code out err")


def run(words, folder: pathlib.Path, timeout: float = 120, **options) -> Result:
    """One run of a program; code is -N where signal N ended it."""
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", check=False, timeout=timeout, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def tree(folder: pathlib.Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="safety-")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}
