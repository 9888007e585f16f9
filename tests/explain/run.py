"""Runs the example of each problem and compares what the tool prints with lib/support/error_examples.

    run.py --build build/release [--jobs N] [--bless] [--quick] [CODE...]

--quick leaves out what avoids the problem, which is nearly half of the runs.
README.md beside this file is the format. Ends with the line `N passed, N failed`.
"""
import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "lib/support/error_examples"
SECTIONS = ("exit", "model.py", "command", "message", "instead", "needs", "none")
TIMEOUT = 120


@dataclasses.dataclass
class Example:
    file: pathlib.Path
    code: str
    sections: dict[str, str] = dataclasses.field(default_factory=dict)

    def commands(self) -> list[str]:
        return self.sections["command"].splitlines()


@dataclasses.dataclass
class Run:
    """What is executed in one folder: an example, or what it says to do instead."""
    folder: pathlib.Path
    model: str
    commands: list[str]
    terminal: bool = False  # standard output is one


def read(path: pathlib.Path) -> list[Example]:
    examples: list[Example] = []
    section = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("## "):
            examples.append(Example(path, line[3:]))
            section = ""
        elif line.startswith("-- "):
            section, _, rest = line[3:].partition(" ")
            if section not in SECTIONS:
                raise SystemExit(f"{path}:{number}: unknown section '{section}'")
            examples[-1].sections[section] = rest + "\n" if rest else ""
        elif section:
            examples[-1].sections[section] += line + "\n"
        elif examples and line:
            raise SystemExit(f"{path}:{number}: is in no section")
    for e in examples:
        e.sections = {name: text.rstrip("\n") + "\n" for name, text in e.sections.items()}
    return examples


def record(example: Example, message: str) -> None:
    """Writes the message into the example's file."""
    text = example.file.read_text()
    start = text.index(f"## {example.code}\n")
    end = text.find("\n## ", start)
    page = text[start:] if end < 0 else text[start:end + 1]
    page = re.sub(r"^-- message\n(?:(?!-- ).*\n)*", "", page, flags=re.M).rstrip("\n") + "\n"
    before, mark, after = page.partition("-- instead\n")
    page = f"{before}-- message\n{message}{mark}{after}"
    example.file.write_text(text[:start] + page + ("" if end < 0 else text[end:]))


def changed(model: str, instead: str) -> str:
    """The model with the lines of the diff replaced: each block of - lines by the + lines behind it."""
    blocks = re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", instead, re.M)
    if instead.count("\n+") + instead.startswith("+") != sum(new.count("\n") for _, new in blocks):
        raise ValueError("`-- instead`: lines with + follow the lines with - that they replace")
    for old, new in blocks:
        old, new = (re.sub(r"^.", "", text, flags=re.M) for text in (old, new))
        if model.count(old) != 1:
            raise ValueError(f"`-- instead` replaces lines that the model does not have once:\n{old}")
        model = model.replace(old, new)
    return model


def runs_of(example: Example, folder: pathlib.Path) -> list[Run]:
    s = example.sections
    terminal = s.get("needs", "").strip() == "terminal"
    runs = [Run(folder / example.code, s.get("model.py", ""), example.commands(), terminal)]
    if "instead" in s:
        given = [line[2:] for line in s["instead"].splitlines() if line.startswith("$ ")]
        model = changed(s.get("model.py", ""), s["instead"])
        runs.append(Run(folder / (example.code + ".instead"), model,
                        example.commands()[:-1] + (given or example.commands()[-1:])))
    return runs


def make_models(runs: list[Run], build: pathlib.Path, jobs: int) -> None:
    for run in runs:
        run.folder.mkdir()
        (run.folder / "work").mkdir()
        if run.model:
            (run.folder / "work/model.py").write_text(run.model)
        if any("kernels.so" in c for c in run.commands):
            (run.folder / "work/kernels.so").symlink_to(build / "tests/libforeign_kernels.so")
    folders = [run.folder / "work" for run in runs if run.model]
    subprocess.run([sys.executable, ROOT / "tests/explain/make_models.py", str(jobs), *folders], check=True)


def shown(text: str, folder: pathlib.Path, build: pathlib.Path) -> str:
    """The message as it is on every machine."""
    for path in (folder, build, sysconfig.get_path("purelib"), ROOT):
        text = text.replace(f"{path}/", "")
    text = re.sub(r"/[^\s:]*/site-packages/", "", text)  # a link to it may have been followed
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def execute(run: Run, build: pathlib.Path) -> tuple[int, str]:
    """Exit code and message of the last command; ValueError where the ones before it fail."""
    work = run.folder / "work"
    if (work / "error.txt").exists():
        raise ValueError(f"model.py failed:\n{(work / 'error.txt').read_text()}")
    temporary = run.folder / "tmp"
    temporary.mkdir()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    environment["PATH"] = f"{build}:{pathlib.Path(sys.executable).parent}:{environment['PATH']}"
    environment["TMPDIR"] = str(temporary)
    for command in run.commands:
        out = os.openpty()[1] if run.terminal else subprocess.PIPE
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.PIPE if run.terminal else subprocess.STDOUT,
                              timeout=TIMEOUT)
        printed = done.stderr if run.terminal else done.stdout
        message = shown(printed.decode(errors="replace"), work, build)
        if command is not run.commands[-1] and done.returncode:
            raise ValueError(f"`{command}` ended with {done.returncode}:\n{message}")
    return done.returncode, message


def problem_of(example: Example, runs: list[Run], build: pathlib.Path, bless: bool) -> str:
    """What is wrong with the example; empty when nothing is."""
    page = subprocess.run([build / "onnx-export", "explain", example.code], capture_output=True, text=True).stdout
    expected = int(example.sections.get("exit") or re.match(r"OE\d+ \(exit code (\d+)\)", page)[1])
    code, message = execute(runs[0], build)
    if code != expected or f"[{example.code}]" not in message:
        return f"ends with {code}, expected {expected} and [{example.code}] in\n{message}"
    if bless:
        record(example, message)
    elif message != example.sections.get("message"):
        return "".join(difflib.unified_diff(example.sections.get("message", "").splitlines(True),
                                            message.splitlines(True), "recorded", "printed"))
    elif "".join(f"    {line}".rstrip() + "\n" for line in message.splitlines()) not in page:
        return f"`onnx-export explain {example.code}` does not show the message that is recorded"
    for run in runs[1:]:
        code, message = execute(run, build)
        if code or f"[{example.code}]" in message:
            return f"`-- instead` ends with {code}:\n{message}"
    return ""


def is_for_cuda(build: pathlib.Path) -> bool:
    parts = subprocess.run([build / "onnx-export", "doctor"], capture_output=True, text=True).stdout
    return "is a build for CPUs" not in parts or "CUDAExecution" in parts


def table() -> list[str]:
    return re.findall(r'^    \{"(OE\d{4})"', (ROOT / "lib/support/error_codes.cpp").read_text(), re.M)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("codes", nargs="*", metavar="CODE")
    args = parser.parse_args()
    build = args.build.resolve()
    examples = [e for path in sorted(EXAMPLES.glob("*.txt")) for e in read(path)]
    problems: list[tuple[str, str]] = []
    seen = [e.code for e in examples]
    for code in table():
        if code not in seen:
            problems.append((code, "has no example and no reason in lib/support/error_examples/*.txt"))
    problems += [(c, "is no code of lib/support/error_codes.cpp") for c in seen if c not in table()]
    problems += [(c, "has two examples") for c in sorted({c for c in seen if seen.count(c) > 1})]
    problems = [p for p in problems if not args.codes or p[0] in args.codes]
    chosen = [e for e in examples if "none" not in e.sections and (not args.codes or e.code in args.codes)]
    cpu_only = [e for e in chosen if e.sections.get("needs", "").strip() == "no-cuda"]
    skipped = cpu_only if cpu_only and is_for_cuda(build) else []
    chosen = [e for e in chosen if e not in skipped]

    with tempfile.TemporaryDirectory() as top:
        runs: dict[str, list[Run]] = {}
        for e in chosen:
            try:
                runs[e.code] = runs_of(e, pathlib.Path(top))[:1 if args.quick else None]
            except (KeyError, ValueError) as error:
                problems.append((e.code, str(error)))
        make_models([r for rs in runs.values() for r in rs], build, args.jobs)

        def judge(e: Example) -> str:
            try:
                return problem_of(e, runs[e.code], build, args.bless)
            except (ValueError, subprocess.TimeoutExpired) as error:
                return str(error)

        with concurrent.futures.ThreadPoolExecutor(1 if args.bless else args.jobs) as pool:
            judged = [e for e in chosen if e.code in runs]
            problems += [(e.code, text) for e, text in zip(judged, pool.map(judge, judged)) if text]
        subprocess.run(["chmod", "-R", "u+w", top], check=True)
    for code, text in problems:
        print(f"FAIL {code}: {text}\n  to repeat: .deps/venv/bin/python3 tests/explain/run.py --build {args.build} {code}")
    failed = {code for code, _ in problems}
    passed = len([e for e in chosen if e.code not in failed])
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
