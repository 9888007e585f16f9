"""Converts a TorchScript file with the tool and compares ONNX Runtime with LibTorch's default executor in Python.

Nothing of the tool's own reference is used: the file is loaded with torch.jit.load and called, here, as its users do.
"""
import copy
import dataclasses
import json
import pathlib
import subprocess

import precise
from cases import leaves, rebuild

LIMIT_S = 300
OPSET = 18
# Of the largest number of a tensor, as rounding goes. What is beyond is judged by a run of LibTorch in float64.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-7}  # float64: ONNX attributes (alpha, epsilon) are single
ROUNDING = 8     # as far from the float64 run as LibTorch is, times this, is as good as LibTorch
SIZES = [1, 2, 3, 5, 7, 4, 6, 11]
# Values at which operators change what they do. NaN and infinities are not among them: kernels of ONNX Runtime (MaxPool)
# differ from LibTorch's there, whatever the file says.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 100.0, -100.0]


@dataclasses.dataclass(frozen=True)
class How:
    tool: str
    training: bool        # converted and run in train mode
    changes: bool         # the module writes its own state
    resized: bool = True  # run at other sizes too
    dynamic: bool = True  # converted with --dynamic-axes
    opset: int = OPSET
    mode: str = "auto"
    # Judged to rounding: not what is quantized, of which --verify knows the steps, nor detectors, whose boxes come in
    # any order where the scores of an image of zeros are equal.
    exact: bool = True
    seeds: int | None = None  # of --verify, for each size; None: its default


@dataclasses.dataclass
class Verdict:
    result: str        # passed, refused, wrong, crash, excluded
    reason: str = ""   # the same for the same cause
    detail: str = ""
    dynamic: bool = False
    runs: int = 0      # compared
    sizes: int = 0     # other sizes compared
    opsets: dict = dataclasses.field(default_factory=dict)  # measure.py: of each opset what came of it
    in_float: bool = False  # the tool said so of a float64 model: ONNX Runtime has no kernel for doubles (OE5003)


class Wrong(Exception):
    pass


class Reference:
    """The file as LibTorch runs it. A module that changes itself is loaded again for every call."""

    def __init__(self, path: pathlib.Path, how: How):
        self.path, self.training, self.changes = path, how.training, how.changes
        self.module = None

    def load(self):
        import torch

        return torch.jit.load(self.path).train(self.training)

    def __call__(self, arguments, seed: int = 0):
        import torch

        if self.module is None or self.changes:
            self.module = self.load()
        torch.manual_seed(seed)
        return leaves(self.module(*copy.deepcopy(arguments)))

    def in_float64(self, arguments):
        import torch

        def wide(value):
            return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

        try:
            module = self.load().double()
            return leaves(module(*rebuild(arguments, map(wide, leaves(arguments)))))
        except Exception:  # it asks for its own types: a mask in half
            return leaves(precise.run(self.load(), copy.deepcopy(arguments)))


def judge(path: pathlib.Path, arguments: tuple, how: How) -> Verdict:
    import torch

    reference = Reference(path, how)
    try:
        first, second = reference(arguments), Reference(path, how)(arguments, seed=1)
    except Exception as e:
        return Verdict("excluded", "LibTorch does not run the file", _first_line(e))
    if any(not torch.equal(a, b) for a, b in zip(map(_exact, first), map(_exact, second))):
        return Verdict("excluded", "random")
    if any(isinstance(leaf, torch.Tensor) and leaf.is_complex() for leaf in first + leaves(arguments)):
        return Verdict("excluded", "complex inputs or outputs")
    verdict = convert(path, arguments, how)
    if verdict.result == "passed":
        try:
            compare(reference, path.with_suffix(".onnx"), arguments, verdict, how.resized)
        except Wrong as e:
            verdict.result, verdict.detail = "wrong", str(e)
            verdict.reason = "wrong"
    return verdict


def _first_line(error) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
    return f"{type(error).__name__}: {lines[-1].strip()}"[:300]


def _exact(leaf):
    import torch

    t = leaf.detach() if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
    if t.is_complex():
        t = torch.view_as_real(t)
    return torch.nan_to_num(t, nan=12345.0) if t.is_floating_point() else t


def convert(path: pathlib.Path, arguments: tuple, how: How) -> Verdict:
    import torch

    dynamic = how.dynamic
    given = path.with_suffix(".inputs.pt")
    torch.save(arguments, given)
    words = [how.tool, str(path), "--inputs", str(given), "-o", str(path.with_suffix(".onnx")), "--force", "--json",
             "--threads", "1", "--opset", str(how.opset), *(["--dynamic-axes"] if dynamic else []),
             "--mode", how.mode, *(["--training", "train"] if how.training else [])]
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return Verdict("crash", f"no end within {LIMIT_S} s", " ".join(words), dynamic)
    if run.returncode == 0:
        return Verdict("passed", dynamic=dynamic, in_float="OE5003" in run.stdout)
    said = f"exit code {run.returncode}: {' '.join(words)}\n{run.stdout[-3000:]}{run.stderr[-3000:]}"
    try:
        document = json.loads(run.stdout)
    except ValueError:
        return Verdict("crash", f"exit code {run.returncode} and no report", said, dynamic)
    reason = "; ".join(sorted(set(problems(document))))
    if run.returncode not in (4, 5) or "this is a bug" in said or "OE5199" in said:
        return Verdict("crash", f"exit code {run.returncode}: {reason}", said, dynamic)
    return Verdict("refused", reason, said, dynamic)


def problems(document) -> list[str]:
    errors = [d for d in document["problems"] if d["severity"] == "error"]
    for e in errors:
        named = e.get("operator") or ""
        yield f"{e['code']} {named + ': ' if named else ''}{e['message'].splitlines()[0]}"[:200]


def compare(reference: Reference, onnx_file: pathlib.Path, arguments: tuple, verdict: Verdict,
            resized: bool) -> None:
    """Raises Wrong at the first difference, at the example, at other values and at other sizes."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(onnx_file), settings, providers=["CPUExecutionProvider"])
    except Exception as e:
        raise Wrong(f"ONNX Runtime does not load it: {e}") from e
    inputs = session.get_inputs()
    if len(inputs) != len(leaves(arguments)):
        raise Wrong(f"the file has {len(inputs)} inputs, the model {len(leaves(arguments))}")
    _run(reference, session, arguments, "the example", verdict, must_run=True)
    for seed, special in [(1, []), (2, []), (3, EDGES)]:
        _run(reference, session, _vary(arguments, seed, special), f"seed {seed}", verdict, must_run=False)
    symbols = {}
    for i, leaf in zip(inputs, leaves(arguments)):
        for axis, dim in enumerate(i.shape):
            if isinstance(dim, str):
                symbols.setdefault(dim, int(leaf.shape[axis]))
    if symbols and resized:
        for turn in range(4):
            sizes = {s: SIZES[(turn + place) % len(SIZES)] if turn < 3 else old + 1 + place
                     for place, (s, old) in enumerate(symbols.items())}
            other = _resize(arguments, inputs, sizes)
            if other is not None and _run(reference, session, other, f"sizes {sizes}", verdict, must_run=False):
                verdict.sizes += 1


def _vary(arguments, seed: int, special: list):
    """Other values of the same kind: the tensors' own, in another order, nearer to zero, and now and then a special one."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def other(leaf):
        if not isinstance(leaf, torch.Tensor) or leaf.numel() == 0:
            return leaf
        flat = leaf.detach().flatten()[torch.randperm(leaf.numel(), generator=generator)].reshape(leaf.shape)
        if leaf.is_floating_point():
            flat = flat * (0.5 + 0.5 * torch.rand(1, generator=generator).item())
            for value in special:
                if abs(value) > 10 and leaf.dtype == torch.float16:
                    continue  # ONNX Runtime runs chains of half operators in float, where nothing overflows
                flat = flat.masked_fill(torch.rand(flat.shape, generator=generator) < 0.05, value)
        return flat

    return rebuild(arguments, map(other, leaves(arguments)))


def _resize(arguments, inputs, sizes):
    import torch

    replaced = []
    for i, leaf in zip(inputs, leaves(arguments)):
        for axis, dim in enumerate(i.shape):
            if isinstance(dim, str):
                if leaf.shape[axis] == 0:
                    return None
                leaf = leaf.index_select(axis, torch.arange(sizes[dim]) % leaf.shape[axis])
        replaced.append(leaf)
    return rebuild(arguments, iter(replaced))


def _run(reference, session, arguments, what: str, verdict: Verdict, must_run: bool) -> bool:
    """False where LibTorch itself refuses these inputs."""
    import torch

    try:
        expected = reference(arguments)
    except Exception as e:
        if must_run:
            raise Wrong(f"{what}: LibTorch ran this a moment ago: {e}") from e
        return False
    feed = {i.name: (leaf.detach() if isinstance(leaf, torch.Tensor) else torch.tensor(leaf, dtype={
        bool: torch.bool, int: torch.int64, float: torch.float64}[type(leaf)])).numpy()
        for i, leaf in zip(session.get_inputs(), leaves(arguments))}
    try:
        actual = session.run(None, feed)
    except Exception as e:
        raise Wrong(f"{what}: ONNX Runtime fails: {e}") from e
    # A list whose length depends on the input is an ONNX sequence.
    outputs = [(declared, one) for declared, value in zip(session.get_outputs(), actual)
               for one in (value if isinstance(value, list) else [value])]
    if len(outputs) != len(expected):
        raise Wrong(f"{what}: {len(outputs)} outputs, LibTorch has {len(expected)}")
    exact = None
    for place, ((declared, a), e) in enumerate(zip(outputs, expected)):
        try:
            _same(declared, a, e, "float32" if verdict.in_float else "float64")
        except Wrong as why:
            where = f"{what}, output {declared.name}: {why}"
            if not isinstance(e, torch.Tensor) or not e.is_floating_point() or a.shape != e.shape:
                raise Wrong(where) from why
            try:
                exact = exact or reference.in_float64(arguments)
            except Exception as no:
                raise Wrong(f"{where} (and no float64 run: {_first_line(no)})") from why
            if not _as_near(a, e, exact[place]):
                raise Wrong(where) from why
    verdict.runs += 1
    return True


def _same(declared, actual, expected, double: str) -> None:
    import numpy
    import torch

    e = expected.detach() if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype={
        bool: torch.bool, int: torch.int64, float: torch.float64}[type(expected)])
    if tuple(actual.shape) != tuple(e.shape):
        raise Wrong(f"shape {tuple(actual.shape)}, LibTorch {tuple(e.shape)}")
    for dim, size in zip(declared.shape, actual.shape):  # a sequence declares none
        if isinstance(dim, int) and dim != size:
            raise Wrong(f"declared as {declared.shape}, the result has {actual.shape}")
    e = e.numpy()
    if actual.dtype != e.dtype:
        raise Wrong(f"{actual.dtype}, LibTorch {e.dtype}")
    if e.dtype.kind in "iub":
        if not numpy.array_equal(actual, e):
            raise Wrong(f"{int((actual != e).sum())} of {e.size} integers differ")
        return
    if not numpy.array_equal(numpy.isnan(actual), numpy.isnan(e)):
        raise Wrong("NaN in other places")
    finite = numpy.isfinite(e)
    if not numpy.array_equal(actual[~finite], e[~finite], equal_nan=True):
        raise Wrong("infinities in other places")
    worst = _distance(actual[finite], e[finite])
    if not worst <= TOLERANCE[double if e.dtype == numpy.float64 else str(e.dtype)]:
        raise Wrong(f"off by {worst:.3g} of the largest value")


def _distance(actual, expected) -> float:
    import numpy

    a, e = actual.astype(numpy.float64), expected.astype(numpy.float64)
    return float(numpy.abs(a - e).max(initial=0)) / max(1.0, float(numpy.abs(e).max(initial=0)))


def _as_near(actual, expected, exact) -> bool:
    """Whether the result is as near to the one in float64 as LibTorch's is; NaN and infinity are where LibTorch has them."""
    import numpy

    e, p = expected.detach().numpy(), exact.detach().numpy()
    finite = numpy.isfinite(e) & numpy.isfinite(p) & numpy.isfinite(actual)
    if not numpy.array_equal(actual[~finite], e[~finite], equal_nan=True):
        return False
    floor = TOLERANCE[str(e.dtype)]
    return _distance(actual[finite], p[finite]) <= ROUNDING * _distance(e[finite], p[finite]) + floor
