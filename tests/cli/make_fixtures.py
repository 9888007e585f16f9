"""Makes the small files that the command line tests read: good models and every kind of bad one.

    make_fixtures.py FOLDER
"""
import enum
import pathlib
import shutil
import sys
import warnings
import zipfile
from typing import List, Tuple

import numpy
import torch
from torch import Tensor, nn

import broken_archives
import foreign_onnx
import half_models
import input_files
import method_models
import module_functions
import onnx_models
import rule_models
import unknown_inputs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "files"))
import archives  # noqa: E402
import legacy  # noqa: E402

warnings.filterwarnings("ignore")


class Net(nn.Module):
    """One input, rows dynamic."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Two(nn.Module):
    def forward(self, left: Tensor, right: Tensor):
        return left + right, left * right


class Upper(nn.Module):
    def forward(self, x):
        return torch.triu(x, 1)


class Counted(nn.Module):
    def forward(self, x):
        return nn.functional.hardsigmoid(x)


class Swish(nn.Module):
    def forward(self, x: Tensor):
        y = torch.relu(x + 0.5)
        z = nn.functional.hardswish(y)
        return z.sum(1) * 2


class Draws(nn.Module):
    def forward(self, x: Tensor):
        return x + torch.randn_like(x)


class WrittenRows(nn.Module):
    """LibTorch's passes drop the write: they take the list for one of fresh tensors that nobody else sees."""
    def forward(self, x: Tensor):
        rows = [x[0] * 2, x[1] + 1]
        rows[0][0] = 7
        return torch.stack(rows)


class Encoder(nn.Module):
    """Of its results the first and the last two depend on random numbers, in a branch and a loop."""
    def forward(self, x: Tensor):
        mean, spread = x * 2, torch.exp(x)
        code = mean + torch.randn_like(x) * spread
        for i in range(x.size(0)):
            code = code + i
        chosen = mean
        if bool(x.sum() > 0):
            chosen = code
        return code, mean, spread, torch.bernoulli(torch.sigmoid(x)), chosen


class Sums(nn.Module):
    """The order of a sum decides what it gives."""
    def forward(self, x: Tensor):
        return x.sum(1) > x.double().sum(1).float()


class Ties(nn.Module):
    """All scores are equal."""
    def forward(self, x: Tensor):
        scores = (x * 0).sum(1)
        values, places = scores.topk(3)
        return x[places], values, x + 1


class Filtered(nn.Module):
    """No random input passes the threshold."""
    @torch.jit.export
    def boxes(self, x: Tensor):
        return x[x[:, 0] > 1e9]

    def forward(self, x: Tensor):
        return self.boxes(x), x + 1


class Windows(nn.Module):
    """A list of convolutions in float64, which ONNX Runtime computes in float."""
    def forward(self, x: Tensor):
        out: List[Tensor] = []
        kernel = torch.full((1, 1, 3), 1 / 3, dtype=torch.float64)
        for i in range(x.size(0)):
            out.append(torch.conv1d(x[i:i + 1, :, :3 + i], kernel))
        return out


class Recurrent(nn.Module):
    """Whose state comes from outside."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3)

    def forward(self, x, h, c):
        return self.lstm(x, (h, c))[0]


class Layers(nn.Module):
    """The other recurrent layers, and one of packed sequences."""
    def __init__(self):
        super().__init__()
        self.gru, self.rnn, self.lstm = nn.GRU(4, 3), nn.RNN(4, 3), nn.LSTM(4, 3)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        padded = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])[0]
        return self.gru(x)[0], self.rnn(x)[0], padded


class Squeezed(nn.Module):
    def forward(self, x):
        return torch.relu(x[:, -1]).squeeze()


class Count(nn.Module):
    """The documented loop: a trip count that is an input."""

    def forward(self, x: Tensor, n: int):
        for i in range(n):
            x = x + i
        return x


class Talks(nn.Module):
    """Prints while it runs."""

    def forward(self, x):
        print("the sum is", x.sum())
        return x * 2


class Choice(nn.Module):
    """A branch that no size drives: a number of the caller's and a sign decide."""

    def forward(self, x: Tensor, n: int):
        if n > 3:
            for _ in range(n):
                if x.sum() > 0:
                    x = x - 1
                else:
                    x = x + 2
        else:
            x = -x
        return x


class Unreached(nn.Module):
    """A branch that nothing drives, and a loop that LibTorch refuses to run zero times."""

    def forward(self, x: Tensor):
        if x.abs().sum() < 0:
            x = x * 2
        rows: List[Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i] + i)
        return torch.stack(rows)


class Endless(nn.Module):
    """Ends for the numbers that it is made for."""

    def forward(self, x: Tensor, n: int):
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            x = x + 1
        return x


class Busy(nn.Module):
    """Runs for as long as it is told to: for tests that end the tool half-way."""

    def forward(self, x: Tensor, n: int):
        i = 0
        while i < n:
            i += 1
        return x + i


class Ids(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 4)

    def forward(self, ids):
        return self.table(ids)


class Fixed(nn.Module):
    """Runs at one size only."""

    def forward(self, x: Tensor):
        return x.view(2, 4) + 1


class Doubtful(nn.Module):
    """One warning of every stage: an axis of one size, a branch that nothing runs, a missing kernel."""

    def forward(self, x: Tensor):
        x = x.view(2, 4)
        if bool(x.sum() > 1e30):
            x = x.view(7, 7)
        return torch.nn.functional.avg_pool1d(x.double(), 2)


class Tables(nn.Module):
    """Results of constants: a small one, and one that is larger than what it is made of."""

    def __init__(self):
        super().__init__()
        self.register_buffer("row", torch.rand(4))

    def forward(self, x: Tensor):
        return x * torch.sigmoid(self.row) + self.row.repeat(100, 1)


class Mode(enum.Enum):
    DOUBLE = 2
    PLAIN = 1


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Mode.DOUBLE
        self.sizes: List[Tuple[int, str]] = [(1, "one")]

    def forward(self, x: Tensor):
        return x * 2 if self.mode == Mode.DOUBLE else x + self.sizes[0][0]


class Wide(nn.Module):
    """64 KiB of weights, used after an operator of tests/support/foreign_kernels.cpp."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(128, 128, bias=False)

    def forward(self, x: Tensor):
        return self.fc(torch.cosh(x))


class Encodes(nn.Module):
    @torch.jit.export
    def encode(self, x: Tensor):
        return x * 2

    @torch.jit.export
    def version(self) -> int:
        return 3


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.mean = nn.Parameter(torch.ones(2, 3)), torch.zeros(3)


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 3))

    def forward(self, x: Tensor):
        return x @ self.weight


class Product(nn.Module):
    """A large product of constants, by an operator that is made of others."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.rand(30, 30))

    def forward(self, x: Tensor):
        return x + torch.kron(self.a, self.a)


class Chosen(nn.Module):
    """Both branches make the same constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("row", torch.rand(4))

    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            y = torch.sigmoid(self.row)
        else:
            y = torch.sigmoid(self.row)
        for i in range(int(x.sum())):
            y = torch.sigmoid(self.row)
            x = x + y
        return x + torch.tanh(y)


class Dropped(nn.Module):
    def forward(self, x: Tensor):
        return nn.functional.dropout(x, 0.5, self.training) * 2


class Guarded(nn.Module):
    """A condition of several lines; nothing depends on train mode."""

    def forward(self, x: Tensor):
        if (x.sum() > 0 and
                torch.any(
                    x > 3)):
            raise RuntimeError("too large")
        return x * 2


def overflowing() -> nn.Module:
    """A convolution some of whose sums leave the range of float32."""
    torch.manual_seed(0)
    conv = nn.Conv2d(16, 8, 3)
    with torch.no_grad():
        conv.weight.mul_(3e38)
    return conv.eval()


class Counter(nn.Module):
    """Writes its own state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        self.total += x
        return self.total * self.steps


class Policy(nn.Module):
    """A recurrent policy with its memory in buffers."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 2)
        self.register_buffer("hidden", torch.zeros(1, 1, 2))
        self.register_buffer("cell", torch.zeros(1, 1, 2))

    def forward(self, x):
        y, (hidden, cell) = self.rnn(x.unsqueeze(0), (self.hidden, self.cell))
        self.hidden[:] = hidden
        self.cell[:] = cell
        return y.squeeze(0)

    @torch.jit.export
    def reset_memory(self):
        self.hidden[:] = 0.0
        self.cell[:] = 0.0

    @torch.jit.export
    def look(self):
        pass


class Trained(nn.Module):
    """Layers that differ between training and inference."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 1)
        self.bn = nn.BatchNorm1d(4)
        self.norm = nn.InstanceNorm1d(4, track_running_stats=True)
        self.lstm = nn.LSTM(4, 4, num_layers=2, dropout=0.5, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
        self.slope = nn.RReLU()
        for layer in (self.bn, self.norm):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.norm(nn.functional.dropout(self.bn(self.conv(x)), 0.5, self.training))
        x, _ = self.lstm(x.transpose(1, 2))
        return self.slope(self.attention(x, x, x, need_weights=False)[0])


class Regular(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.bn(x))


class Noise(nn.Module):
    """Dropout that is meant to stay."""

    def forward(self, x: Tensor):
        return nn.functional.dropout(x, 0.5, training=True)


class Tied(nn.Module):
    """A language model's head: the embedding once more."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(64, 32)
        self.block = nn.Linear(32, 32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids: Tensor):
        return self.head(self.block(torch.relu(self.block(self.emb(ids)))))


class Drawn(nn.Module):
    """An operator that ONNX does not have."""

    def forward(self, x: Tensor):
        return torch._saturate_weight_to_fp16(torch.abs(x)) + torch._saturate_weight_to_fp16(torch.abs(x + 1))


class Distinct(nn.Module):
    """Needs opset 11."""

    def forward(self, x: Tensor):
        return torch.unique(x)


class Obstacles(nn.Module):
    """What no opset has, in front of what opset 11 has."""

    def __init__(self):
        super().__init__()
        self.distinct = Distinct()

    def forward(self, x: Tensor):
        q = torch._saturate_weight_to_fp16(torch.abs(x))
        return self.distinct(x), q + torch._saturate_weight_to_fp16(torch.abs(x + 1))


class Named(nn.Module):
    """Capture ends here."""

    def forward(self, x: Tensor):
        return torch._saturate_weight_to_fp16(torch.abs(x)), "text"


def rewrite_code(source: pathlib.Path, target: pathlib.Path, changes: dict[str, str]) -> None:
    """A copy of a TorchScript file with other code in it."""
    with zipfile.ZipFile(source) as fin, zipfile.ZipFile(target, "w") as fout:
        for item in fin.infolist():
            data = fin.read(item)
            if item.filename.endswith(".py"):
                for old, new in changes.items():
                    data = data.replace(old.encode(), new.encode())
            if not item.filename.endswith(".debug_pkl"):
                fout.writestr(item.filename, data)


class Library(torch.nn.Module):
    """A file whose operators nobody here has, and one that forward never comes to."""

    def forward(self, x):
        if self.training:
            x = torch.relu(x)
        low, high = torch.aminmax(x, dim=1)
        return torch.cos(low) + torch.asinh(high)

    @torch.jit.export
    def other(self, x):
        return torch.sinh(x)


def unknown_operators(folder: pathlib.Path) -> None:
    """Calls of real operators become calls of unknown ones."""
    torch.jit.script(Library().eval()).save(folder / "library.pt")
    code = {"torch.aminmax(x0, dim=1)": "ops.nowhere.range(x0, axis=1)", "torch.cos(": "ops.nowhere.scale(",
            "torch.asinh(": "ops.elsewhere.grow("}
    rewrite_code(folder / "library.pt", folder / "unknown_ops.pt", code)
    rewrite_code(folder / "library.pt", folder / "unreached_ops.pt",
                 {"torch.relu(": "ops.nowhere.drop(", "torch.sinh(": "ops.nowhere.other("})
    rewrite_code(folder / "library.pt", folder / "unknown_list.pt",
                 {"torch.cos(low)": "torch.cat(ops.nowhere.parts(low, \"an ops.text.f(\"))"} | code)
    rewrite_code(folder / "library.pt", folder / "unknown_class.pt",
                 {"  def forward(": "  engine : __torch__.torch.classes.nowhere.Engine\n  def forward(",
                  "torch.cos(low)": "(self.engine).run(ops.nowhere.scale(low))"})


def save_for_vulkan(path: pathlib.Path) -> None:
    """As optimize_for_mobile(backend="vulkan") packs a convolution."""
    code = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return ops.vulkan_prepack.run_conv2d_context(x, CONSTANTS.c0)
"""
    packed = archives.Object("__torch__.torch.classes.vulkan.Conv2dPackedContext", (1, 2))
    archives.write_module(path, code, archives.Object("__torch__.Net", {"training": False}), (packed,))


class Adds(torch.nn.Module):
    """Traced, `total` is a constant that every call adds to."""

    def forward(self, x):
        total = torch.tensor(0.0)
        for i in range(2):
            total += x[i].sum()
        return total * 2


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(2, 4)

    def save(module, name):
        torch.jit.save(module, str(folder / name))

    save(torch.jit.trace(net, x), "traced.pt")
    save(torch.jit.script(net), "net.pt")
    save(torch.jit.script(Two().eval()), "two.pt")
    save(torch.jit.script(Swish().eval()), "swish.pt")
    save(torch.jit.script(Counted().eval()), "counted.pt")
    save(torch.jit.script(Draws().eval()), "draws.pt")
    save(torch.jit.script(WrittenRows().eval()), "written_rows.pt")
    save(torch.jit.trace(Adds().eval(), torch.randn(2, 3), check_trace=False), "adds.pt")
    save(torch.jit.script(Encoder().eval()), "encoder.pt")
    save(torch.jit.script(Windows().eval()), "windows.pt")
    save(torch.jit.script(Sums().eval()), "sums.pt")
    save(torch.jit.script(Ties().eval()), "ties.pt")
    save(torch.jit.script(Filtered().eval()), "filtered.pt")
    save(torch.jit.trace(Upper().eval(), torch.randn(5, 5)), "upper.pt")
    state = torch.zeros(1, 2, 3)
    save(torch.jit.trace(Recurrent().eval(), (torch.randn(5, 2, 4), state, state)), "recurrent.pt")
    save(torch.jit.trace(Layers().eval(), (torch.randn(5, 2, 4), torch.tensor([5, 3]))), "layers.pt")
    save(torch.jit.trace(Squeezed().eval(), torch.randn(3, 8, 1)), "squeezed.pt")
    save(torch.jit.script(Count().eval()), "count.pt")
    save(torch.jit.script(Choice().eval()), "choice.pt")
    save(torch.jit.script(Talks().eval()), "talks.pt")
    save(torch.jit.script(Unreached().eval()), "unreached.pt")
    save(torch.jit.script(Endless().eval()), "endless.pt")
    save(torch.jit.script(Busy().eval()), "busy.pt")
    save(torch.jit.trace(Ids().eval(), torch.tensor([[1, 5, 0]])), "ids.pt")
    save(torch.jit.script(Fixed().eval()), "fixed.pt")
    save(torch.jit.script(Doubtful().eval()), "doubtful.pt")
    save(torch.jit.script(Tables().eval()), "tables.pt")
    save(torch.jit.script(Product().eval()), "product.pt")
    save(torch.jit.script(Chosen().eval()), "chosen.pt")
    save(torch.jit.script(Dropped().train()), "train.pt")
    save(torch.jit.script(Guarded().train()), "guarded.pt")
    save(torch.jit.script(overflowing()), "overflowing.pt")
    save(torch.jit.script(Counter().eval()), "counter.pt")
    save(torch.jit.script(Policy().eval()), "policy.pt")
    trained, batch = Trained().train(), torch.randn(2, 4, 5)
    # Tracing in train mode moves the running statistics: the file in eval mode comes after it.
    save(torch.jit.trace(trained, batch, check_trace=False), "traced_train.pt")
    save(torch.jit.trace(trained.eval(), batch, check_trace=False), "traced_eval.pt")
    trained.train().bn.eval()
    save(torch.jit.trace(trained, batch, check_trace=False), "frozen_bn.pt")
    save(torch.jit.trace(Regular().train(), x, check_trace=False), "regular.pt")
    save(torch.jit.trace(Noise().eval(), x, check_trace=False), "noise_on.pt")
    ids = torch.tensor([[1, 5, 0]])
    save(torch.jit.script(Tied().eval()), "tied.pt")
    save(torch.jit.trace(Tied().eval(), ids), "tied_traced.pt")
    save(torch.jit.script(Drawn().eval()), "drawn.pt")
    save(torch.jit.script(Distinct().eval()), "distinct.pt")
    save(torch.jit.script(Obstacles().eval()), "obstacles.pt")
    save(torch.jit.script(Named().eval()), "text_result.pt")
    rewrite_code(folder / "two.pt", folder / "unknown_op.pt", {"torch.mul(": "ops.nowhere.multiply("})
    unknown_operators(folder)

    (folder / "empty.pt").write_bytes(b"")
    (folder / "text.pt").write_text("import torch\nprint('not a model')\n")
    (folder / "folder.pt").mkdir()
    with zipfile.ZipFile(folder / "photos.pt", "w") as z:
        z.writestr("holiday/beach.txt", "sun")
    for name, records in [("served.mar", ["model.pt", "MAR-INF/MANIFEST.json"]),
                          ("keras.pt", ["metadata.json", "config.json", "model.weights.h5"]),
                          ("bytecode.ptl", ["m/data.pkl", "m/bytecode.pkl", "m/version"])]:
        with zipfile.ZipFile(folder / name, "w") as z:
            for record in records:
                z.writestr(record, "x")
    (folder / "hdf5.pt").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    torch.save(net.state_dict(), folder / "state_dict.pt")
    torch.save(net.state_dict(), folder / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(net, folder / "eager.pt")
    torch.save(net, folder / "eager_legacy.pt", _use_new_zipfile_serialization=False)
    torch.export.save(torch.export.export(net, (x,)), folder / "program.pt2")
    save(torch.jit.script(Chooses().eval()), "chooses.pt")
    save(torch.jit.script(Weighted().eval()), "weighted.pt")
    save(torch.jit.script(Wide().eval()), "wide.pt")
    save(torch.jit.script(Encodes().eval()), "encodes.pt")
    save_for_vulkan(folder / "vulkan.pt")
    save(torch.jit.script(Holds().eval()), "holds.pt")
    unknown_inputs.make(folder / "unknown")
    input_files.make(folder / "files")
    half_models.make(folder / "half")
    module_functions.make(folder / "functions")
    method_models.make(folder / "methods")
    onnx_models.make(folder)
    foreign_onnx.make(folder)
    rule_models.make(folder / "rules")
    with torch.no_grad():
        net.fc.weight[1, 2] += 0.5
    save(torch.jit.script(net), "nudged.pt")
    with torch.no_grad():
        net.fc.weight[1, 2] -= 0.5
    (folder / "old").mkdir()
    legacy.make(folder / "old")
    (folder / "broken").mkdir()
    broken_archives.make(folder / "broken", folder / "weighted.pt")
    whole = (folder / "net.pt").read_bytes()
    (folder / "truncated.pt").write_bytes(whole[: len(whole) // 2])
    (folder / "noise.pt").write_bytes(bytes((i * 37 + 11) % 256 for i in range(4096)))
    torch.save((torch.randn(2, 4), torch.randn(2, 4)), folder / "inputs.pt")
    torch.save({"left": torch.randn(2, 4), "right": torch.randn(2, 4)}, folder / "named.pt")
    torch.save((x, x, x), folder / "three.pt")
    numpy.save(folder / "x.npy", x.numpy())
    numpy.savez(folder / "x.npz", first=x.numpy(), second=(x + 1).numpy())
    for script in ("on_terminal.py", "sarif.py"):
        shutil.copy(pathlib.Path(__file__).with_name(script), folder)
    (folder / "axes.json").write_text('{"x": {"0": "rows"}}')


if __name__ == "__main__":
    main()
