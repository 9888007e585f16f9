"""Inception v3 with its auxiliary classifier, which only training runs."""
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class InceptionOutputs(NamedTuple):
    logits: Tensor
    aux_logits: Optional[Tensor]


class ConvNorm(nn.Module):
    def __init__(self, channels: int, out: int, kernel, stride: int = 1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(out, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)), inplace=True)


def tower(channels: int, *steps) -> nn.Sequential:
    """steps: (out, kernel, stride); odd kernels of stride 1 keep the size."""
    layers = []
    for out, kernel, stride in steps:
        size = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (size[0] // 2, size[1] // 2) if stride == 1 else (0, 0)
        layers.append(ConvNorm(channels, out, size, stride, padding))
        channels = out
    return nn.Sequential(*layers)


class Pooled(nn.Module):
    """Average pooling that keeps the size, then 1x1."""

    def __init__(self, channels: int, out: int):
        super().__init__()
        self.conv = ConvNorm(channels, out, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))


class Forked(nn.Module):
    """A tower whose end is 1x3 and 3x1 side by side."""

    def __init__(self, channels: int, stem: nn.Sequential, middle: int, out: int):
        super().__init__()
        self.stem = stem
        self.wide = ConvNorm(middle, out, (1, 3), padding=(0, 1))
        self.tall = ConvNorm(middle, out, (3, 1), padding=(1, 0))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return torch.cat([self.wide(x), self.tall(x)], 1)


class Mixed(nn.Module):
    """Branches side by side; `reduce` adds a max pooling that halves the size."""

    def __init__(self, branches: list[nn.Module], reduce: bool = False):
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.reduce = reduce

    def forward(self, x: Tensor) -> Tensor:
        outputs = []
        for branch in self.branches:
            outputs.append(branch(x))
        if self.reduce:
            outputs.append(F.max_pool2d(x, kernel_size=3, stride=2))
        return torch.cat(outputs, 1)


class Auxiliary(nn.Module):
    def __init__(self, channels: int, width: float, classes: int):
        super().__init__()
        self.conv0 = ConvNorm(channels, int(128 * width), 1)
        self.conv1 = ConvNorm(int(128 * width), int(768 * width), 5)
        self.fc = nn.Linear(int(768 * width), classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class InceptionV3(nn.Module):
    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()

        def w(n: int) -> int:
            return int(n * width)

        def a(cin: int, pool: int) -> Mixed:
            return Mixed([tower(cin, (w(64), 1, 1)), tower(cin, (w(48), 1, 1), (w(64), 5, 1)),
                          tower(cin, (w(64), 1, 1), (w(96), 3, 1), (w(96), 3, 1)),
                          Pooled(cin, w(pool))])

        def c(cin: int, n: int) -> Mixed:
            m = w(n)
            return Mixed([tower(cin, (w(192), 1, 1)),
                          tower(cin, (m, 1, 1), (m, (1, 7), 1), (w(192), (7, 1), 1)),
                          tower(cin, (m, 1, 1), (m, (7, 1), 1), (m, (1, 7), 1), (m, (7, 1), 1),
                                (w(192), (1, 7), 1)),
                          Pooled(cin, w(192))])

        def e(cin: int) -> Mixed:
            return Mixed([tower(cin, (w(320), 1, 1)),
                          Forked(cin, tower(cin, (w(384), 1, 1)), w(384), w(384)),
                          Forked(cin, tower(cin, (w(448), 1, 1), (w(384), 3, 1)), w(384), w(384)),
                          Pooled(cin, w(192))])

        self.stem = nn.Sequential(
            ConvNorm(3, w(32), 3, 2), ConvNorm(w(32), w(32), 3), ConvNorm(w(32), w(64), 3, 1, 1),
            nn.MaxPool2d(3, 2), ConvNorm(w(64), w(80), 1), ConvNorm(w(80), w(192), 3),
            nn.MaxPool2d(3, 2))
        b = Mixed([tower(w(288), (w(384), 3, 2)),
                   tower(w(288), (w(64), 1, 1), (w(96), 3, 1), (w(96), 3, 2))], reduce=True)
        d = Mixed([tower(w(768), (w(192), 1, 1), (w(320), 3, 2)),
                   tower(w(768), (w(192), 1, 1), (w(192), (1, 7), 1), (w(192), (7, 1), 1),
                         (w(192), 3, 2))], reduce=True)
        self.early = nn.Sequential(a(w(192), 32), a(w(256), 64), a(w(288), 64), b,
                                   c(w(768), 128), c(w(768), 160), c(w(768), 160), c(w(768), 192))
        self.aux = Auxiliary(w(768), width, classes)
        self.late = nn.Sequential(d, e(w(1280)), e(w(2048)))
        self.dropout = nn.Dropout()
        self.fc = nn.Linear(w(2048), classes)

    def forward(self, x: Tensor) -> InceptionOutputs:
        x = self.early(self.stem(x))
        aux: Optional[Tensor] = None
        if self.training:
            aux = self.aux(x)
        x = F.adaptive_avg_pool2d(self.late(x), (1, 1))
        logits = self.fc(torch.flatten(self.dropout(x), 1))
        return InceptionOutputs(logits, aux)


class InceptionLogits(nn.Module):
    """Tracing has no None among its results: the logits alone."""

    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()
        self.net = InceptionV3(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x).logits
