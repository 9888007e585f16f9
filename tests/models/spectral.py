"""Models that compute with complex numbers and Fourier transforms: speech front ends, neural operators, rotations."""
import torch
from torch import nn


class MelSpectrogram(nn.Module):
    """The logarithm of a filter bank over the power of windows, as speech recognisers take it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("filters", torch.rand(201, 40))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.stft(x, 400, 160, 400, self.window, return_complex=True)
        return torch.log(z.abs().square().transpose(1, 2) @ self.filters + 1e-3)


class Denoiser(nn.Module):
    """A mask over the magnitudes, back with the old phases."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.mask = nn.Conv1d(33, 33, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.stft(x, 64, 16, window=self.window, return_complex=True)
        length = z.abs()
        y = torch.polar(length * torch.sigmoid(self.mask(length)), z.angle())
        return torch.istft(y, 64, 16, window=self.window, length=x.size(-1))


class PhaseSearch(nn.Module):
    """Three steps of the search for phases that belong to magnitudes (Griffin and Lim, 1984)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.abs() + 0.5
        phase = torch.ones_like(length, dtype=torch.complex64)
        for _ in range(3):
            y = torch.istft(length * phase, 32, 8, window=self.window)
            z = torch.stft(y, 32, 8, window=self.window, return_complex=True)
            phase = z / (z.abs() + 1e-3)
        return torch.istft(length * phase, 32, 8, window=self.window)


class FourierLayer(nn.Module):
    """A layer of a Fourier neural operator: the lowest frequencies of an image times complex weights."""

    def __init__(self, width: int = 4, modes: int = 3) -> None:
        super().__init__()
        self.modes = modes
        self.low = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.complex64))
        self.high = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.complex64))
        self.direct = nn.Conv2d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.fft.rfft2(x)
        m = self.modes
        out = torch.zeros([x.size(0), x.size(1), x.size(2), x.size(3) // 2 + 1], dtype=torch.complex64)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", z[:, :, :m, :m], self.low)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", z[:, :, -m:, :m], self.high)
        back = torch.fft.irfft2(out, s=[x.size(2), x.size(3)])
        return torch.nn.functional.gelu(back + self.direct(x))


class Mixer(nn.Module):
    """Mixes tokens by the real part of a transform over words and features."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)


class Rotary(nn.Module):
    """Queries turned by their positions, as complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(64).float(), 10000 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.query = nn.Linear(8, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, length = x.size(0), x.size(1)
        q = torch.view_as_complex(self.query(x).view(b, length, 2, 4, 2))
        return torch.view_as_real(q * self.turns[:length].view(1, length, 1, 4)).flatten(3)


class StateSpace(nn.Module):
    """A diagonal state space as one long convolution, whose kernel is a sum of complex powers."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.randn(4, 8, dtype=torch.complex64) * 0.1)
        self.c = nn.Parameter(torch.randn(4, 8, dtype=torch.complex64))
        self.d = nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.size(-1)
        a = torch.complex(-torch.exp(self.a.real), self.a.imag)
        powers = torch.exp(a.unsqueeze(-1) * torch.arange(length))
        kernel = 2 * torch.einsum("hn,hnl->hl", self.c * (torch.exp(a) - 1.0) / a, powers).real
        z = torch.fft.rfft(kernel, n=2 * length) * torch.fft.rfft(x, n=2 * length)
        return torch.fft.irfft(z, n=2 * length)[..., :length] + x * self.d.unsqueeze(-1)
