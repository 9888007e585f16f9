"""Writes TorchScript archives record by record: the formats that today's PyTorch cannot write."""
import dataclasses
import pathlib
import struct
import zipfile

import torch

ALIGNMENT = 64  # of storages, as PyTorch writes them
STORAGES = {torch.float32: "FloatStorage", torch.int64: "LongStorage"}


@dataclasses.dataclass
class Ints:
    """A List[int]."""
    items: list[int]


@dataclasses.dataclass
class Object:
    """An object of a class, with the state it is built from."""
    name: str  # "__torch__.Net"
    state: object


@dataclasses.dataclass
class TensorId:
    """A tensor of model.json, by its place there."""
    index: int


class Pickle:
    """Protocol 2, as LibTorch writes it; tensors' bytes go to `storages`."""

    def __init__(self) -> None:
        self.storages: list[torch.Tensor] = []

    def dumps(self, value: object) -> bytes:
        return b"\x80\x02" + self.write(value) + b"."

    def text(self, value: str) -> bytes:
        data = value.encode()
        return b"X" + struct.pack("<I", len(data)) + data

    def call(self, function: str, *arguments: object) -> bytes:
        module, name = function.rsplit(".", 1)
        return f"c{module}\n{name}\n".encode() + self.write(arguments) + b"R"

    def write(self, value: object) -> bytes:
        if value is None:
            return b"N"
        if isinstance(value, bool):
            return b"\x88" if value else b"\x89"
        if isinstance(value, int):
            return b"J" + struct.pack("<i", value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.write, value)) + b"t"
        if isinstance(value, list):
            return b"](" + b"".join(map(self.write, value)) + b"e"
        if isinstance(value, dict):
            return b"}(" + b"".join(self.write(k) + self.write(v) for k, v in value.items()) + b"u"
        if isinstance(value, Ints):
            return self.call("torch.jit._pickle.build_intlist", value.items)
        if isinstance(value, TensorId):
            return self.call("torch.jit._pickle.build_tensor_from_id", value.index)
        if isinstance(value, Object):
            module, name = value.name.rsplit(".", 1)
            return f"c{module}\n{name}\n".encode() + b")\x81" + self.write(value.state) + b"b"
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        raise TypeError(type(value))

    def tensor(self, t: torch.Tensor) -> bytes:
        t = t.contiguous()
        self.storages.append(t)
        storage = (b"(" + self.text("storage") + f"ctorch\n{STORAGES[t.dtype]}\n".encode() +
                   self.text(str(len(self.storages) - 1)) + self.text("cpu") + self.write(t.numel()) + b"tQ")
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + self.write(0) + self.write(tuple(t.shape)) +
                self.write(tuple(t.stride())) + self.write(False) + b"ccollections\nOrderedDict\n)RtR")


def bytes_of(t: torch.Tensor) -> bytes:
    return t.detach().contiguous().numpy().tobytes()


def write(path: pathlib.Path, records: dict[str, bytes]) -> None:
    """Stored records under one folder, each at a multiple of ALIGNMENT."""
    with zipfile.ZipFile(path, "w") as z:
        for name, content in records.items():
            info = zipfile.ZipInfo(f"{path.stem}/{name}")
            begin = z.fp.tell() + 30 + len(info.filename)
            padding = -(begin + 4) % ALIGNMENT
            info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
            z.writestr(info, content)


def write_module(path: pathlib.Path, code: str, data: Object, constants: tuple = ()) -> None:
    """The format of PyTorch 1.4 and later; `code`: of the file __torch__.py."""
    records = {}
    for name, value in [("data", data), ("constants", constants)]:
        pickle = Pickle()
        records[f"{name}.pkl"] = pickle.dumps(value)
        records |= {f"{name}/{i}": bytes_of(t) for i, t in enumerate(pickle.storages)}
    write(path, records | {"code/__torch__.py": code.encode(), "version": b"3\n"})
