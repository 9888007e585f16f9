"""ONNX files that would take all memory, never end, or lead out of their folder: through lint, diff, inspect, verify.

    foreign_onnx.py --build build/release [--jobs N] [--figures FILE.json]
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from onnx_models import field, value  # noqa: E402

FLOAT, INT64, BOOL = 1, 7, 9
SECONDS, MEGABYTES = 60, 2500  # of one command, LibTorch's start included
IN_FOLDER = "external data outside the model's folder"


def strings(number: int, texts: list[str]) -> bytes:
    return b"".join(field(number, t) for t in texts)


def node(op: str, inputs: list[str], outputs: list[str], *attributes: bytes, domain: str = "") -> bytes:
    return (strings(1, inputs) + strings(2, outputs) + field(4, op) + b"".join(field(5, a) for a in attributes) +
            (field(7, domain) if domain else b""))


def tensor(name: str, element: int, dims: list[int], raw: bytes | None = None, **external) -> bytes:
    out = b"".join(field(1, d) for d in dims) + field(2, element) + field(8, name)
    if raw is not None:
        return out + field(9, raw)
    for key, text in external.items():
        out += field(13, field(1, key) + field(2, str(text)))
    return out + field(14, 1)


def int64s(name: str, *numbers: int) -> bytes:
    return tensor(name, INT64, [len(numbers)], struct.pack(f"<{len(numbers)}q", *numbers))


def scalar(name: str, number: int) -> bytes:
    return tensor(name, INT64, [], struct.pack("<q", number))


def graph(nodes: list[bytes], weights: list[bytes], inputs: list[bytes], outputs: list[bytes], name="g") -> bytes:
    return (b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, w) for w in weights) +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def model(nodes: list[bytes], weights: list[bytes] = [], *, functions: list[bytes] = [], types: list[bytes] = [],
          inputs: list[bytes] | None = None, outputs: list[bytes] | None = None) -> bytes:
    inputs = inputs or [value("x", FLOAT, [4])]
    body = graph(nodes, weights, inputs, outputs or [value("y", FLOAT, [4])])
    body += b"".join(field(13, t) for t in types)
    imports = field(8, field(2, 18)) + field(8, field(1, "own") + field(2, 1))
    return field(1, 10) + field(7, body) + imports + b"".join(field(25, f) for f in functions)


def function(name: str, nodes: list[bytes]) -> bytes:
    return (field(1, name) + field(4, "a") + field(5, "b") + b"".join(field(7, n) for n in nodes) +
            field(9, field(2, 18)) + field(9, field(1, "own") + field(2, 1)) + field(10, "own"))


def call(name: str, a: str, b: str) -> bytes:
    return node(name, [a], [b], domain="own")


def graph_attribute(name: str, g: bytes) -> bytes:
    return field(1, name) + field(6, g) + field(20, 5)


def doubling(levels: int) -> bytes:
    first = function("f0", [node("Relu", ["a"], ["b"])])
    more = [function(f"f{i}", [call(f"f{i - 1}", "a", "t"), call(f"f{i - 1}", "t", "b")]) for i in range(1, levels)]
    return model([call(f"f{levels - 1}", "x", "y")], functions=[first] + more)


def chain(levels: int) -> bytes:
    first = function("f0", [node("Relu", ["a"], ["b"])])
    more = [function(f"f{i}", [call(f"f{i - 1}", "a", "b")]) for i in range(1, levels)]
    return model([call(f"f{levels - 1}", "x", "y")], functions=more[::-1] + [first])


def endless_loop() -> bytes:
    body = graph([node("Identity", ["c"], ["d"]), node("Relu", ["v"], ["w"])], [],
                 [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [4])],
                 [value("d", BOOL, []), value("w", FLOAT, [4])], "body")
    yes = tensor("yes", BOOL, [], b"\1")
    return model([node("Loop", ["trips", "yes", "x"], ["y"], graph_attribute("body", body))],
                 [scalar("trips", 2**63 - 1), yes])


def huge_range() -> bytes:
    nodes = [node("Range", ["zero", "end", "one"], ["r"]), node("ReduceSum", ["r"], ["s"], field(1, "keepdims") +
             field(3, 0) + field(20, 2)), node("Cast", ["s"], ["f"], field(1, "to") + field(3, 1) + field(20, 2)),
             node("Add", ["x", "f"], ["y"])]
    return model(nodes, [scalar("zero", 0), scalar("end", 2**40), scalar("one", 1)])


def nested(levels: int) -> bytes:
    inner = graph([node("Relu", ["x"], ["z0"])], [], [], [value("z0", FLOAT, [4])])
    for i in range(1, levels):
        both = [graph_attribute("then_branch", inner), graph_attribute("else_branch", inner)]
        # The else branch is another, so that the file does not double at each level.
        both[1] = graph_attribute("else_branch", graph([node("Abs", ["x"], [f"e{i}"])], [], [],
                                                       [value(f"e{i}", FLOAT, [4])]))
        inner = graph([node("If", ["yes"], [f"z{i}"], *both)], [], [], [value(f"z{i}", FLOAT, [4])])
    outer = node("If", ["yes"], ["y"], graph_attribute("then_branch", inner),
                 graph_attribute("else_branch", graph([node("Abs", ["x"], ["e"])], [], [], [value("e", FLOAT, [4])])))
    return model([outer], [tensor("yes", BOOL, [], b"\1")])


def concat_bomb() -> bytes:
    axis = field(1, "axis") + field(3, 0) + field(20, 2)
    nodes = [node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], axis) for i in range(40)]
    return model(nodes + [node("Relu", ["x"], ["y"])], [int64s("c0", 1, 2)])


def rank_bomb() -> bytes:
    axes = int64s("axes", *range(1, 20_001))
    nodes = [node("Unsqueeze", ["x", "axes"], ["r0"])]
    nodes += [node("Relu", [f"r{i}"], [f"r{i + 1}"]) for i in range(20_000)]
    return model(nodes + [node("Relu", ["x"], ["y"])], [axes])


def type_bomb() -> bytes:
    nodes = [node("SequenceConstruct", ["x"], ["s0"])]
    nodes += [node("SequenceConstruct", [f"s{i}"], [f"s{i + 1}"]) for i in range(10_000)]
    return model(nodes + [node("Relu", ["x"], ["y"])])


def fold_bomb() -> bytes:
    axis = field(1, "axis") + field(3, 0) + field(20, 2)
    nodes = [node("ConstantOfShape", ["many"], [f"z{i}"]) for i in range(8000)]
    nodes += [node("ReduceMax", ["x"], ["m"], field(1, "keepdims") + field(3, 0) + field(20, 2)),
              node("Concat", [f"z{i}" for i in range(8000)], ["all"], axis),
              node("ReduceMax", ["all"], ["am"], field(1, "keepdims") + field(3, 0) + field(20, 2)),
              node("Less", ["m", "am"], ["less"])]
    branches = [graph_attribute(f"{n}_branch", graph([node(op, ["x"], [f"b{n}"])], [], [],
                                                     [value(f"b{n}", FLOAT, [4])]))
                for n, op in (("then", "Relu"), ("else", "Abs"))]
    return model(nodes + [node("If", ["less"], ["y"], *branches)], [int64s("many", 200_000)])


def with_weight(**external) -> bytes:
    return model([node("Add", ["x", "w"], ["y"])], [tensor("w", FLOAT, [4], None, **external)])


def repeated_in_branches() -> bytes:
    w = lambda i: tensor(f"w{i}", FLOAT, [1 << 20, 16], None, location="sparse.bin", offset=0, length=64 << 20)  # noqa: E731
    branch = lambda n: graph_attribute(n, graph(  # noqa: E731
        [node("Relu", ["x"], [f"z{n}"])], [w(f"{n}{i}") for i in range(40)], [], [value(f"z{n}", FLOAT, [4])]))
    return model([node("If", ["yes"], ["y"], branch("then_branch"), branch("else_branch"))],
                 [tensor("yes", BOOL, [], b"\1")])


class Suite:
    def __init__(self, build: pathlib.Path, folder: pathlib.Path):
        self.tool, self.folder = build / "onnx-export", folder
        self.passed, self.failures = 0, []
        self.slowest = self.largest = 0.0

    def run(self, what: str, arguments: list[str], codes: set[int], text: str = "", cap: int = 0) -> None:
        """`cap`: bytes of address space (ulimit -v); 0: none."""
        command = [str(self.tool), *arguments]
        if cap:
            command = ["bash", "-c", f"ulimit -v {cap >> 10}; exec \"$@\"", "-", *command]
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL)
        killer = threading.Timer(SECONDS, child.kill)
        killer.start()
        output = child.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds, megabytes = time.monotonic() - start, usage.ru_maxrss / 1024
        self.slowest, self.largest = max(self.slowest, seconds), max(self.largest, megabytes)
        wrong = []
        if child.returncode not in codes:
            wrong.append(f"exit code {child.returncode}, expected {sorted(codes)}")
        if text not in output:
            wrong.append(f"no '{text}'")
        if seconds > SECONDS:
            wrong.append(f"{seconds:.0f} s")
        if megabytes > MEGABYTES:
            wrong.append(f"{megabytes:.0f} MB")
        if len(output) > (2_000_000 if arguments[0] == "diff" else 100_000):  # a line a node
            wrong.append(f"{len(output)} bytes of output")
        if wrong:
            self.failures.append(what)
            print(f"FAIL {what}: {'; '.join(wrong)}\n  {output[:600]}", flush=True)
        else:
            self.passed += 1

    def every(self, name: str, data: bytes, lint: set[int], diff: set[int], inspect: set[int], verify: set[int] | None,
              text: str = "") -> None:
        """`text`: what diff says, and who else refuses with its code."""
        file = f"{name}.onnx"
        (self.folder / file).write_bytes(data)
        for verb, codes, arguments in (("lint", lint, [file]), ("diff", diff, [file, "good.onnx"]),
                                       ("inspect", inspect, [file]), ("verify", verify, ["model.pt", file])):
            if codes is not None:
                self.run(f"{verb} {name}", [verb, *arguments], codes, text if verb == "diff" else "")


def prepare(folder: pathlib.Path) -> None:
    import torch

    class Relu(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return torch.relu(x)

    torch.jit.script(Relu()).save(str(folder / "model.pt"))
    (folder / "good.onnx").write_bytes(model([node("Relu", ["x"], ["y"])]))
    (folder / "w.bin").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    (folder / "sub").mkdir()
    shutil.copy(folder / "w.bin", folder / "sub/w.bin")
    os.link(folder / "w.bin", folder / "hard.bin")
    (folder / "link.bin").symlink_to("w.bin")
    (folder / "linked").symlink_to("sub")
    os.mkfifo(folder / "fifo.bin")
    with open(folder / "sparse.bin", "wb") as f:
        f.truncate(64 << 20)


def growth(s: Suite) -> None:
    everywhere = {8}
    s.every("doubling", doubling(30), everywhere, everywhere, everywhere, everywhere, "function 'f")
    mutual = [function("p", [call("q", "a", "b")]), function("q", [call("p", "a", "b")])]
    s.every("mutual", model([call("p", "x", "y")], functions=mutual), everywhere, everywhere, everywhere, everywhere,
            "calls itself")
    s.every("deep_calls", chain(50_000), everywhere, everywhere, everywhere, everywhere, "deeper than")
    constant = node("Constant", [], ["k"], field(1, "value") + field(5, tensor("k", FLOAT, [1 << 18], bytes(1 << 20))) +
                    field(20, 4))
    bulky = function("bulk", [constant, node("Relu", ["a"], ["b"])])
    calls = [call("bulk", "x", f"t{i}") for i in range(2000)]
    s.every("bulky", model(calls + [node("Relu", ["x"], ["y"])], functions=[bulky]), everywhere, everywhere, everywhere,
            everywhere, "bytes once")
    s.every("honest_functions", doubling(8), {0}, {6}, {0}, {0})
    s.every("nested_20", nested(20), {0}, {6}, {0}, {0})
    s.every("nested_200", nested(200), {3}, {3}, {3}, {3}, "is not an ONNX model")
    s.every("endless_loop", endless_loop(), {0, 5}, {6}, {0}, None)
    s.every("huge_range", huge_range(), {0, 5}, {6}, {0}, {8})
    # ONNX Runtime itself does not end here: a matter of the limits on time and memory.
    s.every("concat_bomb", concat_bomb(), {0, 5}, {6}, {0}, None)
    s.every("rank_bomb", rank_bomb(), {0, 5}, {6}, {0}, None)
    s.every("type_bomb", type_bomb(), {0, 5}, {6}, {0}, {0, 3, 6, 8, 11})
    s.every("fold_bomb", fold_bomb(), {0, 5}, {6}, {0}, None)


def external(s: Suite) -> None:
    good = {"offset": 0, "length": 16}
    linked = "is a symbolic link"
    for name, more, text in (
            ("link", {"location": "link.bin"}, linked),
            ("linked_folder", {"location": "linked/w.bin"}, linked),
            ("parent", {"location": "../w.bin"}, IN_FOLDER),
            ("inner_parent", {"location": "sub/../w.bin"}, IN_FOLDER),
            ("absolute", {"location": "/etc/passwd"}, IN_FOLDER),
            ("nul", {"location": "w.bin\0x"}, IN_FOLDER),
            ("fifo", {"location": "fifo.bin"}, "not a regular file"),
            ("folder", {"location": "sub"}, "s a directory"),
            ("absent", {"location": "absent.bin"}, "No such file"),
            ("nowhere", {}, IN_FOLDER)):
        s.every(f"data_{name}", with_weight(**more, **good), {5}, {3}, {0}, {3}, text)
    s.every("data_short", with_weight(location="w.bin", offset=4, length=16), {5}, {3}, {0}, {3}, "too short")
    s.every("data_overflow", with_weight(location="w.bin", offset=2**64 - 8, length=16), {5}, {3}, {0}, {3}, "short")
    s.every("data_number", with_weight(location="w.bin", offset="0x10"), {5}, {3}, {0}, {3}, "malformed")
    s.every("data_negative", with_weight(location="w.bin", offset=-4, length=16), {5}, {3}, {0}, {3}, "malformed")
    product = model([node("Relu", ["x"], ["y"])],
                    [tensor("w", FLOAT, [2**33, 2**33], None, location="w.bin", offset=0)])
    s.every("data_product", product, {5}, {3}, {0}, {3}, "impossible dims")
    inline = model([node("Relu", ["x"], ["y"])], [tensor("w", FLOAT, [2**33, 2**33], bytes(16))])
    s.every("inline_product", inline, {0, 5}, {3}, {0}, {3}, "impossible dims")
    s.every("data_hard_link", with_weight(location="hard.bin", **good), {0}, {6}, {0}, {6})
    s.every("data_sub", with_weight(location="sub/w.bin", **good), {0}, {6}, {0}, {6})
    s.every("data_repeated", repeated_in_branches(), {5, 8}, {6}, {0}, {8})


def main() -> int:
    options = harness.command_line(__doc__.splitlines()[0]).parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="foreign-onnx-"))
    try:
        prepare(folder)
        s = Suite(options.build.resolve(), folder)
        growth(s)
        external(s)
        left = [p.name for p in folder.iterdir() if p.name.startswith(".")]
        if left:
            s.failures.append("leftovers")
            print(f"FAIL leftovers: {left}")
    finally:
        shutil.rmtree(folder)
    figure = (f"{s.passed} commands on hostile ONNX files, none over {s.slowest:.0f} s or {s.largest:.0f} MB, "
              f"no file outside the model's folder opened")
    print(figure)
    if options.figures:
        options.figures.write_text(json.dumps([{
            "promise": "Reading an untrusted ONNX file takes bounded memory and opens no file outside its folder",
            "test": "tests/safety/foreign_onnx.py", "figure": figure}], indent=1) + "\n")
    print(f"{s.passed} passed, {len(s.failures)} failed")
    return 1 if s.failures else 0


if __name__ == "__main__":
    sys.exit(main())
