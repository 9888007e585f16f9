"""Runs the test groups and sums their closing lines `N passed, N failed`.

Groups that keep one core busy run beside each other, the others one after another. Groups of the lowest
priority take what these leave idle, from the start.

    run_tests.py --build build/release [--jobs N] [--quick] [--list] [GROUP...]
    run_tests.py --build build/release --ctest FILE

ONNX_EXPORT_TESTS_REQUIRE_ALL=1 (set by .ci/run) makes skipped tests failures.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

from tidy import next_part

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
# A spread over the ladder: ends, the default, and where axes, sequences and types changed.
QUICK_OPSETS = "7,9,11,13,18,21,26,28"
# glibc overwrites all memory that is freed, so that a read of it shows in every run, not in one of hundreds.
OVERWRITE_FREED = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"}
# The verifiers of debug builds: what a stage hands on is well formed.
VERIFY_STAGES = {"ONNX_EXPORT_VERIFY_STAGES": "1"}


@dataclasses.dataclass
class Group:
    name: str
    command: list[str]
    quick: list[str] | None = None  # instead of `command`; None: the same
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    by_name: bool = False  # runs only where it is named: it needs programs that scripts/setup does not install
    full_only: bool = False  # does not run with --quick
    idle: bool = False  # builds for minutes, and shares no folder with other groups
    one_core: bool = False  # keeps one core busy, shares no folder with other groups, and measures no time


def groups(build: pathlib.Path, jobs: int) -> list[Group]:
    python, tests = sys.executable, ROOT / "tests"
    tool = str(build / "onnx-export")
    golden = [str(build / "golden_tests"), "--python", python, "--jobs", str(jobs), str(tests / "ops"),
              str(tests / "semantics")]
    programs = [python, str(tests / "random/run.py"), "--build", str(build), "--jobs", str(jobs), "--count", "100",
                "--known"]
    language = programs + ["--generator", "language", "--seed", "500001"]
    models = [python, str(tests / "models/run_models.py"), "--tool", tool, "--jobs", str(jobs)]
    foreign = [python, str(tests / "foreign/run.py"), "--tool", tool, "--jobs", str(jobs)]
    files = [python, str(tests / "files/run.py"), "--build", str(build)]
    wild = [python, str(tests / "files/wild.py"), "--build", str(build), "--jobs", str(jobs)]
    alone = [python, str(tests / "files/alone.py"), "--build", str(build), "--jobs", str(jobs)]
    sweep = [python, str(tests / "sweep/run.py"), "--build", str(build), "--jobs", str(jobs), "--opsets", "9,18"]
    gradients = [python, str(tests / "sweep/gradients.py"), "--build", str(build), "--known"]
    matrix = [python, str(tests / "support/matrix.py"), "--build", str(build), "--jobs", str(jobs)]
    attacks = [python, str(tests / "safety/archives.py"), "--build", str(build), "--jobs", str(jobs)]
    fuzz = [python, str(tests / "fuzz/run.py"), "--build", str(ROOT / "build/fuzz"), "--jobs", str(jobs)]
    explain = [python, str(tests / "explain/run.py"), "--build", str(build), "--jobs", str(jobs)]
    # Of two halves the next one with every commit, so that two commits run both.
    half = ["--part", f"{next_part(2) + 1}/2"] if (ROOT / ".git").exists() else []
    layers = [python, str(ROOT / "scripts/check-layers")]
    tidy = [python, str(tests / "support/tidy.py"), "--build", str(build), "--jobs", str(jobs), "--next-part", "6"]

    def safety(test: str, *more: str) -> list[str]:
        return [python, str(tests / f"safety/{test}.py"), "--build", str(build), "--jobs", str(jobs), *more]

    return [
        # The longest of those that run side by side first: nothing would run beside its end.
        Group("cli", [python, str(tests / "support/cli_runner.py"), "--build", str(build)],
              environment=VERIFY_STAGES, one_core=True),
        Group("format", [str(ROOT / "scripts/format"), "--check"], one_core=True),
        Group("layers", layers + ["--preprocess"], layers, one_core=True),
        Group("unit", [str(build / "unit_tests")], environment=OVERWRITE_FREED, one_core=True),
        Group("axes", [str(build / "axis_tests"), "--jobs", str(jobs)], environment=OVERWRITE_FREED),
        Group("opsets", [str(build / "opsets_tests")], environment=OVERWRITE_FREED, one_core=True),
        Group("optimize", [str(build / "optimize_tests"), str(tests / "optimize")], environment=OVERWRITE_FREED,
              one_core=True),
        Group("random_graphs", [python, str(tests / "random/graphs.py"), "--build", str(build)],
              environment=OVERWRITE_FREED, one_core=True),
        Group("golden", golden + ["--also-levels", "18"],
              golden + ["--opsets", QUICK_OPSETS, "--also-levels", "18"], environment=OVERWRITE_FREED),
        Group("devices", [python, str(tests / "support/devices.py"), "--build", str(build), "--jobs", str(jobs)],
              environment=OVERWRITE_FREED),
        Group("scaled", [str(build / "golden_tests"), "--scaled", "--python", python, "--jobs", str(jobs),
                         str(tests / "ops"), str(tests / "semantics/many_elements.test")]),
        Group("matrix", matrix, matrix + ["--quick"]),
        Group("sweep", sweep + ["--limit", "2", *half], sweep + ["--limit", "1", "--part", "1/8"]),
        Group("gradients", gradients, gradients + ["--ops", "^[a-l]"], one_core=True),
        Group("gradients_second", gradients + ["--second"], gradients + ["--second", "--ops", "^[a-l]"], one_core=True),
        Group("random", programs + ["--opsets", "11,13,18,21,26"], programs),
        Group("random_language", language + ["--opsets", "11,18,26"], language + ["--opsets", "18"]),
        Group("tool", [python, str(tests / "support/tool_tests.py"), "--build", str(build)]),
        Group("explain", explain, explain + ["--quick"]),
        Group("wheel", [python, str(tests / "wheel/run.py"), "--build", str(build)]),
        Group("api", [python, str(tests / "api/run.py"), "--build", str(build)], one_core=True),
        Group("package", [python, str(tests / "wheel/packages.py"), "--build", str(build)]),
        Group("examples", [python, str(tests / "support/run_examples.py"), "--tool", tool], one_core=True),
        Group("files", files, one_core=True),
        Group("precision", [python, str(tests / "files/precision.py"), "--build", str(build)], one_core=True),
        Group("quantized", [python, str(tests / "files/quantized.py"), "--build", str(build)], one_core=True),
        Group("kept", [python, str(tests / "files/kept.py"), "--build", str(build)], one_core=True),
        Group("batch", [python, str(tests / "batch/run.py"), "--build", str(build)],
              [python, str(tests / "batch/run.py"), "--build", str(build), "--kills", "8", "--models", "20"]),
        Group("reports", [python, str(tests / "reports/run.py"), "--build", str(build)],
              [python, str(tests / "reports/run.py"), "--build", str(build), "--models", "40"]),
        Group("schedulers", [python, str(tests / "batch/schedulers.py"), "--build", str(build)], by_name=True),
        Group("faults", [python, str(tests / "safety/faults.py"), "--build", str(build), "--jobs", str(jobs)]),
        Group("mutations", [python, str(tests / "files/mutations.py"), "--tool", tool, "--jobs", str(jobs)]),
        Group("sandbox", [python, str(tests / "safety/sandbox.py"), "--build", str(build)]),
        Group("archives", attacks, attacks + ["--mutations", "20"]),
        Group("asan", [python, str(tests / "support/sanitized.py"), "--jobs", str(jobs)], full_only=True,
              idle=True),
        Group("tidy", tidy, full_only=True, idle=True),
        Group("fuzz", fuzz, fuzz + ["--seconds", "3", "archive", "pickle", "code"]),
        Group("foreign_onnx", [python, str(tests / "safety/foreign_onnx.py"), "--build", str(build), "--jobs",
                               str(jobs)]),
        Group("safe_text", [python, str(tests / "safety/text.py"), "--build", str(build), "--jobs", str(jobs)]),
        Group("operators", [python, str(tests / "safety/operators.py"), "--build", str(build), "--jobs", str(jobs)]),
        Group("allocations", safety("allocations"), safety("allocations", "--positions", "12")),
        Group("command_lines", safety("command_lines"), safety("command_lines", "--count", "400")),
        Group("determinism", safety("determinism")),
        Group("memory", safety("memory")),
        Group("wild", wild),
        Group("real_inputs", [python, str(tests / "files/real_inputs.py"), "--build", str(build), "--jobs", str(jobs)]),
        Group("alone", alone),
        Group("alone_ops", [golden[0], "--python", python, "--jobs", str(jobs), str(tests / "ops"), "--alone", "80",
                            "--opsets", "18",  # the ladder is the subject of other groups
                            "--known", str(tests / "ops/alone_known.txt")]),
        Group("over_time", [python, str(tests / "models/over_time.py"), "--tool", tool]),
        Group("models", models + ["--full"], models + ["--quick"], environment=VERIFY_STAGES),
        Group("force_models", [python, str(tests / "foreign/force_models.py"), "--build", str(build)], by_name=True),
        Group("fusions", [python, str(tests / "graphs/fusions.py"), "--build", str(build), "--jobs", str(jobs)],
              by_name=True),
        Group("friends", [python, str(tests / "graphs/friends.py"), "--build", str(build), "--jobs", str(jobs)],
              by_name=True),
        Group("foreign", foreign + half, foreign + ["--part", "1/8"], environment=VERIFY_STAGES),
    ]


def ctest_file(every: list[Group], build: pathlib.Path, jobs: int) -> str:
    """The groups as tests of CTest, which passes or fails a group as a whole: it cannot add up cases."""
    text = ""
    for group in every:
        labels = "by_name" if group.by_name else "full" if group.full_only or group.quick else "full;quick"
        kinds = [(group.name, labels, [])]
        if group.quick and not group.by_name:
            kinds.append((f"{group.name}_quick", "quick", ["--quick"]))
        for name, label, more in kinds:
            command = " ".join(f'"{word}"' for word in (sys.executable, __file__, "--build", build, "--jobs", jobs, *more,
                                                        group.name))
            cores = "PROCESSORS 1" if group.one_core else "RUN_SERIAL ON"
            text += f'add_test({name} {command})\nset_tests_properties({name} PROPERTIES LABELS "{label}" {cores})\n'
    return text


def failures(output: list[str]) -> list[str]:
    """Each line that begins with FAIL, with the lines that follow it; at most 60 lines."""
    after, found = 0, []
    for line in output:
        after = 10 if line.startswith("FAIL ") else after - 1
        if after > 0:
            found.append(line[:400].rstrip("\n") + "\n")
    return found[:60]


def run(group: Group, quick: bool, at_once: bool) -> tuple[int, int, int, list[str]]:
    """at_once: what it prints appears when it ends."""
    command = group.quick if quick and group.quick else group.command
    if group.idle:
        command = ["nice", "-n", "19", *command]
    held = []

    def tell(text: str) -> None:
        if at_once:
            held.append(text)
        else:
            print(text, end="", flush=True)

    try:
        return run_and_tell(group, command, tell)
    finally:
        print("".join(held), end="", flush=True)


def run_and_tell(group: Group, command: list[str], tell) -> tuple[int, int, int, list[str]]:
    tell(f"=== {group.name}\n")
    start = time.monotonic()
    output = []
    try:
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace",
                                 env=os.environ | group.environment)
    except OSError as e:
        why = f"FAIL {group.name}: {e}"
        tell(why + "\n")
        return 0, 1, 0, [why + "\n"]
    for line in child.stdout:
        output.append(line)
        tell(line)
    code = child.wait()
    closing = CLOSING.findall("".join(output))
    tell(f"    {group.name}: {time.monotonic() - start:.1f} s\n")
    passed, failed, skipped = (int(n or 0) for n in closing[-1]) if closing else (0, 0, 0)
    why = ""
    if not closing:
        why = f"FAIL {group.name}: ended with {code} and no closing line\n"
    elif code != 0 and failed == 0:
        why = f"FAIL {group.name}: exit code {code}\n"
    if why:
        tell(why)
        return passed, 1, skipped, failures(output) + output[-10:] + [why]
    return passed, failed, skipped, failures(output) if failed else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ctest", type=pathlib.Path, help="write the groups as tests of CTest, and end")
    parser.add_argument("groups", nargs="*")
    options = parser.parse_args()
    every = groups(options.build.resolve(), options.jobs)
    names = [g.name for g in every]
    if options.list:
        print("\n".join(names))
        return 0
    if options.ctest:
        options.ctest.write_text(ctest_file(every, options.build.resolve(), options.jobs))
        return 0
    unknown = [g for g in options.groups if g not in names]
    if unknown:
        parser.error(f"no group is called '{unknown[0]}'; there are {', '.join(names)}")
    totals = [0, 0, 0]
    failed_groups = []
    failed_lines = []
    wanted = [g for g in every if g.name in options.groups or
              not (options.groups or g.by_name or (options.quick and g.full_only))]
    idle = [g for g in wanted if g.idle]
    beside = [g for g in wanted if g.one_core]
    others = [g for g in wanted if not g.one_core and not g.idle]
    with concurrent.futures.ThreadPoolExecutor(1) as last:
        started = [last.submit(run, g, options.quick, True) for g in idle]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(zip(beside, pool.map(lambda g: run(g, options.quick, at_once=True), beside)))
        results += [(g, run(g, options.quick, at_once=False)) for g in others]
        results += [(g, future.result()) for g, future in zip(idle, started)]
    for group, (*result, lines) in results:
        totals = [a + b for a, b in zip(totals, result)]
        if result[1]:
            failed_groups.append(group.name)
            failed_lines += [f"=== {group.name}, again\n", *lines]
    passed, failed, skipped = totals
    if skipped and os.environ.get("ONNX_EXPORT_TESTS_REQUIRE_ALL"):
        print(f"FAIL {skipped} tests were skipped, and nothing may be absent here")
        failed += 1
        failed_groups.append("(skipped)")
    if failed_groups:
        # A log is often kept by its end alone.
        print("".join(failed_lines), end="")
        print(f"failed: {', '.join(failed_groups)}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
