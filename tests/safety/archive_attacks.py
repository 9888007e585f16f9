"""Files made to do harm. Each attack has a folder of its own with what its command line names."""
import dataclasses
import io
import pathlib
import pickle
import struct
import sys
import warnings
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/files"), str(ROOT / "tests/cli")]

REFUSED, UNREADABLE = (4,), (3,)


@dataclasses.dataclass
class Attack:
    kind: str
    name: str
    arguments: list[str]
    codes: tuple[int, ...] = REFUSED
    says: str = ""
    early: bool = True  # refused without work


CODE = """class Net(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  w : Tensor
  b : Tensor
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
%s
"""
PLAIN = "    return torch.add(torch.mul(x, self.w), torch.to_dense(self.b))"


# --- pickles, written opcode by opcode
def text(s: str) -> bytes:
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def number(n: int) -> bytes:
    return b"K" + bytes([n]) if 0 <= n < 256 else b"\x8a\x08" + struct.pack("<q", n)


def real(v: float) -> bytes:
    return b"G" + struct.pack(">d", v)


def tuple_of(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def numbers(*values: int) -> bytes:
    return tuple_of(*map(number, values))


def name_of(name: str) -> bytes:
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def call(function: str, *arguments: bytes) -> bytes:
    return name_of(function) + tuple_of(*arguments) + b"R"


def storage(key: str, kind: str, elements: int) -> bytes:
    return tuple_of(text("storage"), name_of(f"torch.{kind}Storage"), text(key), text("cpu"), number(elements)) + b"Q"


HOOKS = name_of("collections.OrderedDict") + b")R"


def tensor(key: str, kind: str, elements: int, sizes, strides, offset: int = 0) -> bytes:
    return call("torch._utils._rebuild_tensor_v2", storage(key, kind, elements), number(offset), numbers(*sizes),
                numbers(*strides), b"\x89", HOOKS)


def sparse(layout: int, sizes, *parts: bytes) -> bytes:
    return call("torch._utils._rebuild_sparse_tensor", number(layout), numbers(*sizes), b"\x89", *parts, HOOKS)


def quantized(kind: str, elements: int, sizes, strides, *parameters: bytes) -> bytes:
    return call("torch._utils._rebuild_qtensor", storage("2", kind, elements), number(0), numbers(*sizes),
                numbers(*strides), tuple_of(*parameters), b"\x89", HOOKS)


def made(of: str, state: bytes) -> bytes:
    return name_of(of) + b")\x81" + state + b"b"


def dict_of(**items: bytes) -> bytes:
    return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"


def ended(value: bytes) -> bytes:
    return b"\x80\x02" + value + b"."


WEIGHT = tensor("0", "Float", 4, (2, 2), (2, 1))
INDICES = struct.pack("<4q", 0, 1, 0, 1)
COO = sparse(1, (2, 2), tensor("1", "Long", 4, (2, 2), (2, 1)), tensor("3", "Float", 2, (2,), (1,)))


def records(buffer: bytes = COO, body: str = PLAIN, indices: bytes = INDICES, root: str = "__torch__.Net",
            weight: bytes = WEIGHT, constants: bytes = b")", data: bytes = b"") -> dict[str, bytes]:
    return {"data.pkl": data or ended(made(root, dict_of(w=weight, b=buffer, training=b"\x89", _is_full_backward_hook=b"N"))),
            "code/__torch__.py": (CODE % body).encode(), "constants.pkl": ended(constants), "data/0": bytes(16),
            "data/1": indices, "data/2": bytes(16), "data/3": bytes(8), "version": b"3\n"}


def zipped(entries: dict[str, bytes], deflated=()) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, content in entries.items():
            how = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            z.writestr(zipfile.ZipInfo("net/" + name), content, compress_type=how)
    return out.getvalue()


def models(folder: pathlib.Path) -> list[pathlib.Path]:
    """Three small ones: as above with a sparse and with a quantized buffer, and one of PyTorch 1.0."""
    import legacy
    legacy.make(folder)
    made_here = {"sparse": records(),
                 "quantized": records(quantized("QInt8", 16, (2, 2), (2, 1), name_of("torch.per_tensor_affine"),
                                                real(0.5), number(3)), body="    return x * self.w")}
    for name, entries in made_here.items():
        (folder / f"{name}.pt").write_bytes(zipped(entries))
    return [folder / "sparse.pt", folder / "quantized.pt", folder / "nested.pt"]


class Maker:
    def __init__(self, folder: pathlib.Path):
        self.folder, self.all = folder, []

    def add(self, kind: str, name: str, model: bytes, says: str = "", codes=REFUSED, early: bool = True,
            options=("--input", "x:2x2"), files: dict[str, bytes] = {}) -> None:
        own = self.folder / name
        own.mkdir()
        (own / "m.pt").write_bytes(model)
        for file, content in files.items():
            (own / file).write_bytes(content)
        self.all.append(Attack(kind, name, ["m.pt", *options], codes, says, early))


def make(folder: pathlib.Path) -> list[Attack]:
    m = Maker(folder)
    m.add("none", "good", zipped(records()), codes=(0,), early=False)
    for group in (zips, sums, pickles, classes, sparse_buffers, quantized_tensors, code, legacy_models, inputs, arrays):
        group(m)
    return m.all


def zips(m: Maker) -> None:
    """The archives of tests/cli/archives.test, and more."""
    import broken_archives
    source = m.folder / "source.pt"
    source.write_bytes(zipped({**records(), "data.pkl": ended(made("__torch__.Net", dict_of(
        w=tensor("0", "Float", 4, (4, 1), (3, 1)), h=HOOKS)))}))
    good = zipped(records())
    for name, at in (("end_cut", len(good) - 1), ("half", len(good) // 2), ("head", 3)):
        m.add("cut", name, good[:at], codes=UNREADABLE)
    entries = broken_archives.records(source)
    for name, extra in (("nul", "net/a\0b"), ("absolute", "/etc/passwd"), ("up", "net/../../up"),
                        ("backslash", "net\\..\\up"), ("other_folder", "b/x")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for n, c in entries:
                z.writestr(zipfile.ZipInfo(n), c)
            info = zipfile.ZipInfo("x")
            info.filename = extra
            z.writestr(info, b"x")
        m.add("name of a record", name, out.getvalue())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for n, c in [*entries, entries[0]]:
                z.writestr(zipfile.ZipInfo(n), c)
    m.add("record twice", "twice", out.getvalue(), "twice")
    m.add("bomb", "bomb_80_mib", zipped({**records(), "extra/z": bytes(80 << 20)}, deflated={"extra/z"}), "compressed")
    m.add("bomb", "bomb_10_gib", ten_gib_bomb(), "compressed")
    out = bytearray(good)
    central = good.index(b"PK\1\2")
    out[central + 42:central + 46] = struct.pack("<I", 1 << 30)
    m.add("places", "beyond", bytes(out), "no header")
    out = bytearray(good)
    for header, at in ((good.index(b"PK\3\4"), 18), (central, 20)):
        out[header + at:header + at + 8] = struct.pack("<II", 1 << 10, 1 << 10)
    m.add("places", "overlap", bytes(out), "overlaps")
    out = bytearray(good)
    end = good.rindex(b"PK\5\6")
    out[end + 8:end + 12] = struct.pack("<HH", 65535, 65535)
    m.add("counts", "too_many", bytes(out))
    many = {**records(), **{f"extra/{i}": b"" for i in range(100_001)}}
    m.add("counts", "hundred_thousand", zipped(many), "records")
    m.add("encrypted", "encrypted", good[:central + 8] + b"\1" + good[central + 9:], "encrypted")


def ten_gib_bomb() -> bytes:
    """A record that says 10 GiB, of 10 MiB of deflated zeros."""
    good = zipped(records())
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = b"".join(packer.compress(bytes(64 << 20)) for _ in range(160)) + packer.flush()
    size, name = 10 << 30, b"net/extra/z"
    extra = struct.pack("<HHQQ", 1, 16, size, len(packed))
    common = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 0x21, 0, 0xffffffff, 0xffffffff, len(name), len(extra))
    end = good.rindex(b"PK\5\6")
    directory, count = good[good.index(b"PK\1\2"):end], struct.unpack_from("<H", good, end + 8)[0] + 1
    begin = good.index(b"PK\1\2")
    local = b"PK\3\4" + common + name + extra + packed
    directory += b"PK\1\2\x2d\0" + common + bytes(10) + struct.pack("<I", begin) + name + extra
    return good[:begin] + local + directory + b"PK\5\6\0\0\0\0" + struct.pack(
        "<HHIIH", count, count, len(directory), begin + len(local), 0)


def sums(m: Maker) -> None:
    for name, record in (("weight_bit", "data/0"), ("index_bit", "data/1"), ("code_bit", "code/__torch__.py"),
                         ("unused_bit", "extra/u")):
        data = bytearray(zipped({**records(), "extra/u": b"unused bytes"}))
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            e = z.getinfo("net/" + record)
        data[e.header_offset + 30 + len(e.filename) + 1] ^= 2 if record != "data/1" else 0
        if record == "data/1":
            data[e.header_offset + 30 + len(e.filename)] ^= 1
        m.add("checksum", name, bytes(data), record)


def pickles(m: Maker) -> None:
    def add(name: str, data: bytes, says: str = "", kind: str = "pickle") -> None:
        m.add(kind, name, zipped(records(data=data)), says)
    net = made("__torch__.Net", dict_of(w=WEIGHT, b=COO))
    add("opcode", b"\x80\x02i.", "opcode")
    add("cut_pickle", ended(net)[:-20])
    add("protocol", b"\x80\x04N.", "protocol")
    add("memo", b"\x80\x02Nr\xff\xff\xff\xff.", "memo")
    add("memo_read", b"\x80\x02h\7.", "memo")
    add("deep_pickle", b"\x80\x02)" + b"\x85" * 5000 + b".", "deeper")
    add("lengths", b"\x80\x02X\xff\xff\xff\x7fa.", "length")
    add("underflow", b"\x80\x02R.", "takes more")
    add("many_values", b"\x80\x02(" + b"]" * 6_000_000 + b"t.", "values", "size")
    doubling = b"\x80\x02K\1\x85" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60)) + b"."
    add("doubling", doubling, "repeats", "expansion")
    add("key_tuple", ended(b"}" + doubling[2:40] + b"Ns"), "", "expansion")
    for name in ("os.system", "torch._tensor._rebuild_from_type_v2", "torch.distributed.rpc.rref",
                 "builtins.eval", "torch.load"):
        add("global_" + name.replace(".", "_"), ended(name_of(name) + b")R"), "names", "foreign global")
    add("call_a_number", ended(b"K\1)R"), "calls", "call")
    add("new_function", ended(made("torch._utils._rebuild_tensor_v2", tuple_of(b"N"))), "calls", "call")
    add("deep_type", ended(call("torch.jit._pickle.restore_type_tag", b"]", text("List[" * 5000 + "int" + "]" * 5000))),
        "type", "type")
    add("list_of_others", ended(call("torch.jit._pickle.build_intlist", b"](" + text("a") + b"e")), "list", "type")
    for name, weight in (("no_record", tensor("9", "Float", 4, (2, 2), (2, 1))),
                         ("elements", tensor("0", "Float", 5, (2, 2), (2, 1))),
                         ("reaches", tensor("0", "Float", 4, (2, 2), (200, 1))),
                         ("offset", tensor("0", "Float", 4, (2, 2), (2, 1), 1)),
                         ("negative_size", tensor("0", "Float", 4, (-2, 2), (2, 1))),
                         ("negative_stride", tensor("0", "Float", 4, (2, 2), (-2, 1))),
                         ("huge", tensor("0", "Float", 4, (1 << 40, 1 << 40), (0, 0))),
                         ("element_type", tensor("0", "Strange", 4, (2, 2), (2, 1)))):
        m.add("tensor", "tensor_" + name, zipped(records(weight=weight)), "record data.pkl")
    up = records(weight=tensor("../../../../etc/passwd", "Byte", 4, (2, 2), (2, 1)))
    m.add("tensor", "tensor_of_a_path", zipped(up), "record data.pkl")


def classes(m: Maker) -> None:
    library = "__torch__.torch.classes.quantized.Conv2dPackedParamsBase"
    says = "instead of a module"
    m.add("class for a module", "library_root", zipped(records(root=library)), says)
    m.add("class for a module", "tensor_root", zipped(records(data=ended(WEIGHT))), says)
    m.add("class for a module", "number_root", zipped(records(data=ended(b"K\1"))), says)
    outer = "class Outer(Module):\n  __parameters__ = []\n  __buffers__ = []\n  inner : __torch__.Net\n" \
            "  def forward(self: __torch__.Outer,\n    x: Tensor) -> Tensor:\n" \
            "    return (self.inner).forward(x, )\n"
    for name, inner in (("library_submodule", made(library, b")")), ("tensor_submodule", WEIGHT),
                        ("number_submodule", b"K\1"), ("other_class", made("__torch__.Outer", dict_of(inner=b"N"))),
                        ("module_of_less", made("__torch__.Net", dict_of(w=WEIGHT)))):
        r = records(data=ended(made("__torch__.Outer", dict_of(inner=inner))))
        r["code/__torch__.py"] += outer.encode()
        m.add("class for a module", name, zipped(r), codes=(3, 4), early=False)
    m.add("class for a module", "number_for_tensor", zipped(records(weight=b"K\1")), codes=(3, 4), early=False)


def sparse_buffers(m: Maker) -> None:
    values = tensor("3", "Float", 2, (2,), (1,))
    index = tensor("1", "Long", 4, (2, 2), (2, 1))
    for name, given in (("above", (0, 2, 0, 1)), ("below", (0, -1, 0, 1)), ("far", (0, 1 << 62, 0, 1))):
        m.add("sparse", "coo_" + name, zipped(records(indices=struct.pack("<4q", *given))), "outside its sizes")
    for name, buffer in (
            ("coo_layout", sparse(9, (2, 2), index, values)),
            ("coo_sizes", sparse(1, (1 << 40, 1 << 40, 1 << 40), index, values)),
            ("coo_axes", sparse(1, (2,), index, values)),
            ("coo_values", sparse(1, (2, 2), index, tensor("3", "Float", 2, (1,), (1,)))),
            ("coo_floats", sparse(1, (2, 2), tensor("0", "Float", 4, (2, 2), (2, 1)), values)),
            ("coo_repeated", sparse(1, (2, 2), tensor("1", "Long", 4, (2, 1 << 40), (0, 0)),
                                    tensor("3", "Float", 2, (1 << 40,), (0,))))):
        m.add("sparse", buffer_name := name, zipped(records(buffer)), "sparse" if name != "coo_sizes" else "too large")
    rows, columns = tensor("1", "Long", 5, (3,), (1,)), tensor("1", "Long", 5, (2,), (1,), 3)
    good = sparse(2, (2, 2), rows, columns, values)
    for name, given, codes in (("csr_good", (0, 1, 2, 0, 1), (0,)), ("csr_start", (1, 1, 2, 0, 1), REFUSED),
                               ("csr_descends", (0, 3, 2, 0, 1), REFUSED), ("csr_end", (0, 1, 1, 0, 1), REFUSED),
                               ("csr_column", (0, 1, 2, 0, 2), REFUSED)):
        m.add("sparse", name, zipped(records(good, indices=struct.pack("<5q", *given))), codes=codes,
              says="outside" if codes == REFUSED else "", early=codes == REFUSED)


def quantized_tensors(m: Maker) -> None:
    by_tensor, by_channel = name_of("torch.per_tensor_affine"), name_of("torch.per_channel_affine")
    scales, zeros = tensor("4", "Double", 2, (2,), (1,)), tensor("1", "Long", 4, (2,), (1,))
    for name, buffer in (
            ("scheme", quantized("QInt8", 16, (2, 2), (2, 1), number(9), real(1.0), number(0))),
            ("infinite", quantized("QInt8", 16, (2, 2), (2, 1), by_tensor, real(float("inf")), number(0))),
            ("no_scale", quantized("QInt8", 16, (2, 2), (2, 1), by_tensor)),
            ("axis", quantized("QInt8", 16, (2, 2), (2, 1), by_channel, scales, zeros, number(7))),
            ("negative_axis", quantized("QInt8", 16, (2, 2), (2, 1), by_channel, scales, zeros, number(-3))),
            ("channels", quantized("QInt8", 16, (3, 2), (2, 1), by_channel, scales, zeros, number(0))),
            ("scale_type", quantized("QInt8", 16, (2, 2), (2, 1), by_channel, zeros, zeros, number(0))),
            ("reaches", quantized("QInt8", 16, (2, 2), (20, 1), by_tensor, real(1.0), number(0))),
            ("floats", quantized("Float", 4, (2, 2), (2, 1), by_tensor, real(1.0), number(0))),
            ("plain", tensor("2", "QInt8", 16, (2, 2), (2, 1)))):
        r = {**records(buffer, body="    return x"), "data/4": struct.pack("<2d", 1.0, 1.0)}
        m.add("quantized", "quantized_" + name, zipped(r), "record data.pkl")
    r = {**records(constants=tuple_of(quantized("QInt8", 16, (2, 2), (2, 1), by_channel, scales, zeros, number(9)))),
         **{f"constants/{i}": records()[f"data/{i}"] for i in (1, 2)}, "constants/4": bytes(16)}
    m.add("quantized", "quantized_constant", zipped(r), "record constants.pkl")


def code(m: Maker) -> None:
    n = 200_000
    deep = {"plus": "    return x + " + "1.0 + " * n + "1.0", "not": "    b = " + "not " * n + "True\n    return x",
            "minus": "    return " + "- " * n + "x", "names": "    return x" + ".T" * n,
            "calls": "    return x" + ".relu()" * n, "subscripts": "    return x" + "[0]" * n,
            "compared": "    b = 1" + " < 2" * n + "\n    return x", "and": "    b = True" + " and True" * n + "\n    return x",
            "conditions": "    a = " + "1 if True else " * n + "2\n    return x",
            "powers": "    a = 1" + " ** 1" * n + "\n    return x", "brackets": "    return " + "(" * n + "x" + ")" * n,
            "lists": "    a = " + "[" * n + "1" + "]" * n + "\n    return x",
            "unions": "    a : " + "int | " * n + "int = 1\n    return x",
            "comprehensions": "    a = " + "[" * 3000 + "1" + " for i in [1]]" * 3000 + "\n    return x",
            "hidden_by_quotes": '    s = """  "  """\n    return ' + "(" * n + "x" + ")" * n + '\n    t = """ " """',
            "hidden_in_type": "    # type: " + "(" * n + ")" * n + "\n    return x",
            "hidden_by_number": "    return x + 1.0" + ".a" * n,
            "elif": "    if x is None:\n      return x\n" + "    elif x is None:\n      return x\n" * 5000,
            "blocks": "".join("    " + " " * i + "if True:\n" for i in range(3000)) + " " * 3010 + "a = 1\n    return x",
            "blocks_by_backslash": "".join("    " + " " * i + "\\\n" + " " * (9000 - i) + "if True:\n"
                                           for i in range(3000)) + " " * 3010 + "a = 1\n    return x"}
    for name, body in deep.items():
        m.add("deep code", "code_" + name, zipped(records(body=body)), "deeper than")
    for name, body in (("open", "    return (x"), ("closed", "    return x)"), ("quote", "    s = 'a\n    return x")):
        m.add("damaged code", "code_" + name, zipped(records(body=body)), "record code/__torch__.py")
    r = zipped(records(body="    return x\n" + "#" * (65 << 20)))
    m.add("size", "code_of_65_mib", r, "too much code")
    r = records()
    r["code/__torch__.py"] += b"\n" * (1 << 30)
    m.add("size", "code_of_1_gib_deflated", zipped(r, deflated={"code/__torch__.py"}), "compressed")
    for n, value in (("minus_one", -1), ("99", 99)):
        body = f"    return torch.zeros([2], dtype={value})"
        m.add("element type in code", "dtype_" + n, zipped(records(body=body)), codes=(3, 4, 5, 9), early=False)


def legacy_models(m: Maker) -> None:
    def model(**more) -> bytes:
        import json
        module = {"name": "Net", "torchscriptArena": {"key": "arena.txt"}, **more.pop("module", {})}
        tensors = [{"dims": ["2"], "strides": ["1"], "dataType": "FLOAT", "data": {"key": "tensors/0"}, **t}
                   for t in more.pop("tensors", [{}])]
        return json.dumps({"protoVersion": "5", "mainModule": module, "tensors": tensors, **more}).encode()
    good = "op_version_set = 0\ndef forward(self,\n    x: Tensor) -> Tensor:\n  return x\n"
    def add(name: str, json_text: bytes, arena: str = good, says: str = "", kind: str = "model.json") -> None:
        entries = {"model.json": json_text, "arena.txt": arena.encode(), "tensors/0": bytes(8), "version": b"1\n"}
        m.add(kind, "json_" + name, zipped(entries), says)
    add("code_elsewhere", model(), "(" * 200_000, "record arena.txt", "code of any name")
    add("chain_elsewhere", model(), good.replace("return x", "return x" + " + 1.0" * 200_000), "record arena.txt",
        "code of any name")
    add("none", b"{", says="not a JSON")
    add("deep", b"[" * 2_000_000, says="not a JSON")
    module = b'{"name":"m"'
    add("deep_modules", b'{"protoVersion":"5","mainModule":' + b'{"submodules":[' * 500 + module + b"}" + b"]}" * 500 + b"}",
        says="too deep")
    add("large", b" " * (17 << 20), says="16 MiB")
    add("lost", model(tensors=[{"data": {"key": "tensors/9"}}]), says="does not exist")
    add("reaches", model(tensors=[{"dims": ["3"]}]), says="beyond its record")
    add("negative", model(tensors=[{"dims": ["-3"]}]), says="negative")
    add("offset", model(tensors=[{"offset": str((1 << 63) - 1)}]), says="beyond its record")
    add("deep_type", model(module={"attributes": [{"name": "a", "type": "List[" * 9000, "id": 0}]}), says="type")


def inputs(m: Maker) -> None:
    good = zipped(records())

    def saved(data: bytes, **more: bytes) -> bytes:
        return zipped({"data.pkl": data, "version": b"3\n", "data/0": bytes(16), "data/1": INDICES, **more})
    doubling = b"\x80\x02K\1\x85" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60)) + b"."
    wide = tensor("0", "Float", 4, (1 << 20, 1 << 20), (0, 0))
    coo = sparse(1, (1, 1), tensor("1", "Long", 4, (2, 2), (2, 1)), tensor("0", "Float", 4, (2,), (1,)))
    for name, data in (("doubling", doubling), ("deep", b"\x80\x02)" + b"\x85" * 5000 + b"."),
                       ("wide", ended(tuple_of(wide))), ("reaches", ended(tensor("0", "Float", 4, (9,), (9,)))),
                       ("sparse", ended(coo)), ("os", ended(name_of("os.system") + tuple_of(text("id")) + b"R")),
                       ("object", ended(made("__torch__.Net", dict_of(w=WEIGHT)))),
                       ("subclass", ended(name_of("torch._tensor._rebuild_from_type_v2") + b")R")),
                       ("number", ended(b"K\1)R"))):
        m.add("file of inputs", "inputs_" + name, good, "not a file that torch.save wrote", UNREADABLE,
              options=("--inputs", "in.pt"), files={"in.pt": saved(data)})
    plain = ended(tuple_of(tensor("0", "Float", 4, (2, 2), (2, 1))))
    m.add("none", "inputs_good", good, codes=(0,), early=False, options=("--inputs", "in.pt"),
          files={"in.pt": saved(plain)})
    m.add("file of inputs", "inputs_pickle", good, "", UNREADABLE, options=("--inputs", "in.pt"),
          files={"in.pt": pickle.dumps([1])})


def arrays(m: Maker) -> None:
    good = zipped(records())

    def npy(shape: str, data: bytes = bytes(16), descr: str = "<f4", rest: str = "") -> bytes:
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, {rest}}}".encode()
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data

    def add(name: str, content: bytes, ending: str = "npy") -> None:
        m.add("array", f"array_{name}", good, "", UNREADABLE, options=("--input", f"x=@x.{ending}"),
              files={f"x.{ending}": content})
    add("truncated", npy("(2, 2)", bytes(15)))
    add("longer", npy("(2, 2)", bytes(17)))
    add("overflow", npy(f"({1 << 62}, {1 << 62})"))
    add("negative", npy("(-2, -2)"))
    add("axes", npy("(" + "1, " * 3000 + ")", bytes(4)))
    add("pickled", npy("(2, 2)", descr="|O"))
    add("header", b"\x93NUMPY\2\0\xff\xff\xff\xff" + bytes(64))
    add("regex", npy("(" + "1" * 9000, rest="'a': 1"))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        with z.open("x.npy", "w") as f:
            f.write(npy("(125000000,)", b""))
            for _ in range(10):
                f.write(bytes(50_000_000))
    add("bomb", out.getvalue(), "npz")
    add("no_zip", b"PK\5\6", "npz")
    sparse_file = npy("(2, 2)", b"")
    m.add("array", "array_sparse_4_gib", good, "more bytes", UNREADABLE, options=("--input", "x=@x.npy"),
          files={"x.npy": sparse_file})
    with open(m.folder / "array_sparse_4_gib" / "x.npy", "r+b") as f:
        f.truncate(4 << 30)
