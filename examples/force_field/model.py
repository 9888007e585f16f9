"""A potential of molecular dynamics: the energy of atoms from messages along their edges, and the force on each atom,
which is the energy's gradient and is taken inside of forward."""
from typing import List, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Potential(nn.Module):
    def __init__(self, kinds: int = 4, width: int = 16, cutoff: float = 3.0):
        super().__init__()
        self.cutoff = cutoff
        self.kind = nn.Embedding(kinds, width)
        self.filter = nn.Sequential(nn.Linear(12, width), nn.SiLU(), nn.Linear(width, width))
        self.mix = nn.Linear(width, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.register_buffer("centers", torch.linspace(0.0, cutoff, 12))

    def forward(self, positions: Tensor, kinds: Tensor, edges: Tensor):
        positions.requires_grad_(True)
        source, target = edges[0], edges[1]
        distance = (positions[target] - positions[source]).norm(2, -1)
        basis = torch.exp(-4.0 * (distance.unsqueeze(-1) - self.centers) ** 2)
        fade = 0.5 * (torch.cos(distance * (3.141592653589793 / self.cutoff)) + 1.0) * (distance < self.cutoff)
        h = self.kind(kinds)
        for _ in range(2):
            messages = self.filter(basis) * fade.unsqueeze(-1) * h[source]
            h = h + F.silu(self.mix(torch.zeros_like(h).index_add(0, target, messages)))
        energy = self.head(h).sum()
        weights: List[Optional[Tensor]] = [torch.ones_like(energy)]
        gradient = torch.autograd.grad([energy], [positions], weights)[0]
        assert gradient is not None
        return energy, -gradient


torch.manual_seed(0)
torch.jit.script(Potential().eval()).save("potential.pt")
