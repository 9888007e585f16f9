"""Exceptions: one class for each exit code of the tool, and one for each code of a problem.

    try:
        onnx_export.convert("model.pt", "model.onnx", opset=10)
    except onnx_export.OE5001 as e:           # one problem
        print(e.problems[0].place)
    except onnx_export.UnsupportedError as e:  # every problem with exit code 5
        print(e.code)
    except onnx_export.ExportError as e:       # everything
        print(e.exit_code, e)
"""
from __future__ import annotations

import functools
import re
from typing import Any

from .results import Problem, build


class ExportError(Exception):
    """A command that failed. `code` is that of the problem that ended it ("OE5001"; empty: it has none)."""

    def __init__(self, message: str, *, code: str = "", exit_code: int = 1, problems: tuple[Problem, ...] = (),
                 document: dict[str, Any] | None = None):
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code
        self.problems = problems
        self.document = document or {}


class InternalError(ExportError):
    """Exit code 1: a bug of the tool."""


class UsageError(ExportError, ValueError):
    """Exit code 2: an unknown option, or a value that is none of its."""


class ArgumentError(UsageError):
    """An argument of onnx_export.export() that has no meaning here, or has another type; `argument` is its name."""

    def __init__(self, argument: str, why: str):
        super().__init__(f"{argument}: {why}", exit_code=2)
        self.argument = argument


class UnreadableError(ExportError):
    """Exit code 3: the file cannot be read, or is not TorchScript."""


class RefusedError(ExportError):
    """Exit code 4: the file is malformed, or the model does not run with these inputs."""


class UnsupportedError(ExportError):
    """Exit code 5: operators or constructs that cannot be written; `problems` has all of them."""


class MismatchError(ExportError):
    """Exit code 6: the verification found other numbers or shapes."""


class OutputError(ExportError, OSError):
    """Exit code 7: the output cannot be written."""


class LimitError(ExportError):
    """Exit code 8: a limit of time, memory or size."""


class CrashError(ExportError):
    """Exit code 9: the worker crashed."""


class MissingPartError(ExportError):
    """Exit code 10: LibTorch, ONNX Runtime, CUDA or a library is missing."""


_BY_EXIT_CODE = {1: InternalError, 2: UsageError, 3: UnreadableError, 4: RefusedError, 5: UnsupportedError,
                 6: MismatchError, 7: OutputError, 8: LimitError, 9: CrashError, 10: MissingPartError}


@functools.cache
def class_of_code(code: str) -> type[ExportError]:
    """The class whose instances have this code: onnx_export.OE5001."""
    if not re.fullmatch(r"OE\d{4}", code):
        raise AttributeError(f"{code} is not the code of a problem")
    return type(code, (ExportError,), {"__module__": "onnx_export",
                                       "__doc__": f"The problem {code}: onnx-export explain {code}"})


@functools.cache
def _class_of(code: str, exit_code: int) -> type[ExportError]:
    general = _BY_EXIT_CODE.get(exit_code, ExportError)
    if not re.fullmatch(r"OE\d{4}", code):
        return general
    return type(code, (class_of_code(code), general), {"__module__": "onnx_export"})


def error_of(document: dict[str, Any], exit_code: int, text: str) -> ExportError:
    """The exception of a document; `text` is what the command printed for people."""
    methods = document.get("methods", {}).values()
    found = document.get("problems", []) + [p for m in methods for p in m.get("problems", [])]
    problems = tuple(build(Problem, p) for p in found)
    errors = [p for p in problems if p.severity == "error"]
    last = errors[-1] if errors else None  # what ended the run
    code = last.code if last else ""
    if not text:
        text = "\n".join(str(p) for p in errors) or f"onnx-export ended with {exit_code}"
    return _class_of(code, exit_code)(text, code=code, exit_code=exit_code, problems=problems, document=document)
