"""Runs the fuzz targets: each reader of a file from outside, with ASan, UBSan and libFuzzer.

    run.py --build build/fuzz [--seconds S] [--runs N] [--jobs N] [--figures FILE] [--built] [TARGET...]

Starts from small files that are made here and from what earlier runs found (BUILD/corpus). An input that crashes,
leaks, takes more than 10 s or 512 MiB is a failure; it is kept in BUILD/found, and belongs into tests/safety then.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["archive", "pickle", "code", "model_json", "npy", "npz", "rules", "spec", "axes", "value", "onnx"]
STATS = re.compile(r"stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb):\s+(\d+)")


def run(build: pathlib.Path, target: str, seconds: int, runs: int) -> tuple[str, dict[str, int], str]:
    corpus, found = build / "corpus" / target, build / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        first = pathlib.Path(name)
        for i, seed in enumerate(seeds.of(target)):
            (first / str(i)).write_bytes(seed)
        words = first.parent / (first.name + ".dict")
        words.write_text("".join(f'"{escaped(w)}"\n' for w in seeds.words(target)))
        command = [str(build / f"fuzz_{target}"), str(corpus), str(first), f"-dict={words}",
                   # The same inputs in every bounded run, so that a failure is one of the change at hand.
                   f"-seed={0 if runs < 0 else 1}", f"-max_total_time={seconds}", f"-runs={runs}",
                   "-timeout=10", "-rss_limit_mb=512",
                   "-max_len=16384", "-print_final_stats=1", f"-artifact_prefix={found}/{target}-"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        words.unlink()
    stats = {k: int(v) for k, v in STATS.findall(done.stderr)}
    return target, stats, "" if done.returncode == 0 else done.stderr[-3000:]


def escaped(word: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\\\' else f"\\x{b:02x}" for b in word)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=10, help="for each target; 0: no limit")
    parser.add_argument("--runs", type=int, default=150_000, help="for each target; -1: no limit")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--figures", type=pathlib.Path)
    parser.add_argument("--built", action="store_true", help="do not build them first")
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    build = options.build.resolve()
    unknown = [t for t in options.targets if t not in TARGETS]
    if unknown:
        parser.error(f"no target is called '{unknown[0]}'; there are {', '.join(TARGETS)}")
    if not options.built:
        subprocess.run(["bash", "-c", f"source '{ROOT}/scripts/common'; JOBS={options.jobs} build fuzz"], check=True)
    failed = total = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        todo = [pool.submit(run, build, t, options.seconds, options.runs) for t in options.targets or TARGETS]
        for one in concurrent.futures.as_completed(todo):
            target, stats, problem = one.result()
            runs = stats.get("number_of_executed_units", 0)
            total += runs
            print(f"{target}: {runs} runs, {stats.get('average_exec_per_sec', 0)} a second, "
                  f"{stats.get('peak_rss_mb', 0)} MiB", flush=True)
            if problem or runs == 0:
                failed += 1
                print(f"FAIL {target}: {problem or 'did not run'}")
    print(f"{total} runs in all")
    if options.figures:
        options.figures.write_text(json.dumps([{
            "promise": "Readers of files from outside neither crash nor leak", "test": "tests/fuzz/run.py",
            "figure": f"{total} runs of {len(todo)} fuzz targets, {failed} failures"}]))
    print(f"{len(todo) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
