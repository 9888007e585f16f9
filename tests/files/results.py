"""What an .onnx gives beside what it should."""
import pathlib

import onnxruntime
import torch


def difference(model: pathlib.Path, arguments: tuple, expected: object, rtol: float, atol: float) -> str:
    """Of the results in ONNX Runtime; empty where there is none."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    given = {i.name: t.numpy() for i, t in zip(session.get_inputs(), arguments, strict=True)}
    wanted = expected if isinstance(expected, (tuple, list)) else (expected,)
    for got, want in zip(session.run(None, given), wanted, strict=True):
        try:
            torch.testing.assert_close(torch.from_numpy(got), want, rtol=rtol, atol=atol)
        except AssertionError as e:
            return str(e)
    return ""
