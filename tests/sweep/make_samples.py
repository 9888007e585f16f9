"""Samples of PyTorch's operator test database as traced TorchScript files, with what PyTorch itself computes for them.

    make_samples.py FOLDER [--ops REGEX] [--dtypes float32,...] [--limit N] [--other-ranks]

Writes FOLDER/0.pt, 1.pt, ... (each calls one operator on the tensors of one sample; what is no tensor is a constant in
it), FOLDER/values.pt (a list of (inputs, results, results in float64)) and FOLDER/samples.json (what each is, and what
was left out for which reason). The results are those of the eager operator, not of the traced file.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import re
import shutil
import sys
import warnings
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/foreign"))  # its names stand behind those of this folder

DTYPES = ["float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64"]
LIMIT = 10  # samples of an operator and dtype, evenly from all of them
# Their results are memory that nobody wrote: equal in two runs, or not.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_",
                 "resize_as_"}
# Off in float64, measured beside mpmath: by up to 9e-7 a little above 5, airy_ai by 6e-6 from -5.5 to -2. Too much for
# a judge of float64.
INEXACT = {"special.airy_ai", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1"}
# Their indices are not those of any particular one among equal elements, unless stable ones are asked for.
ANY_OF_EQUALS = {"sort", "argsort", "topk", "mode", "kthvalue", "median", "nanmedian"}


class LeftOut(Exception):
    """Why a sample cannot judge; the same text for the same reason."""


def database() -> list:
    import environment  # torch.testing asks for a package that lies there

    warnings.simplefilter("ignore")
    environment.enter()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    return op_db


def name_of(op) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def make(op, dtype_name: str, limit: int, folder: pathlib.Path, samples: "Samples", made=None) -> None:
    """Adds the samples of one operator at one dtype; nothing where it does not take the dtype.

    made(op, sample, path) writes the file and yields (suffix of the number, what samples.add() gets of it).
    """
    import torch

    dtype = getattr(torch, dtype_name)
    if dtype not in op.dtypes:
        return
    torch.manual_seed(0)
    try:
        every = list(op.sample_inputs("cpu", dtype))
    except Exception as e:
        samples.leave_out(op, dtype_name, f"its samples cannot be made: {_first_line(e)}")
        return
    count = len(every) if limit <= 0 else min(limit, len(every))
    for k in range(count):
        at = k * len(every) // count
        path = folder / f"{len(samples.values)}.pt"
        try:
            for suffix, values, call in (made or as_it_is)(op, every[at], path):
                own = folder / f"{len(samples.values)}.pt"
                if own != path:
                    shutil.copyfile(path, own)
                samples.add(op, dtype_name, f"{at}{suffix}" if suffix else at, values, call)
        except LeftOut as e:
            samples.leave_out(op, dtype_name, str(e))


def as_it_is(op, sample, path: pathlib.Path):
    yield "", *_traced(op, sample, path)


def at_other_ranks(op, sample, path: pathlib.Path):
    """The traced file on inputs of one rank less and more, where it runs on them."""
    values, call = _traced(op, sample, path)
    for n, (changed, other) in enumerate(_at_other_ranks(path, values[0])):
        yield f".{n}", other, f"{call}, {changed}"


def _at_other_ranks(path: pathlib.Path, inputs):
    """(what is changed, (inputs, results, results in float64)) for each input of another rank that the file takes."""
    import torch

    module, wide = torch.jit.load(str(path)), torch.jit.load(str(path)).double()
    for i, given in enumerate(inputs):
        for less in (True, False):
            if less and (given.dim() == 0 or given.shape[0] == 0):
                continue
            values = list(_copies(inputs))
            values[i] = values[i][0].clone() if less else values[i].unsqueeze(0).contiguous()
            values = tuple(values)
            try:
                results = tuple(_plain(t) for t in _results(module(*_copies(values))))
            except Exception:
                continue
            exact = _in_float64(lambda tensors, _: _results(wide(*tensors)), (), values, results)
            yield f"input {i} of rank {values[i].dim()}", (values, results, exact)


class Samples:
    def __init__(self):
        self.values, self.about, self.left_out = [], [], collections.Counter()

    def add(self, op, dtype, number, values, call):
        self.values.append(values)
        self.about.append({"op": name_of(op), "dtype": dtype, "number": number, "call": call})

    def leave_out(self, op, dtype, reason):
        self.left_out[name_of(op), dtype, reason] += 1

    def write(self, folder: pathlib.Path):
        import torch

        torch.save(self.values, folder / "values.pt")
        left_out = [{"op": op, "dtype": dtype, "reason": reason, "samples": n}
                    for (op, dtype, reason), n in self.left_out.items()]
        (folder / "samples.json").write_text(json.dumps({"samples": self.about, "left_out": left_out}))


def _traced(op, sample, path: pathlib.Path):
    """Writes the file; gives (inputs, results, results in float64) and the call in words."""
    import torch

    if op.name in UNINITIALISED:
        raise LeftOut("its result is uninitialised memory")
    if op.name in INEXACT and sample.input.dtype == torch.float64:
        raise LeftOut("PyTorch's own error in float64 is larger than what is allowed")
    call = (sample.input, sample.args, sample.kwargs)
    inputs = tuple(_plain(t) for t in _tensors(call))
    judged = None  # results; all
    if op.name in ANY_OF_EQUALS and not sample.kwargs.get("stable") and _has_equals(inputs[0]):
        if op.name == "argsort":
            raise LeftOut("its indices are any among equal elements")
        judged = 1

    def run(tensors, arguments=call):
        given = iter(tensors)
        first, args, kwargs = _map(arguments, lambda leaf: next(given) if isinstance(leaf, torch.Tensor) else leaf)
        return _results(op.op(first, *args, **kwargs))[:judged]

    try:
        with _own_seeds():
            before = torch.random.get_rng_state()
            results = tuple(_plain(t) for t in run(_copies(inputs)))
            if not torch.equal(before, torch.random.get_rng_state()):
                raise LeftOut("it draws random numbers")
        again = tuple(_plain(t) for t in run(_copies(inputs)))
    except LeftOut:
        raise
    except Exception as e:
        raise LeftOut(f"PyTorch refuses it: {_first_line(e)}") from e
    if any(a.shape != b.shape or not torch.equal(_bytes(a), _bytes(b)) for a, b in zip(results, again)):
        raise LeftOut("two runs differ")

    def forward(*tensors):
        out = run(tensors)
        return out if len(out) > 1 else out[0]

    try:
        torch.jit.save(torch.jit.trace(forward, _copies(inputs), check_trace=False), str(path))
    except Exception as e:
        raise LeftOut(f"torch.jit refuses it: {_first_line(e)}") from e
    return (inputs, results, _in_float64(run, call, inputs, results)), _words(call)


def _in_float64(run, call, inputs, results):
    """The results computed in float64; None for those that are no floats, or where it cannot be done."""
    import torch

    def wide(leaf):
        if isinstance(leaf, torch.dtype):
            return _wide(leaf)
        return leaf

    nothing = (None,) * len(results)
    if not any(t.is_floating_point() or t.is_complex() for t in results):
        return nothing
    torch.set_default_dtype(torch.float64)
    try:
        exact = run([t.to(_wide(t.dtype)).clone() for t in inputs], _map(call, wide))
        exact = [_plain(t) for t in exact]
    except Exception:
        return nothing
    finally:
        torch.set_default_dtype(torch.float32)
    if [t.shape for t in exact] != [t.shape for t in results]:
        return nothing
    return tuple(z if z.dtype == _wide(r.dtype) and z.dtype in (torch.float64, torch.complex128) else None
                 for z, r in zip(exact, results))


def _wide(dtype):
    import torch

    return torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype


def _plain(t):
    """The tensor with memory of its own in row-major order, as a model's input or output is."""
    import torch

    if t.layout != torch.strided:
        raise LeftOut(f"a {str(t.layout).removeprefix('torch.')} tensor")
    if t.dtype in (torch.uint16, torch.uint32, torch.uint64, torch.complex32):
        raise LeftOut("LibTorch's unpickler does not know its element type")
    if t.is_quantized or t.is_nested:
        raise LeftOut("a quantized or nested tensor")
    return t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


@contextlib.contextmanager
def _own_seeds():
    """Without the database's wrappers, which put the generator's state back behind operators that draw from it."""
    import torch
    import torch.testing._utils as wrappers

    with mock.patch.object(wrappers, "freeze_rng_state", contextlib.nullcontext), \
            mock.patch.object(torch, "manual_seed", lambda seed: None):
        yield


def _has_equals(t) -> bool:
    return t.unique().numel() < t.numel()


def _bytes(t):
    import torch

    return t.reshape(-1).view(torch.uint8)


def _copies(tensors):
    return tuple(t.clone() for t in tensors)


def _results(value) -> tuple:
    """The tensors of a result, flattened."""
    import torch

    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, (list, tuple)) and len(value) > 0:
        return tuple(t for v in value for t in _results(v))
    raise LeftOut("its result is no tensor")


def _map(value, f):
    """`value` with f(leaf) in place of every leaf."""
    if isinstance(value, dict):
        return {k: _map(v, f) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_map(v, f) for v in value])
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_map(v, f) for v in value)
    return f(value)


def _tensors(value) -> list:
    import torch

    found = []

    def visit(leaf):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        return leaf

    _map(value, visit)
    return found


def _words(call) -> str:
    import torch

    def text(leaf):
        if isinstance(leaf, torch.Tensor):
            return f"<{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}>"
        return leaf

    first, args, kwargs = _map(call, text)
    return ", ".join([str(first), *map(str, args), *(f"{k}={v}" for k, v in kwargs.items())])[:300]


def _first_line(e) -> str:
    line = next((line.strip() for line in str(e).splitlines() if line.strip()), "")
    return f"{type(e).__name__}: {re.sub(r'-?[0-9][0-9.]*', '#', line)[:120]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ops", default="", help="regular expression: part of the operator's name")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--limit", type=int, default=LIMIT, help="samples of an operator and dtype; 0: all")
    parser.add_argument("--other-ranks", action="store_true", help="inputs of one rank less and more")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    samples = Samples()
    for op in database():
        if re.search(options.ops, name_of(op)):
            for dtype in options.dtypes.split(","):
                make(op, dtype, options.limit, options.folder, samples, at_other_ranks if options.other_ranks else None)
    samples.write(options.folder)
    print(f"{len(samples.values)} samples, {sum(samples.left_out.values())} left out")


if __name__ == "__main__":
    main()
