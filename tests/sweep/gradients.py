"""Judges gradients by PyTorch's operator test database: torch.autograd.grad of every differentiable operator.

    gradients.py --build build/release [--ops REGEX] [--dtype float64] [--limit N] [--second] [--opsets 18] [--known]

Each sample becomes a scripted module that calls the operator, weighs its results and returns the gradients of their
sum; with --second it differentiates those again. PyTorch's eager autograd says what they are. Prints operators with
their samples passed, refused and wrong, and the reasons. --known: as a group of the tests; gradients_known.txt names the
operators of which samples may be refused or wrong, with the reason.
"""
import argparse
import collections
import importlib.util
import json
import linecache
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import make_samples  # noqa: E402
import run as sweep  # noqa: E402

MODULE = """import torch
from torch import Tensor, nn

def weighed(y: Tensor) -> Tensor:
    w = torch.cos(torch.arange(y.numel(), dtype=torch.float64) * 0.7 + 0.3).to(y.dtype)
    return (y * w.reshape(y.size())).sum()

class M(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
"""


def weighed(y):
    """The sum of elements that count differently."""
    import torch

    w = torch.cos(torch.arange(y.numel(), dtype=torch.float64) * 0.7 + 0.3).to(y.dtype)
    return (y * w.reshape(y.size())).sum()


def loss_of(results):
    total = 0
    for r in results:
        if r.is_floating_point():
            total = total + weighed(r)
    return total


def gradients_of(run, inputs, wanted, second):
    """The gradients by eager autograd, in the inputs' order."""
    import torch

    own = [t.clone() for t in inputs]
    for i in wanted:
        own[i].requires_grad_(True)
    loss = loss_of(run(own))
    first = torch.autograd.grad([loss], [own[i] for i in wanted], create_graph=second, allow_unused=True)
    if not second:
        return first
    loss = loss_of([g for g in first if g is not None])
    return torch.autograd.grad([loss], [own[i] for i in wanted], allow_unused=True)


def source(count, floats, wanted, second) -> str:
    names = [f"x{i}" for i in range(count)]
    asked = ", ".join(names[i] for i in wanted)
    lines = [f"def forward(self, {', '.join(n + ': Tensor' for n in names)}):"]
    lines += [f"    {names[i]}.requires_grad_(True)" for i in wanted]
    lines += [f"    y = self.f({', '.join(names)})", "    loss = torch.zeros([], dtype=torch.float64)"]
    lines += [f"    loss = loss + weighed({'y' if len(floats) == 1 else f'y[{i}]'})"
              for i, is_float in enumerate(floats) if is_float]
    lines += [f"    g = torch.autograd.grad([loss], [{asked}], create_graph={second})"]
    if second:
        lines += ["    again = torch.zeros([], dtype=torch.float64)"]
        for k in range(len(wanted)):
            lines += [f"    h{k} = g[{k}]", f"    assert h{k} is not None", f"    again = again + weighed(h{k})"]
        lines += [f"    g = torch.autograd.grad([again], [{asked}])"]
    for k in range(len(wanted)):
        lines += [f"    g{k} = g[{k}]", f"    assert g{k} is not None"]
    lines += ["    return " + ", ".join(f"g{k}" for k in range(len(wanted)))]
    return MODULE + "".join(f"    {line}\n" for line in lines)


def write(op, sample, path, second):
    """Writes the module; gives (inputs, gradients, none in float64) and the call in words."""
    import torch

    call = (sample.input, sample.args, sample.kwargs)
    inputs = tuple(make_samples._plain(t) for t in make_samples._tensors(call))

    def run(tensors):
        given = iter(tensors)
        first, args, kwargs = make_samples._map(
            call, lambda leaf: next(given) if isinstance(leaf, torch.Tensor) else leaf)
        return make_samples._results(op.op(first, *args, **kwargs))

    def forward(*tensors):
        out = run(tensors)
        return out if len(out) > 1 else out[0]

    floats = [i for i, t in enumerate(inputs) if t.is_floating_point()]
    if any(t.is_complex() for t in inputs) or not floats:
        raise make_samples.LeftOut("no inputs of real numbers")
    try:
        results = run([t.clone() for t in inputs])
        if any(r.is_complex() for r in results):
            raise make_samples.LeftOut("complex results")
        given = gradients_of(run, inputs, floats, second)
        wanted = [i for i, g in zip(floats, given) if g is not None]
        given = [make_samples._plain(g) for g in given if g is not None]
        again = [g for g in gradients_of(run, inputs, floats, second) if g is not None]
    except make_samples.LeftOut:
        raise
    except Exception as e:
        raise make_samples.LeftOut(f"PyTorch refuses it: {make_samples._first_line(e)}") from e
    if not wanted:
        raise make_samples.LeftOut("no gradient")
    if any(not torch.equal(make_samples._bytes(a), make_samples._bytes(make_samples._plain(b)))
           for a, b in zip(given, again)):
        raise make_samples.LeftOut("two runs differ")
    try:
        traced = torch.jit.trace(forward, tuple(t.clone() for t in inputs), check_trace=False)
        code = path.with_suffix(".py")
        code.write_text(source(len(inputs), [r.is_floating_point() for r in results], wanted, second))
        spec = importlib.util.spec_from_file_location(f"sample_{path.stem}", code)
        python = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(python)
        linecache.clearcache()
        torch.jit.save(torch.jit.script(python.M(traced)), str(path))
    except Exception as e:
        raise make_samples.LeftOut(f"torch.jit refuses it: {make_samples._first_line(e)}") from e
    return (inputs, tuple(given), (None,) * len(given)), make_samples._words(call)


def judge(options, ops, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    samples = make_samples.Samples()

    def made(op, sample, path):
        yield "", *write(op, sample, path, options.second)

    for op in ops:
        if op.supports_autograd and op.name not in make_samples.UNINITIALISED:
            make_samples.make(op, options.dtype, options.limit, folder, samples, made)
    samples.write(folder)
    return sweep.results_of(samples, folder, options.build, options.opsets), samples.left_out


def compare(counts, second) -> int:
    """The operators against those that are known not to pass; prints the closing line of a group."""
    known, order = {}, "second" if second else "first"
    for line in (pathlib.Path(__file__).parent / "gradients_known.txt").read_text().splitlines():
        words, _, reason = line.partition(": ")
        if reason and (words.split()[0] in (order, "both")):
            known[words.split()[2]] = words.split()[1]
    failed = 0
    for op, of_op in sorted(counts.items()):
        bad = {k for k in of_op if k not in ("passed", "in_float")}
        allowed = {"refused": {"refused"}, "wrong": {"refused", "wrong"}}.get(known.get(op, ""), set())
        if not bad <= allowed:
            print(f"FAIL {op}: " + ", ".join(f"{n} {k}" for k, n in sorted(of_op.items())))
        elif known.get(op) == "refused" and not bad:
            print(f"FAIL {op}: every sample passes, but gradients_known.txt names it")
        else:
            continue
        failed += 1
    print(f"{len(counts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--ops", default="", help="regular expression: part of the operator's name")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--opsets", default="18")
    parser.add_argument("--limit", type=int, default=6, help="samples of an operator; 0: all")
    parser.add_argument("--second", action="store_true", help="gradients of gradients")
    parser.add_argument("--known", action="store_true")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if problem := sweep.environment.prepare():
        sys.exit(problem)
    # Both orders may run at once.
    folder = options.build.parent / ("gradients_second" if options.second else "gradients")
    ops = [op for op in make_samples.database() if re.search(options.ops, make_samples.name_of(op))]
    results, left_out = [], collections.Counter()
    for i in range(0, len(ops), 16):
        some, more = judge(options, ops[i:i + 16], folder)
        results += some
        left_out.update(more)
    folder.with_suffix(".json").write_text(json.dumps(results))
    counts = collections.defaultdict(collections.Counter)
    for r in results:
        counts[r["op"]][r["result"]] += 1
    for op, of_op in sorted(counts.items()):
        if set(of_op) - {"passed", "in_float"}:
            print(f"{op}: " + ", ".join(f"{n} {k}" for k, n in sorted(of_op.items())))
    reasons = collections.Counter()
    for (_, _, reason), n in left_out.items():
        reasons[reason] += n
    for reason, n in reasons.most_common(12):
        print(f"left out: {n} {reason}")
    total = sum(counts.values(), collections.Counter())
    whole = sum(not set(c) - {"passed", "in_float"} for c in counts.values())
    print(f"{whole} of {len(counts)} operators with every sample; samples: " +
          ", ".join(f"{n} {k}" for k, n in sorted(total.items())) + f"; {sum(left_out.values())} left out")
    if options.known:
        return compare(counts, options.second)
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
