"""The confined worker: code that took it over reaches no file, process or network; limits hold.

    sandbox.py --build build/release [--jobs N] [--figures FILE]
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

import torch

import harness

SECRET = "planted-secret-5e1f"
suite = harness.Suite(__doc__.splitlines()[0], "tests/safety/sandbox.py")


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor):
        return self.fc(x)


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        while bool(x.sum() > -1e30):
            x = x * 0.5
        return x


class ManyTrips(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        for i in range(1_000_000_000):
            x = x + float(i)
        return x


class Grows(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        kept = [x]
        while len(kept) < 100_000_000:
            kept.append(torch.rand([1 << 20]) + kept[-1].sum())
        return kept[-1]


class Huge(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.rand([1 << 36]).sum() + x


class Prints(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        for _ in range(300_000):
            print("a flood of three hundred thousand lines, each of which is about a hundred bytes long, or so")
        return x + 1.0


def save(module: torch.nn.Module, path: pathlib.Path) -> None:
    torch.jit.save(torch.jit.script(module.eval()), path)


def hostile_model(folder: pathlib.Path, target: pathlib.Path, secret: pathlib.Path) -> None:
    torch.ops.load_library(str(suite.build / "tests/libhostile_kernel.so"))

    class Hostile(torch.nn.Module):  # a class of its own each time, as a method is defined once a class
        pass

    module = torch.jit.script(Hostile())
    module.define(f"def act(self, x):\n    return torch.ops.hostile.act(x, {str(target)!r}, {str(secret)!r})\n")
    torch.jit.save(module.eval(), folder / "hostile.pt")


def taken_over(verb: list[str], need_landlock: bool = True) -> int:
    """Runs the hostile operator in the worker and returns how many of its attempts were refused."""
    with harness.scratch() as name, harness.scratch() as outside:
        folder, other = pathlib.Path(name), pathlib.Path(outside)
        target, secret = other / "target", other / "secret"
        target.write_text("untouched")
        secret.write_text(SECRET)
        hostile_model(folder, target, secret)
        before = harness.tree(other)
        library = suite.build / "tests/libhostile_kernel.so"
        words = [suite.tool, *verb, "hostile.pt", "--method", "act", "--input", "x:2x3", "--custom-op-lib", library, "--sandbox=auto"]
        if not need_landlock:
            words.insert(0, suite.build / "without_landlock")
        got = harness.run(words, folder, env=harness.environment(MY_SECRET=SECRET, ANOTHER_SECRET="x"))
        attempts = re.findall(r"^hostile: (.*?) (ALLOWED|refused)", got.err, re.M)
        assert len(attempts) > 40, f"the operator did not run:\n{got.err[-2000:]}"
        allowed = [what for what, how in attempts if how == "ALLOWED"]
        assert not allowed, f"allowed: {allowed}"
        assert harness.tree(other) == before, "a file outside changed"
        left = [p for p in folder.rglob("*") if p.is_file() and p.name != "hostile.pt"]
        assert all(SECRET.encode() not in p.read_bytes() for p in left), "the secret is in an output"
        assert SECRET not in got.out + got.err, "the secret was printed"
        return len(attempts)


def test_taken_over() -> None:
    total = sum(taken_over(verb) for verb in (["convert"], ["check"]))
    suite.figure("A worker under an attacker's control reaches no file, process or network",
                 f"{total} attempts of {total // 2} kinds refused, 0 allowed; Landlock and seccomp")


def test_taken_over_without_landlock() -> None:
    refused = taken_over(["convert"], need_landlock=False)
    suite.figure("The same, on a kernel without Landlock", f"{refused} attempts refused by seccomp alone, 0 allowed")


def field(number: int, value: bytes) -> bytes:
    """A field of variable length in protobuf's wire format; shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def changed_by_worker(data: list[str], file: str, appended: bytes) -> harness.Result:
    """A conversion whose worker, when it has reported, appends bytes to a file that it made."""
    with harness.scratch() as tool_folder, harness.scratch() as name:
        folder, tool = pathlib.Path(name), pathlib.Path(tool_folder)
        save(Plain(), folder / "m.pt")
        shutil.copy(suite.tool, tool)
        (tool / "appended").write_bytes(appended)
        worker = tool / "onnx-export-worker"
        # The folder of the made files is the third argument: LAUNCH convert FOLDER ...
        worker.write_text(f"#!/bin/sh\n'{suite.build}/onnx-export-worker' \"$@\"\nstatus=$?\n"
                          f"cat '{tool}/appended' >>\"$3/{file}\"\nexit $status\n")
        worker.chmod(0o700)
        got = harness.run([tool / "onnx-export", "m.pt", "--input", "x:2x4", *data], folder)
        made = sorted(p.name for p in folder.iterdir())
        assert (made == ["m.pt"]) if got.code else ("m.onnx" in made), f"files: {made}"
        return got


def test_models_are_read_again() -> None:
    """The supervisor takes nothing on trust that a worker made: names, ranges, bytes of no tensor."""
    entries = b"".join(field(13, field(1, key) + field(2, value)) for key, value in
                       [(b"location", b"secret"), (b"offset", b"0"), (b"length", b"4")])
    outside = ["--external-data=always", "--external-data-threshold=1"]
    cases = [([], "m.onnx", field(7, field(5, entries)), "refers to the file 'secret'"),
             ([], "m.onnx", field(14, field(1, b"state_file") + field(2, b"secret")), "refers to the file 'secret'"),
             ([], "m.onnx", b"\xff", "a number has no end"),
             (outside, "m.onnx.data", b"more", "belong to no tensor")]
    for data, file, appended, expected in cases:
        got = changed_by_worker(data, file, appended)
        assert got.code == 9 and "OE0902" in got.err and expected in got.err, f"{expected}: {got}"
    for data in [], outside:
        got = changed_by_worker(data, "m.onnx", field(6, b"a doc_string"))
        assert got.code == 0, f"a harmless change: {got}"
    suite.figure("The supervisor reads again what a worker made", f"{len(cases)} changed outputs, none committed")


def test_opens_of_a_conversion() -> None:
    """After it is confined the worker opens nothing; the supervisor writes only below the output folder."""
    with harness.scratch() as name:
        folder = pathlib.Path(name)
        save(Plain(), folder / "m.pt")
        trace = folder / "trace"
        got = harness.run(["strace", "-f", "-y", "-e", "trace=open,openat,openat2,creat,seccomp,execve", "-o", trace,
                           suite.tool, "m.pt", "--input", "x:2x4", "--verify", "--external-data=always"], folder)
        assert got.code == 0, got.err
        lines = trace.read_text().splitlines()
        execs = [line.split()[0] for line in lines if "execve(" in line and "onnx-export-worker" in line]
        assert execs, "the worker was not seen"
        worker, confined, opens, writes = execs[-1], False, 0, []
        for line in lines:
            pid = line.split()[0]
            if pid == worker and "seccomp(SECCOMP_SET_MODE_FILTER" in line:
                confined = True
            if not re.search(r"\bopen(at|at2)?\(|\bcreat\(", line):
                continue
            if confined and pid != execs[0] and line.split()[0] == worker and re.search(r"= \d", line):
                opens += 1
            if re.search(r"O_WRONLY|O_RDWR|O_CREAT", line) and re.search(r"= \d", line):
                writes.append(line)
        assert confined, "no filter was installed"
        assert opens == 0, f"the confined worker opened {opens} files"
        elsewhere = [line for line in writes
                     if ".onnx-export-" not in line and "/dev/null" not in line and "/dev/tty" not in line]
        assert not elsewhere, f"opened for writing: {elsewhere}"
        suite.figure("A conversion opens only its private files for writing",
                     f"strace: {len(writes)} opens for writing, all private; 0 opens by the confined worker")


def limited(module: torch.nn.Module, options: list[str], code: str, name: str, seconds: float, **more) -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(module, folder / "m.pt")
        start = time.monotonic()
        got = harness.run([suite.tool, "m.pt", "--input", "x:2x3", *options], folder, **more)
        took = time.monotonic() - start
        assert got.code == 8, f"exit code {got.code}:\n{got.err[-1500:]}"
        assert code in got.err and name in got.err, got.err[-1500:]
        assert took < seconds, f"it took {took:.1f} s"
        assert [p.name for p in folder.iterdir()] == ["m.pt"], "something is left"


def test_time_limit() -> None:
    for module in (Endless(), ManyTrips()):
        limited(module, ["--max-time", "3s"], "OE0802", "--max-time", 10)


def test_memory_limit() -> None:
    for module in (Grows(), Huge()):
        limited(module, ["--max-memory", "1GiB", "--max-time", "60s"], "OE0801", "--max-memory", 60)


def test_outer_limit() -> None:
    def shell_limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    limited(Grows(), ["--max-time", "60s"], "OE0801", "ulimit -v", 60, preexec_fn=shell_limit)

    def tiny_limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
    limited(Plain(), [], "OE0801", "ulimit -v", 60, preexec_fn=tiny_limit)


def test_size_limit() -> None:
    limited(Plain(), ["--max-size", "100B"], "OE0803", "--max-size", 10)


def test_print_flood() -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Prints(), folder / "m.pt")
        got = harness.run([suite.tool, "m.pt", "--input", "x:2x3", "-v", "--max-time", "60s"], folder)
        assert len(got.out) + len(got.err) < 4 << 20, f"{len(got.out)} and {len(got.err)} bytes were printed"


def test_wrong_limits() -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Plain(), folder / "m.pt")
        for option in ("--max-time=0", "--max-time=-1", "--max-time=5x", "--max-memory=0", "--max-size=-3",
                       "--sandbox=maybe"):
            for verb in (["m.pt"], ["inspect", "m.pt"], ["check", "m.pt"]):
                got = harness.run([suite.tool, *verb, option], folder)
                assert got.code == 2, f"{option}: exit code {got.code}: {got.err}"
        assert [p.name for p in folder.iterdir()] == ["m.pt"]


def test_require() -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Plain(), folder / "m.pt")
        words = [suite.tool, "m.pt", "--input", "x:2x4", "--sandbox=require"]
        got = harness.run([suite.build / "without_landlock", *words], folder)
        assert got.code == 10 and "OE0811" in got.err, f"exit code {got.code}: {got.err}"
        assert [p.name for p in folder.iterdir()] == ["m.pt"]
        got = harness.run(words, folder)
        assert got.code == 0, got.err


def test_not_regular() -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Plain(), folder / "m.pt")
        os.mkfifo(folder / "fifo")
        for words, code in ((["m.pt", "--config", "fifo"], 2), (["fifo"], 3), (["m.pt", "--inputs", "fifo"], 3),
                            (["m.pt", "--input", "x=@fifo.npy"], 3), (["inspect", "fifo"], 3),
                            (["lint", "fifo"], 3), (["m.pt", "--symbolics", "fifo"], 2),
                            (["m.pt", "--dynamic-axes", "@fifo"], 2)):
            if "x=@fifo.npy" in words:
                os.mkfifo(folder / "fifo.npy")
            got = harness.run([suite.tool, *words], folder, timeout=20)
            assert got.code == code, f"{words}: exit code {got.code}: {got.err}"


def test_swapped_model() -> None:
    """Another file at the model's path, after the start, is never run: the checked one is converted."""
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Plain(), folder / "a.pt")
        save(Endless(), folder / "b.pt")
        for delay in range(0, 200, 10):
            (folder / "m.pt").unlink(missing_ok=True)
            os.link(folder / "a.pt", folder / "m.pt")
            os.link(folder / "b.pt", folder / "n.pt")
            child = subprocess.Popen([str(suite.tool), "m.pt", "--input", "x:2x4", "--force", "--max-time", "30s"],
                                     cwd=folder, stderr=subprocess.PIPE, text=True)
            time.sleep(delay / 1000)
            os.rename(folder / "n.pt", folder / "m.pt")
            _, err = child.communicate(timeout=60)
            # Before the file was opened the other one is the model, which does not end.
            assert child.returncode == 0 or (delay < 20 and child.returncode == 8), \
                f"after {delay} ms: exit code {child.returncode}: {err}"
        suite.figure("A model file that is replaced after the start is not run", "20 delays from 0 to 190 ms")


def test_other_users() -> None:
    if os.getuid() != 0:
        return
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        folder.chmod(0o777)
        save(Plain(), folder / "m.pt")
        got = harness.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                           suite.tool, "m.pt", "--input", "x:2x4", "--sandbox=require", "--json"], folder)
        assert got.code == 0 and '"seccomp": true' in got.out, got.err + got.out


def processor_time(words: list, folder: pathlib.Path) -> float:
    """Milliseconds of all processes, which other work on the machine moves less than the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = harness.run(words, folder)
    assert got.code == 0, got.err
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def test_cost() -> None:
    with harness.scratch() as where:
        folder = pathlib.Path(where)
        save(Plain(), folder / "m.pt")
        times: dict[str, list[float]] = {"auto": [], "off": []}
        for _ in range(15):
            for mode, all_times in times.items():
                words = [suite.tool, "m.pt", "--input", "x:2x4", "--dry-run", f"--sandbox={mode}"]
                all_times.append(processor_time(words, folder))
        cost = min(times["auto"]) - min(times["off"])
        suite.figure("Confinement costs at most 20 ms",
                     f"{cost:.1f} ms of processor time (least of 15 runs each)")
        # The promise is 20 ms; a busy machine gets as much again.
        assert cost < 40, f"the sandbox costs {cost:.1f} ms"


def main() -> int:
    suite.parser.add_argument("--only", default="", help="cases whose name holds this text")
    options = suite.start()
    for name, check in list(globals().items()):
        if name.startswith("test_") and options.only in name:
            suite.case(name, check)
    return suite.end()


if __name__ == "__main__":
    sys.exit(main())
