"""Models of modules that repeat, for --modules-as-functions, and the judge of the files made."""
import pathlib

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, given, made, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(given, made, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(made, made, 3, 1, 1, bias=False)
        self.down = nn.Conv2d(given, made, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.conv2(torch.relu(self.conv1(x))) + self.down(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(Block(3, 3, 1), Block(3, 3, 1))
        self.layer2 = nn.Sequential(Block(3, 6, 2), Block(6, 6, 1))

    def forward(self, x):
        return self.layer2(self.layer1(x)).mean([2, 3])


class Repeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.n1, self.n2 = nn.LayerNorm(4, eps=1e-3), nn.LayerNorm(4, eps=0.5)
        self.h1, self.h2 = nn.Hardtanh(-1.0, 2.0), nn.Hardtanh(-0.5, 0.5)

    def forward(self, x):
        return self.h2(self.h1(self.n2(self.shared(self.n1(self.shared(x))))))


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x):
        if bool(x.sum() > 0):
            y = self.a(x)
        else:
            y = self.b(x)
        return y * 2


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.h = Gate(), Gate()

    def forward(self, x):
        return self.h(self.g(x))


MODELS = {"residual": (Residual, (2, 3, 8, 8)), "repeats": (Repeats, (3, 4)), "flow": (Flow, (3, 4))}


def make(folder: pathlib.Path):
    folder.mkdir()
    for name, (model, shape) in MODELS.items():
        torch.manual_seed(0)
        m = model().eval()
        torch.jit.script(m).save(folder / f"{name}.pt")
        if name != "flow":
            torch.jit.trace(m, torch.ones(shape)).save(folder / f"{name}_traced.pt")


def judge(original: pathlib.Path, written: pathlib.Path):
    """The file computes what the original does at two sizes of the batch, also once the onnx package,
    where there is one, has inlined its functions."""
    import numpy
    import onnxruntime
    forms = [written.read_bytes()]
    try:
        import onnx
        import onnx.inliner
    except ImportError:
        pass
    else:
        whole = onnx.load(written)
        onnx.checker.check_model(whole, full_check=True)
        flat = onnx.inliner.inline_local_functions(whole)
        assert whole.functions and not flat.functions
        forms.append(flat.SerializeToString())
    m = torch.jit.load(original)
    for rows in (1, 5):
        x = torch.randn((rows, *MODELS[original.stem.removesuffix("_traced")][1][1:]))
        for form in forms:
            session = onnxruntime.InferenceSession(form)
            got = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
            numpy.testing.assert_allclose(got, m(x).detach().numpy(), rtol=1e-4, atol=1e-5)
