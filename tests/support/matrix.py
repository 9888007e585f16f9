"""Every pair of element types through the operators that promote: writes golden cases and runs them.

    matrix.py --build build/release [--jobs N] [--quick] [--write-only]

A case is one operator and one left type; its outputs are that operator on the left tensor and the
left 0-d tensor against tensors, 0-d tensors, known numbers and computed numbers of every right
type, one expression a line. What LibTorch refuses is left out, by asking it.
"""
import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import warnings

import torch

DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
          "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
# Six values a type: limits, negatives, zero; infinities and NaN.
VALUES = {
    "bool": [False, True, True, False, True, False],
    "u8": [0, 1, 7, 128, 200, 255],
    "i8": [-128, -7, -1, 0, 5, 127],
    "i16": [-32768, -300, -1, 0, 9, 32767],
    "i32": [-2**31, -70000, -3, 0, 11, 2**31 - 1],
    "i64": [-2**63, -5000000000, -7, 0, 13, 2**63 - 1],
    "f16": [-65504, -2.5, -0.0, 0.3, float("inf"), float("nan")],
    "bf16": [-3e38, -2.5, 0.0, 0.3, 1000, float("nan")],
    "f32": [-3e38, -2.5, -0.0, 0.3, 1e-30, float("inf")],
    "f64": [-1e300, -2.5, 0.0, 0.1, 1e-300, float("nan")],
}
# Against a half type the wider integers have values that it holds: ONNX Runtime merges the cast to
# half with the one to float that its kernels want, which skips the rounding.
SMALL = {t: [-128, -7, -2, 3, 5, 96] for t in ("i16", "i32", "i64")}
SMALL_0D = {t: v for t, v in (("i16", -96), ("i32", 7), ("i64", 112))}
HALF = ("f16", "bf16")
# LibTorch rounds the quotient of halves before it cuts it in some loops and not in others; these
# quotients leave it no choice.
EVEN = {"f16": [-2.5, 0.5, 4, -8, float("inf"), float("nan")], "bf16": [-2.5, 0.5, 4, -8, 64, float("nan")]}
# Divisors: no integer 0, and no -1, with which the smallest integer has no quotient.
DIVISORS = {**VALUES, "bool": [True] * 6, "u8": [255, 1, 7, 128, 200, 2], "i8": [-128, -7, -2, 3, 5, 127],
            "i16": [-32768, -300, -2, 1, 9, 32767], "i32": [-2**31, -70000, -3, 2, 11, 2**31 - 1],
            "i64": [-2**63, -5000000000, -7, 3, 13, 2**63 - 1], **EVEN}
EXPONENTS = {"bool": [False, True] * 3, "u8": [0, 1, 2, 3, 8, 255], "i8": [-3, -2, 0, 1, 2, 127],
             "i16": [-2, -1, 0, 3, 5, 32767], "i32": [-7, 0, 1, 2, 3, 65537], "i64": [-1, 0, 2, 3, 63, 2**62 + 1],
             "f16": [-2.5, -0.0, 0.3, 2, float("inf"), float("nan")], "bf16": [-2, 0, 0.5, 1, 3, float("inf")],
             "f32": [-2.5, 0, 0.3, 2, 3, float("nan")], "f64": [-1, 0, 0.1, 2, 2.5, float("-inf")]}
# 0-d floats are exact in every half type, for the same reason.
LEFT_0D = {"bool": True, "u8": 200, "i8": -7, "i16": -300, "i32": 70000, "i64": 5000000000, "f16": 0.375,
           "bf16": -2.5, "f32": 96.0, "f64": 0.375}
RIGHT_0D = {"bool": True, "u8": 3, "i8": -3, "i16": 7, "i32": -5, "i64": 6, "f16": -2.5, "bf16": 0.5,
            "f32": 0.375, "f64": -2.5}
NUMBERS = ["True", "3", "-2", "300", "0.3", "-2.5"]
COMPUTED = {"n: int": -3, "f: float": -2.5, "t: bool": True}
SAME = "-- tolerance 0,1e-6 no operator here may round twice"


@dataclasses.dataclass
class Op:
    name: str
    forms: list[str]  # expressions of the operands {x} and {y}
    rights: dict = dataclasses.field(default_factory=lambda: VALUES)
    numbers: bool = True  # whether the right operand may be a number
    left_numbers: bool = True  # and the left one; TorchScript has no bool on the left
    mixed_rank: bool = True  # whether a 0-d operand may meet one with axes
    tolerance: str = SAME
    lowest: int = 7  # opset


OPS = [
    Op("add", ["{x} + {y}"]),
    Op("sub", ["{x} - {y}"]),
    Op("mul", ["{x} * {y}"]),
    Op("div", ["{x} / {y}"]),
    Op("floor_divide", ["torch.floor_divide({x}, {y})"], DIVISORS, left_numbers=False, lowest=10),
    Op("div_trunc", ['torch.div({x}, {y}, rounding_mode="trunc")'], DIVISORS, left_numbers=False),
    Op("remainder", ["torch.remainder({x}, {y})"], DIVISORS, lowest=10),
    Op("pow", ["torch.pow({x}, {y})"], EXPONENTS, tolerance=""),
    Op("equality", ["{x} == {y}", "{x} != {y}"]),
    Op("order", ["{x} < {y}", "{x} >= {y}"]),
    Op("order_reversed", ["{x} > {y}", "{x} <= {y}"]),
    Op("where", ["torch.where(c, {x}, {y})"]),
    Op("maximum", ["torch.maximum({x}, {y})", "torch.minimum({x}, {y})"], numbers=False),
    Op("clamp", ["torch.clamp({x}, min={y})", "torch.clamp({x}, max={y})"], left_numbers=False),
    Op("cat", ["torch.cat([{x}.t(), {y}])", "torch.cat([{y}, {x}.t()], 1)"], numbers=False, mixed_rank=False),
    Op("stack", ["torch.stack([{x}.t(), {y}])"], numbers=False, mixed_rank=False),
]


def literal(v) -> str:
    if isinstance(v, bool):
        return "true" if v else "false"
    return repr(v)


@dataclasses.dataclass
class Operand:
    text: str  # in the source
    value: object  # for LibTorch
    rank: int  # 2, 0, or -1: a number


class Case:
    def __init__(self, op: Op, left: str, rights: list[str]):
        self.op, self.left = op, left
        self.inputs = [f"c: 6x1@bool = [{', '.join(['true', 'false'] * 3)}]"]
        self.names = ["c"]
        self.known = {"torch": torch, "c": torch.tensor([[True], [False]] * 3)}
        dividends = {**VALUES, **EVEN} if op.rights is DIVISORS else VALUES
        lefts = [self.tensor("a", left, dividends[left], [6, 1]), self.tensor("z", left, LEFT_0D[left], [])]
        small = lefts
        if left in SMALL:
            small = [self.tensor("s", left, SMALL[left], [6, 1]), self.tensor("y", left, SMALL_0D[left], [])]
        values = {**op.rights, **SMALL} if left in HALF and op.rights is not EXPONENTS else op.rights
        others = [self.tensor(f"b_{r}", r, values[r], [1, 6]) for r in rights]
        others += [self.tensor(f"z_{r}", r, RIGHT_0D[r], []) for r in rights]
        numbers = []
        if op.numbers:
            numbers = [Operand(n, eval(n), -1) for n in NUMBERS]
            for declared, value in COMPUTED.items():
                name = declared.split(":")[0]
                self.names.append(declared)
                self.inputs.append(f"{name} = {literal(value)}")
                self.known[name] = value
                numbers.append(Operand(name, value, -1))
        self.lines = []
        for form in op.forms:
            for x, x_small in zip(lefts, small):
                for y in others + numbers:
                    self.add(form, x_small if y.text.endswith(HALF) else x, y)
                # On the right of a division the left tensor would bring its zeros. A number by a half
                # tensor is a reciprocal and a product, between which ONNX Runtime does not round.
                swapped = op.left_numbers and not (op.rights is DIVISORS and x.rank)
                for y in numbers if swapped and not (op.name == "div" and left in HALF) else []:
                    if not isinstance(y.value, bool):
                        self.add(form, y, x)

    def tensor(self, name: str, dtype: str, value, shape: list[int]) -> Operand:
        size = "x".join(map(str, shape))
        text = literal(value) if not shape else "[" + ", ".join(literal(v) for v in value) + "]"
        self.inputs.append(f"{name}: {size}@{dtype} = {text}")
        self.names.append(name)
        # As the golden runner makes it: through float64 or int64.
        wide = torch.float64 if DTYPES[dtype].is_floating_point else torch.int64
        self.known[name] = torch.tensor(value, dtype=wide).to(DTYPES[dtype]).reshape(shape)
        return Operand(name, self.known[name], len(shape))

    def add(self, form: str, x: Operand, y: Operand) -> None:
        if not self.op.mixed_rank and (x.rank != y.rank or (x.rank == 0 and "cat" in form)):
            return
        if x.rank == 0 and y.rank == 0:
            form = form.replace(".t()", "")
        line = form.format(x=x.text, y=f"({y.text})" if y.rank == -1 and y.text[0] == "-" else y.text)
        try:
            eval(line, dict(self.known))
        except (RuntimeError, TypeError):
            return
        self.lines.append(line)

    def text(self) -> str:
        body = ",\n        ".join(self.lines)
        names = ", ".join(self.names)
        inputs = "\n".join(self.inputs)
        return (f"## {self.op.name} of {self.left}\ndef forward(self, {names}):\n    return (\n        {body})\n"
                f"-- inputs\n{inputs}\n-- no-seeds the values are chosen\n{self.op.tolerance}\n")


def write(folder: pathlib.Path, name: str, ops: list[Op], types: list[str]) -> pathlib.Path:
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.test"):
        old.unlink()
    for op in ops:
        cases = [Case(op, left, types) for left in types]
        text = "\n".join(c.text() for c in cases if c.lines)
        (target / f"{op.name}.test").write_text(f"# {op.name}.test - generated by tests/support/matrix.py\n\n{text}")
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write-only", action="store_true", help="only write the cases")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = options.build / "matrix"
    every, older = list(DTYPES), [t for t in DTYPES if t != "bf16"]  # bfloat16 came with opset 13
    runs = [(write(folder, "every", OPS, every), "18" if options.quick else "13,18,23")]
    if not options.quick:
        runs.append((write(folder, "older", [op for op in OPS if op.lowest <= 9], older), "7,9"))
        runs.append((write(folder, "oldest_mod", [op for op in OPS if op.lowest == 10], older), "10"))
    if options.write_only:
        return 0
    command = [str(options.build / "golden_tests"), "--python", sys.executable, "--jobs", str(options.jobs)]
    totals, failed = [0, 0, 0], False
    for path, opsets in runs:
        done = subprocess.run(command + [str(path), "--opsets", opsets], stdout=subprocess.PIPE, text=True)
        *lines, closing = done.stdout.splitlines() or [""]
        print("\n".join(lines), flush=True)
        counts = [int(part.split()[0]) for part in closing.split(", ") if part[:1].isdigit()]
        failed = failed or done.returncode != 0
        totals = [t + c for t, c in zip(totals, counts + [0] * (3 - len(counts)))]
    skipped = f", {totals[2]} skipped" if totals[2] else ""
    print(f"{totals[0]} passed, {totals[1]} failed{skipped}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
