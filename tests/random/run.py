"""Generates random programs, converts and verifies them, and says what came of them.

    run.py --build build/release [--generator language] [--count 2000] [--seed 1] [--opsets 11,13,18,21] [--jobs N]
           [--known]

Program N is made from seed N alone: `--seed N --count 1` makes it again. The files stay in build/random; a failing case
becomes small with reduce.py. The closing line counts what was converted and right against what was wrong; too many
refusals are a failure too. --known: as a group of the tests; known.txt names the programs that may be refused.
"""
import argparse
import collections
import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
PART = 50            # programs in one file
SEEDS_A_PART = 1000  # more than a part uses up
GENERATORS = ("generate", "language")
MEMORY = 6 << 30     # of the process that makes them
SHARE = 0.95         # of the programs that have to convert


def generate_part(path, count, seed, generator):
    import resource

    from generate import generate
    # Lists of a program may double with every iteration: it is left out then.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return generate(path, count, seed, importlib.import_module(generator).write_program)


def generate_all(folder, count, seed, jobs, generator):
    """Writes the parts; returns why programs were left out, with counts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    why = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        parts = [pool.submit(generate_part, folder / f"part_{k:03}.test", min(PART, count - k * PART),
                             seed + k * SEEDS_A_PART, generator) for k in range(-(-count // PART))]
        for p in parts:
            why.update(p.result())
    return why


def known_refusals(generator, lowest_opset):
    """Names of the programs that known.txt lists and that this opset refuses."""
    lines = (pathlib.Path(__file__).parent / "known.txt").read_text().splitlines()
    entries = [line.split(maxsplit=3) for line in lines if line and not line.startswith("#")]
    return {f"seed {seed}" for name, seed, since, _ in entries
            if name == generator and (since == "never" or lowest_opset < int(since))}


def first_line(message):
    """What a message says, without opsets, runs and numbers: the same for the same cause."""
    line = re.sub(r"^opset [\d,]+: ", "", message.strip()).split("\n")[0]
    line = re.sub(r"\(also .*?, seed \d+\)", "(another run)", line)
    line = re.sub(r"exported from .* the graph", "exported from another size the graph", line)
    return re.sub(r"%?\d+(\.\d+)?", "#", line)[:140]


def report(results):
    """Prints the summary; returns (right, wrong, refused)."""
    kinds = collections.Counter(r["result"] for r in results)
    total, refused, wrong = len(results), kinds["refused"], kinds["wrong"]
    print(f"{total} programs: {total - refused} converted, {refused} refused, {wrong} wrong", flush=True)
    for kind in ("refused", "wrong"):
        groups = collections.defaultdict(list)
        for r in results:
            if r["result"] == kind:
                groups[r["refusal"], first_line(r["message"])].append(r)
        for (code, line), found in sorted(groups.items(), key=lambda g: -len(g[1])):
            seeds = ", ".join(r["name"].removeprefix("seed ") for r in found[:5])
            print(f"  {kind} {len(found):4}  {code + '  ' if code else ''}{line}   [seed {seeds}]")
    for r in results:
        if r["result"] == "wrong":
            print(f"FAIL {r['file']}:{r['line']}: {r['name']}\n{r['message'].strip()}")
    return total - refused - wrong, wrong, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/random")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generator", choices=GENERATORS, default="generate")
    parser.add_argument("--opsets", default="11,13,18,21")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--known", action="store_true", help="programs that known.txt does not name have to convert")
    options = parser.parse_args()
    left_out = generate_all(options.out, options.count, options.seed, options.jobs, options.generator)
    print(f"{sum(left_out.values())} other programs left out: LibTorch refuses them, or their results mean nothing")
    path = options.out / "report.json"
    subprocess.run([options.build / "golden_tests", "--python", sys.executable, "--opsets", options.opsets, "--jobs",
                    str(options.jobs), "--seconds", "60", "--report", path, options.out],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    results = json.loads(path.read_text())
    right, wrong, refused = report(results)
    if len(results) != options.count:
        print(f"FAIL {options.count - len(results)} programs have no result")
        wrong += 1
    if options.known:
        known = known_refusals(options.generator, min(map(int, options.opsets.split(","))))
        for r in results:
            if r["result"] == "refused" and r["name"] not in known:
                print(f"FAIL {r['file']}:{r['line']}: {r['name']} is refused, and known.txt does not name it")
                wrong += 1
            elif r["result"] == "passed" and r["name"] in known:
                print(f"FAIL known.txt: {options.generator} {r['name']} converts: remove its line")
                wrong += 1
    elif refused > (1 - SHARE) * options.count:
        print(f"FAIL only {(options.count - refused) / options.count:.1%} of the programs convert")
        wrong += 1
    print(f"{right} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
