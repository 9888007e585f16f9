"""Files of optimize_for_mobile: layers that are calls with an object of XNNPACK's."""
import pathlib

import torch
from torch.nn import functional

import archives
from archives import Ints, Object

HEAD = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
"""


def context(kind: str, *state: object) -> Object:
    return Object(f"__torch__.torch.classes.xnnpack.{kind}OpContext", tuple(state))


def make(folder: pathlib.Path) -> list[tuple[str, tuple, object]]:
    """(file, arguments, what it gives)"""
    generator = torch.Generator().manual_seed(11)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    x = random(2, 4, 9, 8)
    weight, bias, up, wide = random(6, 2, 3, 3), random(6), random(6, 2, 3, 2), random(5, 8)
    constants = (
        context("Conv2d", weight, bias, Ints([2, 1]), Ints([1, 2]), Ints([1, 2]), 2, -0.5, 0.75),
        context("TransposeConv2d", up, None, Ints([2, 3]), Ints([1, 0]), Ints([1, 2]), Ints([1, 1]), 3, None, None),
    )
    archives.write_module(
        folder / "constants.pt",
        HEAD + """  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = ops.prepacked.conv2d_clamp_run(x, CONSTANTS.c0)
    return ops.prepacked.conv2d_transpose_clamp_run(y, CONSTANTS.c1)
""", Object("__torch__.Net", {"training": False}), constants)
    y = functional.conv2d(x, weight, bias, (2, 1), (1, 2), (1, 2), 2).clamp(-0.5, 0.75)
    cases = [("constants.pt", (x,), functional.conv_transpose2d(y, up, None, (2, 3), (1, 0), (1, 2), 3, (1, 1)))]

    archives.write_module(
        folder / "attributes.pt",
        HEAD + """  packed : __torch__.torch.classes.xnnpack.LinearOpContext
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return ops.prepacked.linear_clamp_run(x, self.packed)
""", Object("__torch__.Net", {"training": False, "packed": context("Linear", wide, None, 0.0, None)}))
    cases.append(("attributes.pt", (x,), functional.linear(x, wide).clamp_min(0)))
    return cases
