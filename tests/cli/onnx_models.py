"""Small ONNX models with something wrong, written field by field: no library would write them.

make(folder) writes dubious.onnx (warnings alone) and unsorted.onnx (an error).
"""
import pathlib
import struct

FLOAT, DOUBLE = 1, 11


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(op: str, name: str, inputs: list[str], outputs: list[str]) -> bytes:
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) +
            field(4, op))


def value(name: str, element: int, dims: list[int | str | None]) -> bytes:
    shape = b""
    for d in dims:
        shape += field(1, b"" if d is None else field(1, d) if isinstance(d, int) else field(2, d))
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def model(nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], weights: list[bytes], ir: int) -> bytes:
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, w) for w in weights)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, ir) + field(7, graph) + field(8, field(2, 18))


def make(folder: pathlib.Path) -> None:
    weight = field(1, 2) + field(2, FLOAT) + field(8, "w") + field(9, struct.pack("<2f", 1, 2))
    x, y = value("x", DOUBLE, [None, 4]), value("y", DOUBLE, ["n", 4])
    nodes = [node("Acos", "same", ["x"], ["y"]), node("Relu", "same", ["x"], ["z"])]
    (folder / "dubious.onnx").write_bytes(model(nodes, [x], [y], [weight], ir=4))
    (folder / "unsorted.onnx").write_bytes(model([node("Relu", "r", ["q"], ["y"])], [x], [y], [], ir=8))
    (folder / "twice.onnx").write_bytes(
        model([node("Relu", "r", ["x"], ["y"]), node("Abs", "a", ["x"], ["y"])], [x], [y], [], ir=8))
