"""Models of several methods, and a file whose tensors were saved on a GPU."""
import pathlib
import zipfile
from typing import List, NamedTuple

import torch
from torch import Tensor, nn


class Codec(nn.Module):
    """Two methods that share a matrix; a third uses what cannot be converted."""

    def __init__(self):
        super().__init__()
        self.book = nn.Linear(64, 16)
        self.gain = nn.Parameter(torch.rand(16, 64))
        self.register_buffer("steps", torch.zeros(512))

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return torch.tanh(self.book(x))

    @torch.jit.export
    def decode(self, z: Tensor, power: int = 1):
        return z @ self.book.weight * power, z @ self.gain

    @torch.jit.export
    def spectrum(self, z: Tensor) -> Tensor:
        return torch._saturate_weight_to_fp16(torch.abs(z))

    @torch.jit.export
    def count(self, n: Tensor) -> Tensor:
        self.steps = self.steps + n
        return self.steps.sum()


class Devices(nn.Module):
    """Tensors made without a device, on one by name, on an argument's, and constants."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4))
        self.parts = [torch.rand(4), torch.rand(1)]

    def forward(self, x: Tensor):
        a = torch.ones(x.size(0), 1) + torch.arange(4, device=x.device) + torch.zeros(4, device="cpu")
        b = x.cpu() * self.scale + self.parts[0] + self.parts[1]
        return a * b, torch.full([2], 3.0).to(x.device, torch.float64), b.to("cpu") + torch.tensor([1.0, 2.0, 3.0, 4.0])


class State(NamedTuple):
    h: Tensor
    c: Tensor


class Cell(nn.Module):
    """Named tuples as arguments, alone and in a list."""

    def forward(self, x: Tensor, state: State, layers: List[State]) -> State:
        return State(h=x + state.h * layers[0].c, c=state.c + layers[0].h)


def saved_on_gpu(source: pathlib.Path, target: pathlib.Path) -> None:
    """The same file as if it was saved on the first GPU: that is said where its pickles name storages."""
    writer = torch._C.PyTorchFileWriter(str(target))
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            record = name.split("/", 1)[1]
            content = archive.read(name)
            if record.endswith(".pkl"):
                content = content.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0")
            if record not in ("version", ".data/serialization_id", "byteorder"):
                writer.write_record(record, content, len(content))
    writer.write_end_of_file()


def make(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.jit.script(Codec().eval()).save(folder / "codec.pt")
    torch.jit.script(Cell().eval()).save(folder / "cell.pt")
    torch.jit.script(Devices().eval()).save(folder / "devices.pt")
    saved_on_gpu(folder / "codec.pt", folder / "on_gpu.pt")
