"""The file over time: what a call leaves in state_out is the next one's state_in."""
import numpy
import onnxruntime
import torch

session = onnxruntime.InferenceSession("policy.onnx", providers=["CPUExecutionProvider"])
model = torch.jit.load("policy.pt")
outputs = [o.name for o in session.get_outputs()]
state = dict(numpy.load("policy.state.npz"))
with torch.no_grad():
    for observation in torch.randn(20, 1, 12):
        given = {"observation": observation.numpy(), **state}
        result = dict(zip(outputs, session.run(None, given)))
        state = {name: result[name.replace("state_in", "state_out")] for name in state}
        assert numpy.abs(result["output"] - model(observation).numpy()).max() < 1e-4
