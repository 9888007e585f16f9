"""Hostile programs: archives whose code calls what it may not. Each is refused before it runs.

    operators.py --build build/release [--jobs N] [--figures FILE.json]

Every program goes through inspect, check, convert and verify of the real binary. A planted file has to
stay as it is, a planted secret may be in no output, and the message names the line of the call.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/files"))
import archives  # noqa: E402
import legacy  # noqa: E402

SECRET = "a-secret-that-nobody-may-read"
HEAD = """class {name}(Module):
  __parameters__ = []
  __buffers__ = []
  weight : Tensor
  training : bool
"""
STATE = """  def __getstate__(self: __torch__.{name}) -> Tuple[Tensor, bool]:
    return (self.weight, self.training)
  def __setstate__(self: __torch__.{name},
    state: Tuple[Tensor, bool]) -> NoneType:
    self.weight = (state)[0]
    self.training = (state)[1]
{body}    return None
"""
FORWARD = """  def forward(self: __torch__.{name},
    x: Tensor) -> Tensor:
{body}    return torch.relu(x)
"""
# LibTorch drops what nothing uses: here the result is.
USED = """  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    {body}
    return torch.add(x, torch.sum(torch.to(y, 6)))
"""


@dataclasses.dataclass
class Case:
    name: str
    operator: str  # that the message names; empty: the file does not load, or LibTorch refuses it
    codes: tuple[int, ...] = (4,)
    line: int = 0  # of code/__torch__.py; 0: any


def lines(*text: str) -> str:
    return "".join(f"    {line}\n" for line in text)


def in_forward(*text: str) -> str:
    return HEAD.format(name="Net") + FORWARD.format(name="Net", body=lines(*text))


def plain(weight: torch.Tensor) -> archives.Object:
    return archives.Object("__torch__.Net", {"weight": weight, "training": False})


def stateful(weight: torch.Tensor) -> archives.Object:
    return archives.Object("__torch__.Net", (weight, False))


def legacy_program(body: str, state: str | None) -> dict:
    """Records of PyTorch 1.2's format, whose module has `body` in forward or in __setstate__."""
    main: dict = {"name": "Net", "torchscriptArena": legacy.file("net"),
                  "parameters": [{"isBuffer": True, "tensorId": "0", "name": "weight"}]}
    code = ["def forward(self,", "    x: Tensor) -> Tensor:"]
    code += ([f"  {body}"] if state is None else []) + ["  return torch.relu(x)"]
    if state is not None:
        code += ["def __getstate__(self) -> int:", "  return 1", "def __setstate__(self,", "    state: int) -> None:",
                 f"  {state}", "  return None"]
        main |= {"getStateAttributeId": "0"}
    weight = torch.ones(3)
    records = {"model.json": legacy.model(2, main, [legacy.tensor(weight, "tensors/0")]),
               "tensors/0": archives.bytes_of(weight), "code/net.py": legacy.code(*code), "version": b"1\n",
               "attributes.pkl": archives.Pickle().dumps([1])}
    return records


def make(folder: pathlib.Path, planted: pathlib.Path) -> list[Case]:
    """Writes NAME.pt for each case."""
    weight = torch.ones(3)
    path = str(planted)
    cases = []

    def add(case: Case, code: str, data: archives.Object | None = None, constants: tuple = ()) -> None:
        archives.write_module(folder / f"{case.name}.pt", code, data or plain(weight), constants)
        cases.append(case)

    # --- spellings of one call, in forward
    overwrite = f'torch.from_file ("{path}", True, 8, dtype=0)'
    for name, statement, operator in [
            ("save", f'torch.save(x, "{path}")', "aten::save"),
            ("save_blank", f'torch.save (x, "{path}")', "aten::save"),
            ("save_in_brackets", f'(torch.save)(x, "{path}")', "aten::save"),
            ("save_by_name", f'getattr(torch, "save")(x, "{path}")', "aten::save"),
            ("save_by_namespace", f'ops.aten.save(x, "{path}")', "aten::save"),
            ("save_namespace_blank", f'ops.aten.save (x, "{path}")', "aten::save"),
            ("save_two_lines", f'torch.save(x,\n      "{path}")', "aten::save"),
            ("save_in_if", f'if bool(torch.gt(x.numel(), 99)):\n      torch.save (x, "{path}")\n    else:\n      pass',
             "aten::save"),
            ("from_file", f"y = {overwrite}", "aten::from_file"),
            ("from_file_blank", f'y = torch.from_file ("{path}", True, 8, dtype=0)', "aten::from_file"),
            ("from_file_namespace", f'y = ops.aten.from_file("{path}", True, 8, dtype=0)', "aten::from_file"),
            ("from_file_written", f"y = torch.fill_({overwrite}, 7)", "aten::from_file"),
            ("from_file_read", f'y = torch.add(x, torch.from_file ("{path}", False, 3, dtype=6))', "aten::from_file"),
            ("reinterpret", "y = ops.inductor._reinterpret_tensor(x, [1000], [1], 4096)",
             "inductor::_reinterpret_tensor"),
            ("pool", "y = ops.inductor._alloc_from_pool(x, 1048576, 6, [1000], [1])", "inductor::_alloc_from_pool"),
            ("storage_bytes", "ops.inductor.resize_storage_bytes_(x, 1048576)", "inductor::resize_storage_bytes_"),
            ("data_ptr", "y = torch.zeros([ops.mkldnn.data_ptr(x)], dtype=6)", "mkldnn::data_ptr"),
            ("sparse_unsafe", "y = torch.to_dense(ops.aten._sparse_coo_tensor_unsafe("
             "torch.tensor([[1000000], [1000000]]), torch.ones([1]), [3, 3]))",
             "aten::_sparse_coo_tensor_unsafe"),
            ("csr_unsafe", "y = torch.to_dense(ops.aten._sparse_csr_tensor_unsafe("
             "torch.tensor([0, 1000000]), torch.tensor([1000000, 1]), torch.ones([2]), [1, 3]))",
             "aten::_sparse_csr_tensor_unsafe"),
            ("nested_buffer", "y = ops.aten._nested_view_from_buffer(x, torch.tensor([[1000000]]), torch.tensor([[1]]), "
             "torch.tensor([0]))",
             "aten::_nested_view_from_buffer"),
            ("all_reduce", 'y = ops._c10d_functional.all_reduce(x, "sum", "0")', "_c10d_functional::all_reduce"),
            ("profiler", 'y = ops.profiler._record_function_enter("name", None)', "profiler::_record_function_enter"),
            ("copy_from", "y = ops.aten._copy_from(x, x, False)", "aten::_copy_from"),
            ("test_operator", "y = ops.aten._test_optional_intlist(x, [1])", "aten::_test_optional_intlist"),
            ("gradient", "y = ops.aten.embedding_backward(x, x, 1000000, 0, False, False)",
             "aten::embedding_backward"),
            ("vararg", "y = ops.static_runtime.signed_log1p(x)", "static_runtime::signed_log1p"),
    ]:
        used = statement.startswith("y = ")
        add(Case(name, operator), HEAD.format(name="Net") + USED.format(body=statement) if used else
            in_forward(statement))

    # --- places
    save = f'torch.save (torch.ones([3]), "{path}")'
    add(Case("setstate", "aten::save"), HEAD.format(name="Net") + FORWARD.format(name="Net", body="") +
        STATE.format(name="Net", body=lines(save)), stateful(weight))
    add(Case("setstate_from_file", "aten::from_file"), HEAD.format(name="Net") + FORWARD.format(name="Net", body="") +
        STATE.format(name="Net", body=lines(f"self.weight = torch.zero_({overwrite})")), stateful(weight))
    add(Case("function", "aten::save"), in_forward("y = __torch__.helper(x)") +
        f"def helper(x: Tensor) -> Tensor:\n  torch.save (x, \"{path}\")\n  return x\n")
    add(Case("function_in_setstate", "aten::save"), HEAD.format(name="Net") + FORWARD.format(name="Net", body="") +
        STATE.format(name="Net", body=lines("y = __torch__.helper(state[0])")) +
        f"def helper(x: Tensor) -> Tensor:\n  torch.save (x, \"{path}\")\n  return x\n", stateful(weight))
    inner = HEAD.format(name="Inner") + FORWARD.format(name="Inner", body="") + STATE.format(
        name="Inner", body=lines(save))
    outer = HEAD.format(name="Net") + "  inner : __torch__.Inner\n" + FORWARD.format(name="Net", body="")
    add(Case("nested_class", "aten::save"), outer + inner, archives.Object("__torch__.Net", {
        "weight": weight, "training": False, "inner": archives.Object("__torch__.Inner", (weight, False))}))
    add(Case("constants", "aten::save"), in_forward("y = CONSTANTS.c0") + inner,
        constants=(archives.Object("__torch__.Inner", (weight, False)),))
    add(Case("unused_method", "aten::save"), in_forward() + "  def never(self: __torch__.Net) -> Tensor:\n" +
        lines(save) + "    return self.weight\n")
    add(Case("unused_object", "aten::save"), in_forward() +
        "class Tool:\n  x : int\n  def run(self: __torch__.Tool) -> int:\n" + lines(save) + "    return 1\n" +
        "def make() -> __torch__.Tool:\n  return __torch__.Tool.__new__(__torch__.Tool)\n",
        archives.Object("__torch__.Net", {"weight": weight, "training": False, "extra": archives.Object(
            "__torch__.Tool", {"x": 1})}))
    add(Case("default_value", "aten::from_file"), HEAD.format(name="Net") +
        f"  def forward(self: __torch__.Net,\n    x: Tensor,\n    y: Tensor={overwrite}) -> Tensor:\n"
        "    return torch.relu(x)\n")
    add(Case("default_written", "aten::from_file"), HEAD.format(name="Net") +
        f"  def forward(self: __torch__.Net,\n    x: Tensor,\n    y: Tensor=torch.fill_({overwrite}, 7)) -> Tensor:\n"
        "    return torch.relu(x)\n")
    add(Case("fork", "aten::save"), HEAD.format(name="Net") + USED.format(
        body="f = fork(__torch__.helper, x)\n    y = torch.wait(f)") +
        f"def helper(x: Tensor) -> Tensor:\n  torch.save (x, \"{path}\")\n  return x\n")
    add(Case("interface", "aten::save"),
        "class Face(Interface):\n  def go(self: __torch__.Face,\n    x: Tensor) -> Tensor:\n    pass\n" +
        HEAD.format(name="Net") + "  inner : __torch__.Inner\n" +
        FORWARD.format(name="Net", body=lines("y = annotate(__torch__.Face, self.inner)", "z = (y).go(x, )")) +
        HEAD.format(name="Inner") + "  def go(self: __torch__.Inner,\n    x: Tensor) -> Tensor:\n" +
        lines(f'torch.save (x, "{path}")') + "    return x\n",
        archives.Object("__torch__.Net", {"weight": weight, "training": False, "inner": archives.Object(
            "__torch__.Inner", {"weight": weight, "training": False})}))
    add(Case("native_class", "", (3, 4, 5)),
        HEAD.format(name="Net") + USED.format(
            body="c = __torch__.torch.classes._nnapi.Compilation.__new__(__torch__.torch.classes._nnapi.Compilation)"
                 "\n    _0 = (c).__init__()\n    (c).init([x], [x], )\n    y = x"))
    add(Case("two_at_once", "aten::from_file"), HEAD.format(name="Net") + USED.format(
        body=f'y = {overwrite}\n    torch.save (x, "{path}")'))

    add(Case("hook", "aten::save"), HEAD.format(name="Net") + '  __forward_hooks__ = ["hook", ]\n' +
        FORWARD.format(name="Net", body="") + "  def hook(self: __torch__.Net,\n    input: Tuple[Tensor],\n"
        "    output: Tensor) -> Tensor:\n" + lines(f'torch.save (output, "{path}")') + "    return output\n")

    # --- the format of PyTorch 1.2
    for name, body, state in [("legacy", f'torch.save (x, "{path}")', None), ("legacy_setstate", "", save)]:
        archives.write(folder / f"{name}.pt", legacy_program(body, state))
        cases.append(Case(name, "aten::save"))

    # --- integers that stand for nothing: LibTorch has no check of its own
    for name, statement in [
            ("type_minus", "y = torch.zeros([2], dtype=-1)"), ("type_99", "y = torch.zeros([2], dtype=99)"),
            ("type_256", "y = torch.zeros([2], dtype=262)"), ("type_computed", "y = torch.zeros([2], dtype=-x.numel())"),
            ("type_to", "y = torch.to(x, -1)"), ("type_to_method", "y = torch.to(x, 99, False, False, None)"),
            ("type_tensor", "y = torch.tensor([1, 2], dtype=-7)"), ("type_sum", "y = torch.sum(x, dtype=99)"),
            ("type_softmax", "y = torch.softmax(x, 0, -1)"), ("type_arange", "y = torch.arange(5, dtype=77)"),
            ("layout_minus", "y = torch.zeros([2], dtype=6, layout=-1)"),
            ("layout_99", "y = torch.empty([2], dtype=6, layout=99)"),
            ("format_99", "y = torch.contiguous(x, memory_format=99)"),
            ("format_clone", "y = torch.clone(x, memory_format=-5)"),
            ("type_default", "y = torch.full([2], 1, dtype=-1)"),
            ("remainder", "y = torch.ones([torch.remainder(7, torch.sub(torch.len(x), 3))])"),
            ("quotient", "y = torch.ones([torch.floordiv(torch.neg(9223372036854775807) - 1, "
             "torch.sub(torch.len(x), 4))])")]:
        add(Case(name, "", (3, 4, 5)), HEAD.format(name="Net") + USED.format(body=statement))
    # Another thread runs it.
    add(Case("type_in_fork", "", (3, 4, 5)), HEAD.format(name="Net") + USED.format(
        body="f = fork(__torch__.helper, x)\n    y = torch.wait(f)") +
        "def helper(x: Tensor) -> Tensor:\n  return torch.zeros([2], dtype=-1)\n")
    add(Case("type_in_setstate", "", (3,)), HEAD.format(name="Net") + FORWARD.format(name="Net", body="") +
        STATE.format(name="Net", body=lines("self.weight = torch.zeros([2], dtype=-1)")), stateful(weight))
    add(Case("type_in_default", "", (3,)), HEAD.format(name="Net") +
        "  def forward(self: __torch__.Net,\n    x: Tensor,\n    y: Tensor=torch.zeros([2], dtype=-1)) -> Tensor:\n"
        "    return torch.relu(x)\n")

    # --- values of other types than the code was compiled for: read by their place, beyond what is there
    pair = "  pair : Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]\n"
    last = FORWARD.format(name="Net", body=lines("y = (self.pair)[5]", "a, b, c, d, e, f, = self.pair",
                                                 "x = torch.add(x, y)", "x = torch.add(x, f)"))
    add(Case("short_tuple", "", (4,)), HEAD.format(name="Net") + pair + last,
        archives.Object("__torch__.Net", {"weight": weight, "training": False, "pair": (weight,)}))
    add(Case("other_class", "", (4,)), HEAD.format(name="Net") + "  inner : __torch__.Large\n" +
        FORWARD.format(name="Net", body=lines("inner = self.inner", "x = torch.add(x, inner.h)")) +
        "class Small(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : Tensor\n"
        "class Large(Module):\n  __parameters__ = []\n  __buffers__ = []\n" +
        "".join(f"  {n} : Tensor\n" for n in "abcdefgh"),
        archives.Object("__torch__.Net", {"weight": weight, "training": False,
                                          "inner": archives.Object("__torch__.Small", {"a": weight})}))
    add(Case("other_state", "", (4,)), HEAD.format(name="Net") + FORWARD.format(name="Net", body="") +
        STATE.format(name="Net", body=""), archives.Object("__torch__.Net", (weight,)))
    add(Case("cast", "", (3, 4, 5)), HEAD.format(name="Net") + "  inner : Any\n" +
        FORWARD.format(name="Net", body=lines("inner = unchecked_cast(__torch__.Large, self.inner)",
                                              "x = torch.add(x, inner.h)")) +
        "class Small(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : Tensor\n"
        "class Large(Module):\n  __parameters__ = []\n  __buffers__ = []\n" +
        "".join(f"  {n} : Tensor\n" for n in "abcdefgh"),
        archives.Object("__torch__.Net", {"weight": weight, "training": False,
                                          "inner": archives.Object("__torch__.Small", {"a": weight})}))
    return cases


def commands(tool: str, model: pathlib.Path, honest: pathlib.Path, out: pathlib.Path) -> dict[str, list[str]]:
    given = ["--input", "x:3@f32"]
    return {"inspect": [tool, "inspect", str(model)],
            "check": [tool, "check", str(model), *given],
            "convert": [tool, str(model), "-o", str(out / f"{model.stem}.onnx"), *given],
            "verify": [tool, "verify", str(model), str(honest), *given]}


def problems_of(case: Case, verb: str, run: subprocess.CompletedProcess, secret: str) -> list[str]:
    text = run.stdout + run.stderr
    found = []
    if secret in text:
        found.append("the secret is in the output")
    if verb == "inspect":  # it may answer without LibTorch; only a crash is wrong
        if run.returncode in (1, 9) or run.returncode < 0:
            found.append(f"exit {run.returncode}: {text.strip()[-200:]}")
        return found
    refused = case.codes + ((11,) if verb == "verify" and not case.operator else ())  # it ran nothing
    if run.returncode not in refused:
        found.append(f"exit {run.returncode} instead of {case.codes}: {text.strip()[-300:]}")
    elif case.operator and (case.operator not in text or "OE0141" not in text):
        found.append(f"the message does not name {case.operator}: {text.strip()[-300:]}")
    elif case.operator and "default" not in case.name and not re.search(r"(__torch__|net)\.py:\d+", text):
        found.append(f"the message names no line: {text.strip()[-300:]}")
    return found


def honest_model(tool: str, folder: pathlib.Path) -> pathlib.Path:
    archives.write_module(folder / "honest.pt", in_forward(), plain(torch.ones(3)))
    target = folder / "honest.onnx"
    subprocess.run([tool, str(folder / "honest.pt"), "-o", str(target), "--input", "x:3@f32"], check=True,
                   capture_output=True)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--figures", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    tool = str(options.build.resolve() / "onnx-export")
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        planted = folder / "planted"
        planted.write_text(SECRET)
        out = folder / "out"
        out.mkdir()
        honest = honest_model(tool, folder)
        cases = [c for c in make(folder, planted) if not options.cases or c.name in options.cases]

        def attack(case: Case) -> list[str]:
            found = []
            for verb, command in commands(tool, folder / f"{case.name}.pt", honest, out).items():
                run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300,
                                     cwd=out)
                found += [f"{case.name} {verb}: {p}" for p in problems_of(case, verb, run, SECRET)]
                if planted.read_text() != SECRET:
                    found.append(f"{case.name} {verb}: the planted file is written")
                    planted.write_text(SECRET)
            return found

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for found in pool.map(attack, cases):
                failures += found[:1]
                for line in found:
                    print(f"FAIL {line}", flush=True)
        runs = 4 * len(cases)
        if stray := [p.name for p in out.iterdir()]:
            failures.append("stray")
            print(f"FAIL files are left behind: {stray}")
    if options.figures:
        options.figures.write_text(json.dumps([{
            "promise": "A model cannot open files, reach other processes or access memory that is not its own: its "
                       "operators are checked before any of its code runs",
            "test": "tests/safety/operators.py",
            "figure": f"{len(cases)} hostile programs, {runs} runs, {len(failures)} not refused"}], indent=1))
    print(f"{len(cases) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
