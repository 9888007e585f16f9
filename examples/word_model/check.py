"""One word at a time, for another batch, with the state fed back."""
import numpy
import onnxruntime
import torch

session = onnxruntime.InferenceSession("words.onnx", providers=["CPUExecutionProvider"])
model = torch.jit.load("words.pt")
names = [i.name for i in session.get_inputs()]
state = (torch.zeros(2, 3, 16), torch.zeros(2, 3, 16))
given = [s.numpy() for s in state]
for word in torch.randint(0, 100, (4, 1, 3)):
    expected, state = model(word, state)
    actual, *given = session.run(None, dict(zip(names, [word.numpy(), *given])))
    assert numpy.abs(actual - expected.detach().numpy()).max() < 1e-4
