"""Runs the program of this wheel, and reads what --json prints."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
from typing import Any, Mapping, Sequence

from .problems import ExportError, error_of

_PACKAGE = pathlib.Path(__file__).resolve().parent
# Options whose values are one word, A,B,C. Others with several values are repeated.
_LISTS = {"input_names", "output_names", "method", "constant", "disable_pass", "modules_as_functions"}
# OLD=NEW for each pair of a dict, and NAME:VALUE.
_PAIRS = {"rename": "=", "custom_opset": "=", "atol": ":", "rtol": ":"}


def program() -> str:
    """The path of the executable onnx-export."""
    return str(_PACKAGE / "bin" / "onnx-export")


def environment() -> dict[str, str]:
    """os.environ, and where torch and onnxruntime are when they are not beside this package."""
    variables = dict(os.environ)
    site = _PACKAGE.parent
    if "ONNX_EXPORT_TORCH" not in variables and not (site / "torch/lib/libtorch_cpu.so").exists():
        if folder := _folder_of("torch"):
            variables["ONNX_EXPORT_TORCH"] = str(folder)
    if "ONNX_EXPORT_ORT_LIB" not in variables and not (site / "onnxruntime").exists():
        if folder := _folder_of("onnxruntime"):
            for library in sorted((folder / "capi").glob("libonnxruntime.so*")):
                variables["ONNX_EXPORT_ORT_LIB"] = str(library)
    return variables


def _folder_of(package: str) -> pathlib.Path | None:
    found = importlib.util.find_spec(package)  # without importing it, which takes seconds
    return pathlib.Path(found.origin).parent if found and found.origin else None


def words_of(options: Mapping[str, Any]) -> list[str]:
    """The words of keyword arguments: opset=11 is --opset=11, True is a flag, None and False are left out.

    A list repeats the option, or is one word where the option takes A,B; a dict is JSON, or OLD=NEW where the option
    takes that.
    """
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            if name in _PAIRS:
                words += [f"{option}={key}{_PAIRS[name]}{item}" for key, item in value.items()]
            else:
                words.append(f"{option}={json.dumps(value)}")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            texts = [str(item) for item in value]
            words += [f"{option}={','.join(texts)}"] if name in _LISTS else [f"{option}={t}" for t in texts]
        else:
            words.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return words


def run(*words: str, accepted: Sequence[int] = (0,), printed: list[str] | None = None) -> dict[str, Any]:
    """The --json document of one command; what it prints beside it is appended to `printed`. Raises the ExportError
    of its problems when the command ends otherwise than with one of the accepted exit codes."""
    done = subprocess.run([program(), *words, "--json"], env=environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace")
    if printed is not None:
        printed.append(done.stderr)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ExportError(done.stderr.strip() or f"onnx-export ended with {done.returncode} and without a document",
                          exit_code=done.returncode)
    if done.returncode not in accepted:
        raise error_of(document, done.returncode, done.stderr.strip())
    return document
