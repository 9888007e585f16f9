"""Converts TorchScript files (.pt) into ONNX files that compute the same numbers.

    import onnx_export

    result = onnx_export.convert("model.pt", "model.onnx", input=["x:batch=2x3x224x224"], verify=True)
    print(result.inputs, result.verification.largest_error)

    onnx_export.export(module, (x,), "model.onnx", dynamic_axes={"x": {0: "batch"}})  # as torch.onnx.export

The functions run the program `onnx-export` of this wheel and read what it reports: options are those of its command
line (`opset=11` is `--opset 11`), and a problem is an exception with its code, `except onnx_export.OE5001`.
"""
from __future__ import annotations

import os
from typing import Any

from .problems import (ArgumentError, CrashError, ExportError, InternalError, LimitError, MismatchError,
                       MissingPartError, OutputError, RefusedError, UnreadableError, UnsupportedError, UsageError,
                       class_of_code)
from .results import Axis, Check, Comparison, Conversion, Figures, Inspection, Method, Opset, Place, Port, Problem, build
from .tool import run, words_of
from .torch_export import export

__all__ = [
    "ArgumentError", "Axis", "Check", "Comparison", "Conversion", "CrashError", "ExportError", "Figures",
    "Inspection", "InternalError", "LimitError", "Method", "MismatchError", "MissingPartError", "Opset",
    "OutputError", "Place", "Port", "Problem", "RefusedError", "UnreadableError", "UnsupportedError", "UsageError",
    "check", "convert", "export", "inspect", "verify",
]


def __getattr__(name: str) -> Any:
    return class_of_code(name)


def convert(path: str | os.PathLike, output: str | os.PathLike | None = None, **options: Any) -> Conversion:
    """Converts a TorchScript file. Raises ExportError; with verify=True also MismatchError."""
    # A conversion that could not be verified fully is written (exit code 11): the result says so.
    return build(Conversion, run("convert", os.fspath(path), *words_of({"output": output, **options}),
                                 accepted=(0, 11)))


def check(path: str | os.PathLike, **options: Any) -> Check:
    """Finds everything that blocks the conversion, and writes nothing. A model that does not convert is a result."""
    return build(Check, run("check", os.fspath(path), *words_of(options), accepted=(0, 5)))


def verify(path: str | os.PathLike, onnx_file: str | os.PathLike, **options: Any) -> Comparison:
    """Compares an ONNX file with the TorchScript file. A difference is a result."""
    return build(Comparison, run("verify", os.fspath(path), os.fspath(onnx_file), *words_of(options),
                                 accepted=(0, 6, 11)))


def inspect(path: str | os.PathLike, **options: Any) -> Inspection:
    """Reads what a TorchScript file or an ONNX model holds, without running it."""
    return build(Inspection, run("inspect", os.fspath(path), *words_of(options)))
