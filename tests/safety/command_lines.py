"""Random command lines through the real binary: documented exit codes, and an untouched disk where a run fails.

    command_lines.py --build build/release [--count N] [--seed N] [--only N] [--jobs N] [--figures FILE.json]

Verbs, options and the words that they take are read from the tool's own completion script. Each line runs in
a folder of small files, folders, links, pipes. Before a release: --count 20000.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import harness

SECONDS = 20
SHARED = [b"convert", b"", b"check", b"verify", b"inspect", b"lint", b"diff"]  # start the worker, or read files
# Verbs whose answer is on standard output: they report problems there, and end with this code.
ANSWERS = {(b"check", 5), (b"lint", 5), (b"diff", 6), (b"doctor", 10)}
# Values that an option accepts, where the completion script lists none.
GOOD = {
    "--output": "o.onnx new.onnx sub/o.onnx - net.onnx", "--opset": "7 9 18 26 28",
    "--input": "2x4 5x4 x:2x4@f32 x:n=2x4 x:2x4=ones", "--inputs": "inputs.pt", "--inputs-from": "folder sets",
    "--alt-input": "x:3x4", "--constant": "x y", "--dynamic-axes": 'x:0=n {"x":[0]} x:0', "--input-names": "a a,b",
    "--output-names": "y y,z", "--rename": "x=a", "--method": "forward other forward,other", "--unroll": "0 8",
    "--custom-schema": "a::b(Tensor&x)&->&Tensor", "--custom-op-lib": "text.txt", "--seed": "0 7",
    "--device": "cpu cuda cuda:9", "--threads": "1 2", "--symbolics": "text.txt", "--custom-opset": "a=2",
    "--modules-as-functions": "Net", "--to": "fp16 bf16:io=half fp16:keep=Gemm", "--fold-limit": "1KiB 2MiB",
    "--ir-version": "3 8 10", "--external-data-file": "w.bin o.data", "--external-data-threshold": "0 1KiB",
    "--external-data-align": "1 4KiB 64KiB", "--verify-runs": "1 2", "--atol": "1e-3 y:0.1", "--rtol": "1e-3",
    "--save-test-data": "new_sets sets", "--ort-lib": "text.txt", "--max-time": "15s 10s 0.1s",
    "--max-memory": "4GiB 1MiB", "--max-size": "1GiB 10", "--config": "options.txt", "--log-file": "log.txt",
    "--bundle": "new_bundle folder", "--since": "9 18",
}
POSITIONALS = {
    b"": ["net.pt", "net.pt", "net.pt", "refused.pt", "inputs.pt", "net.onnx"],
    b"verify": ["net.pt", "net.onnx"],
    b"inspect": ["net.pt", "net.onnx"],
    b"lint": ["net.onnx"],
    b"diff": ["net.onnx", "net.onnx"],
    b"explain": ["OE0101", "aten::relu", "relu"],
    b"completion": ["bash", "zsh", "fish"],
}
BAD = [
    b"", b" ", b"-", b"--", b"---", b"-5", b"0", b"-1", b"1e400", b"nan", b"18446744073709551616",
    b"99999999999999999999999999", b"0x7f", b"1,2", b",", b"=", b":", b"@", b"x:", b":x", b"x@", b"x=", b"[",
    b"[[[[[[", b"{\"x\":", b"{}", b"null", b"%s%n", b"$(id)", b"a\nb", b"\t", b"\x1b[2J", b"\xff\xfe", b"\xc3",
    b"\xed\xa0\x80", "é".encode(), "日本語".encode(), "\u202e\u200b".encode(), "𝔸".encode(), "x\u0301".encode(),
    b"a" * 300, b"x:" + b"9x" * 3000, b"(" * 50_000, b"q" * 100_000, b"'", b'"', b"\\", b"*", b"missing.pt",
    b"missing.onnx", b"missing/o.onnx", b"folder", b"folder/", b"fifo", b"./fifo", b"link", b"dangling",
    b"text.txt", b"empty", b"net.pt", b"net.onnx", b"net.pt/x", b"values.npz", b"cut.pt", b"cut.onnx", b".", b"/",
    b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/stdin", b"/proc/self/mem", b"@missing.txt", b"@folder",
    b"@fifo", b"@/dev/zero", b"@text.txt", b"@options.txt", b"@again.txt", b"x:2x4=@fifo.npy",
    b"x:2x4@values.npz:x", b"x@/dev/zero", b"x@missing.npy", b"x@values.npz:none", b"x@fifo", b"x=@values.npz:x",
    b"x:99999999999x99999999999", b"x:0x4", b"x:-1x4", b"x:2x4=rand(1)", b"x:2x4=randint(5,1)",
]


class Grammar:
    """The verbs, and the options of each with the words that they take, as the tool's completion has them."""

    def __init__(self, tool: pathlib.Path):
        text = subprocess.run([tool, "completion", "bash"], capture_output=True, text=True, check=True).stdout
        self.options: dict[bytes, list[str]] = {}
        self.words: dict[str, list[str]] = {}
        self.attached: set[str] = set()  # a value only ever follows '='
        parts = re.split(r"^    ([a-z-]+)\)\n", text, flags=re.M)[1:]
        for verb, part in zip(parts[::2], parts[1::2]):
            options = re.search(r"options='([^']*)'", part)
            self.options[verb.encode()] = options[1].split() if options else []
            case = r"^ +(-[-a-z|]+)\) (\[ -z [^\]]*\] \|\| )?\{ values=1 words='?([^']*)'? files"
            for names, check, words in re.findall(case, part, re.M):
                for name in names.split("|"):
                    self.words[name] = words.split()
                    if check:
                        self.attached.add(name)
        self.options[b""] = self.options[b"convert"]
        self.options[b"man"] = self.options.get(b"man", [])

    def takes_value(self, name: str) -> bool:
        return name in self.words


def fixtures(folder: pathlib.Path, tool: pathlib.Path) -> None:
    import numpy
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 3)

        def forward(self, x: torch.Tensor):
            return torch.relu(self.fc(x))

        @torch.jit.export
        def other(self, x: torch.Tensor, n: int = 2):
            return self.fc(x) * n

    class Refused(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            assert x.size(0) > 2, "too few rows"
            return torch.geqrf(x)

    torch.jit.script(Net().eval()).save(str(folder / "net.pt"))
    torch.jit.script(Refused()).save(str(folder / "refused.pt"))
    torch.save((torch.ones(2, 4),), folder / "inputs.pt")
    numpy.savez(folder / "values.npz", x=numpy.ones((2, 4), numpy.float32))
    words = [tool, "net.pt", "--input", "2x4", "-o", "net.onnx", "--save-test-data", "sets"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    for name in ("net.pt", "net.onnx"):
        (folder / name.replace("net", "cut")).write_bytes((folder / name).read_bytes()[:150])
    (folder / "text.txt").write_text("some text: {\n")
    (folder / "options.txt").write_text("--opset 11 # a comment\n")
    (folder / "again.txt").write_text("@again.txt\n")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "sub").mkdir()
    (folder / "link").symlink_to("net.pt")
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "fifo")
    os.mkfifo(folder / "fifo.npy")


def state(folder: pathlib.Path) -> dict[str, str | bytes]:
    """Names, kinds and bytes of all that a folder holds."""
    found: dict[str, str | bytes] = {}
    for p in folder.rglob("*"):
        name = str(p.relative_to(folder))
        if p.is_symlink():
            found[name] = "link to " + os.readlink(p)
        elif p.is_file():
            found[name] = p.read_bytes()
        else:
            found[name] = f"kind {p.stat().st_mode:o}"
    return found


class Lines:
    """Draws command lines."""

    def __init__(self, grammar: Grammar, seed: int):
        self.grammar, self.seed = grammar, seed

    def value(self, draw: random.Random, name: str, bad: float) -> bytes:
        if draw.random() < bad:
            return draw.choice(BAD)
        words = self.grammar.words.get(name) or [w.replace("&", " ") for w in GOOD.get(name, "1").split(" ")]
        return draw.choice(words).encode()

    def option(self, draw: random.Random, name: str, bad: float) -> list[bytes]:
        if name in self.grammar.attached:
            return [name.encode() + (b"=" + self.value(draw, name, bad) if draw.random() < 0.7 else b"")]
        if not self.grammar.takes_value(name):
            return [name.encode() + (b"=x" if draw.random() < bad / 4 else b"")]
        long = {"-o": "--output"}.get(name, name)
        value = self.value(draw, long, bad)
        if draw.random() < bad / 8:
            return [name.encode()]  # its value is missing
        if name.startswith("--") and draw.random() < 0.4:
            return [name.encode() + b"=" + value]
        return [name.encode(), value]

    def line(self, number: int) -> list[bytes]:
        draw = random.Random(self.seed * 10_000_000 + number)
        verbs = sorted(self.grammar.options)
        verb = draw.choice(SHARED) if draw.random() < 0.6 else draw.choice(verbs)
        # Half of the lines have one mistake at most, so that they come further than the parser.
        mild = draw.random() < 0.5
        bad = 0.0 if mild else draw.choice([0.2, 0.5, 0.9])
        names = self.grammar.options[verb] or self.grammar.options[b"lint"]
        chosen = [draw.choice(names) for _ in range(draw.choice([0, 1, 1, 2, 3, 5, 8]))]
        if draw.random() < 0.1:
            chosen += chosen[:2]
        parts = [self.option(draw, n, bad) for n in chosen]
        known = POSITIONALS.get(b"" if verb in (b"convert", b"check") else verb, [])
        if known and draw.random() < 0.95:
            count = 1 if verb not in (b"verify", b"diff") else 2
            values = known if count == 2 else [draw.choice(known)]
            parts += [[draw.choice(BAD) if draw.random() < bad else v.encode()] for v in values[:count]]
        if verb in SHARED and verb not in (b"inspect", b"lint", b"diff") and draw.random() < 0.6:
            parts += [[b"--input", b"x:2x4"]]
        if mild and draw.random() < 0.5:
            parts.append([draw.choice(BAD)] if draw.random() < 0.3 else self.option(draw, draw.choice(names), 1.0))
        if "--max-time" in names and not any(w.startswith(b"--max-time") for p in parts for w in p):
            parts.append([b"--max-time", b"15s"])
        if draw.random() < 0.5:
            draw.shuffle(parts)
        words = [w for p in parts for w in p]
        if draw.random() < 0.03:
            unknown = draw.choice(["no-such", "inptu", "Verify", ""])
            words.insert(draw.randrange(len(words) + 1), b"--" + unknown.encode())
        return ([verb] if verb else []) + words


def log_files(words: list[bytes]) -> set[str]:
    named = [w.split(b"=", 1)[1] for w in words if w.startswith(b"--log-file=")]
    named += [b for a, b in zip(words, words[1:]) if a == b"--log-file"]
    return {os.fsdecode(n) for n in named}


class Runs:
    def __init__(self, s: harness.Suite, lines: Lines, template: pathlib.Path, root: pathlib.Path):
        self.s, self.lines, self.template, self.root = s, lines, template, root
        self.before = state(template)
        self.codes: collections.Counter[int] = collections.Counter()
        self.slowest, self.lock, self.local = 0.0, threading.Lock(), threading.local()

    def place(self) -> pathlib.Path:
        if not hasattr(self.local, "place"):
            self.local.place = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "in"
        if not self.local.place.exists():
            self.local.place.mkdir()
            for p in self.template.iterdir():
                if p.is_fifo():
                    os.mkfifo(self.local.place / p.name)
                elif p.is_dir():
                    shutil.copytree(p, self.local.place / p.name)
                else:
                    shutil.copy2(p, self.local.place / p.name, follow_symlinks=False)
        return self.local.place

    def problems(self, words: list[bytes]) -> list[str]:
        place = self.place()
        start = time.monotonic()
        child = subprocess.Popen([self.s.tool, *words], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            shutil.rmtree(place)
            return [f"takes more than {SECONDS} s"]
        code, found = child.returncode, []
        with self.lock:
            self.codes[code] += 1
            self.slowest = max(self.slowest, time.monotonic() - start)
        said = err.decode(errors="replace")
        if code not in self.s.documented:
            found.append(f"exit code {code}: {said[-400:]}")
        answer = (words[0] if words else b"", code) in ANSWERS
        if code and not answer and not re.search(r"(?:^|\x1b\[K)(\x1b\[[0-9;]*m)?error:|^\{.*\"severity\"", said, re.M):
            # 11: a note says what could not be verified.
            if code != 11:
                found.append(f"exit code {code} without an error: {said[-400:]!r}")
        after = state(place)
        if after != self.before or os.listdir(place.parent) != ["in"]:
            allowed = log_files(words)
            changed = sorted(n for n in after.keys() | self.before.keys()
                             if after.get(n) != self.before.get(n) and n not in allowed)
            # 11: the file is written. 6: --bundle keeps the difference.
            if changed and code not in (0, 11) and not (code == 6 and any(w.startswith(b"--bundle") for w in words)):
                found.append(f"exit code {code} changes {changed}")
            if os.listdir(place.parent) != ["in"]:
                found.append(f"{os.listdir(place.parent)} beside the folder")
            shutil.rmtree(place)
        return found

    def one(self, number: int) -> None:
        words = self.lines.line(number)
        found = self.problems(words)

        def check() -> None:
            assert not found, "; ".join(found)

        shown = " ".join(shlex.quote(w[:200].decode(errors="backslashreplace")) for w in words)
        with self.lock:
            self.s.case(f"{number}: {shown}", check)


def documented(tool: pathlib.Path) -> set[int]:
    """The exit codes of the manual page; 1 is a bug, and a signal is never right here."""
    text = subprocess.run([tool, "man"], capture_output=True, text=True, check=True).stdout
    text = text[text.index("EXIT STATUS"):]
    return {int(n) for n in re.findall(r"^\.?(?:TP\n)?(?:\.B )?\"?(\d+)\"?$", text, re.M)} - {1, 9}


def main() -> int:
    s = harness.Suite(__doc__.splitlines()[0], "tests/safety/command_lines.py")
    s.parser.add_argument("--count", type=int, default=1500)
    s.parser.add_argument("--seed", type=int, default=1)
    s.parser.add_argument("--only", type=int, help="runs one line, by its number")
    options: argparse.Namespace = s.start()
    s.documented = documented(s.tool)
    grammar = Grammar(s.tool)
    print(f"seed {options.seed}, exit codes {sorted(s.documented)}, {len(grammar.options)} verbs, "
          f"{sum(map(len, grammar.options.values()))} options", flush=True)
    assert len(s.documented) > 8 and len(grammar.options) > 10 and len(grammar.words) > 40
    with harness.scratch() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        root = pathlib.Path(name)
        template = root / "template"
        template.mkdir()
        fixtures(template, s.tool)
        runs = Runs(s, Lines(grammar, options.seed), template, root)
        numbers = [options.only] if options.only is not None else range(options.count)
        for _ in pool.map(runs.one, numbers):
            pass
    codes = ", ".join(f"{c}: {n}" for c, n in sorted(runs.codes.items()))
    figure = f"{s.passed + s.failed} random command lines, exit codes {codes}; slowest {runs.slowest:.1f} s"
    print(figure)
    s.figure("Any command line ends with a documented exit code, and a failed one changes no file", figure)
    return s.end()


if __name__ == "__main__":
    sys.exit(main())
