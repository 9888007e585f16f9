"""Files of PyTorch's own quantization (eager, FX, training-aware, dynamic) for each of its engines, converted and run by
ONNX Runtime, beside torch.jit.load(file) in Python.

    quantized.py --build build/release [--only NAME]

An output may differ from LibTorch's by one step of its quantization, and by one more where the layers in front of it
rounded elsewhere too; how many elements differ is printed for every file. LibTorch runs with FBGEMM's kernels: the default
ones are oneDNN's on new processors, which compute transposed convolutions wrongly where the numbers of channels differ
(LibTorch 2.13: by 200 steps and more from FBGEMM and QNNPACK, which agree).
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch
from torch import nn
from torch.ao import quantization as tq
from torch.ao.nn.quantized import FloatFunctional
from torch.ao.quantization import quantize_fx

warnings.simplefilter("ignore")
ENGINES = ("x86", "fbgemm", "onednn", "qnnpack")
# oneDNN's own settings are activations of 8 bits: without VNNI the kernels of LibTorch then saturate sums of two products
# in 16 bits, on other processors they do not.
SETTINGS = {"onednn": "x86"}
ALLOWED_STEPS = 2
# The file runs with FBGEMM's kernels, which round elsewhere; training gives another model each time: 1 to 3 steps seen.
ALLOWED_STEPS_QNNPACK = 4


class Layers(nn.Module):
    """Convolutions of all kinds, residual adds, joins, pools and activations."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8))
        self.second = nn.Sequential(nn.Conv2d(16, 8, 3, stride=2), nn.BatchNorm2d(8), nn.Hardswish())
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8, 5)
        self.add, self.join, self.scale = FloatFunctional(), FloatFunctional(), FloatFunctional()
        self.enter, self.leave = tq.QuantStub(), tq.DeQuantStub()

    def forward(self, x):
        a = self.first(self.enter(x))
        b = self.add.add_relu(a, self.depth(a))
        c = self.pool(self.second(self.join.cat([a, b], 1)))
        c = self.scale.mul(c, torch.sigmoid(c))
        return self.leave(self.head(nn.functional.adaptive_avg_pool2d(c, (1, 1)).flatten(1)))

    def fused(self):
        names = [["first.0", "first.1", "first.2"], ["depth.0", "depth.1"], ["second.0", "second.1"]]
        return tq.fuse_modules_qat(self, names) if self.training else tq.fuse_modules(self, names)


class Plain(nn.Module):
    """What graph mode finds by itself: no stubs, operators of Python."""

    def __init__(self, engine):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1)
        # oneDNN's settings have no transposed convolutions.
        self.norm, self.up = nn.GroupNorm(2, 8), nn.Conv2d(8, 4, 2) if engine == "onednn" else nn.ConvTranspose2d(8, 4, 2, 2)
        self.head = nn.Linear(4, 6)

    def forward(self, x):
        a = nn.functional.relu(self.a(x))
        b = nn.functional.leaky_relu(self.b(a), 0.1) + a
        c = self.up(self.norm(torch.cat([a, b], 1)[:, 4:12])).mean([2, 3])
        return nn.functional.softmax(self.head(c), 1)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.rnn, self.head = nn.Embedding(20, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, ids):
        y, (h, c) = self.rnn(self.table(ids))
        return self.head(y), h, c


def images(n=2):
    return torch.randn(n, 3, 12, 12)


def eager(engine):
    m = Layers().eval().fused()
    m.qconfig = tq.get_default_qconfig(SETTINGS.get(engine, engine))
    tq.prepare(m, inplace=True)
    m(images(8))
    return tq.convert(m)


def trained(engine):
    m = Layers().train().fused()
    m.qconfig = tq.get_default_qat_qconfig(SETTINGS.get(engine, engine))
    tq.prepare_qat(m, inplace=True)
    for _ in range(3):
        m(images(8))
    return tq.convert(m.eval())


def graph(engine):
    settings = tq.get_default_qconfig_mapping(SETTINGS.get(engine, engine))
    m = quantize_fx.prepare_fx(Plain(engine).eval(), settings, (images(),))
    m(images(8))
    return quantize_fx.convert_fx(m)


def graph_trained(engine):
    settings = tq.get_default_qat_qconfig_mapping(SETTINGS.get(engine, engine))
    m = quantize_fx.prepare_qat_fx(Plain(engine).train(), settings, (images(),))
    m(images(8))
    return quantize_fx.convert_fx(m.eval())


def dynamic(_):
    return tq.quantize_dynamic(Words().eval(), {nn.LSTM, nn.Linear}, dtype=torch.qint8)


def table(_):
    m = Words().eval()
    m.table.qconfig = tq.float_qparams_weight_only_qconfig
    tq.prepare(m, inplace=True)
    return tq.convert(m)


torch.manual_seed(0)
WORDS = [torch.arange(12).reshape(3, 4) % 7], [torch.arange(10).reshape(2, 5)], "ids:0=n,1=t"
IMAGES = [images()], [images(1)], "x:0=n"
CASES = {"eager": (eager, *IMAGES), "trained": (trained, *IMAGES), "graph": (graph, *IMAGES),
         "graph_trained": (graph_trained, *IMAGES), "dynamic": (dynamic, *WORDS), "table": (table, *WORDS)}


def compare(session, module, inputs):
    """The share of elements that differ, and the largest difference in steps of a 127th of the output's range."""
    with torch.no_grad():
        results = module(*inputs)
    flat = []

    def add(value):
        for v in value if isinstance(value, (tuple, list)) else [value]:
            flat.append(v) if isinstance(v, torch.Tensor) else add(v)

    add(results)
    share = steps = 0.0
    actual = session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs, strict=True)})
    for a, e in zip(actual, flat, strict=True):
        e = e.numpy()
        assert a.shape == e.shape and a.dtype == e.dtype, f"{a.dtype} {a.shape}, expected {e.dtype} {e.shape}"
        levels = numpy.unique(e)  # of a quantized output they are whole steps apart
        gaps = numpy.diff(levels)
        step = max(float(gaps[gaps > 1e-6].min()) if (gaps > 1e-6).any() else 0.0, float(numpy.abs(e).max()) / 127)
        difference = numpy.abs(a - e)
        share = max(share, float((difference > step / 2).mean()))
        steps = max(steps, float(difference.max()) / step)
    return share, steps


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, example, other, axes) in CASES.items():
            for engine in ENGINES:
                for form in ("traced", "scripted"):
                    label = f"{name} {engine} {form}"
                    if options.only not in label:
                        continue
                    try:
                        print(label, one(options.build, pathlib.Path(folder), make, engine, form, example, other, axes))
                        passed += 1
                    except AssertionError as e:
                        print(f"FAIL {label}: {e}")
                        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


def one(build, folder, make, engine, form, example, other, axes) -> str:
    torch.manual_seed(0)
    torch.backends.quantized.engine = engine
    module = make(engine)
    file, target = folder / "model.pt", folder / "model.onnx"
    with torch.no_grad():
        script = torch.jit.trace(module, tuple(example)) if form == "traced" else torch.jit.script(module)
    torch.jit.save(script, str(file))
    torch.save(tuple(example), folder / "inputs.pt")
    torch.backends.quantized.engine = "fbgemm"
    run = subprocess.run([str(build / "onnx-export"), str(file), "--inputs", str(folder / "inputs.pt"), "-o", str(target),
                          "--force", "--dynamic-axes", axes, "--verify"], capture_output=True, text=True)
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stdout}{run.stderr}"
    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    loaded = torch.jit.load(str(file))
    worst = [compare(session, loaded, x) for x in (example, other)]
    share, steps = max(s for s, _ in worst), max(s for _, s in worst)
    text = f"{share:.2%} of the elements differ, by {steps:.2f} steps at most"
    assert steps <= (ALLOWED_STEPS_QNNPACK if engine == "qnnpack" else ALLOWED_STEPS), text
    return text


if __name__ == "__main__":
    sys.exit(main())
