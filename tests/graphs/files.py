"""The files that exporters and simplifiers write of one model, and which of them give LibTorch's results.

The folder keeps everything that does not depend on this tool: the TorchScript file, inputs, results, the files of the
other exporters and of the simplifiers. The next run takes them from there. Of files with fixed axes, which nobody times,
it keeps the counts only.
"""
import collections
import dataclasses
import importlib
import inspect
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/foreign"))
import environment  # noqa: E402

PACKAGES = ROOT / ".deps/graphs/packages"
WANTED = ["onnx==1.23.2", "onnxscript==0.7.2", "onnx_ir==1.1.0", "onnxslim==0.1.98", "onnxsim==0.8.1",
          "ml_dtypes==0.6.0", "colorama==0.4.6"]
OTHERS = ["reference", "dynamo"]  # and each through the simplifiers
SIMPLIFIERS = ["slim", "sim"]


def enter() -> None:
    """Makes the packages importable, installed when they are missing."""
    problem = environment.prepare(models=True) or environment.install(WANTED, PACKAGES, PACKAGES.parent / "stamp")
    if problem:
        raise SystemExit(problem)
    sys.path.append(str(PACKAGES))
    environment.enter()


def graphs(graph):
    """The graph and those inside it."""
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for g in [*([a.g] if a.HasField("g") else []), *a.graphs]:
                yield from graphs(g)


def counts(path: pathlib.Path) -> dict:
    """Nodes of all graphs, without Constant."""
    import onnx

    nodes = [n for g in graphs(onnx.load(path).graph) for n in g.node if n.op_type != "Constant"]
    return {"nodes": len(nodes), "bytes": path.stat().st_size,
            "operators": dict(collections.Counter(n.op_type for n in nodes))}


def foreign_operators(path: pathlib.Path) -> list[str]:
    """Operators that ONNX does not have."""
    import onnx

    return sorted({f"{n.domain}.{n.op_type}" for g in graphs(onnx.load(path).graph) for n in g.node
                   if n.domain not in ("", "ai.onnx")})


@dataclasses.dataclass(frozen=True)
class Variant:
    family: str   # the file in tests/foreign
    subject: str
    form: str     # traced or scripted
    dynamic: bool  # axis 0 of each input

    @property
    def words(self) -> list[str]:
        return [self.family, self.subject, self.form, "dynamic" if self.dynamic else "fixed"]

    @staticmethod
    def of(words: list[str]) -> "Variant":
        return Variant(*words[:3], words[3] == "dynamic")


def agrees(path: pathlib.Path, runs: list) -> str:
    """Why the file does not give LibTorch's results; nothing when it does."""
    import numpy
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for inputs, expected in runs:
        try:
            outputs = session.run(None, {i.name: v for i, v in zip(session.get_inputs(), inputs)})
        except Exception as e:
            return f"does not run: {str(e)[:100]}"
        if len(outputs) != len(expected):
            return f"{len(outputs)} outputs instead of {len(expected)}"
        for a, b in zip(outputs, expected):
            limit = 1e-3 * max(1.0, float(numpy.abs(b).max(initial=0)))
            if a.shape != b.shape or not numpy.allclose(a, b, rtol=0, atol=limit, equal_nan=True):
                return "differs from LibTorch"
    return ""


def at_batch(arguments, size: int):
    return tuple(a[:1].repeat(size, *[1] * (a.dim() - 1)) if a.dim() else a for a in arguments)


def as_if_trained(module) -> None:
    """Weights that a fresh module has as zeros or ones get numbers beside them: a simplifier would take out what adds
    0 or multiplies by 1, which no trained model has."""
    import torch

    torch.manual_seed(2)
    for name, t in [*module.named_parameters(), *module.named_buffers()]:
        learned = isinstance(t, torch.nn.Parameter) or name.endswith(("running_mean", "running_var"))
        if learned and t.is_floating_point() and t.numel() and bool((t == t.flatten()[0]).all()):
            with torch.no_grad():
                t.add_(0.02 * torch.rand_like(t))


class Files:
    """The files of one model that give LibTorch's results (paths), and why the others do not (said)."""

    def __init__(self, tool: str, variant: Variant, folder: pathlib.Path, others=OTHERS, opset: int = 18,
                 simplifiers=SIMPLIFIERS):
        self.folder, self.variant, self.opset = folder, variant, opset
        self.paths, self.said, self.counts = {}, {}, {}
        self.key = json.dumps([sys.version, *WANTED, *environment.WANTED, *environment.FOR_MODELS, opset, others, simplifiers])
        if not self.taken():
            self.make()
            for name in others:
                self.add(name, lambda out: self.export(out, name == "dynamo"))
                for by in simplifiers if name in self.paths else []:
                    self.add(f"{name}+{by}", lambda out: self.simplify(name, by, out))
            self.keep()
        self.add("ours", lambda out: self.convert(tool, out))
        for by in simplifiers if "ours" in self.paths else []:
            self.add(f"ours+{by}", lambda out: self.simplify("ours", by, out))

    # --- what is kept

    def taken(self) -> bool:
        import numpy

        record = self.folder / "others.json"
        if not record.is_file():
            return False
        found = json.loads(record.read_text())
        if found["key"] != self.key:
            return False
        self.names, self.said = found["names"], found["said"]
        self.counts = found["counts"]
        self.paths = {n: self.folder / f"{n}.onnx" for n in self.counts if (self.folder / f"{n}.onnx").is_file()}
        with numpy.load(self.folder / "runs.npz") as values:
            self.runs = [([values[f"{r}_in{i}"] for i in range(a)], [values[f"{r}_out{i}"] for i in range(b)])
                         for r, (a, b) in enumerate(found["runs"])]
        return True

    def keep(self) -> None:
        import numpy

        values = {f"{r}_{way}{i}": v for r, run in enumerate(self.runs) for way, side in zip(["in", "out"], run)
                  for i, v in enumerate(side)}
        numpy.savez(self.folder / "runs.npz", **values)
        (self.folder / "others.json").write_text(json.dumps({
            "key": self.key, "names": self.names, "said": self.said, "counts": self.counts,
            "runs": [(len(a), len(b)) for a, b in self.runs]}))

    def forget(self, all: bool) -> None:
        """Removes our files, and those of the others where only their counts are needed."""
        for name, path in self.paths.items():
            if all or name.startswith("ours"):
                path.unlink()

    # --- the model

    def make(self) -> None:
        import cases
        import torch

        v = self.variant
        module = importlib.import_module(v.family)
        key = next(c for c in module.cases(True) if c.subject == v.subject).key
        made = module.make(cases.Case(v.family, v.subject, v.form, key))
        as_if_trained(made.module)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "m.pt"
        arguments = cases.write(made, v.form, path)
        loaded = torch.jit.load(path)
        self.module = cases.only_tensors(made)[0] if v.form == "traced" else loaded
        self.arguments = arguments
        self.names = [a.name for a in loaded.forward.schema.arguments[1:]]
        torch.save(arguments, self.folder / "inputs.pt")

        def arrays(value):
            return [t.numpy() for t in cases.leaves(value) if isinstance(t, torch.Tensor)]

        def run(given):
            with torch.no_grad():
                return arrays(given), arrays(loaded(*given))

        self.runs = [run(arguments)]
        if v.dynamic:
            self.runs.append(run(at_batch(arguments, 3)))

    # --- the files

    def add(self, name: str, make) -> None:
        out = self.folder / f"{name}.onnx"
        try:
            problem = make(out) or agrees(out, self.runs)
            if not problem and (own := foreign_operators(out)):
                problem = f"has {', '.join(own)}"
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:100] if str(e).strip() else ''}"
        if problem:
            self.said[name] = problem
        else:
            self.paths[name], self.counts[name] = out, counts(out)

    def convert(self, tool: str, out: pathlib.Path) -> str:
        axes = [word for n in self.names for word in ("--dynamic-axes", f"{n}:0=batch")] if self.variant.dynamic else []
        run = subprocess.run([tool, str(self.folder / "m.pt"), "--inputs", str(self.folder / "inputs.pt"), "--opset",
                              str(self.opset), "-o", str(out), "--force", "--threads", "1", *axes],
                             capture_output=True, text=True, errors="replace")
        return "" if run.returncode == 0 else run.stderr.strip()[:200] or f"exit code {run.returncode}"

    def export(self, out: pathlib.Path, dynamo: bool) -> None:
        import torch

        more = {}
        if self.variant.dynamic and dynamo:
            batch = torch.export.Dim("batch", min=1, max=64)
            each = tuple({0: batch} for _ in self.arguments)
            named = inspect.signature(self.module.forward).parameters.values()
            more["dynamic_shapes"] = (each,) if any(p.kind == p.VAR_POSITIONAL for p in named) else each
        elif self.variant.dynamic:
            more["dynamic_axes"] = {n: {0: "batch"} for n in self.names}
            more["input_names"] = self.names
        torch.onnx.export(self.module, self.arguments, str(out), dynamo=dynamo, opset_version=self.opset,
                          external_data=False, **more)

    def simplify(self, name: str, by: str, out: pathlib.Path) -> None:
        import onnx

        if by == "slim":
            import onnxslim
            result = onnxslim.slim(onnx.load(self.paths[name]))
        else:
            import onnxsim
            result, _ = onnxsim.simplify(onnx.load(self.paths[name]))
        onnx.save(result, out)
