"""What the commands return: the members of the tool's JSON documents, with types.

Members that have no field here are in `document`, which docs/schema/report.schema.json describes.
"""
from __future__ import annotations

import dataclasses
import functools
import types
import typing
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """A line of the model's source."""
    operator: str
    module: str
    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Problem:
    severity: str  # error, warning, note
    code: str
    operator: str
    message: str
    hint: str
    needs_opset: int  # the lowest opset without the problem; 0: none
    place: Place | None

    def __str__(self) -> str:
        where = f" ({self.place.file}:{self.place.line})" if self.place and self.place.file else ""
        what = f"{self.operator}: {self.message}" if self.operator else self.message
        return f"{self.severity}: {what}{where}  [{self.code}]" + (f"\nhint: {self.hint}" if self.hint else "")


@dataclass(frozen=True)
class Axis:
    size: int | None  # None: the axis is dynamic
    name: str
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Port:
    """An input or output of the ONNX file."""
    name: str
    kind: str  # tensor, sequence, optional, optional sequence
    type: str
    dims: tuple[Axis, ...] | None  # None: the rank is unknown
    argument: str


@dataclass(frozen=True)
class Figures:
    """The outcome of a verification."""
    verdict: str  # agrees, differs, partly, not compared
    text: str
    runs: int
    sizes: int
    elements: int
    largest_error: float | None
    gaps: tuple[str, ...]


@dataclass(frozen=True)
class Opset:
    opset: int
    converts: bool
    obstacles: int
    nodes: int


@dataclass(frozen=True)
class Method:
    """One method of the model. Nothing is written by check() and verify(): `output` is None."""
    method: str = "forward"
    output: str | None = None
    external_data_file: str | None = None
    state_file: str | None = None
    model_bytes: int = 0
    data_bytes: int = 0
    opset: int = 0
    ir_version: int = 0
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    nodes: int = 0
    operators: dict[str, int] = field(default_factory=dict)
    verification: Figures | None = None
    assumptions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Conversion(Method):
    """Of convert() and export(). Of several methods, `methods` has what is said of each."""
    methods: dict[str, Method] = field(default_factory=dict)
    exit_code: int = 0
    seconds: float = 0
    document: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def fully_verified(self) -> bool:
        """Whether everything was verified: False where no verification was asked for."""
        return all(m.verification is not None and m.verification.verdict == "agrees"
                   for m in (self.methods.values() or [self]))


@dataclass(frozen=True)
class Check(Method):
    """Of check(): `problems` lists everything that blocks the conversion."""
    exit_code: int = 0
    lowest_opset: int | None = None  # None: not known, or none
    opsets: tuple[Opset, ...] = ()  # with all_opsets=True
    document: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def converts(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True)
class Comparison(Method):
    """Of verify()."""
    exit_code: int = 0
    document: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def agrees(self) -> bool:
        """Whether everything was compared, and nothing differs."""
        return self.exit_code == 0

    @property
    def differs(self) -> bool:
        return self.exit_code == 6


@dataclass(frozen=True)
class Inspection:
    """Of inspect(): a TorchScript file, or an ONNX model."""
    file: str
    kind: str  # torchscript, onnx
    bytes: int
    operators: dict[str, int]
    document: dict[str, Any] = field(default_factory=dict, repr=False)


@functools.cache
def _fields(of: type) -> dict[str, Any]:
    hints = typing.get_type_hints(of)
    return {f.name: hints[f.name] for f in dataclasses.fields(of)}


def _value(kind: Any, value: Any) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if value is None:
            return None
        kind = next(k for k in typing.get_args(kind) if k is not type(None))
    if typing.get_origin(kind) is tuple:
        return tuple(_value(typing.get_args(kind)[0], item) for item in value)
    if typing.get_origin(kind) is dict:
        return {key: _value(typing.get_args(kind)[1], item) for key, item in value.items()}
    return build(kind, value) if dataclasses.is_dataclass(kind) else value


def build(of: type, document: dict[str, Any]) -> Any:
    """A result from the members of a document; those without a field are left out."""
    members = {name: _value(kind, document[name]) for name, kind in _fields(of).items() if name in document}
    if "document" in _fields(of):
        members["document"] = document
    return of(**members)
