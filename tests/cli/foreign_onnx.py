"""TorchScript files, and ONNX files of them that PyTorch's own exporter wrote: right ones and wrong ones.

make(folder) writes NAME.pt, NAME.ts.onnx (by torch.onnx.export) and wrong ones: NAME.wrong.onnx is the export of
another module that differs in one line.
"""
import pathlib
import warnings

import onnx_models
import torch
from torch import nn
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils


class Net(nn.Module):
    """Two layers, and what comes between them."""

    def __init__(self, how: str = "gelu"):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)
        self.how = how

    def forward(self, x):
        y = torch.relu(self.first(x))
        if self.how == "silu":
            z = torch.nn.functional.silu(y)
        elif self.how == "tanh":
            z = torch.nn.functional.gelu(y, approximate="tanh")
        else:
            z = torch.nn.functional.gelu(y)
        return torch.softmax(self.last(z), -1)


class Signed(nn.Module):
    """A trace has one of the two branches."""

    def forward(self, x):
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y


class Clean(nn.Module):
    """`wrong` forgets what becomes of NaN."""

    def __init__(self, wrong: bool = False):
        super().__init__()
        self.wrong = wrong

    def forward(self, x):
        return torch.relu(x) if self.wrong else torch.relu(torch.nan_to_num(x))


class Step(nn.Module):
    """`wrong` takes the other side at zero."""

    def __init__(self, wrong: bool = False):
        super().__init__()
        self.wrong = wrong

    def forward(self, x):
        return torch.where(x > 0 if self.wrong else x >= 0, x + 1, x - 1)


class Two(nn.Module):
    def forward(self, a, b, n: int = 2):
        return a - b * n, torch.cat([a, b], 0)


class Skips(nn.Module):
    """PyTorch's exporter leaves the unused argument out, and numbers the others."""

    def forward(self, a, unused, c):
        return a - c


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x), x * 2


class Ids(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 4)

    def forward(self, ids):
        return self.table(ids).mean(1)


# The exporter asks for the onnx package only to append functions, which these models do not have.
onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, custom_opsets: model_bytes


def export(module: nn.Module, inputs: tuple, path: pathlib.Path, **more) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), dynamo=False, opset_version=17, **more)


class Ranked(nn.Module):
    """The largest of numbers that are often equal; `smallest` takes others."""

    def __init__(self, smallest: bool = False):
        super().__init__()
        self.smallest = smallest

    def forward(self, x):
        steps = torch.floor(2 * x)
        return steps.topk(3, largest=not self.smallest)[1], steps.sum(1)


class Nearest(nn.Module):
    """The place of the largest step: the last of equal ones, or `wrong`, the smallest's."""

    def __init__(self, how: str = ""):
        super().__init__()
        self.how = how

    def forward(self, x):
        steps = torch.floor(2 * x)
        if self.how == "last":
            return steps.shape[1] - 1 - steps.flip(1).argmax(1)
        return steps.argmin(1) if self.how == "wrong" else steps.argmax(1)


def make(folder: pathlib.Path) -> None:
    torch.manual_seed(3)
    net, x = Net().eval(), torch.randn(2, 6)
    wrong, rough = Net("silu").eval(), Net("tanh").eval()
    wrong.load_state_dict(net.state_dict())
    rough.load_state_dict(net.state_dict())
    torch.jit.script(net).save(str(folder / "mlp.pt"))
    batch = {"input_names": ["in"], "output_names": ["out"], "dynamic_axes": {"in": {0: "rows"}, "out": {0: "rows"}}}
    export(net, (x,), folder / "mlp.ts.onnx", **batch)
    export(wrong, (x,), folder / "mlp.wrong.onnx", **batch)
    export(rough, (x,), folder / "mlp.rough.onnx", **batch)
    export(net, (x,), folder / "mlp.fixed.onnx")
    export(net, (x,), folder / "mlp.weights.onnx", export_params=False)

    torch.jit.script(Signed()).save(str(folder / "signed.pt"))
    export(torch.jit.trace(Signed(), (torch.ones(3),)), (torch.ones(3),), folder / "signed.ts.onnx")

    torch.jit.script(Clean()).save(str(folder / "clean.pt"))
    export(Clean(), (x,), folder / "clean.ts.onnx")
    export(Clean(wrong=True), (x,), folder / "clean.wrong.onnx")

    torch.jit.script(Step()).save(str(folder / "step.pt"))
    export(Step(wrong=True), (x,), folder / "step.wrong.onnx")

    torch.jit.script(Two()).save(str(folder / "pair.pt"))
    a, b = torch.randn(2, 3), torch.randn(4, 3)
    export(torch.jit.script(Two()), (a, a), folder / "pair.ts.onnx", input_names=["p", "q"],
           dynamic_axes={"p": {0: "m"}, "q": {0: "k"}})
    torch.save((b, a), str(folder / "pair_inputs.pt"))

    torch.jit.script(Skips()).save(str(folder / "skips.pt"))
    ports = [onnx_models.value(name, onnx_models.FLOAT, ["n", 3]) for name in ("c.1", "a.1", "y")]
    (folder / "skips.ts.onnx").write_bytes(onnx_models.model(
        [onnx_models.node("Sub", "sub", ["a.1", "c.1"], ["y"])], ports[:2], ports[2:], [], ir=8))

    many = torch.randn(4, 30)
    torch.jit.script(Ranked()).save(str(folder / "ranked.pt"))
    export(Ranked(), (many,), folder / "ranked.ts.onnx")
    export(Ranked(smallest=True), (many,), folder / "ranked.wrong.onnx")
    torch.jit.script(Nearest()).save(str(folder / "nearest.pt"))
    for how in ("last", "wrong"):
        export(Nearest(how), (many,), folder / f"nearest.{how}.onnx")

    torch.jit.script(Noise()).save(str(folder / "noisy.pt"))
    export(Noise(), (x,), folder / "noisy.ts.onnx")

    ids = torch.randint(0, 20, (2, 5))
    torch.jit.script(Ids().eval()).save(str(folder / "tokens.pt"))
    export(torch.jit.load(str(folder / "tokens.pt")), (ids,), folder / "tokens.ts.onnx", input_names=["tokens"],
           dynamic_axes={"tokens": [0, 1]})
