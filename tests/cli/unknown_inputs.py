"""Modules whose inputs nobody describes: what they take stands in their code and weights alone.

make(folder) writes each as NAME.pt.
"""
import pathlib
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Lenet(nn.Module):
    """28 x 28: the linear layer takes 256 = 16 x 4 x 4."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(256, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        return self.fc(self.pool(torch.relu(self.conv2(x))).flatten(1))


class Tokens(nn.Module):
    """Ids inside the table, a mask of bools, and a table of positions."""

    def __init__(self):
        super().__init__()
        self.words, self.places, self.out = nn.Embedding(50, 8), nn.Embedding(12, 8), nn.Linear(8, 2)

    def forward(self, words, hidden):
        x = self.words(words) + self.places(torch.arange(words.size(1)))
        return self.out(x.masked_fill(~hidden.unsqueeze(-1), 0.0))


class Guarded(nn.Module):
    def forward(self, x, rate: int):
        if x.dim() != 3:
            raise ValueError("batch, channels and time")
        if x.size(1) != 7:
            raise ValueError("seven channels")
        if rate != 16000 and rate != 8000:
            raise ValueError("no such rate")
        return x * (16000 // rate)


class Keyed(nn.Module):
    """A dict with two keys, a list with three tensors, a tuple, and an Optional that stays away."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 4), nn.Linear(6, 4)

    def forward(self, x: Dict[str, Tensor], y: List[Tensor], z: Tuple[Tensor, Tensor], w: Optional[Tensor] = None):
        out = self.a(x["left"]) + self.b(x["right"]) + y[0] * y[2] + z[0] - z[1]
        return out if w is None else out + w


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(5, 3, num_layers=2)

    def forward(self, x, h, c):
        y, state = self.rnn(x, (h, c))
        return y, state


class Doubles(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3).double()

    def forward(self, x):
        return self.fc(x).log_softmax(-1)


class Passed(nn.Module):
    """One that is only passed through, one that is never used."""

    def forward(self, x, y, z):
        return x * 2, y


class Raises(nn.Module):
    def forward(self, x):
        if x.dim() >= 0:
            raise ValueError("never")
        return x


class Contradicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 4), nn.Linear(6, 4)

    def forward(self, x):
        return self.a(x) + self.b(x)


class Circles(nn.Module):
    def forward(self, x):
        while x.dim() >= 0:
            x = x + 1
        return x


class Many(nn.Module):
    def forward(self, x: List[Tensor], a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z):
        return x[4] + a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w + y + z


class Methods(nn.Module):
    """No forward: one method that takes a tensor, one that does not."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    @torch.jit.export
    def encode(self, x):
        return self.fc(x)

    @torch.jit.export
    def width(self) -> int:
        return 3


class Squares(nn.Module):
    """28 x 28 and 14 x 56 alike."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 2, 1), nn.Linear(1568, 3)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Bytes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, x):
        return self.conv(x.float() / torch.tensor(255.0)) / torch.tensor([2.0, 3.0]).view(1, 2, 1, 1)


class Sound(nn.Module):
    sample_rate: int

    def __init__(self):
        super().__init__()
        self.sample_rate = 16000
        self.conv = nn.Conv1d(1, 4, 400, stride=160)

    def forward(self, x):
        return self.conv(x.unsqueeze(1))


class Logarithm(nn.Module):
    """NaN for what is negative."""

    def forward(self, x):
        return torch.log(x)


class Several(nn.Module):
    """No forward, and two methods that take a tensor."""

    @torch.jit.export
    def encode(self, x):
        return x * 2

    @torch.jit.export
    def decode(self, x):
        return x / 2


class Sums(nn.Module):
    """Two inputs of one unknown size."""

    def forward(self, x, y):
        return torch.cat([x + y, x], 1)


class Packs(nn.Module):
    """Lengths have to be above 0, and each at most the sequence's."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 5)
        self.layer = nn.GRU(5, 6, batch_first=True)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.table(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.layer(packed)[1]


class Quantizes(nn.Module):
    """The rank is asked of the quantized tensor."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        x = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        if len(x.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        return self.layer(torch.dequantize(x))


def make(folder: pathlib.Path) -> None:
    folder.mkdir()
    for kind in (Lenet, Tokens, Guarded, Keyed, Recurrent, Doubles, Passed, Raises, Contradicts, Circles, Many, Methods,
                 Several, Sums, Squares, Bytes, Sound, Logarithm, Packs,
                 Quantizes):
        torch.manual_seed(0)
        torch.jit.save(torch.jit.script(kind().eval()), str(folder / f"{kind.__name__.lower()}.pt"))
