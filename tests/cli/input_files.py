"""Files of example inputs: good ones, and those that have to be refused. And models that take them."""
import pathlib
import sys
import zipfile
from typing import Dict, List, Optional, Tuple

import numpy
import torch
from torch import Tensor, nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import onnx_values  # noqa: E402

ROWS = numpy.arange(8, dtype=numpy.float32).reshape(2, 4) / 4 - 1


class Numbers(nn.Module):
    """Numbers of every kind beside a tensor."""

    def forward(self, x: Tensor, n: int, scale: float, flag: bool):
        y = x * scale + n
        return y if flag else -y


class Nested(nn.Module):
    def forward(self, cfg: Dict[str, Tensor], pair: Tuple[Tensor, int], xs: List[Tensor]):
        return cfg["mask"] * pair[0] + pair[1], xs[0] - xs[1]


class PerhapsNone(nn.Module):
    """An output that is None for negative sums."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor]]:
        y: Optional[Tensor] = None
        if bool(x.sum() > 0):
            y = x + 1
        return x * 2, y


class Packed(nn.Module):
    """Calls a method of packed weights, whose code is C++."""

    def __init__(self):
        super().__init__()
        linear = nn.quantized.Linear(4, 3)
        # Weights of a fresh module are whatever its memory held.
        weight = torch.arange(12, dtype=torch.float32).reshape(3, 4) - 5
        linear.set_weight_bias(torch.quantize_per_tensor(weight, 1.0, 0, torch.qint8), torch.zeros(3))
        self.packed = linear._packed_params._packed_params

    def forward(self, x: Tensor):
        weight, bias = self.packed.unpack()
        return torch.dequantize(weight) @ x


class Maybe(nn.Module):
    """A mask that may be missing, a word, and a number with a default."""

    def forward(self, x: Tensor, mask: Optional[Tensor], mode: str, k: int = 2):
        if mask is not None:
            x = x * mask
        return x * k if mode == "times" else x + k


class Same(nn.Module):
    """Its result is its input, so that what was read can be compared."""

    def forward(self, x: Tensor):
        return x.clone()


class Pieces(nn.Module):
    """A list whose length follows the input."""

    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i:i + 1, :i + 1])
        return out


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def arrays(folder: pathlib.Path) -> None:
    numpy.save(folder / "fortran.npy", numpy.asfortranarray(ROWS))
    numpy.save(folder / "ints.npy", numpy.arange(8).reshape(2, 4))
    numpy.save(folder / "scalar.npy", numpy.int64(3))
    numpy.save(folder / "big.npy", ROWS.astype(">f4"))
    numpy.save(folder / "object.npy", numpy.array([[1, None]], dtype=object), allow_pickle=True)
    numpy.save(folder / "text.npy", numpy.array(["a", "b"]))
    numpy.save(folder / "record.npy", numpy.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
    whole = (folder / "fortran.npy").read_bytes()
    (folder / "short.npy").write_bytes(whole[:-1])
    (folder / "long.npy").write_bytes(whole + b"x")
    (folder / "head.npy").write_bytes(whole[:20])
    (folder / "huge.npy").write_bytes(header("(99999999999999999999, 4)"))
    (folder / "overflow.npy").write_bytes(header("(4611686018427387904, 4, 0)"))
    (folder / "negative.npy").write_bytes(header("(-2, 4)"))
    (folder / "padded.npy").write_bytes(b"\x93NUMPY\x02\x00" + (1 << 20).to_bytes(4, "little") + b" " * (1 << 20))
    with zipfile.ZipFile(folder / "trick.npz", "w") as z:
        z.write(folder / "fortran.npy", "../../x.npy")
        z.write(folder / "fortran.npy", "/etc/y.npy")
    with zipfile.ZipFile(folder / "none.npz", "w"):
        pass
    (folder / "cut.npz").write_bytes((folder / "trick.npz").read_bytes()[:100])


def protos(folder: pathlib.Path) -> None:
    for kind in onnx_values.TYPES:
        values = numpy.array([[0, 1, 1, 0]] if kind == "bool" else [[0, 1, 2, 3]]).astype(kind)
        for typed in (False, True):
            name = f"{kind}_{'typed' if typed else 'raw'}.pb"
            (folder / name).write_bytes(onnx_values.tensor(values, "x", typed))
    good = onnx_values.tensor(ROWS, "x")
    (folder / "rows.pb").write_bytes(good)
    (folder / "cut.pb").write_bytes(good[:-4])
    (folder / "few.pb").write_bytes(good.replace(onnx_values.field(1, 4), onnx_values.field(1, 5)))
    (folder / "strings.pb").write_bytes(onnx_values.field(1, 1) + onnx_values.field(2, 8) + onnx_values.field(6, b"a"))
    (folder / "four_bits.pb").write_bytes(onnx_values.field(1, 2) + onnx_values.field(2, 22) + onnx_values.field(9, b"a"))
    entry = onnx_values.field(1, b"location") + onnx_values.field(2, b"/etc/passwd")
    (folder / "outside.pb").write_bytes(onnx_values.field(1, 2) + onnx_values.field(2, 1)
                                        + onnx_values.field(13, entry) + onnx_values.field(14, 1))
    (folder / "sequence.pb").write_bytes(onnx_values.sequence([ROWS]))
    (folder / "empty.pb").write_bytes(b"")


def saved(folder: pathlib.Path) -> None:
    x = torch.from_numpy(ROWS)
    torch.save(({"mask": x}, (x, 3), [x, x + 1]), folder / "nested.pt")
    torch.save([{"mask": x}, [x, 3], (x, x + 1)], folder / "other_kinds.pt")
    torch.save({"cfg": {"mask": x}, "xs": [x, x], "pair": (x, 1)}, folder / "by_name.pt")
    torch.save({"cfg": {"mask": x}, "xs": [x, x]}, folder / "without_pair.pt")
    torch.save({"cfg": {"mask": x}, "xs": [x, x], "pear": (x, 1)}, folder / "misspelt.pt")
    torch.save(({"mask": x}, (x, 3, 4), [x]), folder / "long_tuple.pt")
    torch.save(({"mask": x}, (x, "three"), [x]), folder / "wrong_kind.pt")
    torch.save((x, None, "times"), folder / "words.pt")
    torch.save((x, None, "plus", 5), folder / "all_words.pt")
    torch.save(nn.Linear(2, 2), folder / "module.pt")
    whole = (folder / "nested.pt").read_bytes()
    (folder / "half.pt").write_bytes(whole[:len(whole) // 2])


def sets(folder: pathlib.Path) -> None:
    """ONNX's layout for fixtures two.pt (left + right, left * right) and pieces.pt."""
    def write(name: str, inputs: list, outputs: list) -> None:
        (folder / name).mkdir(parents=True)
        for kind, values in (("input", inputs), ("output", outputs)):
            for i, v in enumerate(values):
                data = onnx_values.sequence(v) if isinstance(v, list) else onnx_values.tensor(v)
                (folder / name / f"{kind}_{i}.pb").write_bytes(data)

    def both(a: numpy.ndarray, b: numpy.ndarray) -> tuple:
        return [a, b], [a + b, a * b]

    longer = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    write("sets/test_data_set_0", *both(ROWS, ROWS + 1))
    write("sets/test_data_set_1", *both(longer, longer - 1))
    write("wrong/test_data_set_0", [ROWS, ROWS], [ROWS + ROWS, ROWS])
    write("uneven/test_data_set_0", [ROWS, ROWS], [])
    write("uneven/test_data_set_1", [ROWS], [])
    write("ranks/test_data_set_0", [ROWS, ROWS], [])
    write("ranks/test_data_set_1", [ROWS[0], ROWS[0]], [])
    write("pieces", [ROWS], [[ROWS[:1, :1], ROWS[1:2, :2]]])
    write("other_pieces", [ROWS], [[ROWS[:1, :1], ROWS[:1, :2]]])
    (folder / "nothing").mkdir()


def make(folder: pathlib.Path) -> None:
    folder.mkdir()
    for module, name in ((Numbers(), "numbers"), (Nested(), "nested_model"), (Maybe(), "maybe"),
                         (Same(), "same"), (Pieces(), "pieces_model"), (PerhapsNone(), "perhaps_none"), (Packed(), "packed")):
        torch.jit.save(torch.jit.script(module.eval()), str(folder / f"{name}.pt"))
    arrays(folder)
    protos(folder)
    saved(folder)
    sets(folder)
