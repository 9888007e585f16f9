"""Compares the size and the speed of our files with those of other exporters and simplifiers.

    compare.py --build build/release [--jobs N] [--families vision,...] [--forms traced,scripted]
               [--batches dynamic,fixed] [--filter REGEX] [--count | --ours] [--report FILE] [--from FILE]
               [--write-table]

Each model of tests/foreign is traced, and scripted where its case says so, and converted by the tool, by
torch.onnx.export with dynamo=False and with dynamo=True, with axis 0 of each input dynamic and with all axes fixed.
onnxslim and onnxsim simplify each file. A file counts when ONNX Runtime gives LibTorch's result with it, at another
batch too. Nodes are those of all graphs, without Constant. Latency is the median of runs that alternate between all files, on
one thread and on two. --count measures nothing but nodes. --ours converts with this tool only, and prints the models
of which docs/graphs.md has another number of nodes. --report keeps the results, --from shows those of an earlier
run, --write-table writes docs/graphs.md. What the others write is kept in .deps/graphs/files.
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

import files  # beside this file
from files import OTHERS, ROOT, Files, Variant, agrees, enter  # noqa: F401 (agrees, enter: for the other scripts)

FAMILIES = ["vision", "timm_models", "transformer_models", "others", "detection"]
WHOLE = ["others", "detection"]  # all models of the family, not those that run in every test run only
OPSET = 18
LIMIT_S = 900
RUNS, MOST_RUNS, SECONDS = 15, 101, 2.0  # as many as fit into the time

# Why a model has more nodes than another file of it: by subject, and by the operators that ours has more of. A rule
# holds where these are the first ones and perhaps some of the second.
REASONS = {
    "DebertaV2Model": "The index of GatherElements is expanded to the batch of each call.",
    "recommender: DCNMix": "A squeeze of a batch that may be 1 is computed in each call.",
    "recommender: DCN": "tensordot multiplies matrices between two Reshapes; the other file multiplies transposed columns "
                        "of a batch.",
    "graph: TAGConv": "LibTorch computes x ** -0.5 as 1 / sqrt(x), which is -inf at -0 and NaN at -inf.",
    "graph: ARMAConv": "LibTorch computes x ** -0.5 as 1 / sqrt(x), which is -inf at -0 and NaN at -inf.",
    "graph: ClusterGCNConv": "Values are expanded to the number of masked elements, which depends on data: one value "
                             "would be broadcast.",
    **dict.fromkeys(["vit_pytorch: regionvit.RegionViT", "vit_pytorch: mobile_vit.MobileViT"],
                    "A Softmax over one element stays, because NaN stays NaN; the other file has 1. MatMul and Add stay "
                    "for fusions."),
    "vision: Canny": "The signs of atan2 at -0, -inf and NaN are those of LibTorch.",
    "GPT2LMHeadModel": "Two Reshapes around the activation between two Gemm stay: the optimizer of ONNX Runtime for GPT-2 "
                       "fails without them.",
    "MixtralModel": "A Reshape states the number of rows of a Concat whose parts depend on data.",
    "audio: HDemucs": "A factor and a window that begins with 0 stay two Mul: their product is NaN for fewer inputs.",
    "audio: HDemucs (demucs)": "A factor and a window that begins with 0 stay two Mul: their product is NaN for fewer "
                               "inputs.",
}
PRODUCTS = {"MatMul", "Add", "Split", "Transpose", "Flatten"}
RULES = [
    ({"IsNaN"}, None, "LibTorch keeps NaN in a scattered maximum or minimum, the other file loses it."),
    ({"Equal", "Where"}, None, "Rows of an attention that a mask empties are zeros, as in LibTorch; NaN in the other "
                               "file."),
    ({"MatMul"}, PRODUCTS, "MatMul and Add stay, because fusions of ONNX Runtime look for them (Attention, BiasGelu, "
                           "SkipLayerNormalization). It makes this Gemm itself."),
    ({"MatMul", "Mul"}, PRODUCTS | {"Mul"}, "MatMul and Add, and the scale of attention stay, because fusions of ONNX "
                                           "Runtime look for them (Attention, MultiHeadAttention)."),
    ({"Shape"}, PRODUCTS | {"Mul"}, "The Shape of what a group norm takes, and its scale and bias stay, because the fusion "
                                   "of GroupNorm looks for them."),
    ({"Mul"}, set(), "The 0.5 of GELU stays, because ONNX Runtime fuses the nodes of GELU; the other file has it in a weight."),
]


def reason(subject: str, more: dict) -> str:
    for operators, others, text in RULES:
        if operators <= more.keys() and (others is None or more.keys() <= operators | others):
            return text
    return REASONS.get(subject, "")


# Medians of equal graphs differ by up to this factor.
NOISE = 1.1

HEAD = """# Graphs

Generated by `scripts/compare-graphs --write-table`. Models of other packages, with random weights
(those that are all 0 or all 1 before training get other numbers), are traced or scripted and converted
at opset {opset} by three exporters:

- *ours*: this tool,
- *reference*: `torch.onnx.export(dynamo=False)`,
- *dynamo*: `torch.onnx.export(dynamo=True)`.

onnxslim (*+slim*) and onnxsim (*+sim*) simplify each file. A file counts if ONNX Runtime computes
LibTorch's result with it, with a dynamic batch axis at two batch sizes. A dash means that the exporter
wrote no file, or one that computes something else. Nodes are counted in all graphs, without Constant.
Of two numbers, the first is ours and the second the best of all other files.

The numbers of a row are those with a dynamic batch axis, except in the column *fixed batch*, where nodes
are counted with all axes fixed; a row without a dynamic batch has those numbers everywhere. Latency is
the median of {runs} to {most} runs that alternate between the files of a model; compare latencies within a
row only. Load is the time to create a session, memory is what a session and one call take: of ours, the
reference's file and the file with the fewest nodes. A dash there means that it was not measured.

{models} models gave {files} files. {smallest} of these have no more nodes than the smallest of all other
files of the model. Of {timed} that were timed, {fast} are as fast as the fastest other file (within {noise} %, on
one thread or on two).

"""


# --- one model, in a process of its own

def one(tool: str, variant: Variant, folder: pathlib.Path, measure: bool) -> dict:
    import warnings

    warnings.simplefilter("ignore")
    made = Files(tool, variant, folder)

    result = {"variant": variant.words, "said": made.said, "files": made.counts}
    if not measure:
        made.forget(not variant.dynamic and variant.family != "detection")
        return result
    for threads in (1, 2):
        for name, (load, latency) in timed(made.paths, made.runs[0][0], threads).items():
            result["files"][name].update({f"ms{threads}": latency, "load_ms": load})
    fewest = best(result, "nodes")[0]
    for name, file in made.paths.items():
        if name not in ("ours", "reference", fewest):
            continue
        run = subprocess.run([sys.executable, __file__, "--memory", str(file), str(folder / "runs.npz")],
                             capture_output=True, text=True, check=True)
        result["files"][name]["memory"] = int(run.stdout)
    made.forget(False)
    return result


def ours(tool: str, variant: Variant, folder: pathlib.Path) -> dict:
    """Without the other exporters, and so without what is kept of them."""
    made = Files(tool, variant, folder, others=[], simplifiers=[])
    return {"variant": variant.words, "said": made.said, "files": made.counts}


def numbers_of_table() -> dict[tuple[str, str, bool], int]:
    """The nodes of our files in docs/graphs.md, by model, form and whether the batch is dynamic."""
    found = {}
    for line in (ROOT / "docs/graphs.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 12 and cells[1] in ("traced", "scripted"):
            for text, dynamic in ((cells[2], True), (cells[6].split(" /")[0], False)):
                if text.isdigit():
                    found[cells[0], cells[1], dynamic] = int(text)
    return found


def difference(result: dict, table: dict) -> str:
    """What our file has now where the table says something else; a file that is not in the table is no difference."""
    _, subject, form, batch = result["variant"]
    was = table.get((subject, form, batch == "dynamic"))
    now = result["files"]["ours"]["nodes"] if converted(result) else result.get("failed") or result["said"].get("ours", "?")
    return "" if was is None or was == now else f"{subject}, {form}, {batch}: {now} nodes, docs/graphs.md says {was}"


def memory(file: str, inputs: str) -> int:
    """Bytes by which a session and a call of it make a fresh process grow."""
    import numpy
    import onnxruntime

    def resident() -> int:
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with numpy.load(inputs) as archive:
        values = [archive[name] for name in archive.files if name.startswith("0_in")]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    before = resident()
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    session.run(None, {i.name: v for i, v in zip(session.get_inputs(), values)})
    return resident() - before


def timed(paths: dict, inputs: list, threads: int) -> dict:
    """Load time and latency in ms of each file: medians of runs that alternate. Two sessions of one file differ by the
    place of their memory, so ours has two: the best of many other files would win by luck otherwise."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # The threads of the sessions that wait would take the cores from the one that runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    sessions, loads = [], {}
    for name, file in [*paths.items(), *[(n, f) for n, f in paths.items() if n == "ours"]]:
        start = time.perf_counter()
        sessions.append((name, onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]), []))
        loads[name] = 1000 * (time.perf_counter() - start)
    end = time.perf_counter() + SECONDS
    while len(sessions[0][2]) < RUNS or (time.perf_counter() < end and len(sessions[0][2]) < MOST_RUNS):
        for _, session, times in sessions:
            given = {i.name: v for i, v in zip(session.get_inputs(), inputs)}
            start = time.perf_counter()
            session.run(None, given)
            times.append(1000 * (time.perf_counter() - start))
    return {name: (loads[name], min(statistics.median(times) for n, _, times in sessions if n == name)) for name in paths}


# --- all of them

def in_own_process(script: str, tool: str, words: list[str], folder: pathlib.Path | None = None, *more: str) -> dict:
    """What `script --one WORDS... --tool TOOL --folder DIR` prints as JSON, or why nothing: {"failed": reason}."""
    with tempfile.TemporaryDirectory(prefix="graphs_", ignore_cleanup_errors=True) as temporary:
        try:
            run = subprocess.run([sys.executable, script, "--one", *words, "--tool", tool, "--folder",
                                  str(folder or temporary), *more],
                                 capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"failed": f"no end within {LIMIT_S} s"}
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"failed": (run.stderr.strip().splitlines() or ["?"])[-1][:300]}


def variants(families: list[str], pattern: str) -> list[Variant]:
    found = []
    for family in families:
        module = importlib.import_module(family)
        chosen = dict.fromkeys(c.subject for c in module.cases(family in WHOLE) if re.search(pattern, c.subject))
        scripted = {c.subject for c in module.cases(True) if c.form == "scripted"}
        for subject in chosen:
            forms = ["traced", *["scripted"] * (subject in scripted)]
            batches = [False] if family == "detection" else [True, False]
            found += [Variant(family, subject, form, dynamic) for form in forms for dynamic in batches]
    return found


def folder_of(variant: Variant) -> pathlib.Path:
    return ROOT / ".deps/graphs/files" / re.sub(r"[^A-Za-z0-9_.]+", "_", "-".join(variant.words))


# --- what is told

def best(result: dict, key: str) -> tuple[str, float]:
    others = {n: f[key] for n, f in result["files"].items() if n != "ours" and key in f}
    name = min(others, key=others.get, default="")
    return name, others.get(name, float("inf"))


def converted(result: dict) -> bool:
    return "ours" in result.get("files", {})


def larger(result: dict) -> bool:
    return converted(result) and result["files"]["ours"]["nodes"] > best(result, "nodes")[1]


def slower(result: dict) -> bool:
    """By more than what two runs of one file differ by."""
    return converted(result) and all(result["files"]["ours"].get(k, 0) > NOISE * best(result, k)[1] for k in ("ms1", "ms2"))


def line_of(result: dict) -> str:
    words = " ".join(result["variant"])
    if not converted(result):
        return f"{words}: {result.get('failed') or 'ours: ' + result['said'].get('ours', '?')}"
    made = result["files"]
    name, fewest = best(result, "nodes")
    others = ", ".join(f"{n} {made[n]['nodes'] if n in made else '-'}" for n in OTHERS)
    text = f"{'MORE ' if larger(result) else ''}{words}: {made['ours']['nodes']} nodes, {others}, fewest {fewest} ({name})"
    if "ms1" in made["ours"]:
        text += f"; {'SLOWER ' if slower(result) else ''}ms {pair(result, 'ms1', '{:.2f}'.format)}, {pair(result, 'ms2', '{:.2f}'.format)}"
    return text


def pair(result: dict, key: str, shown) -> str:
    """Ours, and the best of the others where there is one."""
    mine, other = result["files"]["ours"].get(key), best(result, key)[1]
    return "-" if mine is None else shown(mine) + ("" if other == float("inf") else f" / {shown(other)}")


def rows(results: list[dict]) -> list[list[dict]]:
    """The variants of each model and form that this tool converts: with a dynamic batch first."""
    found = collections.defaultdict(list)
    for r in results:
        if converted(r):
            found[tuple(r["variant"][:3])].append(r)
    return [sorted(v, key=lambda r: r["variant"][3]) for v in found.values()]


def table(results: list[dict]) -> str:
    text = ["| model | form | ours | reference | dynamo | fewest of the others | fixed batch | ms, 1 thread | 2 threads "
            "| load ms | file MB | memory MB |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows(results):
        first, fixed = row[0], row[-1]
        made = first["files"]
        cells = [first["variant"][1], first["variant"][2]]
        if first["variant"][3] == "dynamic":
            name, fewest = best(first, "nodes")
            cells += [str(made[n]["nodes"]) if n in made else "-" for n in ["ours", *OTHERS]]
            cells.append(f"{fewest} ({name})" if name else "-")
        else:
            cells += ["-"] * 4
        cells += ["-" if fixed["variant"][3] == "dynamic" else pair(fixed, "nodes", str),
                  pair(first, "ms1", "{:.2f}".format), pair(first, "ms2", "{:.2f}".format),
                  pair(first, "load_ms", "{:.0f}".format), pair(first, "bytes", lambda n: f"{n / 1e6:.2f}"),
                  pair(first, "memory", lambda n: f"{n / 1e6:.0f}")]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


MISSES = ["| model, form, batch | by how much, which file | ours has more | ours has fewer | why |", "|---|---|---|---|---|"]


def misses(results: list[dict]) -> list[str]:
    """A row of a table for each file that another file of the model beats: by what."""
    lines = []
    for r in results:
        words = f"{r['variant'][1]}, {r['variant'][2]}, {r['variant'][3]}"
        if larger(r):
            name, fewest = best(r, "nodes")
            mine, theirs = r["files"]["ours"]["operators"], r["files"][name]["operators"]
            more = {op: n - theirs.get(op, 0) for op, n in mine.items() if n > theirs.get(op, 0)}
            fewer = {op: n - mine.get(op, 0) for op, n in theirs.items() if n > mine.get(op, 0)}
            counted = [", ".join(f"{n} {op}" for op, n in sorted(d.items()) if op != "Constant") for d in (more, fewer)]
            lines.append(f"| {words} | {r['files']['ours']['nodes'] - fewest} nodes, {name} | {counted[0]} | {counted[1]} | "
                         f"{reason(r['variant'][1], more)} |")
        if slower(r):
            lines.append(f"| {words} | slower than {best(r, 'ms1')[0]} | | | {pair(r, 'ms1', '{:.2f}'.format)} ms on one "
                         f"thread, {pair(r, 'ms2', '{:.2f}'.format)} on two |")
    return lines


def show(results: list[dict], write: bool) -> int:
    text, worse = table(results), misses(results)
    print("\n".join([text, "", *worse]))
    mine = [r for r in results if converted(r)]
    models = len({tuple(r["variant"][:2]) for r in mine})
    smallest, fast = sum(not larger(r) for r in mine), sum("ms1" in r["files"]["ours"] and not slower(r) for r in mine)
    timed_ones = sum("ms1" in r["files"]["ours"] for r in mine)
    counts = f"{models} models, {len(mine)} files: {smallest} have no more nodes than any other file; of {timed_ones} timed, {fast} are as fast"
    print(counts)
    if write:
        head = HEAD.format(opset=OPSET, runs=RUNS, most=MOST_RUNS, models=models, files=len(mine), smallest=smallest, timed=timed_ones,
                           fast=fast, noise=round(100 * (NOISE - 1)))
        tail = ["", "## Where another file is better", "", *MISSES, *worse] if worse else []
        (ROOT / "docs/graphs.md").write_text("\n".join([head + text, *tail]) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--filter", default="")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--forms", default="traced,scripted")
    parser.add_argument("--batches", default="dynamic,fixed")
    parser.add_argument("--report", type=pathlib.Path, help="what it holds of other variants stays")
    parser.add_argument("--from", type=pathlib.Path, dest="earlier")
    parser.add_argument("--write-table", action="store_true")
    parser.add_argument("--one", nargs=4)
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
    if options.one and options.ours:
        print(json.dumps(ours(options.tool, Variant.of(options.one), options.folder)))
        return 0
    if options.one:
        print(json.dumps(one(options.tool, Variant.of(options.one), options.folder, not options.count)))
        return 0
    tool = str(options.build.resolve() / "onnx-export")
    wanted = {*options.forms.split(","), *options.batches.split(",")}
    every = [v for v in variants(options.families.split(","), options.filter) if {v.form, v.words[3]} <= wanted]

    def run(v: Variant) -> dict:
        # With a fixed batch only nodes are counted, unless there is no other file to time.
        only_fixed = v.family == "detection"
        more = ["--count"] if options.count or not (v.dynamic or only_fixed) else []
        return {"variant": v.words} | in_own_process(__file__, tool, v.words, folder_of(v), *more)

    if options.ours:
        table_says = numbers_of_table()
        listed = [v for v in every if (v.subject, v.form, v.dynamic) in table_says]
        other = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for result in pool.map(lambda v: {"variant": v.words} | in_own_process(__file__, tool, v.words, None, "--ours"),
                                   listed):
                if line := difference(result, table_says):
                    other += 1
                    print(line, flush=True)
        print(f"{len(listed) - other} files have the nodes that docs/graphs.md says, {other} do not")
        return 1 if other else 0

    results = {}
    if options.report and options.report.is_file():
        results = {tuple(r["variant"]): r for r in json.loads(options.report.read_text())}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(run, every):
            results[tuple(result["variant"])] = result
            print(line_of(result), flush=True)
            if options.report:
                options.report.write_text(json.dumps(list(results.values()), indent=1))
    return show(list(results.values()), options.write_table)


if __name__ == "__main__":
    sys.exit(main())
