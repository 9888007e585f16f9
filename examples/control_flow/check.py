"""Exported at 5 the loop still counts: 1 + 0 + 1 + ... + 8 = 37."""
import numpy
import onnxruntime

session = onnxruntime.InferenceSession("counter.onnx", providers=["CPUExecutionProvider"])
x = numpy.ones((2, 3), numpy.int64)
total, = session.run(["total"], {"x": x, "count": numpy.array(9)})
assert total.tolist() == [[37] * 3] * 2, total
