"""The Python module: results, exceptions, and what becomes of each argument of export()."""
import inspect
import io
import pathlib
import subprocess
import sys

import cases
import onnx_export
import onnxruntime
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale: float = 2.0):
        return x.exp() * scale


def saved(path: str = "model.pt") -> str:
    torch.jit.script(Model()).save(path)
    return path


def raised(expected: type, call, *args, **kwargs) -> Exception:
    try:
        call(*args, **kwargs)
    except expected as e:
        return e
    raise AssertionError(f"{expected.__name__} was not raised")


def input_names(path: str) -> list[str]:
    return [i.name for i in onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()]


def test_import_leaves_torch_out() -> None:
    code = "import onnx_export, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_convert() -> None:
    result = onnx_export.convert(pathlib.Path(saved()), "m.onnx", input=["x:batch=2x3@f32"], verify=True, opset=17)
    assert pathlib.Path("m.onnx").is_file() and result.output == "m.onnx" and result.opset == 17
    assert result.inputs[0].dims == (onnx_export.Axis(None, "batch", None, None), onnx_export.Axis(3, "", None, None))
    assert result.verification.verdict == "agrees" and result.fully_verified and result.verification.runs > 1
    assert result.operators and result.document["schema_version"] == 1


def test_convert_several_methods() -> None:
    class Codec(nn.Module):
        @torch.jit.export
        def encode(self, x):
            return x * 2

        @torch.jit.export
        def decode(self, x):
            return x / 2

        def forward(self, x):
            return x

    torch.jit.script(Codec()).save("codec.pt")
    result = onnx_export.convert("codec.pt", method=["encode", "decode"], input=["encode.x:2x3", "decode.x:4"])
    assert {m: r.output for m, r in result.methods.items()} == {"encode": "codec.encode.onnx",
                                                                 "decode": "codec.decode.onnx"}
    assert result.methods["decode"].inputs[0].dims[0].size == 4


def test_check() -> None:
    result = onnx_export.check(saved(), input="x:2x3")
    assert result.converts and result.output is None and not pathlib.Path("model.onnx").exists()
    every = onnx_export.check("model.pt", input="x:2x3", all_opsets=True)
    assert {o.opset for o in every.opsets} >= {9, 18} and all(o.converts for o in every.opsets if o.opset >= 9)


def test_verify() -> None:
    onnx_export.convert(saved(), "m.onnx", input="x:2x3@f32")
    result = onnx_export.verify("model.pt", "m.onnx", input="x:2x3@f32")
    assert result.agrees and not result.differs and result.verification.verdict == "agrees"

    class Other(nn.Module):
        def forward(self, x):
            return x.exp() * 3

    torch.jit.script(Other()).save("other.pt")
    result = onnx_export.verify("other.pt", "m.onnx", input="x:2x3@f32")
    assert result.differs and not result.agrees and result.verification.verdict == "differs"


def test_inspect() -> None:
    result = onnx_export.inspect(saved())
    assert result.kind == "torchscript" and result.operators == {"aten::exp": 1, "aten::mul": 1}, result.operators
    assert result.document["methods"][0]["name"] == "forward"
    onnx_export.convert("model.pt", input="x:2x3@f32")
    assert onnx_export.inspect("model.onnx").kind == "onnx"


def test_exceptions() -> None:
    class Unique(nn.Module):
        def forward(self, x):
            return torch._unique2(x)[0].sum()

    torch.jit.trace(Unique(), torch.arange(3)).save("model.pt")
    e = raised(onnx_export.OE5001, onnx_export.convert, "model.pt", "m.onnx", opset=10)
    assert isinstance(e, onnx_export.UnsupportedError) and e.code == "OE5001" and e.exit_code == 5
    problem = next(p for p in e.problems if p.severity == "error")
    assert problem.needs_opset == 11 and problem.place.line > 0, problem
    assert "needs opset 11" in str(e)
    e = raised(onnx_export.UsageError, onnx_export.convert, "model.pt", opsett=10)
    assert "--opset" in str(e) and isinstance(e, ValueError)
    assert raised(onnx_export.UnreadableError, onnx_export.convert, "none.pt").code == "OE0101"
    assert raised(onnx_export.OutputError, onnx_export.convert, "model.pt", "none/m.onnx").exit_code == 7
    assert raised(onnx_export.MissingPartError, onnx_export.convert, "model.pt", device="cuda:99").exit_code == 10
    raised(onnx_export.LimitError, onnx_export.convert, "model.pt", max_time="1ms")
    assert raised(onnx_export.ExportError, onnx_export.inspect, "none.pt").problems
    raised(AttributeError, getattr, onnx_export, "OE12")


def test_signature_has_every_argument_of_torch() -> None:
    ours, theirs = (inspect.signature(f).parameters for f in (onnx_export.export, torch.onnx.export))
    assert set(theirs) <= set(ours), set(theirs) - set(ours)
    assert all(ours[n].kind == p.kind for n, p in theirs.items())
    from torch.onnx import utils
    if hasattr(utils, "export"):
        assert set(inspect.signature(utils.export).parameters) <= set(ours)


def test_refused_by_name() -> None:
    x = torch.ones(2, 3)
    for name, value in (("dynamo", True), ("dynamic_shapes", {"x": {}}), ("custom_translation_table", {}),
                        ("report", True), ("profile", True), ("dump_exported_program", True),
                        ("artifacts_dir", "there"), ("fallback", True), ("autograd_inlining", False),
                        ("training", "SOMETIMES"), ("operator_export_type", "PLAIN"), ("input_names", "x"),
                        ("output_names", ["a,b"]), ("dynamic_axes", ["x"])):
        e = raised(onnx_export.ArgumentError, onnx_export.export, Model(), x, "m.onnx", **{name: value})
        assert e.argument == name and str(e).startswith(name), e
        assert not pathlib.Path("m.onnx").exists()
    assert raised(onnx_export.ArgumentError, onnx_export.export, Model(), x).argument == "f"
    assert raised(onnx_export.ArgumentError, onnx_export.export, Model(), (x, 1, 2, 3), "m").argument == "args"
    assert raised(onnx_export.ArgumentError, onnx_export.export, lambda x: x, x, "m").argument == "model"
    program = torch.export.export(Model(), (x,))
    assert raised(onnx_export.ArgumentError, onnx_export.export, program, x, "m").argument == "model"
    raised(onnx_export.UsageError, onnx_export.export, Model(), x, "m", opset_verson=11)


def test_arguments_that_map() -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.ones(2, 3)

    def made(**options) -> dict:
        result = onnx_export.export(model, x, "m.onnx", **options)
        return onnx_export.inspect("m.onnx").document | {"result": result}

    assert made(opset_version=11)["result"].opset == 11
    made(export_params=False)
    assert input_names("m.onnx")[1:] == ["0.weight", "0.bias"], input_names("m.onnx")
    for keep, count in ((True, 2), (False, 0)):
        made(keep_initializers_as_inputs=keep)
        session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
        assert len(session.get_overridable_initializers()) == count
    assert made(external_data=False)["result"].external_data_file is None
    assert made(verify=True)["result"].fully_verified
    assert made(export_modules_as_functions=True)["functions"]
    assert made(export_modules_as_functions={nn.ReLU})["functions"]
    made(optimize=False, do_constant_folding=False, strip_doc_string=False, enable_onnx_checker=False, aten=False)


def test_streams() -> None:
    stream = io.BytesIO()
    onnx_export.export(Model(), torch.ones(2, 3), stream)
    session = onnxruntime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])
    assert session.run(None, {session.get_inputs()[0].name: torch.zeros(2, 3).numpy()})[0].max() == 2


class Takes(nn.Module):
    def forward(self, x, y=None, flag: bool = True, parts=None):
        z = x if y is None else x - y
        z = z if flag else -z
        return z + parts["a"] * parts["b"] if parts is not None else z


def test_example_arguments() -> None:
    """args as torch.onnx.export takes them: a tensor, a tuple, a dict of keywords at its end, and kwargs."""
    x, y = torch.ones(2, 3), torch.full((2, 3), 5.0)
    parts = {"a": torch.ones(3), "b": torch.ones(3)}
    for args, kwargs, names in (
            (x, None, ["x"]), ((x,), None, ["x"]), ([x], None, ["x"]), ((x, y), None, ["x", "y"]),
            ((x, y, False), None, ["x", "y"]), ((x, {"y": y}), None, ["x", "y"]), ((x, {"y": y, "flag": False}), None,
                                                                               ["x", "y"]),
            ((x,), {"y": y}, ["x", "y"]), ((), {"x": x, "y": y}, ["x", "y"]), ((x, {}), None, ["x"]),
            ((x, None, False), None, ["x"]), ((x,), {"parts": parts}, ["x", "parts.a", "parts.b"])):
        onnx_export.export(Takes(), args, "m.onnx", kwargs=kwargs)
        assert input_names("m.onnx") == names, (input_names("m.onnx"), names)
    onnx_export.export(Takes(), (x, y, False), "m.onnx")
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    assert (session.run(None, {"x": x.numpy(), "y": y.numpy()})[0] == 4).all()
    mixed = {"a": torch.ones(3), "b": 1.0}
    raised(onnx_export.ArgumentError, onnx_export.export, Takes(), (x,), "m", kwargs={"parts": mixed})


def test_parameters_of_any_kind() -> None:
    class Sums(nn.Module):
        def forward(self, *values, **named):
            return sum(values) + named["last"]

    x = torch.ones(2)
    onnx_export.export(Sums(), (x, x + 1), "m.onnx", kwargs={"last": x})
    assert len(input_names("m.onnx")) == 3
    model = Sums()
    onnx_export.export(model, (x,), "m.onnx", kwargs={"last": x})
    assert "forward" not in model.__dict__  # nothing is left on the module


def test_script() -> None:
    class Branch(nn.Module):
        def forward(self, x, n: int):
            return x * n if bool(x.sum() > 0) else x - n

    x = torch.ones(3)
    for model, more in ((Branch(), {"script": True}), (torch.jit.script(Branch()), {})):
        onnx_export.export(model, (x, 3), "m.onnx", **more)
        session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
        fed = dict(zip([i.name for i in session.get_inputs()], (-x.numpy(), torch.tensor(3).numpy())))
        assert (session.run(None, fed)[0] == -4).all()
    onnx_export.export(torch.jit.script(Branch()), (x,), "m.onnx", kwargs={"n": 3})
    assert input_names("m.onnx") == ["x", "n"]

    @torch.jit.script
    def function(x):
        return x * 2

    onnx_export.export(function, (x,), "m.onnx")
    assert len(input_names("m.onnx")) == 1


def test_mode_of_each_module_is_kept() -> None:
    model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3))
    model[1].eval()
    onnx_export.export(model, torch.ones(2, 3), "m.onnx")
    assert model.training and model[0].training and not model[1].training


if __name__ == "__main__":
    sys.exit(cases.run(dict(globals())))
