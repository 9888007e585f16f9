"""Another batch, height and width than the exported ones."""
import numpy
import onnxruntime
import torch

image = torch.randn(5, 3, 48, 20)
session = onnxruntime.InferenceSession("classifier.onnx", providers=["CPUExecutionProvider"])
probabilities, = session.run(None, {"image": image.numpy()})
expected = torch.jit.load("classifier.pt")(image).detach().numpy()
assert numpy.abs(probabilities - expected).max() < 1e-5
