"""Runs the test groups one after another and sums their closing lines `N passed, N failed`.

    run_tests.py --build build/release [--jobs N] [--quick] [--list] [GROUP...]

ONNX_EXPORT_TESTS_REQUIRE_ALL=1 (set by .ci/run) makes skipped tests failures.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
# A spread over the ladder: ends, the default, and where axes, sequences and types changed.
QUICK_OPSETS = "7,9,11,13,16,18,21,26,28"
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
    sweep = [python, str(tests / "sweep/run.py"), "--build", str(build), "--jobs", str(jobs), "--opsets", "9,13,18,26"]
    gradients = [python, str(tests / "sweep/gradients.py"), "--build", str(build), "--known"]
    matrix = [python, str(tests / "support/matrix.py"), "--build", str(build), "--jobs", str(jobs)]
    attacks = [python, str(tests / "safety/archives.py"), "--build", str(build), "--jobs", str(jobs)]
    fuzz = [python, str(tests / "fuzz/run.py"), "--build", str(ROOT / "build/fuzz"), "--jobs", str(jobs)]
    explain = [python, str(tests / "explain/run.py"), "--build", str(build), "--jobs", str(jobs)]
    layers = [python, str(ROOT / "scripts/check-layers")]

    def safety(test: str, *more: str) -> list[str]:
        return [python, str(tests / f"safety/{test}.py"), "--build", str(build), "--jobs", str(jobs), *more]

    return [
        Group("format", [str(ROOT / "scripts/format"), "--check"]),
        Group("layers", layers + ["--preprocess"], layers),
        Group("unit", [str(build / "unit_tests")], environment=OVERWRITE_FREED),
        Group("axes", [str(build / "axis_tests"), "--jobs", str(jobs)], environment=OVERWRITE_FREED),
        Group("opsets", [str(build / "opsets_tests")], environment=OVERWRITE_FREED),
        Group("optimize", [str(build / "optimize_tests"), str(tests / "optimize")], environment=OVERWRITE_FREED),
        Group("golden", golden, golden + ["--opsets", QUICK_OPSETS], environment=OVERWRITE_FREED),
        *[Group(f"level_{level}", golden + ["--optimize", level, "--opsets", opsets],
                golden + ["--optimize", level, "--opsets", "18"], environment=OVERWRITE_FREED)
          for level, opsets in (("none", "9,18"), ("basic", "18"), ("full", "18"))],
        Group("scaled", [str(build / "golden_tests"), "--scaled", "--python", python, "--jobs", str(jobs),
                         str(tests / "ops"), str(tests / "semantics/many_elements.test")]),
        Group("matrix", matrix, matrix + ["--quick"]),
        Group("sweep", sweep + ["--limit", "2"], sweep + ["--limit", "1", "--part", "1/8"]),
        Group("gradients", gradients, gradients + ["--ops", "^[a-l]"]),
        Group("gradients_second", gradients + ["--second"], gradients + ["--second", "--ops", "^[a-l]"]),
        Group("random", programs + ["--opsets", "11,13,18,21,26"], programs),
        Group("random_language", language + ["--opsets", "11,18,26"], language + ["--opsets", "18"]),
        Group("cli", [python, str(tests / "support/cli_runner.py"), "--build", str(build)],
              environment=VERIFY_STAGES),
        Group("tool", [python, str(tests / "support/tool_tests.py"), "--build", str(build)]),
        Group("explain", explain, explain + ["--quick"]),
        Group("wheel", [python, str(tests / "wheel/run.py"), "--build", str(build)]),
        Group("api", [python, str(tests / "api/run.py"), "--build", str(build)]),
        Group("package", [python, str(tests / "wheel/packages.py"), "--build", str(build)]),
        Group("examples", [python, str(tests / "support/run_examples.py"), "--tool", tool]),
        Group("files", files),
        Group("precision", [python, str(tests / "files/precision.py"), "--build", str(build)]),
        Group("quantized", [python, str(tests / "files/quantized.py"), "--build", str(build)]),
        Group("kept", [python, str(tests / "files/kept.py"), "--build", str(build)]),
        Group("batch", [python, str(tests / "batch/run.py"), "--build", str(build)],
              [python, str(tests / "batch/run.py"), "--build", str(build), "--kills", "8", "--models", "20"]),
        Group("reports", [python, str(tests / "reports/run.py"), "--build", str(build)],
              [python, str(tests / "reports/run.py"), "--build", str(build), "--models", "20"]),
        Group("schedulers", [python, str(tests / "batch/schedulers.py"), "--build", str(build)], by_name=True),
        Group("faults", [python, str(tests / "safety/faults.py"), "--build", str(build), "--jobs", str(jobs)]),
        Group("mutations", [python, str(tests / "files/mutations.py"), "--tool", tool, "--jobs", str(jobs)]),
        Group("sandbox", [python, str(tests / "safety/sandbox.py"), "--build", str(build)]),
        Group("archives", attacks, attacks + ["--mutations", "20"]),
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
                            # meshgrid refuses with the values of its tensors, which take 18 s to print.
                            "--seconds", "40"]),
        Group("over_time", [python, str(tests / "models/over_time.py"), "--tool", tool]),
        Group("models", models + ["--full"], models + ["--quick"], environment=VERIFY_STAGES),
        Group("force_models", [python, str(tests / "foreign/force_models.py"), "--build", str(build)], by_name=True),
        Group("fusions", [python, str(tests / "graphs/fusions.py"), "--build", str(build), "--jobs", str(jobs)],
              by_name=True),
        Group("friends", [python, str(tests / "graphs/friends.py"), "--build", str(build), "--jobs", str(jobs)],
              by_name=True),
        Group("foreign", foreign, foreign + ["--part", "1/8"], environment=VERIFY_STAGES),
    ]


def failures(output: list[str]) -> list[str]:
    """Each line that begins with FAIL, with the lines that follow it; at most 60 lines."""
    after, found = 0, []
    for line in output:
        after = 10 if line.startswith("FAIL ") else after - 1
        if after > 0:
            found.append(line[:400].rstrip("\n") + "\n")
    return found[:60]


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(group: Group, quick: bool) -> tuple[int, int, int, list[str]]:
    command = group.quick if quick and group.quick else group.command
    print(f"=== {group.name}", flush=True)
    start, used = time.monotonic(), seconds_of_children()
    output = []
    try:
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace",
                                 env=os.environ | group.environment)
    except OSError as e:
        why = f"FAIL {group.name}: {e}"
        print(why)
        return 0, 1, 0, [why + "\n"]
    for line in child.stdout:
        output.append(line)
        print(line, end="", flush=True)
    code = child.wait()
    closing = CLOSING.findall("".join(output))
    print(f"    {group.name}: {time.monotonic() - start:.1f} s, {seconds_of_children() - used:.1f} s of processors",
          flush=True)
    passed, failed, skipped = (int(n or 0) for n in closing[-1]) if closing else (0, 0, 0)
    why = ""
    if not closing:
        why = f"FAIL {group.name}: ended with {code} and no closing line\n"
    elif code != 0 and failed == 0:
        why = f"FAIL {group.name}: exit code {code}\n"
    if why:
        print(why, end="", flush=True)
        return passed, 1, skipped, failures(output) + output[-10:] + [why]
    return passed, failed, skipped, failures(output) if failed else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("groups", nargs="*")
    options = parser.parse_args()
    every = groups(options.build.resolve(), options.jobs)
    names = [g.name for g in every]
    if options.list:
        print("\n".join(names))
        return 0
    unknown = [g for g in options.groups if g not in names]
    if unknown:
        parser.error(f"no group is called '{unknown[0]}'; there are {', '.join(names)}")
    totals = [0, 0, 0]
    failed_groups = []
    failed_lines = []
    for group in every:
        if group.name not in options.groups and (options.groups or group.by_name):
            continue
        *result, lines = run(group, options.quick)
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
