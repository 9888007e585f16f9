"""Writes random TorchScript programs as golden cases (tests/ops/README.md).

    generate.py OUT.test --count 100 --seed 1

Programs have typed names and known sizes, so that most of them run; each is then run by LibTorch on several inputs
and sizes. One that raises on the example, meets infinities, or whose results jump when the inputs move a little is
left out: a difference between two runtimes must mean something.
"""
import argparse
import contextlib
import copy
import importlib.util
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from scope import BOOL, DOUBLE, FLOAT, INT, INT32, Dict, List, Number, Part, Shared, Stuck, Tensor  # noqa: E402
from script_cases import PRELUDE  # noqa: E402
from statements import Function, literal, values  # noqa: E402

LARGEST = 1e4  # of any number that comes out
LONGEST = 10   # seconds that LibTorch may take for a program
MOVED = 2e-6   # how far the inputs move
EXAMPLE = {"n": 4, "m": 3}
SIZES = [{"n": 6, "m": 5}, {"n": 3, "m": 2}, {"n": 2, "m": 4}, {"n": 1, "m": 1}, {"n": 0, "m": 2}, {"n": 5, "m": 3},
         {"n": 9, "m": 7}]


def input_types(r):
    inputs = {"x": Tensor(FLOAT, r.choice([("n", 3), ("n", 3), ("n", 4), ("n", 2, 3), ("n",), ("n", "m"), (3, "n")]))}
    more = [("y", lambda: Tensor(r.choice([FLOAT, FLOAT, FLOAT, DOUBLE]),
                                 r.choice([("n", 3), (3,), (2, 3), ("n",), (3, 3), ("n", 1), (1, 3), ("m", 3)]))),
            ("z", lambda: Tensor(r.choice([INT, INT, INT, INT32]), r.choice([("n",), (3,), ("n", 3), (2,), ()]))),
            ("u", lambda: Tensor(BOOL, r.choice([("n",), ("n", 3), (3,)]))),
            ("k", lambda: Number("int")), ("s", lambda: Number("float")), ("q", lambda: Number("bool"))]
    wanted = {"y": 0.75, "z": 0.7, "u": 0.15, "k": 0.45, "s": 0.2, "q": 0.15}
    for name, make in more:
        if r.random() < wanted[name]:
            inputs[name] = make()
    return inputs


def write_program(seed):
    """(source, inputs): one program, legal as far as its types say."""
    r = random.Random(seed)
    shared = Shared(r)
    part = Part("Model")
    shared.parts.append(part)
    f = Function(shared, part)
    inputs = input_types(r)
    f.vars = dict(inputs)
    if r.random() < 0.5:
        f.attributes(fresh=True)
    if r.random() < 0.5:  # leave the inputs alone half of the time
        f.readonly |= {n for n, t in inputs.items() if isinstance(t, Tensor)}
        name, t = f.tensor_named()
        f.declare(t, f"{name}.clone()")
    shared.budget = r.choice([4, 6, 8, 10, 12, 16, 20])
    while shared.budget > 0:
        f.statement()
    if f.returns:
        f.emit(f"return {f.result()}")
    else:
        f.emit(f"return {final_result(f)}")
    return source_of(shared, part, inputs, f), inputs


def final_result(f):
    """Several names, those that began last and those that views and writes went through first."""
    found = [n for n, t in f.vars.items() if isinstance(t, (Tensor, Number)) and not n.startswith("self.")]
    found += [n for n, t in f.vars.items() if n.startswith("self.")]
    found += [n for n, t in f.vars.items() if isinstance(t, (List, Dict)) and (not isinstance(t, List) or t.length)
              and f.chance(0.5)]
    kept = [n for n in found if n.startswith("t")][-3:]
    rest = [n for n in found if n not in kept]
    f.rng.shuffle(rest)
    names = (kept + rest)[:f.rng.choice([2, 3, 4, 5, 6])]
    f.rng.shuffle(names)
    return ", ".join(names)


def source_of(shared, main, inputs, f):
    from scope import annotation
    texts = list(shared.functions)
    for part in reversed(shared.parts):
        lines = [f"class {part.name}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
        for name, (t, text) in part.attributes.items():
            attribute = name.removeprefix("self.")
            lines.append(f"        self.register_buffer('{attribute}', {text})" if isinstance(t, Tensor)
                         else f"        {name} = {text}")
        lines += [f"        self.{attribute} = {name}()" for attribute, name in part.children]
        lines += part.methods
        if part is main:
            typed = ", ".join(f"{n}: {annotation(t)}" for n, t in inputs.items())
            lines.append(f"    def forward(self, {typed}):")
            lines += ["    " + line for line in f.lines]
        texts.append("\n".join(lines))
    return "\n".join(texts) + "\nmodel = Model()\n"


# --- inputs

def dims_at(t, sizes):
    return tuple(sizes.get(d, d) for d in t.shape)


def make_values(r, inputs, sizes):
    """name -> plain value (nested lists, numbers)."""
    made = {}
    for name, t in inputs.items():
        if isinstance(t, Tensor):
            made[name] = values(r, t.dtype, dims_at(t, sizes))
        else:
            made[name] = {"int": r.randrange(0, 6), "float": r.randrange(-16, 17) / 8, "bool": r.random() < 0.5}[t.kind]
    return made


def torch_values(inputs, made, sizes, move=None):
    out = []
    for name, t in inputs.items():
        v = made[name]
        if isinstance(t, Tensor):
            v = torch.tensor(v, dtype=getattr(torch, t.dtype)).reshape(dims_at(t, sizes))
            if move is not None and v.is_floating_point():
                v = v + MOVED * torch.empty_like(v).uniform_(-1, 1, generator=move)
        elif move is not None and t.kind == "float":
            v = v + MOVED * 0.5
        out.append(v)
    return out


def spec(name, t, made, sizes, heading):
    """A line of `-- inputs`, or a word of `-- also`."""
    if isinstance(t, Number):
        return f"{name} = {json.dumps(made)}" if heading else f"{name}={json.dumps(made)}"
    dims = "x".join(map(str, dims_at(t, sizes))) or "scalar"
    text = json.dumps(made, separators=(",", ":"))
    empty = 0 in dims_at(t, sizes)
    if heading:
        return f"{name}: {'' if dims == 'scalar' else dims}@{t.dtype}" + ("" if empty else f" = {text}")
    return f"{name}:{dims}" + ("" if empty else f"={text}")


# --- running

def flatten(v):
    if isinstance(v, (tuple, list)):
        return [x for e in v for x in flatten(e)]
    if isinstance(v, dict):
        return [x for e in v.values() for x in flatten(e)]
    return [] if v is None else [v]


def tame(results):
    for v in results:
        if isinstance(v, torch.Tensor):
            # None of a size that is empty is a result; a huge one costs time.
            if v.numel() > 5000 or (v.numel() and not bool((v.double().abs() < LARGEST).all())):
                return False
        elif not abs(float(v)) < LARGEST:
            return False
    return True


def close(a, b):
    """Whether results of inputs that moved a little are those of the inputs."""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if isinstance(x, torch.Tensor):
            if x.shape != y.shape or x.dtype != y.dtype:
                return False
            if x.is_floating_point():
                if not torch.allclose(x, y, atol=2e-4, rtol=2e-4):
                    return False
            elif not torch.equal(x, y):
                return False
        elif isinstance(x, float):
            if abs(x - y) > 2e-4 * (1 + abs(x)):
                return False
        elif x != y:
            return False
    return True


class Undefined(Exception):
    pass


class Defined(TorchDispatchMode):
    """Refuses what LibTorch computes without saying what it should be.

    `x.sub_(x[0])`: what an operand that is part of the target gives depends on the order of a kernel.
    `x.index_add_(0, i, y)`: nobody looks at the indices where x is empty.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = list(zip(func._schema.arguments, args))
        targets = [v for a, v in given if isinstance(v, torch.Tensor) and a.alias_info and a.alias_info.is_write]
        for name, v in (kwargs or {}).items():
            if name == "out":
                targets.append(v)
        operands = [v for a, v in given for v in (v if isinstance(v, (list, tuple)) else [v])
                    if isinstance(v, torch.Tensor) and not any(v is t for t in targets)]
        by_index = any(word in func._schema.name for word in ("index", "scatter", "put"))
        for t in targets:
            if overlaps_itself(t) or any(clash(t, v, by_index) for v in operands):
                raise Undefined("an operand overlaps the target")
        if any(word in func._schema.name for word in ("index", "scatter", "gather")) and len(args) > 2 and \
                isinstance(args[0], torch.Tensor) and isinstance(args[2], torch.Tensor):
            if args[0].numel() == 0 and args[2].numel() > 0:
                raise Undefined("indices into an empty tensor")
        return func(*args, **(kwargs or {}))


def places(t):
    return torch.arange(t.untyped_storage().nbytes()).as_strided(t.size(), t.stride(), t.storage_offset()).flatten()


def overlaps_itself(t):
    return t.numel() > 1 and t.untyped_storage().nbytes() < t.numel() * t.element_size() or \
        len(set(places(t).tolist())) < t.numel()


def clash(target, v, by_index):
    if v.untyped_storage().data_ptr() != target.untyped_storage().data_ptr() or 0 in (v.numel(), target.numel()):
        return False
    if not set(places(v).tolist()) & set(places(target).tolist()):
        return False
    same = (v.size(), v.stride(), v.storage_offset()) == (target.size(), target.stride(), target.storage_offset())
    # One element has no strides to speak of: whether LibTorch sees the overlap is chance.
    return by_index or not same or v.numel() == 1


class Scripted:
    """Compiles sources and runs them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.eager = None  # what was compiled last
        torch._C._jit_set_profiling_executor(False)
        torch._C._get_graph_executor_optimize(False)

    def compile(self, source, name):
        file = self.folder / f"{name}.py"
        file.write_text(PRELUDE + source)
        module_spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(module_spec)
        sys.modules[name] = module
        try:
            module_spec.loader.exec_module(module)
            self.eager = module.model.eval()
            return torch.jit.script(self.eager)
        finally:
            del sys.modules[name]

    def ends(self, model, runs):
        """Whether all come to an end, in a process that a limit stops: a list may grow in the loop over it."""
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
                for arguments in runs:
                    with contextlib.suppress(Exception):
                        self.run(model, arguments)
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1] == 0

    def run_by_default(self, arguments):
        """What was compiled last, with the passes of LibTorch's default executor."""
        torch._C._jit_set_profiling_executor(True)
        torch._C._get_graph_executor_optimize(True)
        try:
            return self.run(torch.jit.script(copy.deepcopy(self.eager)), arguments)
        finally:
            torch._C._jit_set_profiling_executor(False)
            torch._C._get_graph_executor_optimize(False)

    def run(self, model, arguments, strict=False):
        model = copy.deepcopy(model)
        with torch.inference_mode(), Defined() if strict else contextlib.nullcontext():
            return flatten(model(*arguments))


def try_program(scripted, seed, why, write=write_program):
    """The golden case, or None; `why` counts the reasons."""
    try:
        source, inputs = write(seed)
    except Stuck:
        why["stuck"] = why.get("stuck", 0) + 1
        return None
    r = random.Random(seed + 1)
    try:
        model = scripted.compile(source, f"random_{seed}")
    except Exception as e:
        text = str(e).strip().split("\n")[0][:60]
        why["compile: " + text] = why.get("compile: " + text, 0) + 1
        return None
    runs = []
    drawn = [(sizes, make_values(r, inputs, sizes)) for sizes in [EXAMPLE] + SIZES + SIZES[:2]]
    if not scripted.ends(model, [torch_values(inputs, made, sizes) for sizes, made in drawn]):
        why["no end"] = why.get("no end", 0) + 1
        return None
    for sizes, made in drawn:
        try:
            results = scripted.run(model, torch_values(inputs, made, sizes))
            moved = [scripted.run(model, torch_values(inputs, made, sizes, torch.Generator().manual_seed(k)))
                     for k in range(2)]
            good = tame(results) and all(close(results, m) for m in moved)
            if good:
                scripted.run(model, torch_values(inputs, made, sizes), strict=True)
            reason = "not tame"
            # A write to an element of a list that is never read again is dropped by LibTorch's passes (OE0609).
            if good and sizes is EXAMPLE and not close(results, scripted.run_by_default(torch_values(inputs, made, sizes))):
                good, reason = False, "LibTorch's passes change it"
        except Exception as e:
            good, reason = False, "raises: " + str(e).strip().split("\n")[-1][:60]
        if good:
            runs.append((sizes, made))
        elif sizes is EXAMPLE:
            why[reason] = why.get(reason, 0) + 1
            return None
    others = {s["n"] for s, _ in runs if s["n"] > 1}
    if len(others) < 3:
        why["few sizes"] = why.get("few sizes", 0) + 1
        return None
    return case_text(seed, source, inputs, runs)


def case_text(seed, source, inputs, runs):
    sizes, made = runs[0]
    lines = [f"## seed {seed}", source.rstrip(), "-- python", "-- inputs"]
    lines += [spec(n, t, made[n], sizes, True) for n, t in inputs.items()]
    axes = [f"{n}:" + ",".join(f"{i}={d}" for i, d in enumerate(t.shape) if isinstance(d, str))
            for n, t in inputs.items() if isinstance(t, Tensor) and any(isinstance(d, str) for d in t.shape)]
    lines.append("-- dynamic " + " ".join(axes))
    for sizes, made in runs[1:]:
        lines.append("-- also " + " ".join(spec(n, t, made[n], sizes, False) for n, t in inputs.items()))
    lines.append("-- no-seeds the values are given")
    lines.append("-- tolerance 5e-4 sums are taken in another order")
    return "\n".join(lines) + "\n\n"


def generate(out, count, seed, write=write_program):
    """Writes `count` cases; returns how many programs were left out, by reason."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    why, made = {}, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as files:
        scripted = Scripted(folder)
        target = files.enter_context(open(out, "w"))
        target.write(f"# random programs from seed {seed} on\n\n")
        while made < count:
            text = try_program(scripted, seed, why, write)
            seed += 1
            if text:
                target.write(text)
                made += 1
    return why


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    why = generate(options.out, options.count, options.seed)
    for reason, n in sorted(why.items(), key=lambda e: -e[1]):
        print(f"{n:6} left out: {reason}")


if __name__ == "__main__":
    main()
