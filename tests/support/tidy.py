"""clang-tidy (.clang-tidy) over the sources that the build compiles; files of a unity build as one.

    tidy.py --build build/release [--jobs N] [--part I/N | --next-part N] [FILE...]

All sources take ten minutes of two cores. --next-part N runs one of N parts, the next one with every
commit, so that N commits run all of them. FILE: only these.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-16"
FOLDERS = ("api/", "app/", "lib/", "opsets/")
# Warnings of clang that GCC does not give for the same code, or that the build's own flags cause.
ACCEPTED = re.compile(r"\[clang-diagnostic-(macro-redefined|missing-field-initializers|unused-variable)\b")
WARNING = re.compile(r"^(\S+?:\d+:\d+: (?:warning|error): .*)$", re.M)


def sources(build: pathlib.Path) -> list[str]:
    """The files that are compiled, relative to the root; generated ones other than unity files are left out."""
    found = []
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(command["directory"], command["file"])
        own = path.relative_to(build) if "Unity" in path.parts else path.relative_to(ROOT)
        if str(own).startswith(FOLDERS):
            found.append(str(path))
    return sorted(set(found))


def in_part(path: str, part: int, parts: int) -> bool:
    # Not hash(), which differs from run to run; the place in a sorted list would move with every new file.
    return zlib.crc32(pathlib.Path(path).relative_to(ROOT).as_posix().encode()) % parts == part


def next_part(parts: int) -> int:
    count = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(count.stdout) % parts


def warnings(build: pathlib.Path, path: str) -> tuple[str, list[str]]:
    run = subprocess.run([TOOL, "-p", str(build), "--quiet", path], capture_output=True, text=True, errors="replace",
                         cwd=ROOT)
    every = [line.replace(f"{ROOT}/", "") for line in WARNING.findall(run.stdout)]
    found = [line for line in every if not ACCEPTED.search(line)]
    if run.returncode and not every:
        found = [f"{TOOL} ended with {run.returncode}: {run.stderr.strip()[-300:]}"]
    return path, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--part")
    parser.add_argument("--next-part", type=int)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if not shutil.which(TOOL):
        print(f"FAIL {TOOL} is not installed; scripts/setup installs it\n0 passed, 1 failed")
        return 1
    build = options.build.resolve()
    every = sources(build)
    if options.files:
        every = [s for s in every if any(s.endswith(f) for f in options.files)]
    if options.part or options.next_part:
        part, parts = (map(int, options.part.split("/")) if options.part
                       else (next_part(options.next_part), options.next_part))
        every = [s for s in every if in_part(s, part % parts, parts)]
    told, failed = set(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, found in pool.map(lambda s: warnings(build, s), every):
            failed += bool(found)
            for line in found:
                if line not in told:  # a header's, once
                    print(f"FAIL {line}", flush=True)
                told.add(line)
    print(f"{len(every) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
