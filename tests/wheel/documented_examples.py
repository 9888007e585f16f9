"""PyTorch's documented examples of torch.onnx.export, through onnx_export.export: of the pages of PyTorch 0.2 to 2.7.

Each is run as it is written there, but for what is no longer there (Caffe2), names that are missing in the page, and
sizes: weights of AlexNet are random, its classifier is narrower, and no GPU is needed. The file is compared with the
model in ONNX Runtime.
"""
import contextlib
import io
import sys

import cases
import numpy as np
import onnx_export
import onnxruntime
import torch
from torch import nn


def shapes(values) -> dict[str, list]:
    return {value.name: value.shape for value in values}


def session(path: str) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def flat(values) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values]
    return [part for value in values for part in flat(value)]


def compare(path: str, expected, *inputs, atol: float = 1e-5) -> None:
    run = session(path)
    results = run.run(None, {i.name: v.detach().numpy() for i, v in zip(run.get_inputs(), flat(inputs), strict=True)})
    for result, wanted in zip(results, flat(expected), strict=True):
        np.testing.assert_allclose(result, wanted.detach().numpy(), atol=atol, rtol=1e-4)


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(256 * 6 * 6, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 1000))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def test_alexnet() -> None:
    """All five pages."""
    dummy_input = torch.randn(10, 3, 224, 224)
    model = AlexNet()
    input_names = ["actual_input_1"] + ["learned_%d" % i for i in range(16)]
    output_names = ["output1"]
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        onnx_export.export(model, dummy_input, "alexnet.onnx", verbose=True, input_names=input_names,
                           output_names=output_names)
    assert "output1 = Gemm" in printed.getvalue(), printed.getvalue()
    assert model.training  # as it was
    run = session("alexnet.onnx")
    assert shapes(run.get_inputs()) == {"actual_input_1": [10, 3, 224, 224]}, shapes(run.get_inputs())
    assert shapes(run.get_outputs()) == {"output1": [10, 1000]}
    weights = {w["name"] for w in onnx_export.inspect("alexnet.onnx").document["weights"]}
    assert {f"learned_{i}" for i in range(16)} <= weights, weights
    compare("alexnet.onnx", model.eval()(dummy_input), dummy_input, atol=1e-4)


def test_traced_loop() -> None:
    """1.4, 1.5, 1.6: a trace unrolls the loop."""
    class LoopModel(torch.nn.Module):
        def forward(self, x, y):
            for i in range(y):
                x = x + i
            return x

    model = LoopModel()
    dummy_input = torch.ones(2, 3, dtype=torch.long)
    loop_count = torch.tensor(5, dtype=torch.long)
    onnx_export.export(model, (dummy_input, loop_count), "loop.onnx", verbose=False)
    run = session("loop.onnx")
    first = run.get_inputs()[0].name
    fed = {i.name: dummy_input.numpy() if i.name == first else loop_count.numpy() for i in run.get_inputs()}
    np.testing.assert_array_equal(run.run(None, fed)[0], np.full((2, 3), 11))


@torch.jit.script
def loop(x, y):
    for i in range(int(y)):
        x = x + i
    return x


def test_tracing_and_scripting_mixed() -> None:
    """1.4, 1.5, 1.6: the loop is kept, and runs 9 times too."""
    class LoopModel2(torch.nn.Module):
        def forward(self, x, y):
            return loop(x, y)

    model = LoopModel2()
    dummy_input = torch.ones(2, 3, dtype=torch.long)
    loop_count = torch.tensor(5, dtype=torch.long)
    onnx_export.export(model, (dummy_input, loop_count), "loop.onnx", input_names=["input_data", "loop_range"])
    outputs = session("loop.onnx").run(None, {"input_data": dummy_input.numpy(),
                                              "loop_range": np.array(9).astype(np.int64)})
    np.testing.assert_array_equal(outputs[0], np.full((2, 3), 37))


class SumModule(torch.nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=1)


def test_names() -> None:
    """2.7, `dynamic_axes`: without it."""
    onnx_export.export(SumModule(), (torch.ones(2, 2),), "onnx.pb", input_names=["x"], output_names=["sum"])
    run = session("onnx.pb")
    assert shapes(run.get_inputs()) == {"x": [2, 2]} and shapes(run.get_outputs()) == {"sum": [2]}


def test_dynamic_axes() -> None:
    """2.7, `dynamic_axes`: a dict names axes, a list takes automatic names."""
    onnx_export.export(
        SumModule(), (torch.ones(2, 2),), "onnx.pb", input_names=["x"], output_names=["sum"],
        dynamic_axes={
            # dict value: manually named axes
            "x": {0: "my_custom_axis_name"},
            # list value: automatic names
            "sum": [0],
        })
    run = session("onnx.pb")
    assert shapes(run.get_inputs()) == {"x": ["my_custom_axis_name", 2]}, shapes(run.get_inputs())
    (dims,) = shapes(run.get_outputs()).values()
    # One axis has one name: that of the input, which decides on it.
    assert dims in (["my_custom_axis_name"], ["sum_dynamic_axes_1"]), dims
    compare("onnx.pb", torch.full((5,), 2.0), torch.ones(5, 2))


def test_lstm() -> None:
    """1.4, 1.5, 1.6, FAQ: fixed sizes, and a dynamic axis."""
    layer_count = 4
    model = nn.LSTM(10, 20, num_layers=layer_count, bidirectional=True)
    model.eval()
    with torch.no_grad():
        input = torch.randn(5, 3, 10)
        h0 = torch.randn(layer_count * 2, 3, 20)
        c0 = torch.randn(layer_count * 2, 3, 20)
        output, (hn, cn) = model(input, (h0, c0))
        onnx_export.export(model, (input, (h0, c0)), "lstm.onnx")
        assert session("lstm.onnx").get_inputs()[0].shape == [5, 3, 10]
        compare("lstm.onnx", (output, hn, cn), input, h0, c0)
        onnx_export.export(model, (input, (h0, c0)), "lstm.onnx",
                           input_names=["input", "h0", "c0"],
                           output_names=["output", "hn", "cn"],
                           dynamic_axes={"input": {0: "sequence"}, "output": {0: "sequence"}})
        run = session("lstm.onnx")
        assert run.get_inputs()[0].shape == ["sequence", 3, 10]
        assert [o.name for o in run.get_outputs()] == ["output", "hn", "cn"]
        longer = torch.randn(8, 3, 10)
        compare("lstm.onnx", model(longer, (h0, c0)), longer, h0, c0)


class ImplicitCastType(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        y = x + 2
        return y + 3


def test_implicit_cast() -> None:
    """1.4, 1.5, 1.6, FAQ: a ScriptModule, with `example_outputs`."""
    x = torch.tensor([1.0], dtype=torch.float32)
    onnx_export.export(ImplicitCastType(), x, "implicit_cast.onnx", example_outputs=ImplicitCastType()(x))
    compare("implicit_cast.onnx", ImplicitCastType()(x), x)


class InPlaceIndexedAssignment(torch.nn.Module):
    def forward(self, data, new_data):
        data[1] = new_data
        return data


def test_in_place_indexed_assignment() -> None:
    """1.4, 1.5, 1.6, FAQ."""
    data = torch.zeros(3, 4)
    new_data = torch.arange(4).to(torch.float32)
    out = InPlaceIndexedAssignment()(data, new_data)
    data = torch.zeros(3, 4)
    onnx_export.export(InPlaceIndexedAssignment(), (data, new_data), "inplace_assign.onnx", opset_version=11)
    assert not data.any()  # the example is not written
    sess = session("inplace_assign.onnx")
    out_ort = sess.run(None, {
        sess.get_inputs()[0].name: torch.zeros(3, 4).numpy(),
        sess.get_inputs()[1].name: new_data.numpy(),
    })
    assert torch.all(torch.eq(out, torch.tensor(out_ort[0])))


class ListLoopModel(torch.nn.Module):
    def forward(self, x):
        res = []
        res1 = []
        arr = x.split(2, 0)
        res2 = torch.zeros(3, 4, dtype=torch.long)
        for i in range(len(arr)):
            res.append(arr[i].sum(0, False))
            res1.append(arr[-1 - i].sum(0, False))
            res2 += 1
        return torch.stack(res), torch.stack(res1), res2


def test_list_and_loop() -> None:
    """1.5, 1.6, FAQ: lists of tensors in a scripted loop."""
    model = torch.jit.script(ListLoopModel())
    inputs = torch.randn(16)
    out = model(inputs)
    onnx_export.export(model, (inputs,), "loop_and_list.onnx", opset_version=11, example_outputs=out)
    compare("loop_and_list.onnx", out, inputs)


def test_external_data() -> None:
    """1.5, 1.6: `use_external_data_format`."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3, groups=1), nn.BatchNorm2d(8), nn.ReLU6())
    input = torch.randn(2, 3, 24, 24, requires_grad=True)
    result = onnx_export.export(model, (input,), "./large_model.onnx", use_external_data_format=True,
                                external_data_threshold="0")
    assert result.external_data_file, result.document
    compare("large_model.onnx", model.eval()(input), input)


def test_operators_of_tensors() -> None:
    """2.7, pitfalls: the good forms."""
    class Concatenated(nn.Module):
        def forward(self, x, y):
            return torch.cat((x, y), dim=1)

    class Reshaped(nn.Module):
        def forward(self, x, y):
            return x.reshape(y, -1)

    x, y = torch.randn(1, 2), torch.randn(1, 2)
    onnx_export.export(Concatenated(), (x, y), "cat.onnx")
    compare("cat.onnx", torch.cat((x, y), dim=1), x, y)
    # A script: a trace keeps the number of y's value.
    onnx_export.export(Reshaped(), (torch.randn(4, 3), torch.tensor(2)), "reshape.onnx", input_names=["x", "y"])
    run = session("reshape.onnx")
    wide = torch.randn(4, 3)
    fed = {"x": wide.numpy(), "y": np.array(6)}
    result = run.run(None, {i.name: fed[i.name] for i in run.get_inputs()})[0]
    assert result.size == 12


def test_shapes_in_place() -> None:
    """2.7, pitfalls: sizes without writing in place."""
    class Model(torch.nn.Module):
        def forward(self, states):
            batch_size, seq_length = states.shape[:2]
            real_seq_length = seq_length
            real_seq_length = real_seq_length + 2
            return real_seq_length + seq_length

    onnx_export.export(Model(), torch.zeros(2, 7), "shapes.onnx", input_names=["states"],
                       dynamic_axes={"states": {1: "length"}})
    assert session("shapes.onnx").run(None, {"states": np.zeros((2, 9), np.float32)})[0] == 20


def test_indexing() -> None:
    """2.7, limitations: patterns that torch.onnx.export refuses or gets wrong."""
    class Reads(nn.Module):
        def forward(self, data):
            return data[torch.tensor([[1, 2], [2, -3]]), torch.tensor([-2, 3])]

    class Writes(nn.Module):
        def __init__(self, *index):
            super().__init__()
            self.index = index

        def forward(self, data, new_data):
            data[self.index] = new_data
            return data

    data = torch.randn(3, 4, 5)
    onnx_export.export(Reads(), (data,), "reads.onnx")
    compare("reads.onnx", Reads()(data), data)
    for index, new_data in (
            ((torch.tensor([[1, 2], [2, 0]]), torch.tensor([2, 3])), torch.randn(2, 2, 5)),
            ((torch.tensor([2, 1]), slice(None), torch.tensor([1, 2])), torch.randn(2, 4)),
            ((torch.tensor([1, -2]), torch.tensor([-2, 3])), torch.randn(2, 5)),
            ((torch.tensor([[0, 2], [1, 1]]), slice(1, 3)), torch.randn(5))):
        model = Writes(*index)
        onnx_export.export(model, (data, new_data), "writes.onnx")
        compare("writes.onnx", model(data.clone(), new_data), data, new_data)


def test_elu() -> None:
    """All pages, adding operators: ELU."""
    onnx_export.export(torch.nn.ELU(), torch.ones(1), "elu.onnx")
    assert onnx_export.inspect("elu.onnx").operators == {"Elu": 1}
    compare("elu.onnx", torch.nn.ELU()(torch.tensor([-1.0])), torch.tensor([-1.0]))


class MyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def symbolic(g: torch.Graph, input: torch.Value) -> torch.Value:
        return g.op("Clip", input, g.op("Constant", value_t=torch.tensor(0, dtype=torch.float)))


class MyLogExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(input)
        h = input.exp()
        return h.log().log()


def test_autograd_functions() -> None:
    """2.7: with a static symbolic, and inlined."""
    class Calls(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x):
            return self.function.apply(x)

    x = torch.rand(3, 4) + 1
    for function in (MyRelu, MyLogExp):
        onnx_export.export(Calls(function), x, "function.onnx")
        compare("function.onnx", function.apply(x), x)


SELU_RULE = """\
aten::selu (X) => (Y) opset 15 function onnx-script.Selu:2
{
  alpha = Constant <value: tensor = float {1.6732632}> ()
  gamma = Constant <value: tensor = float {1.050701}> ()
  zero = Constant <value: tensor = float {0}> ()
  one = Constant <value: tensor = float {1}> ()
  e = Exp (X)
  m = Sub (e, one)
  a = Mul (alpha, m)
  p = LessOrEqual (X, zero)
  c = Where (p, a, X)
  Y = Mul (gamma, c)
}
"""


def test_custom_opset() -> None:
    """2.7: SELU as a function of another domain. The rule is text: a symbolic function of Python cannot be one."""
    with open("selu.txt", "w") as file:
        file.write(SELU_RULE)
    opset_version = 15
    x = torch.randn(1, 2, 3, 4, requires_grad=True)
    model = torch.nn.SELU()
    onnx_export.export(model, x, "model.onnx", opset_version=opset_version, custom_opsets={"onnx-script": 2},
                       symbolics="selu.txt")
    assert onnx_export.inspect("model.onnx").document["opsets"]["onnx-script"] == 2
    compare("model.onnx", model(x), x)


def test_operator_export_types() -> None:
    """1.4, 1.5, 1.6: exp and div as ATen nodes, and as they are; triu, which ONNX has by now."""
    class Divides(nn.Module):
        def forward(self, x):
            return x / x.exp()

    class Triangle(nn.Module):
        def forward(self, x):
            return x.triu(0) * x

    x = torch.randn(2, 3, 4)
    onnx_export.export(Divides(), x, "onnx.onnx", operator_export_type=torch.onnx.OperatorExportTypes.ONNX)
    compare("onnx.onnx", x / x.exp(), x)
    assert set(onnx_export.inspect("onnx.onnx").operators) == {"Exp", "Div"}
    onnx_export.export(Divides(), x, "aten.onnx", operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN)
    assert onnx_export.inspect("aten.onnx").operators == {"org.pytorch.aten::ATen": 2} or \
        set(onnx_export.inspect("aten.onnx").operators.values()) == {2}, onnx_export.inspect("aten.onnx").operators
    onnx_export.export(Triangle(), x, "fallback.onnx", opset_version=18,
                       operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK)
    compare("fallback.onnx", x.triu(0) * x, x)


def test_training() -> None:
    """1.6, Training: TRAINING keeps dropout, PRESERVE what the model is."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
    x = torch.randn(2, 3)
    for mode, names in ((torch.onnx.TrainingMode.TRAINING, True), (torch.onnx.TrainingMode.EVAL, False),
                        (torch.onnx.TrainingMode.PRESERVE, True)):
        onnx_export.export(model, x, "model.onnx", training=mode, opset_version=12)
        operators = onnx_export.inspect("model.onnx").operators
        assert ("Dropout" in operators) == names, (mode, operators)


def test_unconvertible_operators() -> None:
    """2.7: all of them at once; check() is torch.onnx.utils.unconvertible_ops."""
    class Unique(nn.Module):
        def forward(self, x):
            return torch._unique2(x)[0].sum()

    torch.jit.trace(Unique(), torch.arange(3)).save("model.pt")
    found = onnx_export.check("model.pt", opset=10)
    assert not found.converts and [p.operator for p in found.problems if p.severity == "error"] == ["aten::_unique2"]
    assert found.lowest_opset == 11, found.lowest_opset


if __name__ == "__main__":
    sys.exit(cases.run(dict(globals())))
