"""torch.onnx's documented mixed example: a traced module that calls a scripted loop."""
import torch


@torch.jit.script
def add_up(x, count):
    for i in range(int(count)):
        x = x + i
    return x


class Counter(torch.nn.Module):
    def forward(self, x, count):
        return add_up(x, count)


torch.jit.trace(Counter(), (torch.ones(2, 3, dtype=torch.long), torch.tensor(5))).save("counter.pt")
