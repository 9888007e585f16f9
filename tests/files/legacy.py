"""Files of PyTorch 1.0 to 1.2: model.json, tensors/N, attributes.pkl, code/*.py."""
import json
import pathlib

import torch
from torch.nn import functional

import archives

TYPES = {torch.float32: "FLOAT", torch.int64: "INT64"}


def tensor(t: torch.Tensor, key: str, offset: int = 0) -> dict:
    """64-bit integers are strings, as Protocol Buffers write them in JSON."""
    return {"dims": [str(d) for d in t.shape], "strides": [str(s) for s in t.stride()], "offset": str(offset),
            "requiresGrad": False, "dataType": TYPES[t.dtype], "data": {"key": key}, "device": "cpu"}


def model(version: int, main: dict, tensors: list[dict]) -> bytes:
    return json.dumps({"protoVersion": str(version), "mainModule": main, "producerName": "pytorch",
                       "producerVersion": "1.2", "tensors": tensors}).encode()


def file(key: str) -> dict:
    return {"key": f"code/{key}.py"}


def code(*lines: str) -> bytes:
    return ("op_version_set = 0\n" + "\n".join(lines) + "\n").encode()


def make(folder: pathlib.Path) -> list[tuple[str, tuple, object]]:
    """(file, arguments, what it gives)"""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(3, 4, generator=generator)
    weight, bias = torch.randn(5, 4, generator=generator), torch.randn(5, generator=generator)
    scale, table = torch.randn(5, generator=generator), torch.tensor([2, 0, 1])
    cases = []

    # Version 1: no attributes. Weight and bias lie in one record, and the weight is a transposed view.
    both = torch.cat([weight.t().flatten(), bias])
    record = {"tensors/0": archives.bytes_of(both)}
    transposed = tensor(weight, "tensors/0") | {"strides": ["1", "5"]}
    archives.write(folder / "linear.pt", record | {
        "code/linear.py": code("def forward(self,", "    x: Tensor) -> Tensor:",
                               "  return torch.addmm(self.bias, x, torch.t(self.weight), beta=1, alpha=1)"),
        "model.json": model(1, {
            "name": "linear", "optimize": True, "torchscriptArena": file("linear"),
            "parameters": [{"name": "weight", "tensorId": "0"}, {"name": "bias", "tensorId": "1"}]},
            [transposed, tensor(bias, "tensors/0", 20)]),
        "version": b"1\n"})
    cases.append(("linear.pt", (x,), functional.linear(x, weight, bias)))

    # Version 3: modules in modules (one has a number as its name), buffers, attributes of every kind, a
    # constant, a function with a branch.
    pickle = archives.Pickle()
    attributes = pickle.dumps((archives.Ints([0, 1]), {"gain": 2}, archives.TensorId(3), None, 3, True))
    archives.write(folder / "nested.pt", {
        "tensors/0": archives.bytes_of(weight), "tensors/1": archives.bytes_of(bias),
        "tensors/2": archives.bytes_of(scale), "tensors/3": archives.bytes_of(table),
        "attributes.pkl": attributes,
        "code/inner.py": code(
            "def forward(self,", "    x: Tensor) -> Tensor:",
            "  y = torch.addmm(self.bias, x, torch.t(self.weight), beta=1, alpha=1)",
            "  if self.training:", "    z = torch.mul(y, 0.)", "  else:", "    z = torch.mul(y, self.scale)",
            "  return z"),
        "code/outer.py": code(
            "def forward(self,", "    x: Tensor) -> Tuple[Tensor, Tensor]:",
            "  y = (getattr(self.body, \"0\")).forward(x, )",
            "  z = torch.mul(y, self.gains[\"gain\"])",
            "  if torch.__is__(self.absent, None):", "    w = torch.index_select(z, 0, self.table)",
            "  else:", "    w = z",
            "  return (torch.sum(w, self.axes, True), torch.add(w, CONSTANTS.c2, alpha=self.count))"),
        "model.json": model(3, {
            "name": "outer", "optimize": True, "torchscriptArena": file("outer"),
            "submodules": [{"name": "body", "optimize": True, "submodules": [{
                "name": "0", "optimize": True, "torchscriptArena": file("inner"),
                "parameters": [{"name": "weight", "tensorId": "0"}, {"name": "bias", "tensorId": "1"},
                               {"name": "scale", "tensorId": "2", "isBuffer": True}],
                "attributes": [{"name": "training", "type": "bool", "id": "5"}]}]}],
            "attributes": [
                {"name": "axes", "type": "List[int]", "id": "0"}, {"name": "gains", "type": "Dict[str, int]", "id": "1"},
                {"name": "table", "type": "Tensor", "id": "2"}, {"name": "absent", "type": "Optional[Tensor]", "id": "3"},
                {"name": "count", "type": "int", "id": "4"}]},
            [tensor(weight, "tensors/0"), tensor(bias, "tensors/1"), tensor(scale, "tensors/2"),
             tensor(table, "tensors/3")]),
        "version": b"1\n"})
    z = (functional.linear(x, weight, bias) * scale * 2)[table]
    cases.append(("nested.pt", (x,), (z.sum([0, 1], keepdim=True), z + 3 * scale)))

    # Version 4: the module makes its weights in __setstate__.
    pickle = archives.Pickle()
    archives.write(folder / "state.pt", {
        "tensors/0": archives.bytes_of(weight), "attributes.pkl": pickle.dumps(((archives.TensorId(0), 2),)),
        "code/state.py": code(
            "def forward(self,", "    x: Tensor) -> Tensor:", "  return torch.matmul(x, torch.t(self.weight))",
            "def __setstate__(self,", "    state: Tuple[Tensor, int]) -> None:",
            "  weight, factor, = state", "  self.weight = torch.mul(weight, factor)", "  return None"),
        "model.json": model(4, {
            "name": "state", "optimize": True, "torchscriptArena": file("state"),
            "attributes": [{"name": "weight", "type": "Tensor", "id": "-1"}], "getStateAttributeId": "0"},
            [tensor(weight, "tensors/0")]),
        "version": b"1\n"})
    cases.append(("state.pt", (x,), x @ (weight * 2).t()))
    return cases
