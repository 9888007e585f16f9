"""Judges the converter by PyTorch's operator test database: samples made, converted, run in ONNX Runtime and compared.

    run.py --build build/release [--ops REGEX] [--dtypes float32,...] [--opsets 9,11,...] [--part K/N] [--limit N]
           [--other-ranks] [--jobs N] [--join RESULTS] [--write-table]

Prints a row for each operator, dtype and opset at which not every sample passed, the reasons of refusals, and what is
wrong. All of it is in build/sweep: table.tsv, results.json. `--write-table` writes docs/coverage.md, of which --join
takes the operators that this run leaves out from the results.json of an earlier one.
"""
import argparse
import json
import multiprocessing
import multiprocessing.connection
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
OPSETS = "9,11,13,16,18,21,26"
TOGETHER = 16     # operators that share a folder and a process
LIMIT_S = 1800    # for such a part

import make_samples  # noqa: E402
import environment  # noqa: E402
import table  # noqa: E402


def reason_of(detail: str) -> str:
    """The obstacles that a message names, without places and numbers: the same for the same cause."""
    lines = re.findall(r"^  (\S.*\[OE\d+\])\s*$", detail, re.M)
    first = next((line.strip() for line in detail.splitlines() if line.strip()), "")
    text = "; ".join(sorted({re.sub(r"\s+", " ", line) for line in lines})) or first
    return re.sub(r"(?<![A-Za-z_0-9])-?(\d+(\.\d+)?(e[-+]?\d+)?|nan|inf)(?!\w)", "#", text)[:160]


def results_of(samples, folder: pathlib.Path, build: pathlib.Path, opsets: str) -> list:
    """What sweep_tests says of the samples that were written into the folder."""
    if not samples.about:
        return []
    child = subprocess.run([str(build / "sweep_tests"), str(folder), "--opsets", opsets],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    results = []
    for line in child.stdout.splitlines():
        if line.startswith("{"):  # operators print warnings of their own
            r = json.loads(line)
            results.append({**samples.about[r["sample"]], **r, "reason": reason_of(r["detail"])})
    if child.returncode or len(results) != len(samples.about) * len(opsets.split(",")):
        raise RuntimeError("sweep_tests did not judge every sample")
    return results


def judge(operators, dtype, options, folder) -> None:
    """One part, in a process of its own: writes FOLDER.json."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    samples = make_samples.Samples()
    made = make_samples.at_other_ranks if options.other_ranks else None
    for op in operators:
        make_samples.make(op, dtype, options.limit, folder, samples, made)
    samples.write(folder)
    ready = time.monotonic()
    results = results_of(samples, folder, options.build, options.opsets)
    left_out = json.loads((folder / "samples.json").read_text())["left_out"]
    seconds = [ready - began, time.monotonic() - ready]
    folder.with_suffix(".json").write_text(json.dumps([results, left_out, seconds]))
    shutil.rmtree(folder)


def judge_all(parts, options) -> tuple[list, list, list]:
    """The results of all parts; one that ends its process is taken up again operator by operator."""
    fork = multiprocessing.get_context("fork")  # the database is imported once
    waiting, running = list(enumerate(parts)), {}
    results, left_out, seconds, number = [], [], [0.0, 0.0], len(parts)
    while waiting or running:
        while waiting and len(running) < options.jobs:
            k, (operators, dtype) = waiting.pop(0)
            folder = options.work / f"part_{k}"
            folder.with_suffix(".json").unlink(missing_ok=True)
            process = fork.Process(target=judge, args=(operators, dtype, options, folder))
            process.start()
            running[process] = (operators, dtype, folder, time.monotonic() + LIMIT_S)
        multiprocessing.connection.wait([p.sentinel for p in running], timeout=10)
        for process in list(running):
            operators, dtype, folder, until = running[process]
            if process.is_alive() and time.monotonic() < until:
                continue
            process.kill()
            process.join()
            del running[process]
            answer = folder.with_suffix(".json")
            if answer.is_file():
                of_part = json.loads(answer.read_text())
                results += of_part[0]
                left_out += of_part[1]
                seconds = [a + b for a, b in zip(seconds, of_part[2])]
            elif len(operators) > 1:
                waiting += [(number + i, ([op], dtype)) for i, op in enumerate(operators)]
                number += len(operators)
            else:
                left_out.append({"op": make_samples.name_of(operators[0]), "dtype": dtype, "samples": 1,
                                 "reason": "PyTorch ended the process that made its samples"})
            shutil.rmtree(folder, ignore_errors=True)
    return results, left_out, seconds


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--ops", default="", help="regular expression: part of the operator's name")
    parser.add_argument("--dtypes", default=",".join(make_samples.DTYPES))
    parser.add_argument("--opsets", default=OPSETS)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th operator, from the K-th")
    parser.add_argument("--limit", type=int, default=make_samples.LIMIT,
                        help="samples of an operator and dtype, evenly from all; 0: all")
    parser.add_argument("--other-ranks", action="store_true",
                        help="the traced files on inputs of one rank less and one more than they were traced with")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--join", type=pathlib.Path, help="results of the operators that are not judged here")
    parser.add_argument("--write-table", action="store_true", help="write docs/coverage.md")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.work = options.build.parent / "sweep"
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", options.part):
        parser.error(f"--part is K/N, such as 1/4, and not '{options.part}'")
    if not re.fullmatch(r"\d+(,\d+)*", options.opsets):
        parser.error(f"--opsets is a list, such as 9,18, and not '{options.opsets}'")
    try:
        re.compile(options.ops)
    except re.error as e:
        parser.error(f"--ops is no regular expression: {e}")
    unknown = set(options.dtypes.split(",")) - set(make_samples.DTYPES)
    if unknown:
        parser.error(f"no dtype is called {', '.join(sorted(unknown))}")
    return options


def main() -> int:
    options = parse()
    problem = environment.prepare()
    if problem:
        print(f"SKIP the packages cannot be installed: {problem}\n0 passed, 0 failed, 1 skipped")
        return 0
    first, step = map(int, options.part.split("/"))
    operators = sorted((op for op in make_samples.database() if re.search(options.ops, make_samples.name_of(op))),
                       key=make_samples.name_of)[first - 1::step]
    if not operators:
        print(f"error: no operator of this part is called like '{options.ops}'", file=sys.stderr)
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    parts = [(operators[i:i + TOGETHER], dtype) for dtype in options.dtypes.split(",")
             for i in range(0, len(operators), TOGETHER)]
    results, left_out, seconds = judge_all(parts, options)
    if options.join:
        earlier, judged = json.loads(options.join.read_text()), {make_samples.name_of(op) for op in operators}
        results += [r for r in earlier["results"] if r["op"] not in judged]
        left_out += [x for x in earlier["left_out"] if x["op"] not in judged]
    (options.work / "results.json").write_text(json.dumps({"results": results, "left_out": left_out}, indent=0))
    (options.work / "table.tsv").write_text(table.tsv(results))
    print(table.summary(results, left_out))
    samples = len({(r["op"], r["dtype"], r["number"]) for r in results})
    print(f"{samples} samples in {seconds[0]:.0f} s of making and {seconds[1]:.0f} s of converting and comparing: "
          f"{samples / max(seconds[1], 1e-9):.1f} a second and core")
    if options.write_table:
        (ROOT / "docs/coverage.md").write_text(table.page(results, left_out, options))
    passed = sum(r["result"] == "passed" for r in results)
    failed = sum(r["result"] in ("wrong", "crash") for r in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
