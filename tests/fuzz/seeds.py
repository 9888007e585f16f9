"""Small files that fuzzing starts from, and the words of each format."""
import functools
import io
import pathlib
import struct
import sys
import tempfile
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/files"))

CODE = b"""class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  def forward(self: __torch__.Net,
    x: Tensor,
    sizes: List[int]=[1, 2]) -> Tuple[Tensor, int]:
    if bool(torch.gt(torch.sum(x), 0)):
      y = torch.relu(x)
    elif True:
      y = x if True else x
    else:
      y = -x + 1.0 * x ** 2
    # type: (int) -> int
    s = "a\\"b" 'c'
    return (y, ops.lib.count(x))
"""
RULES = b"""# rules
custom_ops::foo_forward (input1, input2, attr1, attr2) => (y) opset 9
    t = Mul (input1, input2)
    y = custom_domain.Foo <attr1: float = @attr1, attr2: int = @attr2> (t, input2)

aten::selu (X) => (Y) opset 15 function onnx-script:2
    Y = Selu (X)

lib::three (x) = python
    def twice(x: Tensor) -> Tensor:
        return x * 2
schema lib::bar(Tensor x, int n) -> Tensor = x.new_empty([x.size(0), n])
"""
WORDS = {
    "archive": [b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"data.pkl", b"\xff\xff\xff\xff"],
    "pickle": [b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch._utils\n_rebuild_qtensor\n",
               b"ctorch._utils\n_rebuild_sparse_tensor\n", b"ctorch.jit._pickle\nrestore_type_tag\n",
               b"ctorch.jit._pickle\nbuild_intlist\n", b"ctorch\nFloatStorage\n", b"ctorch\nLongStorage\n",
               b"ctorch\nQInt8Storage\n", b"ctorch\nper_channel_affine\n", b"c__torch__\nNet\n",
               b"X\7\0\0\0storage", b"\x8a\x08", b"\x80\2", b"Q", b"R", b"b", b"\x81", b"(", b"t", b"}", b"u"],
    "code": [b"def ", b"class ", b"elif ", b"not ", b"# type:", b'\"\"\"', b"\\\n", b"    ", b" for ", b"Module"],
    "model_json": [b'"tensors"', b'"dims"', b'"strides"', b'"offset"', b'"dataType"', b'"mainModule"',
                   b'"torchscriptArena"', b'"key"', b'"submodules"', b'"protoVersion"', b'"arena.txt"', b'"tensors/0"'],
    "npy": [b"\x93NUMPY", b"'descr': '<f4'", b"'fortran_order': True", b"'shape': (", b"(2, 3)", b"), }"],
    "npz": [b"PK\3\4", b"PK\1\2", b"PK\5\6", b"x.npy", b"\x93NUMPY"],
    "rules": [b"schema ", b" => ", b"opset ", b" function ", b"= python", b"::", b"<", b">", b"@", b"float", b"int"],
    "spec": [b":", b"x", b"@float32", b"=rand", b"=@", b"scalar", b"[", b"N=", b".npz:"],
    "axes": [b'{"x": {"0": "batch"}}', b":0=", b"*", b"[0, 1]"],
    "value": [b"\x08", b"\x10\x01", b"\x4a"],
    "onnx": [b"Add", b"Loop", b"If", b"\x3a", b"\x08\x08", b"ai.onnx.ml"],
}


def npy(shape: str = "(2, 3), ", size: int = 24) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(size)


def zipped(name: str, content: bytes, how: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as z:
        z.writestr(zipfile.ZipInfo(name), content, compress_type=how)
    return out.getvalue()


@functools.cache
def archives() -> list[bytes]:
    warnings.simplefilter("ignore")
    import torch

    import legacy

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("q", torch.quantize_per_channel(torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0,
                                                                 torch.qint8))
            self.register_buffer("coo", torch.eye(2).to_sparse())
            self.register_buffer("csr", torch.eye(2).to_sparse_csr())
            self.sizes = {"a": [1, 2]}

        def forward(self, x: torch.Tensor):
            return x * self.weight + self.sizes["a"][0]

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        torch.jit.save(torch.jit.script(Net()), folder / "net.pt")
        torch.save({"x": torch.ones(2), "n": (1, None, [2.0, True])}, folder / "values.pt")
        legacy.make(folder)
        return [f.read_bytes() for f in sorted(folder.glob("*.pt")) if f.stat().st_size < 16_000]


def members(ending: str) -> list[bytes]:
    found = []
    for a in archives():
        with zipfile.ZipFile(io.BytesIO(a)) as z:
            found += [z.read(e) for e in z.infolist() if e.filename.endswith(ending)]
    return found


def of(target: str) -> list[bytes]:
    if target == "archive":
        return archives()
    if target == "pickle":
        return members(".pkl")
    if target == "code":
        return [CODE] + members(".py")
    if target == "model_json":
        return members("model.json")
    if target == "npy":
        return [npy(), npy("()", 4), npy("(0,)", 0)]
    if target == "npz":
        return [zipped("x.npy", npy(), how) for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    if target == "rules":
        return [RULES, b"lib::bar(Tensor x, int n) -> Tensor"]
    if target == "spec":
        return [b"x:N=2x4@float16", b"x=[1, 2, 3]", b"cfg.mask:2x4=rand", b"x=@file.npz:key", b"n=scalar"]
    if target == "axes":
        return [b'{"x": {"0": "batch", "2": "w"}, "y": [0, 1]}', b"x:0=batch,2=height y:0,1"]
    if target == "value":
        return [b"\x08\x02\x10\x01\x42\x01x\x4a\x08" + bytes(8), b"\x0a\x01s\x10\x01\x1a\x04\x08\x00\x10\x01"]
    return models()


@functools.cache
def models() -> list[bytes]:
    """A model with a node, an initializer and a branch, written field by field (onnx.proto)."""
    def field(number: int, value: bytes | int) -> bytes:
        if isinstance(value, int):
            return bytes([number << 3, value])
        return bytes([number << 3 | 2, len(value)]) + value
    shape = field(1, field(1, 1) + field(2, field(1, field(1, 2))))
    info = [field(1, n) + field(2, shape) for n in (b"x", b"y")]
    weight = field(1, 2) + field(2, 1) + field(8, b"w") + field(9, bytes(8))
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Add")
    graph = field(1, node) + field(2, b"g") + field(5, weight) + field(11, info[0]) + field(12, info[1])
    return [field(1, 8) + field(7, graph) + field(8, field(2, 18))]


def words(target: str) -> list[bytes]:
    return WORDS[target]
