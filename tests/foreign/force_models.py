"""Force models of molecular dynamics, scripted as their packages do it: energies and forces by autograd in forward.

    force_models.py --build build/release [NAME...]

Installs the packages on demand (.deps/foreign/forces). Each model has random weights. It is converted with dynamic
numbers of atoms and edges and compared with LibTorch at other structures.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import environment  # noqa: E402

PACKAGES = environment.FOLDER / "forces"
WANTED = [
    "torchani==2.9.0", "schnetpack==2.1.1", "nequip==0.19.1", "mace-torch==0.3.16", "e3nn==0.6.0",
    # what they import
    "antlr4-python3-runtime==4.9.3", "ase==3.29.0", "configargparse==1.9.0", "contourpy==1.3.3", "cycler==0.12.1",
    "dirsync==2.2.6", "fasteners==0.20", "filelock==4.3.1", "fonttools==4.68.0", "fsspec==2026.9.0", "h5py==3.16.0",
    "hydra-core==1.3.8", "kiwisolver==1.5.1", "lightning==2.6.6", "lightning-utilities==0.15.3", "lmdb==3.0.0",
    "pandas==3.1.1", "pytz==2026.6", "tzdata==2026.6", "matplotlib==3.11.2", "matscipy==1.3.1", "mpmath==1.4.1",
    "networkx==3.6.1", "omegaconf==2.3.0",
    "opt-einsum==3.4.0", "opt-einsum-fx==0.1.4", "packaging==26.4", "prettytable==3.18.0", "progressbar2==4.6.0",
    "pyparsing==3.3.3", "python-dateutil==4.0.0", "python-hostlist==2.3.0", "python-utils==4.2.0",
    "pytorch-lightning==2.6.6", "requests==2.34.2", "urllib3==2.8.0", "certifi==2026.10.18",
    "charset-normalizer==3.5.2", "scipy==1.17.1", "six==1.17.0", "sympy==1.14.0", "tensorboard==2.21.0",
    "torch-ema==0.3", "torchmetrics==1.9.0", "vesin==0.6.2",
]
KINDS = [6, 1, 8]  # carbon, hydrogen, oxygen


def structure(atoms: int, cutoff: float, seed: int):
    """Positions, kinds (0 to 2) and the pairs of atoms nearer than the cutoff."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    positions = torch.randn(atoms, 3, generator=draw) * atoms ** (1 / 3)
    distances = torch.cdist(positions, positions)
    first, second = torch.where((distances < cutoff) & (distances > 0))
    return positions, torch.randint(0, 3, (atoms,), generator=draw), first, second


def ani():
    import torch
    from torchani.arch import simple_ani

    class Forces(torch.nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, species, coordinates):
            coordinates.requires_grad_(True)
            energies = self.m((species, coordinates)).energies
            g = torch.autograd.grad([energies.sum()], [coordinates])[0]
            assert g is not None
            return energies, -g

    def inputs(atoms, seed):
        positions, kinds, _, _ = structure(atoms, 5, seed)
        return torch.tensor(KINDS)[kinds].unsqueeze(0), positions.unsqueeze(0)

    # Its cell of neighbors checks shapes, which stay as they are in the example.
    return torch.jit.script(Forces(simple_ani(("H", "C", "O"), lot="wb97x-631gd").eval())), inputs, ""


def _schnetpack(representation: str):
    import torch
    import torch.utils.data.dataloader as loader

    loader.T_co = getattr(loader, "T_co", None)  # the package imports it only
    import schnetpack
    import schnetpack.atomistic as atomistic
    import schnetpack.nn as layers

    made = getattr(schnetpack.representation, representation)(
        n_atom_basis=16, n_interactions=2, radial_basis=layers.GaussianRBF(n_rbf=8, cutoff=5.0),
        cutoff_fn=layers.CosineCutoff(5.0))
    model = schnetpack.model.NeuralNetworkPotential(
        representation=made, input_modules=[atomistic.PairwiseDistances()],
        output_modules=[atomistic.Atomwise(n_in=16, output_key="energy"),
                        atomistic.Forces(energy_key="energy", force_key="forces")])

    def inputs(atoms, seed):
        positions, kinds, i, j = structure(atoms, 5, seed)
        return ({"_atomic_numbers": torch.tensor(KINDS)[kinds], "_positions": positions, "_idx_i": i, "_idx_j": j,
                 "_offsets": torch.zeros(len(i), 3), "_idx_m": torch.zeros(atoms, dtype=torch.long),
                 "_n_atoms": torch.tensor([atoms]), "_cell": torch.zeros(1, 3, 3),
                 "_pbc": torch.zeros(3, dtype=torch.bool)},)

    axes = [f"inputs.{n}:0=atoms" for n in ("_atomic_numbers", "_positions", "_idx_m")]
    axes += [f"inputs.{n}:0=edges" for n in ("_idx_i", "_idx_j", "_offsets")]
    return torch.jit.script(model.eval()), inputs, " ".join(axes)


def schnet():
    return _schnetpack("SchNet")


def painn():
    return _schnetpack("PaiNN")


def nequip():
    import torch
    from e3nn.util.jit import script
    from nequip.model import NequIPGNNModel
    from nequip.utils.global_state import set_global_state

    set_global_state()
    model = NequIPGNNModel(seed=1, model_dtype="float32", r_max=4.0, type_names=["C", "H", "O"], num_layers=2, l_max=1,
                           parity=True, num_features=8, radial_mlp_depth=1, radial_mlp_width=8, avg_num_neighbors=4.0)

    def inputs(atoms, seed):
        positions, kinds, i, j = structure(atoms, 4, seed)
        return {"pos": positions.double(), "edge_index": torch.stack([i, j]), "atom_types": kinds},

    return script(model.eval()), inputs, "data.pos:0=atoms data.atom_types:0=atoms data.edge_index:1=edges"


def _mace(stress: bool):
    import numpy
    import torch
    from e3nn import o3
    from e3nn.util.jit import compile as compiled
    from mace import modules

    block = modules.interaction_classes["RealAgnosticResidualInteractionBlock"]
    model = modules.MACE(
        r_max=4.0, num_bessel=4, num_polynomial_cutoff=5, max_ell=2, interaction_cls=block,
        interaction_cls_first=block, num_interactions=2, num_elements=3, hidden_irreps=o3.Irreps("8x0e+8x1o"),
        MLP_irreps=o3.Irreps("8x0e"), gate=torch.nn.functional.silu, atomic_energies=numpy.array([1.0, 2.0, 3.0]),
        avg_num_neighbors=4, atomic_numbers=[1, 6, 8], correlation=2)

    class Forces(torch.nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, data: dict[str, torch.Tensor]):
            out = self.m(data, training=False, compute_force=True)
            energy, forces = out["energy"], out["forces"]
            assert energy is not None and forces is not None
            return energy, forces

    class Stress(torch.nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, data: dict[str, torch.Tensor]):
            out = self.m(data, training=False, compute_force=True, compute_virials=True, compute_stress=True)
            energy, forces, of_cell = out["energy"], out["forces"], out["stress"]
            assert energy is not None and forces is not None and of_cell is not None
            return energy, forces, of_cell

    def inputs(atoms, seed):
        positions, kinds, i, j = structure(atoms, 4, seed)
        return ({"positions": positions, "edge_index": torch.stack([i, j]),
                 "node_attrs": torch.nn.functional.one_hot(kinds, 3).float(), "shifts": torch.zeros(len(i), 3),
                 "unit_shifts": torch.zeros(len(i), 3), "cell": torch.eye(3) * 12,
                 "batch": torch.zeros(atoms, dtype=torch.long), "ptr": torch.tensor([0, atoms])},)

    axes = [f"data.{n}:0=atoms" for n in ("positions", "node_attrs", "batch")]
    axes += ["data.edge_index:1=edges", "data.shifts:0=edges", "data.unit_shifts:0=edges"]
    return torch.jit.script((Stress if stress else Forces)(compiled(model.eval()))), inputs, " ".join(axes)


def mace():
    return _mace(False)


def mace_stress():
    return _mace(True)


MODELS = [ani, schnet, painn, nequip, mace, mace_stress]


def leaves(value) -> list:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in (value.values() if isinstance(value, dict) else value) for t in leaves(v)]


def judge(build, tool: pathlib.Path, folder: pathlib.Path) -> str:
    """What is wrong, or nothing."""
    import numpy
    import onnxruntime
    import torch

    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)  # NequIP's is float64
    model, inputs, axes = build()
    path, made = folder / f"{build.__name__}.pt", folder / f"{build.__name__}.onnx"
    model.save(str(path))
    torch.save(inputs(6, 0), str(folder / "inputs.pt"))
    run = subprocess.run([tool, path, "-o", made, "--inputs", folder / "inputs.pt", "--verify", "--force",
                          *(["--dynamic-axes", axes] if axes else [])], capture_output=True, text=True)
    if run.returncode:
        return run.stderr.strip()[-400:]
    session = onnxruntime.InferenceSession(str(made))
    worst = 0.0
    for atoms, seed in [(6, 1)] if not axes else [(3, 1), (12, 2), (25, 3)]:
        given = inputs(atoms, seed)
        flat = dict(zip([i.name for i in session.get_inputs()], leaves(given)))
        if isinstance(given[0], dict):
            flat = {i.name: given[0][i.name.split(".", 1)[1]] for i in session.get_inputs()}
        got = session.run(None, {k: v.numpy() for k, v in flat.items()})
        expected = torch.jit.load(str(path))(*given)
        for mine, theirs in zip(got, leaves(expected), strict=True):
            theirs = theirs.detach().numpy()
            if mine.shape != theirs.shape:
                return f"{atoms} atoms: shape {mine.shape}, expected {theirs.shape}"
            if mine.size == 0:
                continue
            # Sums over edges in float32, in another order than LibTorch's.
            error = float(numpy.abs(mine - theirs).max()) / max(1.0, float(numpy.abs(theirs).max()))
            worst = max(worst, error)
    nodes = (run.stdout + run.stderr).split(" nodes")[0].split()[-1]
    print(f"{build.__name__}: {nodes} nodes, largest difference {worst:.2g}")
    return "" if worst < 1e-5 else f"largest difference {worst}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    problem = environment.prepare() or environment.install(WANTED, PACKAGES, environment.FOLDER / "stamp_forces",
                                                           sources=True)
    if problem:
        sys.exit(problem)
    environment.enter()
    sys.path.insert(1, str(PACKAGES))
    failed = 0
    chosen = [m for m in MODELS if not options.names or m.__name__ in options.names]
    with tempfile.TemporaryDirectory() as folder:
        for build in chosen:
            if wrong := judge(build, options.build.resolve() / "onnx-export", pathlib.Path(folder)):
                failed += 1
                print(f"FAIL {build.__name__}: {wrong}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
