"""Builds the preset `asan` (AddressSanitizer, UndefinedBehaviorSanitizer) and runs test programs of it.

    sanitized.py [--jobs N]

The unit tests, the cases of the ladder, and the golden cases at one opset. Each program ends at the first error that a
sanitizer finds, which fails its cases. Leaks are not reported: LibTorch keeps what it allocates.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/asan"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed", re.M)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = str(parser.parse_args().jobs)
    programs = ["unit_tests", "opsets_tests", "golden_tests"]
    subprocess.run(["bash", "-c", f"source '{ROOT}/scripts/common'; JOBS={jobs} build asan {' '.join(programs)}"],
                   check=True, stdout=subprocess.DEVNULL)
    golden = ["--python", sys.executable, "--jobs", jobs, "--opsets", "18", "tests/ops", "tests/semantics"]
    sums = [0, 0]
    for program in programs:
        run = subprocess.run([BUILD / program, *(golden if program == "golden_tests" else [])], cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                             env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0",
                                               "UBSAN_OPTIONS": "print_stacktrace=1"})
        closing = CLOSING.findall(run.stdout)
        passed, failed = map(int, closing[-1]) if closing else (0, 0)
        if run.returncode and not failed:
            failed = 1
        if failed:
            print(run.stdout[-8000:])
            print(f"FAIL {program} with sanitizers: {failed} failed, exit code {run.returncode}")
        sums = [sums[0] + passed, sums[1] + failed]
    print(f"{sums[0]} passed, {sums[1]} failed")
    return 1 if sums[1] else 0


if __name__ == "__main__":
    sys.exit(main())
