"""Archives that break one rule each, made of one that breaks none (tests/cli/archives.test)."""
import pathlib
import struct
import warnings
import zipfile


def records(source: pathlib.Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(source) as z:
        return [(e.filename, z.read(e)) for e in z.infolist()]


def write(target: pathlib.Path, entries: list[tuple[str, bytes]], deflated=()) -> None:
    with zipfile.ZipFile(target, "w") as z:
        for name, content in entries:
            how = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            z.writestr(zipfile.ZipInfo(name), content, compress_type=how)


def patched(source: pathlib.Path, target: pathlib.Path, signature: bytes, at: int,
            value: bytes) -> None:
    """`value` at that place of the first header with this signature."""
    data = bytearray(source.read_bytes())
    header = data.index(signature)
    data[header + at:header + at + len(value)] = value
    target.write_bytes(data)


def replaced(entries, record: str, old: bytes, new: bytes):
    assert any(n.endswith("/" + record) and old in c for n, c in entries), (record, old)
    return [(n, c.replace(old, new) if n.endswith("/" + record) else c) for n, c in entries]


def make(folder: pathlib.Path, source: pathlib.Path) -> None:
    """`source`: a module with one parameter of 4 x 3 floats."""
    good = records(source)
    top = good[0][0].split("/")[0]
    plain = folder / "plain.pt"
    write(plain, good)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        write(folder / "twice.pt", good + [(f"{top}/data.pkl", good[0][1])])
    write(folder / "two_folders.pt", good + [("other/file", b"x")])
    write(folder / "leaves.pt", good + [(f"{top}/../../up", b"x")])
    write(folder / "packed.pt", good, deflated={f"{top}/data/0"})
    write(folder / "bomb.pt", good + [(f"{top}/extra/zeros", bytes(80 << 20))],
          deflated={f"{top}/extra/zeros"})
    local, central, end = b"PK\3\4", b"PK\1\2", b"PK\5\6"
    patched(plain, folder / "other_name.pt", local, 30, b"X")
    patched(plain, folder / "other_size.pt", local, 22, struct.pack("<I", 7))
    patched(plain, folder / "other_crc.pt", central, 16, struct.pack("<I", 7))
    patched(plain, folder / "encrypted.pt", central, 8, struct.pack("<H", 1))
    patched(plain, folder / "two_sizes.pt", central, 24, struct.pack("<I", 1 << 20))
    larger = struct.pack("<II", 1 << 10, 1 << 10)
    patched(plain, folder / "overlap.pt", local, 18, larger)
    patched(folder / "overlap.pt", folder / "overlap.pt", central, 20, larger)
    patched(plain, folder / "beyond.pt", central, 42, struct.pack("<I", 1 << 30))
    patched(plain, folder / "fewer.pt", end, 8, struct.pack("<HH", 3, 3))
    write(folder / "lost.pt", [e for e in good if not e[0].endswith("/data/0")])
    write(folder / "short.pt", [(n, c[:8] if n.endswith("/data/0") else c) for n, c in good])
    pickle = dict(good)[f"{top}/data.pkl"]
    write(folder / "opcode.pt", replaced(good, "data.pkl", pickle, pickle[:2] + b"i" + pickle[2:]))
    write(folder / "cut_pickle.pt", replaced(good, "data.pkl", pickle, pickle[:-9]))
    write(folder / "memo.pt", replaced(good, "data.pkl", pickle,
                                       pickle[:2] + b"Nr\xff\xff\xff\xff" + pickle[2:]))
    write(folder / "deep.pt", replaced(good, "data.pkl", pickle,
                                       pickle[:2] + b")" + b"\x85" * 2000 + b"."))
    write(folder / "foreign.pt", replaced(good, "data.pkl", b"ccollections\nOrderedDict\n",
                                          b"cos\nsystem\n"))
    # The strides of the parameter: 3, 1 become 99, 1.
    write(folder / "reaches.pt", replaced(good, "data.pkl", b"(K\x03K\x01t", b"(K\x63K\x01t"))
    code = "code/__torch__.py"
    for name, text in [("nested", b"(" * 10_001 + b")" * 10_001),
                       ("cut_code", b"class Net(Mod")]:
        write(folder / f"{name}.pt", [(n, text if n.endswith(code) else c) for n, c in good])
    for name, text in [
            ("lost_tensor", b'{"protoVersion": "3", "mainModule": {"name": "m"}, "tensors": '
                            b'[{"dataType": "FLOAT", "data": {"key": "tensors/0"}}]}'),
            ("no_json", b"{"), ("version_9", b'{"protoVersion": "9", "mainModule": {"name": "m"}}')]:
        write(folder / f"{name}.pt", [(f"{top}/model.json", text), (f"{top}/version", b"1")])
