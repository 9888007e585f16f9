"""Compares the size and the speed of our files with those of other exporters and simplifiers.

    compare.py --build build/release [--jobs N] [--families vision,...] [--filter REGEX] [--full]
               [--report FILE] [--from FILE] [--write-table]

Each model of tests/foreign is traced and converted, with axis 0 of each input dynamic where that works, by the tool, by
torch.onnx.export with dynamo=False and with dynamo=True. onnxslim and onnxsim simplify each file. A file counts when
ONNX Runtime gives LibTorch's result with it, at another batch too. Nodes are those of all graphs, without Constant.
Latency is the median of runs that alternate between all files, on one thread. --report keeps the results, --from shows
those of an earlier run, --write-table writes docs/graphs.md.
"""
import argparse
import collections
import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/foreign"))
import environment  # noqa: E402

PACKAGES = ROOT / ".deps/graphs/packages"
WANTED = ["onnx==1.23.2", "onnxscript==0.7.2", "onnx_ir==1.1.0", "onnxslim==0.1.98", "onnxsim==0.8.1",
          "ml_dtypes==0.6.0", "colorama==0.4.6"]
FAMILIES = ["vision", "timm_models", "transformer_models", "others"]
WHOLE = ["others"]  # families of which --full is not needed for all models
OPSET = 18
LIMIT_S = 600
RUNS = 15
OTHERS = ["reference", "dynamo"]  # and each through the simplifiers


# Why a model has more nodes than another file of it.
REASONS: dict[str, str] = {}

HEAD = """# Graphs

Written by `scripts/compare-graphs --write-table`: models of other people's packages with random
weights (those that are all 0 or all 1 before training are changed a little), traced, converted at opset {opset} with a dynamic batch, by this tool, by
`torch.onnx.export(dynamo=False)` (*reference*) and by `torch.onnx.export(dynamo=True)` (*dynamo*),
and each file through onnxslim and onnxsim. A file counts where ONNX Runtime gives LibTorch's
result with it at two batch sizes; a dash stands for one that was not made or does not. Nodes are
those of all graphs without Constant. Latency is the median of {runs} runs on one thread that
alternate between the files of a model, with another model beside it on two cores: it compares a
row, not rows. Load is the time that ONNX Runtime takes to make a session, memory what a session and a
call of it take. Of two numbers, the first is ours and the second the best of all other files. Of {models} models, {best} have no more nodes than the smallest of all other files.

"""


# --- one model, in a process of its own

def ours(tool: str, path: pathlib.Path, inputs: pathlib.Path, names: list[str], dynamic: bool,
         out: pathlib.Path) -> str:
    axes = [word for n in names for word in ("--dynamic-axes", f"{n}:0=batch")] if dynamic else []
    run = subprocess.run([tool, str(path), "--inputs", str(inputs), "--opset", str(OPSET), "-o", str(out), "--force",
                          "--threads", "1", *axes], capture_output=True, text=True, errors="replace")
    return "" if run.returncode == 0 else run.stderr.strip()[:200] or f"exit code {run.returncode}"


def reference(module, arguments, names, dynamic, out, dynamo: bool):
    import torch

    more = {}
    if dynamic and dynamo:
        batch = torch.export.Dim("batch", min=1, max=64)
        more["dynamic_shapes"] = tuple({0: batch} for _ in arguments)
    elif dynamic:
        more["dynamic_axes"] = {n: {0: "batch"} for n in names}
        more["input_names"] = names
    torch.onnx.export(module, arguments, str(out), dynamo=dynamo, opset_version=OPSET, external_data=False, **more)


def count(graph) -> int:
    nodes = 0
    for n in graph.node:
        nodes += n.op_type != "Constant"
        for a in n.attribute:
            nodes += sum(count(g) for g in [*([a.g] if a.HasField("g") else []), *a.graphs])
    return nodes


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
    """The files of one model that give LibTorch's results, and why the others do not."""

    def __init__(self, tool: str, family: str, subject: str, folder: pathlib.Path, others: list[str]):
        import cases
        import torch

        module = importlib.import_module(family)
        case = next(c for c in module.cases(True) if c.subject == subject and c.form in ("traced", "scripted"))
        made = module.make(cases.Case(case.family, case.subject, "traced", case.key))
        as_if_trained(made.module)
        self.folder, path = folder, folder / "m.pt"
        cases.write(made, "traced", path)
        traced, arguments = cases.only_tensors(made)
        loaded = torch.jit.load(path)
        names = [a.name for a in loaded.forward.schema.arguments[1:]]
        torch.save(arguments, folder / "inputs.pt")
        self.paths, self.said = {}, {}

        def expected(given):
            with torch.no_grad():
                return [t.numpy() for t in cases.leaves(loaded(*given)) if isinstance(t, torch.Tensor)]

        self.runs = [([a.numpy() for a in arguments], expected(arguments))]
        other = at_batch(arguments, 3)
        try:
            self.further = [([a.numpy() for a in other], expected(other))]
            self.dynamic = all(a.dim() for a in arguments)
        except Exception:
            self.dynamic, self.further = False, []

        def convert(dynamic):
            self.add("ours", lambda out: ours(tool, path, folder / "inputs.pt", names, dynamic, out))

        convert(self.dynamic)
        if "ours" in self.said and self.dynamic:  # only the example's size converts
            self.said.clear()
            self.dynamic = False
            convert(False)
        for name in others:
            self.add(name, lambda out: reference(traced, arguments, names, self.dynamic, out, name == "dynamo"))

    def add(self, name: str, make) -> None:
        out = self.folder / f"{name}.onnx"
        try:
            problem = make(out) or agrees(out, self.runs + (self.further if self.dynamic else []))
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:100] if str(e).strip() else ''}"
        if problem:
            self.said[name] = problem
        else:
            self.paths[name] = out


def one(tool: str, family: str, subject: str, folder: pathlib.Path) -> dict:
    import warnings

    warnings.simplefilter("ignore")
    files = Files(tool, family, subject, folder, OTHERS)

    import numpy
    import onnx

    def simplified(name, out, by):
        if by == "slim":
            import onnxslim
            result = onnxslim.slim(onnx.load(files.paths[name]))
        else:
            import onnxsim
            result, _ = onnxsim.simplify(onnx.load(files.paths[name]))
        onnx.save(result, out)

    for name in [n for n in ["ours", *OTHERS] if n in files.paths]:
        for by in ["slim", "sim"]:
            files.add(f"{name}+{by}", lambda out: simplified(name, out, by))
    result = {"family": family, "subject": subject, "dynamic": files.dynamic, "said": files.said, "files": {}}
    for name, file in files.paths.items():
        model = onnx.load(file)
        result["files"][name] = {"nodes": count(model.graph), "bytes": file.stat().st_size,
                                 "operators": dict(collections.Counter(n.op_type for n in model.graph.node))}
    for name, (load, latency) in timed(files.paths, files.runs[0][0]).items():
        result["files"][name].update(load_ms=load, ms=latency)
    numpy.savez(folder / "inputs.npz", *files.runs[0][0])
    for name, file in files.paths.items():
        run = subprocess.run([sys.executable, __file__, "--memory", str(file), str(folder / "inputs.npz")],
                             capture_output=True, text=True, check=True)
        result["files"][name]["memory"] = int(run.stdout)
    return result


def memory(file: str, inputs: str) -> int:
    """Bytes by which a session and a call of it make a fresh process grow."""
    import numpy
    import onnxruntime

    def resident() -> int:
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with numpy.load(inputs) as archive:
        values = [archive[name] for name in archive.files]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    before = resident()
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    session.run(None, {i.name: v for i, v in zip(session.get_inputs(), values)})
    return resident() - before


def timed(files: dict, inputs: list) -> dict:
    """Load time and latency in ms of each file: medians of runs that alternate."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions, loads = {}, {}
    for name, file in files.items():
        start = time.perf_counter()
        sessions[name] = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        loads[name] = 1000 * (time.perf_counter() - start)
    times = {name: [] for name in files}
    for _ in range(RUNS):
        for name, session in sessions.items():
            given = {i.name: v for i, v in zip(session.get_inputs(), inputs)}
            start = time.perf_counter()
            session.run(None, given)
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: (loads[name], statistics.median(t)) for name, t in times.items()}


# --- all of them

def enter() -> None:
    """Makes the packages importable, installed when they are missing."""
    problem = environment.prepare(models=True) or environment.install(WANTED, PACKAGES, PACKAGES.parent / "stamp")
    if problem:
        raise SystemExit(problem)
    sys.path.append(str(PACKAGES))
    environment.enter()


def in_own_process(script: str, tool: str, *subject: str) -> dict:
    """What `script --one SUBJECT... --tool TOOL --folder DIR` prints as JSON, or why nothing: {"failed": reason}."""
    with tempfile.TemporaryDirectory(prefix="graphs_", ignore_cleanup_errors=True) as folder:
        try:
            run = subprocess.run([sys.executable, script, "--one", *subject, "--tool", tool, "--folder", folder],
                                 capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"failed": f"no end within {LIMIT_S} s"}
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"failed": (run.stderr.strip().splitlines() or ["?"])[-1][:300]}


def run_one(tool: str, family: str, subject: str) -> dict:
    return {"family": family, "subject": subject} | in_own_process(__file__, tool, family, subject)

def best(result: dict, key: str) -> tuple[str, float]:
    others = {n: f[key] for n, f in result["files"].items() if n != "ours" and key in f}
    name = min(others, key=others.get, default="")
    return name, others.get(name, float("inf"))


def line_of(result: dict) -> str:
    if "failed" in result:
        return f"{result['family']} {result['subject']}: {result['failed']}"
    files = result["files"]
    if "ours" not in files:
        return f"{result['family']} {result['subject']}: ours: {result['said'].get('ours')}"
    name, fewest = best(result, "nodes")
    fast, ms = best(result, "ms")
    mine = files["ours"]
    others = ", ".join(f"{n} {files[n]['nodes'] if n in files else '-'}" for n in OTHERS)
    more = "MORE " if mine["nodes"] > fewest else ""
    return (f"{more}{result['family']} {result['subject']}: "
            f"{mine['nodes']} nodes, {others}, fewest {fewest} ({name}); {mine['ms']:.2f} ms, fastest {ms:.2f} ({fast})")


def pair(result: dict, key: str, shown) -> str:
    """Ours, and the best of the others where there is one."""
    mine, other = result["files"]["ours"].get(key), best(result, key)[1]
    return "-" if mine is None else shown(mine) + ("" if other == float("inf") else f" / {shown(other)}")


def table(results: list[dict]) -> str:
    text = ["| model | batch | ours | reference | dynamo | fewest of the others | ms | load ms | file MB | memory MB |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        if "ours" not in r.get("files", {}):
            continue
        files = r["files"]
        name, fewest = best(r, "nodes")
        nodes = [str(files[n]["nodes"]) if n in files else "-" for n in ["ours", *OTHERS]]
        cells = [r["subject"], "dynamic" if r["dynamic"] else "fixed", *nodes, f"{fewest} ({name})" if name else "-",
                 pair(r, "ms", "{:.2f}".format), pair(r, "load_ms", "{:.0f}".format),
                 pair(r, "bytes", lambda n: f"{n / 1e6:.2f}"), pair(r, "memory", lambda n: f"{n / 1e6:.0f}")]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def misses(results: list[dict]) -> list[str]:
    """A line for each model of which another file has fewer nodes: by how many, and which."""
    lines = []
    for r in results:
        if "ours" not in r.get("files", {}):
            continue
        name, fewest = best(r, "nodes")
        mine = r["files"]["ours"]
        if mine["nodes"] <= fewest:
            continue
        theirs = r["files"][name]["operators"]
        more = {op: n - theirs.get(op, 0) for op, n in mine["operators"].items() if n > theirs.get(op, 0)}
        fewer = {op: n - mine["operators"].get(op, 0) for op, n in theirs.items() if n > mine["operators"].get(op, 0)}
        counted = [", ".join(f"{n} {op}" for op, n in sorted(d.items()) if op != "Constant") for d in (more, fewer)]
        reason = REASONS.get(r["subject"], "")
        lines.append(f"- {r['subject']}: {mine['nodes'] - fewest} more than {name} ({counted[0]} more, "
                     f"{counted[1] or 'nothing'} fewer). {reason}".strip())
    return lines


def show(results: list[dict], write: bool) -> int:
    text = table(results)
    print(text)
    mine = [r for r in results if "ours" in r.get("files", {})]
    smallest = sum(r["files"]["ours"]["nodes"] <= best(r, "nodes")[1] for r in mine)
    if write:
        head = HEAD.format(opset=OPSET, runs=RUNS, models=len(mine), best=smallest)
        tail = ["", "## Rows with more nodes than another file", "", *misses(mine)] if smallest < len(mine) else []
        (ROOT / "docs/graphs.md").write_text("\n".join([head + text, *tail]) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--filter", default="")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--from", type=pathlib.Path, dest="earlier")
    parser.add_argument("--write-table", action="store_true")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--memory", nargs=2)
    parser.add_argument("--tool")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    if options.memory:
        print(memory(*options.memory))
        return 0
    if options.earlier:
        return show(json.loads(options.earlier.read_text()), options.write_table)
    enter()
    if options.one:
        print(json.dumps(one(options.tool, *options.one, options.folder)))
        return 0
    tool = str(options.build.resolve() / "onnx-export")
    subjects = []
    for family in options.families.split(","):
        cases = importlib.import_module(family).cases(options.full or family in WHOLE)
        seen = dict.fromkeys(c.subject for c in cases if c.form != "shipped")
        subjects += [(family, s) for s in seen if re.search(options.filter, s)]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda s: run_one(tool, *s), subjects):
            results.append(result)
            print(line_of(result), flush=True)
    if options.report:
        options.report.write_text(json.dumps(results, indent=1))
    return show(results, options.write_table)


if __name__ == "__main__":
    sys.exit(main())
