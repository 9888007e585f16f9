"""Models of operators that LibTorch does not have, and rule files for them."""
import pathlib

import torch

library = torch.library.Library("custom_ops", "DEF")
library.define("foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor")
library.define("halves(Tensor x) -> (Tensor, Tensor)")
library.impl("foo_forward", lambda a, b, c, d: a * c + b * d, "CPU")
library.impl("halves", lambda x: (x / 2, x / 2 + 1), "CPU")


class Foo(torch.nn.Module):
    def __init__(self, attr1: float, attr2: int):
        super().__init__()
        self.attr1 = attr1
        self.attr2 = attr2

    def forward(self, input1, input2):
        return torch.ops.custom_ops.foo_forward(input1, input2, self.attr1, self.attr2)


class Halves(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.custom_ops.halves(x)
        return a * b


class Computed(torch.nn.Module):  # an argument that the graph computes
    def forward(self, input1, input2):
        return torch.ops.custom_ops.foo_forward(input1, input2, float(input1.sum()), 3)


class Selu(torch.nn.Module):
    def forward(self, x):
        return torch.selu(x) + 1


class Divided(torch.nn.Module):
    def forward(self, x):
        return torch.div(x, torch.exp(x))


class Listed(torch.nn.Module):
    def forward(self, x):
        return [torch.div(x, torch.exp(x))]


class Drawn(torch.nn.Module):
    def forward(self, x):
        y = torch.unique(x)
        return torch._saturate_weight_to_fp16(torch.abs(y).unsqueeze(0)) + y


class Weights(torch.nn.Module):  # a and c are tied
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.bn = torch.nn.BatchNorm2d(4)
        self.a = torch.nn.Linear(4, 5, bias=False)
        self.b = torch.nn.Linear(5, 4, bias=False)
        self.c = torch.nn.Linear(4, 5, bias=False)
        self.c.weight = self.a.weight

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x))).mean([2, 3])
        return self.c(self.b(self.a(x)))


class Named(torch.nn.Module):  # a parameter with the name of the input
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(3))
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x):
        return self.drop(x) * self.x


SELU = """aten::selu (X) => (Y) opset 15 function onnx-script.Selu:2
{
  # constants of the paper
  alpha = Constant <value: tensor = float {1.6732632}> ()
  gamma = Constant <value: tensor = float {1.050701}> ()
  zero = Constant <value: tensor = float {0.0}> ()
  raised = Exp (X)
  scaled = Mul (alpha, raised)
  shifted = Sub (scaled, alpha)
  negative = Mul (gamma, shifted)
  positive = Mul (gamma, X)
  below = LessOrEqual (X, zero)
  Y = Where (below, negative, positive)
}
"""
FOO = """# The example of torch.onnx's documentation.
custom_ops::foo_forward (input1, input2, attr1, attr2) => (y) opset 9
{
  y = custom_domain.Foo <attr1: float = @attr1, attr2: int = @attr2> (input1, input2)
}
"""
SCHEMA = ("custom_ops::foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor"
          " = torch.empty_like(input1)")
HALVES = """custom_ops::halves torchscript
  def _half(x: Tensor) -> Tensor:
      return x / 2

  def halves(x: Tensor) -> Tuple[Tensor, Tensor]:
      half = _half(x)
      return half, half + 1
"""
PER_OPSET = """aten::selu (X) => (Y) opset 9
{
  low = Clip <min: float = 0.0> (X)
  Y = Identity (low)
}
aten::selu (X) => (Y) opset 13
{
  Y = Elu (X)
}
"""
WRONG = {"no_operator": "selu (X) => (Y) opset 9\n{\n}\n",
         "no_arrow": "aten::selu (X) (Y) opset 9\n{\n}\n",
         "twice": "aten::selu (X, X) => (Y) opset 9\n{\n}\n",
         "no_opset": "aten::selu (X) => (Y)\n{\n}\n",
         "open": "\naten::selu (X) => (Y) opset 9\n{\n  Y = Elu (X)\n",
         "nodes": "aten::selu (X) => (Y) opset 9\n{\n  Y = Elu <alpha: float @a> (X)\n}\n",
         "unknown": "aten::selu (X) => (Y) opset 9\n{\n  Y = Elux (X)\n}\n",
         "attribute": "aten::selu (X) => (Y) opset 9\n{\n  Y = Elu <alpha: float = @a> (X)\n}\n",
         "unmade": "aten::selu (X) => (Z) opset 9\n{\n  Y = Elu (X)\n}\n",
         "arity": "aten::selu (X, a) => (Y) opset 9\n{\n  Y = Elu (X)\n}\n",
         "again": "aten::selu (X) => (Y) opset 9\n{\n  Y = Elu (X)\n}\n" * 2,
         "script": "aten::selu torchscript\n  def f(x):\n    return undefined(x)\n",
         "no_script": "aten::selu torchscript\naten::relu torchscript\n",
         "no_expression": "schema lib::f(Tensor x) -> Tensor\n",
         "other_schema": "schema aten::selu(Tensor x, int n) -> Tensor = x\n",
         "old": "aten::selu (X) => (Y) opset 9\n{\n  Z = Clip <min: float = 0.0> (X)\n  Y = Identity (Z)\n}\n"}


def make(folder: pathlib.Path) -> None:
    folder.mkdir()
    for name, model in {"foo": Foo(0.5, 3), "halves": Halves(), "computed": Computed(), "selu": Selu(),
                        "divided": Divided(), "listed": Listed(), "drawn": Drawn(), "weights": Weights(),
                        "named": Named()}.items():
        torch.jit.script(model.eval()).save(str(folder / f"{name}.pt"))
    texts = {"selu": SELU, "foo": FOO + "schema " + SCHEMA + "\n", "foo_only": FOO, "halves": HALVES,
             "per_opset": PER_OPSET, "misspelt": PER_OPSET.replace("aten::selu", "aten::sleu").replace("Elu", "Relu"), **{"wrong_" + name: text for name, text in WRONG.items()}}
    for name, text in texts.items():
        (folder / f"{name}.rules").write_text(text)
    (folder / "foo.schema").write_text(SCHEMA + "\n")
