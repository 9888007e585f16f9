"""Models that compute numbers of their own, and the question whose numbers an output folder has."""
import dataclasses
import pathlib
import sys

import numpy
import onnxruntime
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import onnx_values  # noqa: E402

STATE_KEY = "state_file"
WIDTH = 2000  # a file size limit below the weights is above all else that is written


class Net(torch.nn.Module):
    """Keeps what it saw last, for --state=io."""

    def __init__(self, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.first = torch.nn.Linear(3, WIDTH)
        self.second = torch.nn.Linear(WIDTH, 2)
        self.register_buffer("last", torch.randn(2, WIDTH))

    def forward(self, x):
        h = torch.tanh(self.first(x)) + 0.5 * self.last
        self.last = h
        return self.second(h)


@dataclasses.dataclass
class Model:
    path: pathlib.Path
    x: numpy.ndarray
    y: numpy.ndarray
    state: numpy.ndarray


def make(folder: pathlib.Path) -> dict[str, Model]:
    models = {}
    for seed, name in enumerate("ABC", 1):
        net = Net(seed).eval()
        path = folder / f"{name}.pt"
        torch.jit.save(torch.jit.script(net), path)
        x = torch.linspace(-1, 1, 6).reshape(2, 3)
        state = net.last.numpy().copy()
        with torch.no_grad():
            models[name] = Model(path, x.numpy(), net(x).numpy(), state)
    return models


def _close(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    return a.shape == b.shape and numpy.allclose(a, b, rtol=1e-4, atol=1e-5)


def _sets_of(folder: pathlib.Path, models: dict[str, Model], who: str) -> list[str]:
    """Every set is whole, and of one model. (Sets and model have no common moment of change.)"""
    problems, owners = [], set()
    for path in sorted(folder.glob("sets/test_data_set_*")):
        try:
            x, y = (onnx_values.read_tensor((path / f"{n}_0.pb").read_bytes())[1] for n in ("input", "output"))
        except (OSError, ValueError, IndexError, KeyError, StopIteration) as e:
            problems.append(f"{path.name} is not whole: {e}")
            continue
        owners |= {name for name, m in models.items() if _close(y, _of(m, x))}
    if len(owners) > 1:
        problems.append(f"sets of {sorted(owners)} beside each other")
    return problems


def _of(model: Model, x: numpy.ndarray) -> numpy.ndarray:
    net = torch.jit.load(model.path)
    with torch.no_grad():
        return net(torch.from_numpy(x.copy())).numpy()


def whose(folder: pathlib.Path, models: dict[str, Model]) -> tuple[str, list[str]]:
    """The name of the model in `folder`, "" without one, and what is wrong."""
    path = folder / "m.onnx"
    if not path.exists():
        return "", _sets_of(folder, models, "")
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        feeds = {"x": next(iter(models.values())).x}
        states = [i.name for i in session.get_inputs() if i.name != "x"]
        if states:
            saved = numpy.load(folder / session.get_modelmeta().custom_metadata_map[STATE_KEY])
            feeds |= {name: saved[name] for name in states}
        y = session.run(None, feeds)[0]
    except Exception as e:  # whatever ONNX Runtime or numpy find wrong
        return "?", [f"the model does not load: {str(e)[:300]}"]
    names = [name for name, m in models.items() if _close(y, m.y)]
    if not names:
        return "?", ["the numbers are of no model: weights are mixed"]
    return names[0], _sets_of(folder, models, names[0])


def leftovers(folder: pathlib.Path) -> list[str]:
    """Files that belong to no model of the folder."""
    problems = []
    model = (folder / "m.onnx").read_bytes()
    for path in folder.iterdir():
        named = any(onnx_values.field(1, key) + onnx_values.field(2, path.name.encode()) in model
                    for key in (b"location", STATE_KEY.encode()))
        if not named and path.name not in ("m.onnx", "sets"):
            problems.append(f"{path.name} is left over")
    return problems
