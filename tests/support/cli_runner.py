"""Runs the command line tests: command, output, exit code and files left behind, in one text file.

    cli_runner.py --build build/release [--list] [FILE.test|CASE...]

A case reads

    ## what it shows
    + shell line that prepares the folder
    $ onnx-export net.pt --opset 6
    -- exit 2
    -- writes m.onnx m.onnx.data
    -- needs root
    -- stdout
    text that standard output has to be, line by line
    -- stderr
    error: --opset: 6 is not supported ...

Each case runs in a folder of its own that holds the files of tests/cli/make_fixtures.py. Files that
are not in `writes` must not be there afterwards. In expected text `...` stands for anything within a
line, and on a line of its own for any lines; a stream that is not mentioned must be empty.
Each JSON document that a case prints (--json, --format json) is held against docs/schema.
Ends with the line `N passed, N failed`.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import schema  # noqa: E402

TIMEOUT = 300
# Bash reads this first: it keeps a copy of each document that the tool prints.
KEEP_DOCUMENTS = """\
onnx-export() {
  case " $* " in *" --json "*|*" --format json "*)
    command onnx-export "$@" | tee "$(mktemp "$KEPT_DOCUMENTS/XXXXXXXX")"
    return "${PIPESTATUS[0]}" ;;
  esac
  command onnx-export "$@"
}
"""


@dataclasses.dataclass
class Case:
    file: str
    line: int
    name: str
    setup: list[str] = dataclasses.field(default_factory=list)
    command: str = ""
    exit: int = 0
    writes: list[str] = dataclasses.field(default_factory=list)
    needs: list[str] = dataclasses.field(default_factory=list)
    streams: dict[str, list[str]] = dataclasses.field(
        default_factory=lambda: {"stdout": [], "stderr": []})


def read_cases(path: pathlib.Path) -> list[Case]:
    cases: list[Case] = []
    stream = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("## "):
            cases.append(Case(path.name, number, line[3:].strip()))
            stream = None
        elif not cases:
            continue
        elif line.startswith("-- "):
            section, *words = line[3:].split()
            case, stream = cases[-1], None
            if section in case.streams:
                stream = case.streams[section]
            elif section == "exit":
                case.exit = int(words[0])
            elif section in ("writes", "needs"):
                getattr(case, section).extend(words)
            else:
                raise SystemExit(f"{path}:{number}: unknown section '{section}'")
        elif stream is not None:
            stream.append(line)
        elif line.startswith("+ "):
            cases[-1].setup.append(line[2:])
        elif line.startswith("$ "):
            cases[-1].command += ("\n" if cases[-1].command else "") + line[2:]
        elif line.strip() and not line.startswith("#"):
            raise SystemExit(f"{path}:{number}: cannot read '{line}'")
    for case in cases:
        for lines in case.streams.values():
            while lines and not lines[-1].strip():
                lines.pop()
    return cases


def pattern(expected: list[str]) -> re.Pattern:
    out = ""
    for line in expected:
        if line.strip() == "...":
            out += r"(?:[^\n]*\n)*?"
        else:
            out += ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.compile(out)


def listing(folder: pathlib.Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def document_problems(text: str) -> list[str]:
    """Of what one command printed: a document, lines of documents, or nothing."""
    try:
        parts = [json.loads(text)] if text.strip() else []
    except ValueError:
        try:
            parts = [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return [f"no JSON document: {text[:200]}"]
    return [f"against docs/schema: {p}" for part in parts
            if "$schema" not in part  # SARIF
            for p in schema.problems(part, "events" if "event" in part else "report")]


def run_case(case: Case, build: pathlib.Path, fixtures: pathlib.Path) -> str:
    """What is wrong; empty when nothing is."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("NO_COLOR", "CLICOLOR_FORCE", "TMPDIR")}
    environment["PATH"] = f"{build}:{environment['PATH']}"
    with tempfile.TemporaryDirectory() as top:
        work = pathlib.Path(top) / "work"
        shutil.copytree(fixtures, work)
        # The folder for temporary files is watched too: nothing may stay there either.
        temporary = pathlib.Path(top) / "tmp"
        temporary.mkdir()
        environment["TMPDIR"] = str(temporary)
        documents = pathlib.Path(top) / "documents"
        documents.mkdir()
        (pathlib.Path(top) / "bash").write_text(KEEP_DOCUMENTS)
        if "--json" in case.command or "--format json" in case.command:
            environment |= {"BASH_ENV": f"{top}/bash", "KEPT_DOCUMENTS": str(documents)}

        def shell(command: str) -> subprocess.CompletedProcess:
            return subprocess.run(["bash", "-c", command], cwd=work, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)

        for line in case.setup:
            prepared = shell(line)
            if prepared.returncode:
                return f"preparation failed: {line}\n{prepared.stderr.decode(errors='replace')}"
        try:
            before = listing(work)
            done = shell(case.command)
            problems = []
            if done.returncode != case.exit:
                problems.append(f"exit code {done.returncode}, expected {case.exit}")
            for name, got in (("stdout", done.stdout), ("stderr", done.stderr)):
                text = got.decode(errors="replace")
                if not pattern(case.streams[name]).fullmatch(text):
                    problems.append(f"{name} is\n" +
                                    "".join(f"  {line}\n" for line in text.splitlines()))
                elif problems and name == "stderr":
                    problems.append("stderr is\n" +
                                    "".join(f"  {line}\n" for line in text.splitlines()))
            left = listing(work) - before
            if left != set(case.writes):
                problems.append(f"left on disk: {sorted(left)}, expected {sorted(case.writes)}")
            for document in documents.iterdir():
                problems += document_problems(document.read_text(errors="replace"))
            if listing(temporary):
                problems.append(f"left in TMPDIR: {sorted(listing(temporary))}")
            return "\n".join(problems)
        finally:
            shell("for m in mnt ro; do mountpoint -q $m && umount $m; done; chmod -R u+w .")


def missing_need(case: Case, build: pathlib.Path) -> str:
    for need in case.needs:
        if need == "root" and os.geteuid() != 0:
            return "root"
        if need == "no-cuda":  # neither LibTorch nor ONNX Runtime are builds for CUDA
            parts = subprocess.run([build / "onnx-export", "doctor"], capture_output=True, text=True)
            if "is a build for CPUs" not in parts.stdout or "CUDAExecution" in parts.stdout:
                return "no-cuda"
        if need == "mount":
            with tempfile.TemporaryDirectory() as folder:
                if subprocess.run(["mount", "-t", "tmpfs", "none", folder],
                                  capture_output=True).returncode:
                    return "mount"
                subprocess.run(["umount", folder], check=True)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("only", nargs="*", metavar="FILE|CASE")
    args = parser.parse_args()
    cases = [c for f in sorted((ROOT / "tests/cli").glob("*.test")) for c in read_cases(f)
             if not args.only or f.name in args.only or c.name in args.only]
    if args.list:
        print("\n".join(f"{c.file}: {c.name}" for c in cases))
        return 0
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lock = threading.Lock()
    schema.prepare()
    with tempfile.TemporaryDirectory() as folder:
        fixtures = pathlib.Path(folder) / "fixtures"
        subprocess.run([sys.executable, ROOT / "tests/cli/make_fixtures.py", fixtures], check=True)

        def worker(queue: list[Case]) -> None:
            while True:
                with lock:
                    if not queue:
                        return
                    case = queue.pop(0)
                need = missing_need(case, args.build)
                problem = "" if need else run_case(case, args.build.resolve(), fixtures)
                with lock:
                    counts["skipped" if need else "failed" if problem else "passed"] += 1
                    where = f"{case.file}:{case.line}: {case.name}"
                    if need:
                        print(f"SKIP {where}: needs {need}", flush=True)
                    elif problem:
                        print(f"FAIL {where}\n{problem}", flush=True)

        queue = list(cases)
        threads = [threading.Thread(target=worker, args=(queue,)) for _ in range(args.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
