"""Models of several methods, and a file whose tensors were saved on a GPU."""
import pathlib
import zipfile

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
        return torch.geqrf(z)[0]

    @torch.jit.export
    def count(self, n: Tensor) -> Tensor:
        self.steps = self.steps + n
        return self.steps.sum()


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
    saved_on_gpu(folder / "codec.pt", folder / "on_gpu.pt")
