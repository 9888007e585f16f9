"""Writes a small zoo: models in folders, one with weights alone."""
import pathlib

import torch
from torch import nn

for name, width in (("small", 8), ("vision/wide", 64), ("vision/deep", 16)):
    path = pathlib.Path(f"zoo/{name}.pt")
    path.parent.mkdir(parents=True, exist_ok=True)
    net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2)).eval()
    torch.jit.trace(net, torch.rand(2, 4)).save(str(path))
torch.save(net.state_dict(), "zoo/vision/checkpoint.pth")
