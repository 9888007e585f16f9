"""Writes the models of a repository."""
import pathlib

import torch
from torch import nn

pathlib.Path("models").mkdir(exist_ok=True)
for name, width in (("first", 8), ("second", 16)):
    torch.manual_seed(width)
    net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2)).eval()
    torch.jit.trace(net, torch.rand(2, 4)).save(f"models/{name}.pt")
