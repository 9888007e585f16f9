"""Models that others wrote, unchanged, converted and judged by LibTorch's default executor in Python.

    run.py --tool build/release/onnx-export [--full] [--family NAME,...] [--only TEXT] [--jobs N] [--part K/N]
           [--join REPORT ...] [--write-table] [--models]

A case is a module or model in one form (traced, scripted, or the file that a package ships). It passes when ONNX
Runtime computes what LibTorch computes, at the example, at other values and, with dynamic axes, at other sizes. It is
refused when the tool refuses it by name. Wrong results and crashes are failures, and so are refusals of the sample that
REFUSED does not name. --full runs all cases and takes about an hour; with --write-table it writes docs/foreign.md, of which --join gives the cases that an earlier run (another part, or a
family as a whole) has judged: those are not run again. Every verdict is left in build/foreign/report.json.
--models converts and verifies the models at several opsets instead (measure.py) and writes docs/models.md; cases that a
joined report has are not run again. `--models --full --join docs/models.md --only TEXT --write-table` runs some anew and
takes the other rows from the document.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import importlib
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import environment  # noqa: E402
import measure  # noqa: E402
import table  # noqa: E402
from cases import Case, NotExportable, write  # noqa: E402
from judge import How, Verdict, judge  # noqa: E402

FAMILIES = ["vision", "timm_models", "shipped", "transformer_models", "modules"]
# Cases of the sample (without --full) that may be refused: label -> why.
REFUSED: dict[str, str] = {}
OTHER_OPSETS = [11, 13, 15, 16, 17, 20, 21, 23, 26]


def collect(families: list[str], full: bool) -> list[Case]:
    found = [c for f in families for c in importlib.import_module(f).cases(full)]
    labels = collections.Counter(c.label for c in found)
    assert all(n == 1 for n in labels.values()), f"two cases are called {labels.most_common(1)[0][0]}"
    return sorted(found, key=lambda c: -c.cost)


# What a worker imports once, for the processes that it starts for each case.
HEAVY = {"modules": "torch.testing._internal.common_modules", "vision": "torchvision.models", "timm_models": "timm",
         "transformer_models": "transformers.modeling_utils", "shipped": "torch",
         "quantized_vision": "torchvision.models.quantization",
         "detection": "torchvision.models.detection", "others": "torch"}


_options = {"models": False}


def start(families: list[str], models: bool) -> None:
    environment.enter()
    _options["models"] = models
    for family in families:
        importlib.import_module(HEAVY[family])


def run_case(case: Case, tool: str, full: bool) -> dict:
    """In a process of its own: LibTorch dies of some sizes, and what one case leaves behind is no other's to find."""
    begun = time.monotonic()
    result = isolated(case, tool, full, resized=True)
    if not result:
        result = isolated(case, tool, full, resized=False)
    if not result:
        result = describe(case, Verdict("excluded", "LibTorch crashes on it in Python"))
    return {**result, "seconds": round(time.monotonic() - begun, 2)}


def isolated(case: Case, tool: str, full: bool, resized: bool) -> dict | None:
    """None when the process died."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "w") as report:
                json.dump(case_here(case, tool, full, resized), report)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as report:
        text = report.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def describe(case: Case, verdict: Verdict) -> dict:
    return {"label": case.label, "family": case.family, "subject": case.subject, **dataclasses.asdict(verdict)}


def case_here(case: Case, tool: str, full: bool, resized: bool) -> dict:
    with tempfile.TemporaryDirectory(prefix="foreign_") as folder:
        path = pathlib.Path(folder) / "model.pt"
        try:
            verdict = _judge_case(case, tool, full, resized, path)
        except NotExportable as e:
            verdict = Verdict("excluded", "torch.jit refuses it", str(e))
        except Exception:
            verdict = Verdict("broken", "the case itself fails", traceback.format_exc())
        if verdict.result in ("wrong", "crash") and path.exists():
            kept = ROOT / "build/foreign" / case.label.replace(" ", "_").replace("/", "_")
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            verdict.detail += f"\nkept in {kept.relative_to(ROOT)}"
    return describe(case, verdict)


def _judge_case(case: Case, tool: str, full: bool, resized: bool, path: pathlib.Path) -> Verdict:
    """With dynamic axes; with the example's sizes where that is refused and, of a full run, at other opsets too."""
    family = importlib.import_module(case.family)
    if case.form == "shipped":
        arguments = family.ship(case, path)
    else:
        arguments = write(family.make(case), case.form, path)
    changes = case.training or case.form == "shipped"
    how = How(tool, case.training, changes, resized, mode=case.key[1] if case.form == "shipped" else "auto",
              exact=case.family not in ("quantized_vision", "detection"),
              seeds=1 if case.family == "detection" else None)
    if _options["models"]:
        return measure.measure(path, arguments, how)
    verdict = judge(path, arguments, how)
    if verdict.result == "refused":
        return judge(path, arguments, dataclasses.replace(how, dynamic=False))
    turn = sum(map(ord, case.label))
    if verdict.result == "passed" and full and turn % 4 == 0:
        opset = OTHER_OPSETS[turn // 4 % len(OTHER_OPSETS)]
        other = judge(path, arguments, dataclasses.replace(how, dynamic=False, opset=opset))
        if other.result in ("wrong", "crash"):
            other.detail = f"at opset {opset}: {other.detail}"
            return other
    return verdict


def unexpected(result: dict, sample: bool) -> bool:
    kind = result["result"]
    return kind in ("wrong", "crash", "broken") or (
        kind == "refused" and sample and result["family"] in FAMILIES and result["label"] not in REFUSED)


def summary(results: list[dict]) -> None:
    for kind in "excluded", "refused":
        groups = collections.defaultdict(list)
        for r in results:
            if r["result"] == kind:
                groups[r["reason"]].append(r["label"])
        for reason, labels in sorted(groups.items(), key=lambda g: -len(g[1])):
            print(f"  {kind} {len(labels):4}  {reason}   [{labels[0]}]")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--models", action="store_true", help="models at several opsets, for docs/models.md")
    parser.add_argument("--family", help="some of: " + ", ".join({*FAMILIES, *measure.FAMILIES}))
    parser.add_argument("--only", default="", help="cases whose label contains this")
    parser.add_argument("--part", default="1/1", help="K/N: every Nth case, from the Kth on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build/foreign/report.json")
    parser.add_argument("--join", type=pathlib.Path, action="append", default=[], help="a report of an earlier run")
    parser.add_argument("--write-table", action="store_true", help="docs/foreign.md from this run")
    options = parser.parse_args()
    problem = environment.prepare(options.models)
    if problem:
        print(f"SKIP the packages cannot be installed: {problem}\n0 passed, 0 failed, 1 skipped")
        return 0
    environment.enter()
    tool = str(pathlib.Path(options.tool).resolve())
    families = options.family.split(",") if options.family else list(measure.FAMILIES if options.models else FAMILIES)
    chosen = [c for c in collect(families, options.full) if options.only in c.label]
    first, step = map(int, options.part.split("/"))
    results = [r for report in options.join if report.suffix != ".md" for r in json.loads(report.read_text())]
    whole = set() if options.models else {r["family"] for r in results}
    chosen = [c for c in chosen[first - 1::step] if c.family not in whole or options.part != "1/1"]
    if options.models:
        done = {r["label"] for r in results}
        chosen = [c for c in chosen if c.label not in done]
        every = [c.label for c in collect(list(measure.FAMILIES), True)]
        done |= {c.label for c in chosen}
        results += [r for document in options.join if document.suffix == ".md"
                    for r in measure.rows_of(document.read_text(), every) if r["label"] not in done]
    sample = not options.full and not options.models
    options.report.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context, initializer=start,
                                                initargs=(families, options.models)) as pool:
        running = [pool.submit(run_case, case, tool, options.full) for case in chosen]
        for done in concurrent.futures.as_completed(running):
            r = done.result()
            results.append(r)
            if options.full and len(results) % (20 if options.models else 200) == 0:
                print(f"{len(results)} of {len(chosen)}", flush=True)
                options.report.write_text(json.dumps(results, indent=1) + "\n")
            if unexpected(r, sample):
                print(f"FAIL {r['label']}: {r['result']}: {r['reason']}\n{r['detail'].strip()}", flush=True)
    results.sort(key=lambda r: r["label"])
    options.report.write_text(json.dumps(results, indent=1) + "\n")
    summary(results)
    count = collections.Counter(r["result"] for r in results)
    print(", ".join(f"{count[k]} {k}" for k in table.RESULTS) + f", of {len(results)} cases; "
          f"{sum(r['sizes'] > 0 for r in results)} also at other sizes")
    if options.write_table and options.models:
        versions = [v.replace("==", " ") for v in environment.WANTED[:4] + environment.FOR_MODELS[:11] if "julius" not in v]
        (ROOT / "docs/models.md").write_text(measure.text(results, versions, every))
    elif options.write_table:
        versions = ["torch " + importlib.import_module("torch").__version__, *environment.WANTED[:4]]
        run = "a full run" if options.full else "the sample that scripts/test runs"
        if whole and not options.full:
            run += f" (of {', '.join(sorted(whole))} all there is)"
        (ROOT / "docs/foreign.md").write_text(table.text(results, run, [v.replace("==", " ") for v in versions]))
    failed = sum(unexpected(r, sample) for r in results)
    print(f"{len(results) - count['excluded'] - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
