"""Makes a failing golden `-- python` case smaller while it fails in the same way.

    reduce.py FILE.test [--case NAME] [--golden build/release/golden_tests]

Candidates of one round (a statement left out, a block in place of its statement, an expression in place of a larger
one, a run left out) are written to one file and run together; the smallest that still fails that way is the next case.
"""
import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from generate import MOVED, Scripted, close, tame  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cases_of(path):
    """name -> (source, sections)"""
    found = {}
    for part in re.split(r"^## ", path.read_text(), flags=re.M)[1:]:
        name, rest = part.split("\n", 1)
        source, *sections = re.split(r"^-- ", rest.rstrip() + "\n", flags=re.M)
        found[name.strip()] = (source.strip() + "\n", ["-- " + s.rstrip() for s in sections])
    return found


def text_of(name, source, sections):
    return f"## {name}\n{source.rstrip()}\n" + "\n".join(sections) + "\n\n"


def run(golden, cases, opsets):
    """[(result, message)] of (source, sections, compiled) triples."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file, report = folder / "reduce.test", folder / "report.json"
        file.write_text("# candidates\n\n" + "".join(text_of(str(i), *c[:2]) for i, c in enumerate(cases)))
        for i, c in enumerate(cases):
            torch.jit.save(c[2], folder / f"{i}.pt")
        # Stands for the Python step: the models are made already.
        step = folder / "step"
        step.write_text(f'#!/bin/sh\ncp {folder}/*.pt "$3"\n')
        step.chmod(0o755)
        subprocess.run([golden, "--python", step, "--opsets", opsets, "--report", report, file],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        results = {r["name"]: (r["result"], r["message"]) for r in json.loads(report.read_text())}
    return [results.get(str(i), ("none", "")) for i in range(len(cases))]


def signature(result, message):
    """What has to stay the same: the kind of failure without its numbers and names."""
    line = message.strip().split("\n")[0]
    line = re.sub(r"^opset [\d,]+: ", "", line)
    if "is wrong" in line:
        return result, "shape" if "shape is" in line else "values"
    line = re.sub(r"exported from .* the graph", "the graph", line)
    return result, re.sub(r"[%'\"\w./\[\]-]*\d[%'\"\w./\[\]-]*", "#", line)[:70]


# --- smaller sources

class Edit(ast.NodeTransformer):
    """Applies the k-th possible simplification."""

    def __init__(self, k):
        self.k, self.n, self.done = k, 0, False

    def turn(self):
        self.n += 1
        hit = self.n - 1 == self.k
        self.done = self.done or hit
        return hit

    def visit_body(self, body, keep_one=True):
        out = []
        for s in body:
            if not isinstance(s, (ast.ClassDef, ast.FunctionDef)) or True:
                if not isinstance(s, (ast.Return, ast.Assign)) or not is_fixed(s):
                    if self.turn():
                        continue
            if isinstance(s, ast.If):
                if self.turn():
                    out += s.body
                    continue
                if s.orelse and self.turn():
                    out += s.orelse
                    continue
                if s.orelse and self.turn():
                    s.orelse = []
            if isinstance(s, (ast.For, ast.While)) and self.turn():
                out += s.body
                continue
            out.append(self.visit(s))
        return out or [ast.Pass()]

    def generic_visit(self, node):
        for field in ("body", "orelse"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value:
                setattr(node, field, self.visit_body(value))
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self.expression(value))
            elif isinstance(value, list) and field not in ("body", "orelse"):
                setattr(node, field, [self.expression(v) if isinstance(v, ast.expr) else self.visit(v)
                                      if isinstance(v, ast.AST) else v for v in value])
        return node

    def expression(self, e):
        if isinstance(e, (ast.Name, ast.Constant)):
            return e
        for sub in parts(e):
            if self.turn():
                return sub
        if isinstance(e, (ast.Tuple, ast.List)) and len(e.elts) > 1:
            for i in range(len(e.elts)):
                if self.turn():
                    left = e.elts[:i] + e.elts[i + 1:]
                    return left[0] if isinstance(e, ast.Tuple) and len(left) == 1 and isinstance(e.ctx, ast.Load) \
                        else type(e)(left, e.ctx)
        if isinstance(e, ast.Compare) or isinstance(e, ast.BoolOp):
            for value in (True, False):
                if self.turn():
                    return ast.Constant(value)
        return self.generic_visit(e)


def is_fixed(s):
    return isinstance(s, ast.Return) or (isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "model")


def parts(e):
    """Expressions inside `e` that may stand for it."""
    if isinstance(e, ast.Call):
        if isinstance(e.func, ast.Attribute) and not (isinstance(e.func.value, ast.Name)
                                                      and e.func.value.id in ("torch", "F", "nn", "self")):
            yield e.func.value
        yield from e.args
    elif isinstance(e, ast.BinOp):
        yield from (e.left, e.right)
    elif isinstance(e, ast.UnaryOp):
        yield e.operand
    elif isinstance(e, ast.BoolOp):
        yield from e.values
    elif isinstance(e, ast.IfExp):
        yield from (e.body, e.orelse)
    elif isinstance(e, ast.Subscript) and isinstance(e.ctx, ast.Load):
        yield e.value
    elif isinstance(e, ast.Compare):
        yield e.left


def smaller_sources(source):
    seen = {source}
    k = 0
    while True:
        edit = Edit(k)
        try:
            tree = edit.visit(ast.parse(source))
            if not edit.done:
                return
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            ast.parse(text)
        except (SyntaxError, ValueError, AttributeError):
            text = source
        k += 1
        if text not in seen:
            seen.add(text)
            yield text


def candidates(source, sections):
    for text in smaller_sources(source):
        yield text, sections
    runs = [i for i, s in enumerate(sections) if s.startswith("-- also")]
    for i in runs:
        yield source, sections[:i] + sections[i + 1:]
    if len(runs) > 1:
        for i in runs:
            yield source, [s for j, s in enumerate(sections) if j not in runs or j == i]
    yield from without_inputs(source, sections)


def without_inputs(source, sections):
    """An argument that nothing reads goes, with its values."""
    at = next(i for i, s in enumerate(sections) if s.startswith("-- inputs"))
    heading, *lines = sections[at].split("\n")
    for line in lines:
        name = re.match(r"\w+", line).group()
        forward = source.rfind("def forward(")
        head, body = source[:forward], source[forward:]
        title, rest = body.split("\n", 1)
        if len(lines) < 2 or re.search(rf"\b{name}\b", rest):
            continue
        title = re.sub(rf", {name}: \w+", "", title)
        changed = list(sections)
        changed[at] = "\n".join([heading] + [other for other in lines if other != line])
        for i, s in enumerate(changed):
            if s.startswith("-- also"):
                changed[i] = re.sub(rf" {name}[:=]\S+", "", s)
            elif s.startswith("-- dynamic"):
                changed[i] = re.sub(rf" {name}:\S+", "", s)
        yield head + title + "\n" + rest, changed


class Valid:
    """Compiles a candidate, and says None where LibTorch does not run it or its results jump."""

    def __init__(self, folder):
        self.scripted, self.count = Scripted(folder), 0

    def __call__(self, source, sections):
        self.count += 1
        try:
            model = self.scripted.compile(source, f"candidate_{self.count}")
            for values in arguments_of(sections):
                copies = lambda: [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
                results = self.scripted.run(model, copies())
                self.scripted.run(model, copies(), strict=True)
                moved = [self.scripted.run(model, [move(v, torch.Generator().manual_seed(k)) for v in copies()])
                         for k in range(2)]
                if not tame(results) or not all(close(results, m) for m in moved):
                    return None
            return model
        except Exception:  # whatever it is, the candidate is none
            return None


def move(v, generator):
    if isinstance(v, torch.Tensor) and v.is_floating_point():
        return v + MOVED * torch.empty_like(v).uniform_(-1, 1, generator=generator)
    return v + MOVED if isinstance(v, float) else v


def arguments_of(sections):
    """The values of the example and of every `-- also` run."""
    heading = next(s for s in sections if s.startswith("-- inputs"))
    specs, dtypes, runs = [], {}, []
    for line in heading.split("\n")[1:]:
        if line.strip():
            specs.append(line.strip().replace(": ", ":").replace(" = ", "="))
    runs.append(specs)
    runs += [s.split()[2:] for s in sections if s.startswith("-- also")]
    for run_specs in runs:
        values = []
        for spec in run_specs:
            name, shape, dtype, text = re.fullmatch(r"(\w+)(?::([\dx]*|scalar))?(?:@(\w+))?(?:=(.*))?", spec).groups()
            dtypes.setdefault(name, dtype)
            if shape is None:
                values.append(json.loads(text))
                continue
            dims = [int(d) for d in shape.split("x")] if shape not in ("", "scalar") else []
            data = json.loads(text) if text else torch.zeros(dims).tolist()
            values.append(torch.tensor(data, dtype=getattr(torch, dtypes[name])).reshape(dims))
        yield values


def reduce(golden, source, sections, opsets, wanted=None, rounds=200, say=print):
    with tempfile.TemporaryDirectory() as folder:
        return reduce_in(folder, golden, source, sections, opsets, wanted, rounds, say)


def reduce_in(folder, golden, source, sections, opsets, wanted, rounds, say):
    valid = Valid(folder)
    model = valid(source, sections)
    if model is None:
        say("LibTorch does not run it, or its results jump", file=sys.stderr)
        return None
    result, message = run(golden, [(source, sections, model)], opsets)[0]
    if result not in ("wrong", "refused"):
        return None
    wanted = wanted or signature(result, message)
    tried = set()
    for _ in range(rounds):
        found = [c for c in candidates(source, sections) if (c[0], tuple(c[1])) not in tried]
        found.sort(key=lambda c: len(c[0]) + sum(map(len, c[1])))
        hit = None
        found = iter(found)
        while not hit:
            batch = []
            for c in found:
                tried.add((c[0], tuple(c[1])))
                model = valid(*c)
                if model is not None:
                    batch.append((*c, model))
                if len(batch) == 30:
                    break
            if not batch:
                break
            for c, r in zip(batch, run(golden, batch, opsets)):
                if hit is None and signature(*r) == wanted:
                    hit, message = c[:2], r[1]
        if not hit:
            break
        source, sections = hit
        say(f"{len(source)} characters", file=sys.stderr)
    return source, sections, message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--case")
    parser.add_argument("--golden", default=ROOT / "build/release/golden_tests")
    parser.add_argument("--opsets", default="18")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name, (source, sections) in cases_of(options.file).items():
        if options.case and name != options.case:
            continue
        made = reduce(options.golden, source, sections, options.opsets)
        if made:
            print("# " + made[2].strip().split("\n")[0][:200])
            print(text_of(name, made[0], made[1]), flush=True)


if __name__ == "__main__":
    main()
