"""Files with one bit flipped or cut short, through the real binary: each is refused, or what is written computes
what LibTorch's loader says the file computes; nothing ends by a signal, nothing is left on disk after an error.

    mutations.py --tool build/release/onnx-export [--jobs N] [--count N] [--seed N]
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

import torch

import legacy
import mobile

codes: collections.Counter[int] = collections.Counter()
DOCUMENTED = {0, 2, 3, 4, 5, 6, 8, 11}  # no 1, no 9, no signal


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5)
        self.sizes = {"a": [1, 2]}

    def forward(self, x: torch.Tensor):
        return self.norm(self.fc(x)) * self.sizes["a"][1] if x.size(0) > 1 else self.fc(x)


def sources(folder: pathlib.Path) -> list[pathlib.Path]:
    torch.manual_seed(3)
    torch.jit.save(torch.jit.script(Small().eval()), folder / "small.pt")
    legacy.make(folder)
    mobile.make(folder)
    return [folder / n for n in ("small.pt", "nested.pt", "constants.pt")]


def places(file: pathlib.Path) -> list[int]:
    """Bytes that say what the others mean: everything but the tensors and the padding."""
    data = file.read_bytes()
    skipped: set[int] = set()
    with zipfile.ZipFile(file) as z:
        for e in z.infolist():
            begin = e.header_offset + 30 + len(e.filename.encode())
            content = begin + int.from_bytes(data[e.header_offset + 28:e.header_offset + 30], "little")
            skipped.update(range(begin, content))
            if "/data/" in e.filename or "/constants/" in e.filename or "/tensors/" in e.filename:
                skipped.update(range(content, content + e.file_size))
    return [i for i in range(len(data)) if i not in skipped]


def mutated(data: bytes, at: list[int], chance: random.Random) -> bytes:
    if chance.random() < 0.15:
        return data[:chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        changed[chance.choice(at)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def with_checksums(data: bytes) -> bytes:
    """The archive with the records it has now and right checksums, so that what is in them is read at all."""
    try:
        source = tempfile.SpooledTemporaryFile()
        source.write(data)
        with zipfile.ZipFile(source) as z:
            records = []
            for e in z.infolist():
                e.CRC = None  # not compared
                records.append((e.filename, z.open(e).read()))
        target = tempfile.SpooledTemporaryFile()
        with zipfile.ZipFile(target, "w") as z:
            for name, content in records:
                z.writestr(zipfile.ZipInfo(name), content)
        target.seek(0)
        return target.read()
    except Exception:  # no archive any more: as it is
        return data


def problem(tool: str, folder: pathlib.Path, data: bytes, shape: str) -> str:
    folder.mkdir()
    (folder / "m.pt").write_bytes(data)
    try:
        # A flipped bit may ask for a convolution of hours: the limit ends it.
        run = subprocess.run([tool, "m.pt", "--input", shape, "--verify", "--max-time", "20s"], cwd=folder,
                             capture_output=True, text=True, errors="replace", check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return "does not end"
    left = sorted(p.name for p in folder.iterdir())
    codes[run.returncode] += 1
    if run.returncode not in DOCUMENTED:
        return f"exit code {run.returncode}: {run.stderr}"
    if run.returncode and left != ["m.pt"]:
        return f"exit code {run.returncode} leaves {left}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, help="where files that fail are kept")
    options = parser.parse_args()
    tool = str(pathlib.Path(options.tool).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        shapes = {"small": "x:2x4", "nested": "x:3x4", "constants": "x:2x4x9x8"}
        kinds = [(f.read_bytes(), places(f), shapes[f.stem]) for f in sources(folder)]

        def one(i: int) -> tuple[str, bytes]:
            chance = random.Random(options.seed * 1_000_000 + i)
            data, at, shape = kinds[i % len(kinds)]
            data = mutated(data, at, chance)
            if chance.random() < 0.7:
                data = with_checksums(data)
            return problem(tool, folder / str(i), data, shape), data

        for i, (why, data) in enumerate(pool.map(one, range(options.count))):
            if why:
                print(f"FAIL mutation {options.seed}:{i}: {why.strip()[:400]}")
                failed += 1
                if options.keep:
                    (options.keep / f"{options.seed}_{i}.pt").write_bytes(data)
    print("exit codes: " + ", ".join(f"{c}: {n}" for c, n in sorted(codes.items())))
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
