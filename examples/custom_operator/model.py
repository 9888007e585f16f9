"""A model that calls an operator of a library of its own."""
import torch

torch.ops.load_library("./liboperator.so")


class FooModel(torch.nn.Module):
    def __init__(self, attr1: float, attr2: int):
        super().__init__()
        self.attr1 = attr1
        self.attr2 = attr2

    def forward(self, input1, input2):
        return torch.relu(torch.ops.custom_ops.foo_forward(input1, input2, self.attr1, self.attr2))


torch.jit.script(FooModel(0.5, 3).eval()).save("foo.pt")
