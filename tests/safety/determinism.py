"""The same model and options produce the same bytes, whatever machine, folder and environment they are converted in.

    determinism.py --build build/release [--full] [--jobs N] [--figures FILE.json] [MODEL...]

Each model is converted once, then in other circumstances, and the files are compared byte for byte. Models
take turns at the circumstances; --full: all of them for each model, with the weights in a file of their own
too, and the models of tests/models.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import sys
import warnings

import torch
from torch import Tensor, nn

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
OUTSIDE = ("--external-data=always", "--external-data-threshold", "1")


@dataclasses.dataclass
class Model:
    name: str
    path: pathlib.Path
    options: list[str]


@dataclasses.dataclass
class Circumstance:
    name: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()  # variables that are taken away
    umask: int = 0o022
    elsewhere: bool = False  # another working folder, the files by absolute paths
    processor: bool = False  # confined to one processor
    outside: bool = False    # also by default with the weights in a file of their own


def threads(n: int) -> dict[str, str]:
    return {f"{library}_NUM_THREADS": str(n) for library in ("OMP", "MKL", "OPENBLAS")}


CIRCUMSTANCES = [
    Circumstance("again", outside=True),
    Circumstance("1 thread", environment=threads(1)),
    Circumstance("2 threads", environment=threads(2)),
    Circumstance("16 threads", environment=threads(16), outside=True),
    Circumstance("--threads 1", options=("--threads", "1")),
    Circumstance("--threads 16", options=("--threads", "16")),
    Circumstance("one processor", processor=True),
    Circumstance("another folder", elsewhere=True, outside=True),
    Circumstance("C locale", environment={"LC_ALL": "C", "LANG": "C"}),
    Circumstance("German locale", environment={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}),
    Circumstance("Turkish locale", environment={"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"}),
    Circumstance("time zone", environment={"TZ": "Pacific/Kiritimati"}),
    Circumstance("environment", environment={f"EXTRA_{i}": "x" * 1000 for i in range(50)} | {"COLUMNS": "7"},
                 without=("HOME", "USER", "LANG")),
    Circumstance("memory that is not zero", environment={"MALLOC_PERTURB_": "165"}, outside=True),
    Circumstance("umask 0", umask=0),
    Circumstance("umask 077", umask=0o077, outside=True),
    Circumstance("--sandbox off", options=("--sandbox", "off")),
    Circumstance("--verify", options=("--verify",)),
]


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(8, 4, 3, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 7, num_layers=2, bidirectional=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, (h, c) = self.lstm(x)
        return y, h + c


class Branches(nn.Module):
    def forward(self, x: Tensor, n: int):
        total = torch.zeros_like(x)
        if bool(x.sum() > 0):
            total = x * 2
        else:
            total = x - 1
        for i in range(n):
            total = total + x * i
        while bool(total.sum() < 10):
            total = total + 1
        return total


class Mixed(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return x > 0, k // 2 + x.size(0), torch.argmax(x, 1), (x * 100).to(torch.uint8)


class Dict(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"zeta": self.a(x), "alpha": self.b(x), "mid": x.sum()}


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.encode(x)

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return torch.relu(self.shared(x))

    @torch.jit.export
    def decode(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.shared(x)) @ self.shared.weight


class Folded(nn.Module):
    """Constants that are computed at conversion."""

    def forward(self, x: Tensor) -> Tensor:
        grid = torch.linspace(-1.0, 1.0, 33).exp().sin() / 3
        mask = torch.ones(33, 33).triu(1) * -1e4
        return x @ torch.softmax(mask + grid, -1) + grid.pow(0.3).nan_to_num().cumsum(0)


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.randn(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.last = self.last * 0.9 + x
        return torch.tanh(self.last)


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        q = torch.quantize_per_tensor(x, 0.05, 3, torch.quint8)
        return self.fc(torch.dequantize(q))


class Lists(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        parts: list[Tensor] = []
        for row in torch.unbind(x):
            parts.append(torch.nonzero(row > 0).flatten() if row.size(0) > 1 else row)
        return parts


def scripted(net: nn.Module) -> torch.jit.ScriptModule:
    return torch.jit.script(net.eval())


def make(folder: pathlib.Path) -> list[Model]:
    warnings.simplefilter("ignore")  # of quantization, which moves to another package
    torch.manual_seed(5)
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    with torch.no_grad():
        traced = {name: torch.jit.trace(net.eval(), x) for name, net, x in [
            ("conv_traced", Conv(), torch.randn(1, 3, 12, 12)), ("transformer_traced", encoder, torch.randn(2, 5, 16)),
            ("dynamic_quantized", torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(6, 4), nn.ReLU())),
             torch.randn(2, 6))]}
    images, rows = ["--input", "x:n=1x3x12x12"], ["--input", "x:n=2x4"]
    kinds = [("conv", scripted(Conv()), images), ("conv_traced", traced["conv_traced"], []),
             ("conv_fp16", scripted(Conv()), [*images, "--to", "fp16"]),
             ("lstm", scripted(Lstm()), ["--input", "x:t=6xn=2x5"]),
             ("transformer", scripted(encoder), ["--input", "src:n=2xt=5x16"]),
             ("transformer_traced", traced["transformer_traced"], ["--keep-doc-strings"]),
             ("branches", scripted(Branches()), ["--input", "x:n=3", "--input", "n=4"]),
             ("mixed", scripted(Mixed()), ["--input", "x:n=3x4", "--input", "k:n=3@i64=randint(0,9)"]),
             ("dict", scripted(Dict()), rows),
             ("methods", scripted(Several()),
              ["--method", "encode,decode", "--input", "encode.x:2x4", "--input", "decode.x:2x4"]),
             ("folded", scripted(Folded()), ["--input", "x:n=2x33"]),
             ("state", scripted(State()), ["--input", "x:2x3", "--state=io"]),
             ("quantized", scripted(Quantized()), ["--input", "x:n=2x6"]),
             ("dynamic_quantized", traced["dynamic_quantized"], []),
             ("lists", scripted(Lists()), ["--input", "x:3x4"]),
             ("functions", scripted(Conv()), [*images, "--modules-as-functions"]),
             ("guessed", scripted(Conv()), ["--dynamic-axes"])]
    models = []
    for name, module, options in kinds:
        torch.jit.save(module, folder / f"{name}.pt")
        models.append(Model(name, folder / f"{name}.pt", options))
    return models


def of_the_suite(folder: pathlib.Path) -> list[Model]:
    import catalogue
    import make_models

    models = []
    for m in catalogue.small():
        for form in ("traced", "scripted"):
            path = folder / f"{m.name}.{form}.pt"
            if make_models.make(m, form, path):
                models.append(Model(path.stem, path, [w for i in m.inputs for w in ("--input", i.spec(m.sizes))]))
    return models


def locales(folder: pathlib.Path) -> dict[str, str]:
    """Makes the locales whose numbers and letters differ most, where the machine can: variables that name them."""
    for name in ("de_DE", "tr_TR") if shutil.which("localedef") else ():
        harness.run(["localedef", "-i", name, "-f", "UTF-8", folder / f"{name}.UTF-8"], folder)
    return {"LOCPATH": str(folder)}


class Tests:
    def __init__(self, s: harness.Suite, locales: dict[str, str]):
        self.s, self.locales = s, locales

    def converted(self, model: Model, c: Circumstance, outside: bool) -> dict[str, bytes]:
        """The files of a conversion, each run in a folder of its own."""
        words = [*model.options, *(OUTSIDE if outside else ()), *c.options]
        with harness.scratch() as name:
            place = pathlib.Path(name).resolve()
            out = place / ("a b/ü" if c.elsewhere else "out")
            out.mkdir(parents=True)
            variables = {k: v for k, v in harness.environment(**self.locales, **c.environment).items()
                         if k not in c.without}

            def begin() -> None:
                os.umask(c.umask)
                if c.processor:
                    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

            target = out / "model.onnx"
            command = [self.s.tool, model.path if c.elsewhere else os.path.relpath(model.path, out), *words, "-o",
                       target if c.elsewhere else target.name]
            done = harness.run(command, place if c.elsewhere else out, env=variables, preexec_fn=begin)
            assert done.code in (0, 11), f"exit code {done.code}: {done.err[-400:]}"
            return harness.tree(out)

    def compare(self, number: int, model: Model, full: bool) -> None:
        chosen = [c for i, c in enumerate(CIRCUMSTANCES) if full or (i + number) % 3 == 0]
        for outside in (False, True):
            try:
                first = self.converted(model, Circumstance("first"), outside)
            except AssertionError as e:
                return self.s.case(f"{model.name}", lambda e=e: fail(str(e)))
            for c in chosen:
                if not outside or c.outside or full:
                    self.s.case(f"{model.name}{', weights outside' if outside else ''}, {c.name}",
                                lambda c=c, o=outside, first=first: self.same(first, self.converted(model, c, o)))
        return None

    @staticmethod
    def same(a: dict[str, bytes], b: dict[str, bytes]) -> None:
        assert a.keys() == b.keys(), f"files {sorted(a)} and {sorted(b)}"
        for name, data in a.items():
            other = b[name]
            at = next((i for i, (x, y) in enumerate(zip(data, other)) if x != y), min(len(data), len(other)))
            assert data == other, f"{name} differs at byte {at}: {data[at - 40:at + 40]!r}, {other[at - 40:at + 40]!r}"


def fail(why: str) -> None:
    raise AssertionError(why)


def main() -> int:
    s = harness.Suite(__doc__.splitlines()[0], "tests/safety/determinism.py")
    s.parser.add_argument("--full", action="store_true")
    s.parser.add_argument("models", nargs="*", metavar="MODEL")
    options = s.start()
    with harness.scratch() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name).resolve()
        models = make(folder) + (of_the_suite(folder) if options.full else [])
        models = [m for m in models if not options.models or m.name in options.models]
        (folder / "locales").mkdir()
        tests = Tests(s, locales(folder / "locales"))
        made = sorted(p.name for p in (folder / "locales").iterdir())
        for _ in pool.map(lambda i: tests.compare(i, models[i], options.full), range(len(models))):
            pass
    figure = (f"{s.passed} of {s.passed + s.failed} conversions of {len(models)} models byte for byte as the first, in "
              f"{len(CIRCUMSTANCES)} circumstances: threads, folder, locale ({', '.join(made) or 'C'}), time zone, "
              "environment, umask, sandbox")
    print(figure)
    s.figure("The same model and options produce the same bytes", figure)
    return s.end()


if __name__ == "__main__":
    sys.exit(main())
