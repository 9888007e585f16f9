"""Operators that stayed what they are can be read back: a file of ATen nodes, or of nodes in their own domain, is
run by PyTorch node by node and gives what the module gives.

    kept.py --build build/release
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
import onnx_values  # noqa: E402

library = torch.library.Library("kept_ops", "DEF")
library.define("scaled(Tensor x, float by=2.0, *, str mode='up') -> Tensor")
library.define("both.pair(Tensor[] xs, int[] order) -> (Tensor, Tensor)")
library.impl("scaled", lambda x, by=2.0, mode="up": x * by if mode == "up" else x / by, "CPU")
library.impl("both.pair", lambda xs, order: (xs[order[0]] + 1, xs[order[1]] - 1), "CPU")


class Divided(torch.nn.Module):  # the example of torch.onnx's documentation
    def forward(self, x):
        return torch.div(x, torch.exp(x))


class Listed(torch.nn.Module):  # lists of tensors, of numbers, strings, numbers of all kinds, None
    def forward(self, x):
        y = torch.cat([x, torch.clamp(x, min=0.25), torch.add(x, x, alpha=3)], 1)
        y = torch.nn.functional.pad(y, [1, 2], "constant", 0.5)
        z = torch.nn.functional.gelu(y.permute(1, 0), approximate="tanh")
        w = torch.ops.aten.linalg__powsum(z, 2.0, [0], True)  # there is no row for it
        return w, z.to(torch.float64).cumsum(-1)


class Custom(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.kept_ops.both([x, x * 2], [1, 0])
        return torch.ops.kept_ops.scaled(a, 3.0, mode="down") * torch.ops.kept_ops.scaled(b)


SCHEMAS = ["kept_ops::scaled(Tensor x, float by=2.0, *, str mode='up') -> Tensor = torch.empty_like(x)",
           "kept_ops::both.pair(Tensor[] xs, int[] order) -> (Tensor, Tensor) = (xs[0], xs[1])"]
CASES = [("divided", Divided(), "onnx-aten", ["div", "exp"], []), ("divided", Divided(), "raw", ["div", "exp"], []),
         ("listed", Listed(), "onnx-aten", ["cat", "clamp", "add", "gelu", "linalg__powsum"], []),
         ("listed", Listed(), "raw", ["cat", "gelu"], []),
         ("listed", Listed(), "onnx-aten-fallback", ["linalg__powsum"], []),
         ("listed", Listed(), "onnx-fallthrough", ["linalg__powsum"], []),
         ("custom", Custom(), "onnx-fallthrough", ["both", "scaled"], SCHEMAS),
         ("custom", Custom(), "raw", ["both", "scaled", "mul"], SCHEMAS)]


def nodes_of(path: pathlib.Path):
    """Initializers, names of inputs and outputs, and (domain, operator, inputs, outputs, attributes) of the nodes."""
    graph = b"".join(v for n, v in onnx_values.fields(path.read_bytes()) if n == 7)
    inputs, outputs, initializers, nodes = [], [], {}, []
    for number, value in onnx_values.fields(graph):
        if number == 5:
            name, array = onnx_values.read_tensor(value)
            initializers[name] = array
        elif number in (11, 12):
            (inputs if number == 11 else outputs).append(
                next(v for n, v in onnx_values.fields(value) if n == 1).decode())
        elif number == 1:
            parts = list(onnx_values.fields(value))
            attributes = {}
            for n, v in parts:
                if n == 5:
                    name, *content = [x for k, x in onnx_values.fields(v) if k != 20]
                    attributes[name.decode()] = content
            text = {n: v.decode() for n, v in parts if n in (4, 7)}
            nodes.append((text.get(7, ""), text[4], [v.decode() for n, v in parts if n == 1],
                          [v.decode() for n, v in parts if n == 2], attributes))
    return initializers, inputs, outputs, nodes


def argument(value, kind: str):
    """A node's input as the operator's schema has it."""
    if value is None or "Tensor" in kind:
        return value
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain.decode() if isinstance(plain, bytes) else plain


def call(op, overload: str, given: list, sizes: list | None):
    packet = getattr(op, overload or "default")
    arguments, at = [], 0
    for i, a in enumerate(packet._schema.arguments):
        if at >= len(given):
            break
        n = sizes[i] if sizes and sizes[i] < 1 << 31 else -1  # -1 is written in 64 bits
        taken = given[at:at + n] if n >= 0 else given[at]
        at += n if n >= 0 else 1
        arguments.append((a, [t for t in taken] if n >= 0 else argument(taken, str(a.type))))
    return packet(*[v for a, v in arguments if not a.kwarg_only],
                  **{a.name: v for a, v in arguments if a.kwarg_only and v is not None})


def run(path: pathlib.Path, x: torch.Tensor) -> tuple[list, set]:
    """The results, and the operators that stayed."""
    initializers, inputs, outputs, nodes = nodes_of(path)
    values = {name: a if a.dtype == object else torch.from_numpy(a.copy()) for name, a in initializers.items()}
    values[inputs[0]] = x
    kept = set()
    for domain, op, ins, outs, attributes in nodes:
        given = [values[i] if i else None for i in ins]
        if domain == "":
            made = {"Mul": torch.mul, "Identity": lambda v: v}[op](*given)  # what the cases leave around them
        else:
            text = {k: v[0].decode() for k, v in attributes.items() if k in ("operator", "overload_name") and v}
            name = text.get("operator", op)
            kept.add(name)
            space = "aten" if domain == "org.pytorch.aten" else domain
            made = call(getattr(getattr(torch.ops, space), name), text.get("overload_name", ""), given,
                        attributes.get("argument_sizes"))
        for name, value in zip(outs, made if isinstance(made, (tuple, list)) else [made]):
            values[name] = value
    return [values[o] for o in outputs], kept


def problem(tool: str, folder: pathlib.Path, case) -> str:
    name, module, kind, expected, schemas = case
    source, made = folder / f"{name}.pt", folder / f"{name}.onnx"
    torch.jit.script(module.eval()).save(str(source))
    extra = [word for s in schemas for word in ("--custom-schema", s)]
    ran = subprocess.run([tool, str(source), "-o", str(made), "--force", "--input", "x:3x4",
                          "--operator-export-type", kind, *extra], capture_output=True, text=True, check=False)
    if ran.returncode:
        return f"exit code {ran.returncode}: {ran.stderr}"
    x = torch.rand(3, 4)
    wanted = module(x)
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    if kind.endswith("fallback") or (kind == "onnx-fallthrough" and not schemas):
        _, _, _, nodes = nodes_of(made)  # the rest is ONNX Runtime's; here only what stayed
        kept = {a["operator"][0].decode() if "operator" in a else op for d, op, _, _, a in nodes if d}
        return "" if kept == set(expected) else f"stayed: {kept}"
    results, kept = run(made, x)
    if not set(expected) <= kept:
        return f"stayed: {kept}"
    for result, want in zip(results, wanted, strict=True):
        if result.dtype != want.dtype or not torch.allclose(result, want, rtol=1e-5, atol=1e-6):
            return f"{result} is not {want}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    tool = str(parser.parse_args().build.resolve() / "onnx-export")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if why := problem(tool, pathlib.Path(folder), case):
                print(f"FAIL {case[0]} {case[2]}: {why}")
                failed += 1
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
