"""Energies and forces beside LibTorch's, for molecules of other sizes; and that the forces are the energy's slope."""
import numpy
import onnxruntime
import torch

session = onnxruntime.InferenceSession("potential.onnx", providers=["CPUExecutionProvider"])
model = torch.jit.load("potential.pt")


def run(positions, kinds, edges):
    given = zip([i.name for i in session.get_inputs()], (positions, kinds, edges))
    return session.run(None, {name: value.numpy() for name, value in given})


for atoms, pairs in [(6, 20), (2, 1), (30, 200)]:
    positions, kinds = torch.rand(atoms, 3) * 2, torch.randint(0, 4, (atoms,))
    source = torch.randint(0, atoms, (pairs,))
    edges = torch.stack([source, (source + torch.randint(1, atoms, (pairs,))) % atoms])
    energy, forces = run(positions, kinds, edges)
    wanted_energy, wanted_forces = model(positions.clone(), kinds, edges)
    assert abs(energy - wanted_energy.item()) < 1e-4 * max(1, abs(wanted_energy.item()))
    assert numpy.abs(forces - wanted_forces.detach().numpy()).max() < 1e-4 * max(1, wanted_forces.abs().max().item())
    step = torch.zeros_like(positions)
    step[0, 0] = 1e-2
    slope = (run(positions + step, kinds, edges)[0] - run(positions - step, kinds, edges)[0]) / 2e-2
    assert abs(slope + forces[0, 0]) < 1e-2 * max(1, abs(slope))
