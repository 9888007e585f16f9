"""Models that keep state, converted with --state=io and run for 100 calls beside torch.jit.

    over_time.py --tool build/release/onnx-export [--steps N]

The state that a call leaves in state_out is given to the next as state_in; the first one gets the saved
state. LibTorch's module is called as often, without a reset. In the middle the method that resets the
model is run in both, as an ONNX file of its own.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
from typing import List, Optional

import numpy
import onnxruntime
import torch
from torch import Tensor, nn

TOLERANCE = 2e-4  # float32; rounding adds up over the calls


class LstmPolicy(nn.Module):
    """Memory in buffers that are written in place, reset by a method."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(24, 32, num_layers=2)
        self.head = nn.Sequential(nn.Linear(32, 16), nn.ELU(), nn.Linear(16, 6))
        self.register_buffer("hidden", torch.zeros(2, 1, 32))
        self.register_buffer("cell", torch.zeros(2, 1, 32))

    def forward(self, x: Tensor) -> Tensor:
        out, (hidden, cell) = self.rnn(x.unsqueeze(0), (self.hidden, self.cell))
        self.hidden[:] = hidden
        self.cell[:] = cell
        return self.head(out.squeeze(0))

    @torch.jit.export
    def reset_memory(self):
        self.hidden[:] = 0.0
        self.cell[:] = 0.0


class Normalizer(nn.Module):
    """Running mean and variance of what was seen, in attributes of a submodule."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(24))
        self.register_buffer("square", torch.ones(24))
        self.count = 1

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        rate = 1.0 / self.count
        self.mean = self.mean + (x.mean(0) - self.mean) * rate
        self.square = self.square + ((x * x).mean(0) - self.square) * rate
        return (x - self.mean) / (self.square - self.mean * self.mean).clamp(min=1e-3).sqrt()


class GruPolicy(nn.Module):
    """Memory in attributes that are replaced, and a count in the submodule."""

    def __init__(self):
        super().__init__()
        self.normalize = Normalizer()
        self.cell = nn.GRUCell(24, 48)
        self.head = nn.Linear(48, 6)
        self.memory = torch.zeros(1, 48)
        self.last = torch.zeros(1, 6)

    def forward(self, x: Tensor) -> Tensor:
        self.memory = self.cell(self.normalize(x), self.memory)
        self.last = 0.8 * self.last + 0.2 * torch.tanh(self.head(self.memory))
        return self.last

    @torch.jit.export
    def reset_memory(self):
        self.memory = torch.zeros_like(self.memory)
        self.last.zero_()


class KeywordSpotter(nn.Module):
    """A ring buffer of frames, lists of what layers saw last, a word that is said once."""

    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(10, 10, 3) for _ in range(2)])
        self.past = [torch.zeros(1, 10, 2) for _ in range(2)]
        self.register_buffer("ring", torch.zeros(1, 10, 8))
        self.at = 0
        self.full = False
        self.silent = 0
        self.out = nn.Linear(10, 4)

    def forward(self, frame: Tensor):
        x = frame.unsqueeze(-1)
        for i, layer in enumerate(self.layers):
            seen = torch.cat([self.past[i], x], dim=-1)
            self.past[i] = seen[:, :, 1:]
            x = torch.relu(layer(seen)) + x
        self.ring[:, :, self.at] = x.squeeze(-1)
        self.at = (self.at + 1) % 8
        if self.at == 0:
            self.full = True
        ordered = torch.roll(self.ring, -self.at, dims=2)
        weights = torch.arange(8, dtype=torch.float32) / 28
        logits = self.out((ordered * weights).sum(-1))
        word = int(logits.argmax(-1))
        if not self.full or self.silent > 0:
            word = -1
        if word >= 0:
            self.silent = 5
        elif self.silent > 0:
            self.silent -= 1
        return logits, word

    @torch.jit.export
    def reset_memory(self):
        for i in range(len(self.past)):
            self.past[i] = torch.zeros_like(self.past[i])
        self.ring.zero_()
        self.at, self.full, self.silent = 0, False, 0


MODELS = {"lstm_policy": (LstmPolicy, 24), "gru_policy": (GruPolicy, 24),
          "keyword_spotter": (KeywordSpotter, 10)}


class Runtime:
    """An ONNX file with the state it hands on."""

    def __init__(self, file: pathlib.Path):
        self.session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.saved = dict(numpy.load(file.with_suffix(".state.npz")))

    def call(self, state: dict, x: Optional[numpy.ndarray] = None) -> list:
        given = {n: state[n] if n in state else x for n in self.inputs}
        results = dict(zip(self.outputs, self.session.run(None, given)))
        for name in self.saved:
            state[name] = results.pop(name.replace("state_in.", "state_out."))
        return list(results.values())


def results_of(value) -> list:
    """Copies: a result may be the state itself."""
    return [torch.as_tensor(v).numpy().copy() for v in (value if isinstance(value, tuple) else (value,))]


def convert(tool: str, model: pathlib.Path, output: str, *words: str) -> Runtime:
    done = subprocess.run([tool, model.name, "-o", output, "--state", "io", "--verify", "-q", *words],
                          cwd=model.parent, capture_output=True, text=True)
    assert done.returncode == 0, f"{output}: exit code {done.returncode}\n{done.stderr}"
    return Runtime(model.parent / output)


def check(name: str, tool: str, folder: pathlib.Path, steps: int) -> float:
    """The largest difference of any result."""
    torch.manual_seed(0)
    make, width = MODELS[name]
    file = folder / f"{name}.pt"
    torch.jit.script(make().eval()).save(str(file))
    module = torch.jit.load(str(file))
    forward = convert(tool, file, f"{name}.onnx", "--input", f"1x{width}")
    reset = convert(tool, file, f"{name}_reset.onnx", "--method", "reset_memory")
    assert set(reset.saved) <= set(forward.saved), f"other state: {sorted(reset.saved)}"
    state, worst = dict(forward.saved), 0.0
    with torch.no_grad():
        for step in range(steps):
            x = torch.randn(1, width)
            expected, actual = results_of(module(x)), forward.call(state, x.numpy())
            if step == steps // 2:
                module.reset_memory()
                reset.call(state)
            for a, e in zip(actual, expected, strict=True):
                assert a.shape == e.shape, f"call {step}: {a.shape} instead of {e.shape}"
                difference = float(numpy.abs(a.astype(numpy.float64) - e).max())
                assert difference < TOLERANCE, f"call {step}: differs by {difference}"
                worst = max(worst, difference)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    tool = str(pathlib.Path(options.tool).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name in MODELS:
            try:
                worst = check(name, tool, pathlib.Path(work), options.steps)
            except AssertionError as e:
                failed += 1
                print(f"FAIL {name}: {e}")
            else:
                passed += 1
                print(f"{name}: {options.steps} calls, largest difference {worst:.2g}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
