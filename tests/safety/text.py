"""Hostile names and texts through the real binary: nothing steers the terminal, forges a line, or floods it.

    text.py --build build/release [--jobs N] [--figures FILE.json]
"""
import io
import json
import pathlib
import pickle
import pty
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from onnx_models import field, model as onnx_model, node, value  # noqa: E402

FORGED = "error: forged  [OE0003]"
# A control sequence that clears the screen, a title, a forged line, a return, C1, DEL, right to left, a line separator.
HOSTILE = f"n\33[2J\33]0;title\7\n{FORGED}\r\u009b31m\x7f\u202e\u2028z"
# Characters that output may have: tabs and newlines, and of ours the colours and the erased progress line.
BAD = re.compile("[\0-\10\13-\37\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufffd]")
OURS = re.compile(r"\x1b\[(1;3[136]|36|0)m")


def literal(text: str) -> str:
    """As TorchScript reads it: it knows octal numbers."""
    return '"' + "".join(chr(b) if 31 < b < 127 and chr(b) not in '"\\\\' else f"\\{b:03o}" for b in text.encode()) + '"'


class Suite:
    def __init__(self, build: pathlib.Path, folder: pathlib.Path):
        self.tool, self.folder = str(build / "onnx-export"), folder
        self.passed, self.failures = 0, []

    def judge(self, what: str, output: str, wrong: list[str]) -> None:
        bad = BAD.search(OURS.sub("", output))
        if bad:
            wrong.append(f"holds {bad.group()!r}: {output[max(0, bad.start() - 60):bad.start() + 60]!r}")
        if any(line.startswith(FORGED) for line in output.splitlines()):
            wrong.append("a forged line")
        if wrong:
            self.failures.append(what)
            print(f"FAIL {what}: {'; '.join(wrong)}\n  {output[:800]!r}", flush=True)
        else:
            self.passed += 1

    def run(self, what: str, arguments: list[str], codes: set[int], contains: str = "", most: int = 100_000) -> str:
        done = subprocess.run([self.tool, *arguments], cwd=self.folder, capture_output=True, timeout=300)
        output = (done.stdout + done.stderr).decode("utf-8", errors="replace")
        wrong = []
        if done.returncode not in codes:
            wrong.append(f"exit code {done.returncode}, expected {sorted(codes)}")
        if contains not in output:
            wrong.append(f"no {contains!r}")
        if len(output) > most:
            wrong.append(f"{len(output)} bytes")
        self.judge(what, output, wrong)
        return output


def rewritten(source: pathlib.Path, target: pathlib.Path, change) -> None:
    """`change(name, data)` gives the records to write in a record's place; local headers and the directory agree."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            for name, data in change(info.filename, old.read(info)):
                entry = zipfile.ZipInfo(name)
                entry.flag_bits |= 0x800
                new.writestr(entry, data)


def models(folder: pathlib.Path) -> None:
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 3)

        def forward(self, x: torch.Tensor):
            return torch.relu(self.fc(x))

    torch.jit.script(Net()).save(str(folder / "net.pt"))

    key = HOSTILE
    text = f"""
def forward(self, x: Tensor):
    return {{{literal(key)}: x + 1}}
"""
    keyed = type("Keyed", (torch.jit.ScriptModule,), {})()
    keyed.define(text)
    keyed.save(str(folder / "keyed.pt"))

    def raises(name: str, body: str) -> None:
        m = type(name.split(".")[0], (torch.jit.ScriptModule,), {})()
        m.define(f"def forward(self, x: Tensor):\n{body}\n    return x + 1\n")
        m.save(str(folder / name))

    quoted = literal(HOSTILE)
    raises("raises.pt", f"    if x.size(0) > 0:\n        raise Exception({quoted})")
    raises("asserts.pt", f"    assert x.size(0) > 100, {quoted}")
    raises("prints.pt", f"    print({quoted})")
    doubled = "    for _ in range(x.size(0) * 10):\n        s = s + s\n"  # a loop is not folded when it is saved
    raises("floods.pt", f"    s = {literal('error: forged' + chr(10) * 2 + 'y' * 65)}\n{doubled}"
                        "    if x.size(0) > 0:\n        raise Exception(s)")
    raises("talks.pt", "    for i in range(200000):\n        print('error: forged  [OE0003]')")


def archives(s: Suite) -> None:
    folder, net = s.folder, s.folder / "net.pt"
    names = {"escape": "\33[2J", "newline": f"a\n{FORGED}", "return": "a\rb", "c1": "\u009b", "del": "\x7f",
             "bidi": "\u202eb", "separator": "\u2028b"}
    for what, name in names.items():
        file = f"record_{what}.pt"
        rewritten(net, folder / file, lambda n, d, name=name: [(n, d)] + (
            [(n.replace("data.pkl", f"extra/{name}"), b"x")] if n.endswith("/data.pkl") else []))
        s.run(f"convert {file}", [file, "--input", "2x4", "--force", "-o", "o.onnx"], {0, 4})
        s.run(f"inspect {file}", ["inspect", file], {0, 4})
        twice = f"twice_{what}.pt"
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewritten(net, folder / twice, lambda n, d, name=name: [(n, d)] + (
                2 * [(n.replace("data.pkl", f"extra/{name}"), b"x")] if n.endswith("/data.pkl") else []))
        s.run(f"convert {twice}", [twice, "--input", "2x4"], {4}, "OE0114")
    # A NUL, which zipfile does not write.
    data = net.read_bytes().replace(b"byteorder", b"byte\0rder")
    (folder / "nul.pt").write_bytes(data)
    s.run("convert nul.pt", ["nul.pt", "--input", "2x4"], {4}, "\\u0000rder")
    # Paths in the pickled table of source lines: as long as the old ones, so that no length changes.

    def renamed(name: str, record: bytes):
        if name.endswith(".debug_pkl"):
            at = [m.start() for m in re.finditer(rb"text\.py|\.py", record)]
            for a in at[:20]:
                record = record[:a] + b"\n\33\r"[:3] + record[a + 3:]
        return [(name, record)]

    rewritten(folder / "asserts.pt", folder / "debug.pt", renamed)
    s.run("convert debug.pt", ["debug.pt", "--input", "x:2", "-v"], {0, 3, 4, 5})
    # A global of the pickle that nobody knows.
    bad = io.BytesIO()
    bad.write(b"\x80\x02c__torch__." + b"\33[2J\r" + b"x\nNet\n)\x81.")
    rewritten(net, folder / "class.pt", lambda n, d: [(n, bad.getvalue() if n.endswith("/data.pkl") else d)])
    s.run("convert class.pt", ["class.pt", "--input", "2x4"], {3, 4})
    s.run("inspect class.pt", ["inspect", "class.pt"], {0, 3, 4})
    with open(folder / "eager.pt", "wb") as f:
        pickle.dump({HOSTILE: 1}, f, protocol=2)
    s.run("convert eager.pt", ["eager.pt"], {3})


def programs(s: Suite) -> None:
    shape = ["--input", "x:2"]
    s.run("a key of the result", ["keyed.pt", *shape, "-o", "keyed.onnx", "--verify"], {0, 11})
    s.run("a key, listed", ["check", "keyed.pt", *shape], {0})
    for verb in ("inspect", "lint"):
        s.run(f"{verb} keyed.onnx", [verb, "keyed.onnx"], {0})
        s.run(f"{verb} --json keyed.onnx", [verb, "keyed.onnx", "--json"], {0})
    s.run("verify keyed.onnx", ["verify", "keyed.pt", "keyed.onnx", *shape], {0, 11})
    s.run("-v", ["keyed.pt", *shape, "-o", "keyed.onnx", "--force", "-v"], {0})
    for name in ("raises.pt", "asserts.pt"):
        for more in ([], ["--diag-format", "json"], ["--diag-format", "sarif"], ["--json"], ["-v"]):
            s.run(f"{name} {' '.join(more)}", [name, *shape, *more], {0, 4, 5, 11})
        s.run(f"inspect {name}", ["inspect", name, "--guess=auto"], {0})
    s.run("a model that prints", ["prints.pt", *shape, "-v", "--verify", "--force"], {0}, "model: n")
    s.run("an exception of 84 MB", ["floods.pt", *shape, "--log-file", "log.txt"], {4, 5}, "left out", 20_000)
    log = (s.folder / "log.txt").read_text(errors="replace")
    s.judge("the log of it", log, [] if 900_000 < len(log) < 2_500_000 else [f"{len(log)} bytes of log"])
    s.run("a model that prints 5 MB a run", ["talks.pt", *shape, "-v", "--verify", "--force"], {0, 5, 8}, "left out", 3_000_000)
    json.loads(subprocess.run([s.tool, "raises.pt", *shape, "--json"], cwd=s.folder, capture_output=True).stdout)


def onnx(s: Suite) -> None:
    def port(name: str) -> bytes:
        return value(name, 1, [2])

    bad = onnx_model([node("Relu", HOSTILE, [HOSTILE], ["y"]), node(HOSTILE, "m", ["y"], [HOSTILE + "2"])],
                     [port(HOSTILE)], [port("y")], [], ir=8) + field(2, HOSTILE) + field(14, field(1, HOSTILE) + field(2, HOSTILE))
    (s.folder / "bad.onnx").write_bytes(bad)
    nul = onnx_model([node("Relu", "n", ["a\0b"], ["y"])], [port("x")], [port("y")], [], ir=8)
    (s.folder / "nul.onnx").write_bytes(nul)
    good = onnx_model([node("Relu", "n", ["x"], ["y"])], [port("x")], [port("y")], [], ir=8)
    (s.folder / "good.onnx").write_bytes(good)
    for name in ("bad.onnx", "nul.onnx"):
        s.run(f"lint {name}", ["lint", name], {0, 5})
        s.run(f"lint --json {name}", ["lint", name, "--json"], {0, 5})
        s.run(f"diff {name}", ["diff", name, "good.onnx"], {3, 6})
        s.run(f"inspect {name}", ["inspect", name], {0})
        s.run(f"inspect --json {name}", ["inspect", name, "--json"], {0})
        s.run(f"verify {name}", ["verify", "net.pt", name, "--input", "2x4"], {2, 3, 5, 6, 11})
    s.run("nul.onnx is named", ["diff", "nul.onnx", "good.onnx"], {3}, "a\\u0000b")


def files(s: Suite) -> None:
    name = HOSTILE.replace("/", "") + ".pt"
    shutil.copy(s.folder / "net.pt", s.folder / name)
    s.run("a file name", [name, "--input", "2x4", "-o", HOSTILE + ".onnx", "--log-file", "names.txt"], {0})
    s.judge("a file name in the log", (s.folder / "names.txt").read_text(errors="replace"), [])
    lines = (s.folder / "names.txt").read_text(errors="replace").splitlines()
    s.judge("each line of the log has its time", "", [x for x in lines if not re.match(r"\d{4}-\d\d-\d\dT", x)])
    s.run("a file that is not there", [HOSTILE + "x.pt"], {3})
    s.run("an output folder that is not there", [name, "--input", "2x4", "-o", HOSTILE + "/x.onnx"], {7})
    s.run("a file of inputs", [name, "--inputs", HOSTILE, "--force"], {2, 3})
    s.run("a configuration", [name, "--config", HOSTILE, "--force"], {2, 3})
    s.run("an option", ["net.pt", "--" + HOSTILE], {2})
    s.run("a verb", ["explain", HOSTILE], {2})
    for verb in ("inspect", "lint"):
        s.run(f"{verb}, a file name", [verb, HOSTILE + ".onnx"], {0, 3})
    s.run("check, a file name", ["check", name, "--input", "2x4"], {0})
    # On a terminal: colours and the progress line are ours, the rest is not.
    main, child = pty.openpty()
    done = subprocess.Popen([s.tool, name, "--input", "2x4", "--force", "--progress=always", "--color=always"],
                            cwd=s.folder, stdout=child, stderr=child, stdin=subprocess.DEVNULL)
    os.close(child)
    output = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    done.wait()
    text = output.decode(errors="replace").replace("\r\33[K", "").replace("\r\n", "\n")
    s.judge("a terminal", text, [] if done.returncode == 0 else [f"exit code {done.returncode}"])


def main() -> int:
    options = harness.command_line(__doc__.splitlines()[0]).parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="safe-text-"))
    s = Suite(options.build.resolve(), folder)
    try:
        models(folder)
        for part in (archives, programs, onnx, files):
            part(s)
    finally:
        shutil.rmtree(folder)
    figure = f"{s.passed} commands with hostile names and texts: no control character, no forged line, no flood"
    if options.figures:
        options.figures.write_text(json.dumps([{"promise": "Text in a file cannot control the terminal or forge a message",
                                                "test": "tests/safety/text.py", "figure": figure}], indent=1) + "\n")
    print(figure)
    print(f"{s.passed} passed, {len(s.failures)} failed")
    return 1 if s.failures else 0


if __name__ == "__main__":
    sys.exit(main())
