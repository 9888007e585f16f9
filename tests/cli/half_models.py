"""Models for --to: what becomes 16 bits, and what must not.

    half_models.py FOLDER
"""
import pathlib
import sys
from typing import List

import torch
from torch import Tensor, nn


class Images(nn.Module):
    """Convolutions with batch norm, a residual block, the mean over the image, a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.block, self.inner = nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, 10)
        for b in (self.norm, self.inner):
            b.running_mean.normal_()
            b.running_var.uniform_(0.5, 2)

    def forward(self, x: Tensor):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.stem(x))), 2)
        x = torch.relu(self.inner(self.block(x)) + x)
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.rnn, self.out = nn.Embedding(40, 24), nn.LSTM(24, 32, 2), nn.Linear(32, 40)

    def forward(self, ids: Tensor):
        return torch.log_softmax(self.out(self.rnn(self.table(ids))[0]), -1)


class Attention(nn.Module):
    """An encoder's layer by hand: a mask of -1e9, a norm with 1e-12 in it, positions of a sine, and GELU by powers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.norm = nn.LayerNorm(32)
        self.scale = nn.Parameter(torch.rand(32) + 0.5)

    def by_hand(self, x: Tensor):
        centred = x - x.mean(-1, keepdim=True)
        return self.scale * centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-12)

    def forward(self, x: Tensor, mask: Tensor):
        steps = torch.arange(x.size(1), device=x.device).float()
        x = x + torch.sin(steps / 100).unsqueeze(-1)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / 5.66 + (1 - mask.float()).unsqueeze(1) * -1e9
        x = x + self.out(scores.softmax(-1) @ v)
        h = self.up(self.by_hand(x))
        h = 0.5 * h * (1 + torch.tanh(0.79788456 * (h + 0.044715 * torch.pow(h, 3))))
        return x + self.down(h)


class Flow(nn.Module):
    """A branch and a loop on data, a sum that the loop carries, and an index that is computed."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, n: int):
        total = torch.zeros([x.size(0), 8])
        if bool(x.mean() > 0.1):
            x = torch.relu(self.a(x))
        else:
            x = self.b(x).softmax(-1)
        parts: List[Tensor] = []
        for i in range(n):
            x = torch.tanh(self.a(x) + i)
            total = total + x
            parts.append(x)
        rows = (torch.arange(x.size(0)).float() * 0.5).floor().long()
        return total, torch.stack(parts), x[rows]


class Beyond(nn.Module):
    """A weight that float16 has no number for, and one that it would make 0."""

    def __init__(self):
        super().__init__()
        self.large, self.small, self.plain = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        with torch.no_grad():
            self.large.weight.mul_(3e5)
            self.small.weight.fill_(1e-9)
            self.small.bias.zero_()

    def forward(self, x: Tensor):
        return torch.sigmoid(self.large(x) * 1e-5), self.small(x) * 1e9, self.plain(x)


class Shared(nn.Module):
    """One weight for a norm, which stays float32, and for a product, which does not; one that is tied."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16))
        self.table = nn.Embedding(20, 16)

    def forward(self, ids: Tensor):
        x = self.table(ids)
        x = nn.functional.layer_norm(x, [16], self.weight) + x * self.weight
        return x @ self.table.weight.t(), x.argmax(-1)


class Ties(nn.Module):
    """Whole numbers that float16 does not count to."""

    def forward(self, x: Tensor):
        return (x * 3 + 4096).long(), x + 1


MODELS = {"images": (Images, ["x:batch=2x3x16x16"]), "words": (Words, ["ids:length=5xbatch=2@i64=randint(0,40)"]),
          "attention": (Attention, ["x:batch=2xlength=6x32", "mask:batch=2xlength=6@bool=ones"]),
          "flow": (Flow, ["x:n=3x8", "n=4"]), "beyond": (Beyond, ["x:n=3x4"]),
          "shared": (Shared, ["ids:n=3x4@i64=randint(0,20)"])}


def make(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in [*((name, model) for name, (model, _) in MODELS.items()), ("ties", Ties)]:
        torch.manual_seed(0)
        torch.jit.script(model().eval()).save(str(folder / f"{name}.pt"))


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
