"""Converts the test models and proves them: --verify, then ONNX Runtime at other sizes against torch.

    run_models.py --tool build/release/onnx-export [--quick | --full] [--only NAME,...] [--jobs 2]

--quick: the small variants, each form at one opset. --full: the small ones at every opset of the list
and the true architectures at two. Every conversion counts as one test.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import catalogue  # noqa: E402
import make_models  # noqa: E402

OPSETS = [9, 11, 13, 18, 21, 26]
OPSETS_TRUE = [11, 18]
LIMIT_S = 600  # per conversion


@dataclasses.dataclass
class Task:
    name: str
    form: str
    opsets: list[int]


def plan(options: argparse.Namespace) -> list[Task]:
    tasks = []
    only = set(filter(None, options.only.split(",")))

    def add(models: list[catalogue.Model], opsets) -> None:
        for i, model in enumerate(models):
            for j, form in enumerate(["traced", "scripted"]):
                if getattr(model, form) and (not only or model.name in only):
                    tasks.append(Task(model.name, form, opsets(model, 2 * i + j)))

    def every(model: catalogue.Model, _: int) -> list[int]:
        return ([7] if model.convolutional else []) + OPSETS

    def one(model: catalogue.Model, index: int) -> list[int]:
        choice = every(model, index)
        return [choice[index % len(choice)]]

    if options.opsets:
        chosen = [int(o) for o in options.opsets.split(",")]
        add(catalogue.small() + (catalogue.true() if only else []), lambda m, i: chosen)
    elif options.quick:
        add(catalogue.small(), one)
    else:
        # The largest first, so that no worker is left alone with one at the end.
        add(catalogue.true(), lambda m, i: OPSETS_TRUE)
        add(catalogue.small(), every)
    return tasks


def command(tool: str, model: catalogue.Model, source: pathlib.Path, target: pathlib.Path,
            opset: int) -> list[str]:
    """Dynamic axes are declared inside --input at even opsets, with --dynamic-axes at odd ones."""
    words = [tool, str(source), "-o", str(target), "--force", "--opset", str(opset), "--verify",
             "--verify-runs", str(model.runs), "--threads", "1", "-q"]
    axes = {i.name: {str(n): d for n, d in enumerate(i.dims) if isinstance(d, str)}
            for i in model.inputs}
    for i in model.inputs:
        spec = i.spec(model.sizes)
        if opset % 2:
            for symbol in model.sizes:
                spec = spec.replace(f"{symbol}=", "")
        words += ["--input", spec]
    if opset % 2 and model.sizes:
        words += ["--dynamic-axes", json.dumps({k: v for k, v in axes.items() if v})]
    return words


def flatten(value) -> list:
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in flatten(v)]
    return [value]


def compare(model: catalogue.Model, module, onnx_file: pathlib.Path) -> None:
    """Raises AssertionError at the first size where the two differ."""
    import numpy
    import onnxruntime
    import torch

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(onnx_file), settings,
                                           providers=["CPUExecutionProvider"])
    taken = [i.name for i in session.get_inputs()]
    for seed, sizes in enumerate([model.sizes, *model.other], start=1):
        tensors = model.tensors(sizes, seed)
        if model.name == "loop2":
            tensors = [torch.ones(2, 3, dtype=torch.int64), torch.tensor(9)]
        feed = {i.name: t.numpy() for i, t in zip(model.inputs, tensors)}
        actual = session.run(None, {k: v for k, v in feed.items() if k in taken})
        with torch.no_grad():
            expected = flatten(module(*model.arguments([t.clone() for t in tensors])))
        if model.name == "loop2":
            assert actual[0].tolist() == [[37] * 3] * 2, f"5 -> 9 gives {actual[0].tolist()}, not 37"
        assert len(actual) == len(expected), f"{len(actual)} outputs, torch has {len(expected)}"
        for declared, a, e in zip(session.get_outputs(), actual, expected):
            where = f"{declared.name} at {sizes}"
            assert tuple(a.shape) == tuple(e.shape), f"{where}: shape {a.shape}, torch {e.shape}"
            for dim, size in zip(declared.shape, a.shape):
                assert not isinstance(dim, int) or dim == size, \
                    f"{where}: the file says {declared.shape}, the result has {a.shape}"
            e = e.numpy()
            assert a.dtype == e.dtype, f"{where}: {a.dtype}, torch {e.dtype}"
            if e.dtype.kind in "iub":
                assert numpy.array_equal(a, e), f"{where}: integers differ"
            else:
                scale = max(1.0, float(numpy.abs(e[numpy.isfinite(e)]).max(initial=0)))
                worst = float(numpy.abs(a - e).max(initial=0)) / scale
                assert worst <= model.tolerance, f"{where}: off by {worst:.3g} of the largest value"


def run_task(task: Task, tool: str) -> list[tuple[str, str]]:
    """(label, problem) per conversion; an empty problem is a pass."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    model = catalogue.by_name()[task.name]
    results = []
    with tempfile.TemporaryDirectory(prefix="models_") as folder:
        source = pathlib.Path(folder) / f"{task.name}.{task.form}.pt"
        target = source.with_suffix(".onnx")
        try:
            make_models.make(model, task.form, source)
            module = torch.jit.load(source)
        except Exception:
            return [(f"{task.name} {task.form}", traceback.format_exc(limit=2))]
        for opset in task.opsets:
            label = f"{task.name} {task.form} opset {opset}"
            words = command(tool, model, source, target, opset)
            try:
                run = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
                if run.returncode != 0:
                    raise AssertionError(f"exit code {run.returncode}\n{' '.join(words)}\n"
                                         f"{run.stdout}{run.stderr}".strip())
                compare(model, module, target)
                results.append((label, ""))
            except Exception as e:
                results.append((label, f"{type(e).__name__}: {e}"))
            target.unlink(missing_ok=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="", help="instead of the plan's")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tool = str(pathlib.Path(options.tool).resolve())
    passed = failed = 0
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        running = [pool.submit(run_task, task, tool) for task in plan(options)]
        for done in concurrent.futures.as_completed(running):
            for label, problem in done.result():
                if problem:
                    failed += 1
                    print(f"FAIL {label}\n{problem}", flush=True)
                else:
                    passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
