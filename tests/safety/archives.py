"""Archives and files of inputs made to do harm: each is refused or contained, by one of the documented exit codes,
with one message, in bounded time and memory, and without a file left behind.

    archives.py --build build/release [--jobs N] [--figures FILE.json] [--mutations N] [--keep DIR]

Besides: every cut and every flipped bit of three small models through the preflight reader alone
(preflight_tests), and N mutations through the real binary.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import archive_attacks

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60  # for one attack


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def problem(tool: str, attack: archive_attacks.Attack, folder: pathlib.Path) -> str:
    """What is wrong with how the tool took it; empty where nothing is."""
    before = {p.name for p in folder.iterdir()}
    start = time.monotonic()
    try:
        run = subprocess.run([tool, *attack.arguments, "-o", "out.onnx"], cwd=folder, capture_output=True, text=True,
                             errors="replace", timeout=SECONDS, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} s"
    left = {p.name for p in folder.iterdir()} - before
    if run.returncode not in attack.codes:
        return f"exit code {run.returncode} instead of {attack.codes}: {run.stderr[-300:]}"
    if run.returncode and left:
        return f"exit code {run.returncode} leaves {sorted(left)}"
    if run.returncode and not re.search(r"^error: ", run.stderr, re.M):
        return f"no message: {run.stderr[-300:]}"
    if attack.says and attack.says not in run.stderr:
        return f"does not say '{attack.says}': {run.stderr[-300:]}"
    if len(run.stderr) > 20_000:
        return f"{len(run.stderr)} characters of messages"
    if attack.early and time.monotonic() - start > 5:
        return "was refused after more than 5 s"
    return ""


def mutations(build: pathlib.Path, models: list[pathlib.Path], pool: concurrent.futures.Executor) -> tuple[str, str]:
    """Every cut and flipped bit through the reader alone: figure, problem."""
    codes = collections.Counter()
    for run in pool.map(lambda model: subprocess.run([build / "preflight_tests", "--mutations", model],
                                                     capture_output=True, text=True), models):
        found = re.search(r"exit codes: (.*); \d+ a second\n\d+ passed, 0 failed$", run.stdout.strip())
        if run.returncode or not found:
            return "", f"exit code {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}"
        codes.update({code: int(count) for code, count in re.findall(r"(\d+): (\d+)", found[1])})
    listed = " ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
    return f"{codes.total()} cuts and flipped bits of {len(models)} models, exit codes {listed}", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--figures", type=pathlib.Path)
    parser.add_argument("--mutations", type=int, default=100, help="through the real binary; before a release 20000")
    parser.add_argument("--keep", type=pathlib.Path, help="where the attacks are written")
    parser.add_argument("only", nargs="*", help="names of attacks")
    options = parser.parse_args()
    build = options.build.resolve()
    tool = str(build / "onnx-export")
    figures, passed, failed = [], 0, 0
    promise = "An untrusted file is converted or refused, and no temporary file remains"
    me = "tests/safety/archives.py"
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or pathlib.Path(name)
        attacks = [a for a in archive_attacks.make(folder) if not options.only or a.name in options.only]
        problems = pool.map(lambda a: problem(tool, a, folder / a.name), attacks)
        codes = collections.Counter()
        for attack, why in zip(attacks, problems):
            codes[attack.kind] += 1
            passed, failed = (passed, failed + 1) if why else (passed + 1, failed)
            if why:
                print(f"FAIL {attack.kind}: {attack.name}: {why.strip()}", flush=True)
        figures.append((f"{len(attacks)} attacks in {len(codes)} classes, {failed} not refused or contained", promise))
        if not options.only:
            figure, why = mutations(build, archive_attacks.models(folder), pool)
            passed, failed = (passed, failed + 1) if why else (passed + 1, failed)
            print(f"FAIL mutations: {why}" if why else figure)
            figures.append((figure, "The archive reader handles a file cut at any byte and any flipped bit"))
            run = subprocess.run([sys.executable, ROOT / "tests/files/mutations.py", "--tool", tool, "--jobs",
                                  str(options.jobs), "--count", str(options.mutations), "--seed", "7"],
                                 capture_output=True, text=True)
            print(run.stdout.strip())
            found = re.search(r"exit codes: (.*)", run.stdout)
            passed, failed = (passed, failed + 1) if run.returncode else (passed + 1, failed)
            figures.append((f"{options.mutations} mutations, exit codes {found[1] if found else '?'}", promise))
    if options.figures:
        options.figures.write_text(json.dumps([{"promise": p, "test": me, "figure": f} for f, p in figures]))
    print(figures[0][0])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
