"""TensorProto and SequenceProto as ONNX's test data has them, without the onnx package."""
import struct

import numpy

# onnx.TensorProto.DataType: number, typed field, struct's letter of one number there.
TYPES = {"float32": (1, 4, "f"), "uint8": (2, 5, None), "int8": (3, 5, None), "uint16": (4, 5, None),
         "int16": (5, 5, None), "int32": (6, 5, None), "int64": (7, 7, None), "bool": (9, 5, None),
         "float16": (10, 5, None), "float64": (11, 10, "d"), "uint32": (12, 11, None),
         "uint64": (13, 11, None), "complex64": (14, 4, "f"), "complex128": (15, 10, "d")}


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number: int, data: bytes | int) -> bytes:
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def typed_data(a: numpy.ndarray) -> bytes:
    """The packed typed field: float_data, int32_data, ..."""
    _, number, letter = TYPES[a.dtype.name]
    flat = a.reshape(-1)
    if letter:
        if a.dtype.kind == "c":
            flat = flat.view("f4" if a.dtype.name == "complex64" else "f8")
        return field(number, b"".join(struct.pack("<" + letter, x) for x in flat))
    if a.dtype.name == "float16":
        flat = flat.view(numpy.uint16)
    return field(number, b"".join(varint(int(x)) for x in flat))


def tensor(a: numpy.ndarray, name: str = "", typed: bool = False) -> bytes:
    out = b"".join(field(1, int(n)) for n in a.shape) + field(2, TYPES[a.dtype.name][0])
    out += typed_data(a) if typed else field(9, a.tobytes())
    return out + field(8, name.encode())


def sequence(arrays: list, name: str = "") -> bytes:
    return field(1, name.encode()) + field(2, 1) + b"".join(field(3, tensor(a)) for a in arrays)


def fields(data: bytes):
    """(field, number or bytes) one after the other."""
    at = 0

    def number() -> int:
        nonlocal at
        n = shift = 0
        while True:
            n |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return n

    while at < len(data):
        key = number()
        if key & 7 in (1, 5):  # a fixed number of bytes
            at += 8 if key & 7 == 1 else 4
            yield key >> 3, data[at - (8 if key & 7 == 1 else 4):at]
            continue
        value = number()
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        yield key >> 3, value


def read_tensor(data: bytes) -> tuple[str, numpy.ndarray]:
    name, dims, kind, raw, strings = "", [], 0, b"", []
    for number, value in fields(data):
        if number == 1:
            dims += [value] if isinstance(value, int) else list(value)
        elif number == 2:
            kind = value
        elif number == 6:
            strings.append(value)
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    if kind == 8:
        return name, numpy.array(strings, dtype=object).reshape(dims)
    dtype = next(t for t, row in TYPES.items() if row[0] == kind)
    return name, numpy.frombuffer(raw, dtype).reshape(dims)


def read_sequence(data: bytes) -> tuple[str, list[numpy.ndarray]]:
    parts = list(fields(data))
    return (b"".join(v for n, v in parts if n == 1).decode(),
            [read_tensor(v)[1] for n, v in parts if n == 3])
