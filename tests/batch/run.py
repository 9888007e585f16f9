"""Batches under stress: killed and resumed, poisoned models, the time of many small models.

    run.py --build build/release [--kills N] [--models N] [--seed N] [TEST...]

Ends with the line `N passed, N failed`.
"""
import argparse
import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Endless(nn.Module):
    def forward(self, x):
        while bool(x.abs().sum() >= 0):
            x = x + 1
        return x


class Hungry(nn.Module):
    def forward(self, x):
        return torch.ones(100000, 100000) * x


class Talker(nn.Module):
    def forward(self, x):
        for _ in range(200000):
            print("a line of a model that prints without end, and says nothing")
        return x


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvals(x[:, :2])


class Tests:
    def __init__(self, build: pathlib.Path, kills: int, models: int, seed: int, folder: pathlib.Path) -> None:
        self.tool, self.kills, self.models, self.folder = str(build / "onnx-export"), kills, models, folder
        self.random = random.Random(seed)
        self.zoo = folder / "zoo"
        self.zoo.mkdir()
        for i in range(max(models, 20)):
            torch.jit.trace(Net(i).eval(), torch.rand(2, 4)).save(str(self.zoo / f"m{i:04}.pt"))

    def sources(self, count: int) -> list[str]:
        return [str(self.zoo / f"m{i:04}.pt") for i in range(count)]

    def batch(self, *words: str, **more) -> subprocess.CompletedProcess:
        return subprocess.run([self.tool, "batch", *words], capture_output=True, text=True, **more)

    def test_kill_and_resume(self) -> str:
        """Killed at random moments and resumed: nothing is done twice, nothing is lost, the same report."""
        bad = self.folder / "bad.pt"
        torch.jit.script(Unsupported().eval()).save(str(bad))
        sources = [*self.sources(12), str(bad)]
        clean = self.folder / "clean"
        report = self.folder / "clean.jsonl"
        begun = time.monotonic()
        self.batch(*sources, "-o", str(clean), "--jobs", "2", "-q", "--report", str(report), "--input", "2x4")
        whole = time.monotonic() - begun
        wanted = self.facts(report)
        out, again = self.folder / "killed", self.folder / "killed.jsonl"
        kills = 0
        while kills < self.kills:
            words = [self.tool, "batch", *sources, "-o", str(out), "--jobs", "2", "-q", "--resume", "--input", "2x4"]
            run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0, min(whole, 0.5)))
            over = run.poll() is not None
            run.kill()
            run.wait()
            kills += 1
            if over:
                self.check_journal(out)
                for p in out.glob("*"):
                    p.unlink()
        done = self.batch(*sources, "-o", str(out), "--jobs", "2", "-q", "--resume", "--report", str(again), "--input",
                          "2x4")
        assert done.returncode == 12, (done.returncode, done.stderr)
        assert self.facts(again) == wanted, "the report differs from that of a batch that nobody killed"
        for file in clean.glob("*.onnx"):
            assert file.read_bytes() == (out / file.name).read_bytes(), file.name
        left = [p.name for p in out.iterdir() if p.name.startswith(".")]
        assert not left, left
        self.check_journal(out)
        return f"{kills} kills"

    @staticmethod
    def facts(report: pathlib.Path) -> list:
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        return [(d["batch"], d["exit_code"], d["nodes"], d["model"], d["options"]["sha256"],
                 [p["code"] for p in d["problems"]]) for d in lines]

    @staticmethod
    def check_journal(out: pathlib.Path) -> None:
        """No model was made again after its files were in place."""
        finished = collections.Counter()
        for line in (out / "onnx-export.journal").read_text().splitlines():
            event = json.loads(line)
            if event["event"] in ("finished", "failed"):
                finished[event["id"]] += 1
            elif event["event"] == "started":
                assert finished[event["id"]] == 0, f"{event['id']} was run again"
        assert max(finished.values()) == 1, finished

    def test_poisoned(self) -> str:
        """Models that loop, take memory, print without end, or are damaged cost themselves alone."""
        good = self.sources(20)
        begun = time.monotonic()
        # With the input of the others too: the files name their options.
        self.batch(*good, "-o", str(self.folder / "good"), "--jobs", "2", "-q", "--input", "2x4")
        clean = time.monotonic() - begun
        poison = {"endless": Endless(), "hungry": Hungry(), "talker": Talker(), "unsupported": Unsupported()}
        words = []
        for name, module in poison.items():
            path = self.folder / f"{name}.pt"
            torch.jit.script(module.eval()).save(str(path))
            words.append(str(path))
        cut = self.folder / "cut.pt"
        cut.write_bytes(pathlib.Path(good[0]).read_bytes()[:3000])
        mixed = good[:10] + words + [str(cut)] + good[10:]
        begun = time.monotonic()
        done = self.batch(*mixed, "-o", str(self.folder / "mixed"), "--jobs", "2", "-q", "--input", "2x4",
                          "--max-time", "5s", "--max-memory", "1GiB", "--report", str(self.folder / "mixed.jsonl"))
        took = time.monotonic() - begun
        assert done.returncode == 12, done.stderr
        codes = {d["batch"]["id"]: d["exit_code"] for d in
                 map(json.loads, (self.folder / "mixed.jsonl").read_text().splitlines())}
        assert codes["endless.onnx"] == 8 and codes["hungry.onnx"] == 8, codes
        assert codes["unsupported.onnx"] == 5 and codes["cut.onnx"] in (3, 4), codes
        for file in (self.folder / "good").glob("*.onnx"):
            assert file.read_bytes() == (self.folder / "mixed" / file.name).read_bytes(), file.name
        assert took < 1.1 * clean + 2 * 5 + 5, (took, clean)
        return f"{took:.1f} s with 5 poisoned of 25, {clean:.1f} s without"

    def test_faster_than_single_runs(self) -> str:
        """Many small models take at most half of the time of as many single runs, and have their bytes."""
        sources, single = self.sources(self.models), self.folder / "single"
        single.mkdir()
        begun = time.monotonic()
        for s in sources:
            subprocess.run([self.tool, s, "-o", str(single / f"{pathlib.Path(s).stem}.onnx"), "-q"], check=True)
        alone = time.monotonic() - begun
        begun = time.monotonic()
        done = self.batch(*sources, "-o", str(self.folder / "many"), "--jobs", "2", "-q")
        together = time.monotonic() - begun
        assert done.returncode == 0, done.stderr
        for file in single.iterdir():
            assert file.read_bytes() == (self.folder / "many" / file.name).read_bytes(), file.name
        assert together <= 0.5 * alone, (together, alone)
        return f"{self.models} models: {together:.1f} s, single runs {alone:.1f} s ({together / alone:.2f})"

    def test_ended_by_a_signal(self) -> str:
        """Ended at random moments by TERM and INT: within two seconds, without files that are not finished."""
        for i in range(4):
            out = self.folder / f"signal{i}"
            run = subprocess.Popen([self.tool, "batch", *self.sources(12), "-o", str(out), "--jobs", "2", "-q"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0.1, 0.8))
            number = signal.SIGTERM if i % 2 else signal.SIGINT
            run.send_signal(number)
            begun = time.monotonic()
            code = run.wait(timeout=20)
            assert time.monotonic() - begun < 2 or code == 0, "it took longer"
            assert code in (-number, 0), code
            if out.exists():
                left = [p.name for p in out.iterdir() if p.name.startswith(".onnx-export-")]
                assert not left, left
        return ""

    def test_many_refused(self) -> str:
        """The memory of the batch does not grow with documents: models that are refused at once."""
        many = self.folder / "many_bad"
        many.mkdir()
        for i in range(2000):
            (many / f"{i}.pt").write_text("text")
        script = (f"import resource, subprocess, sys; subprocess.run({[self.tool, 'batch', str(many), '-o']!r} + "
                  f"[{str(self.folder / 'bad_out')!r}, '-q'], stderr=subprocess.DEVNULL); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        peak = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        assert peak < 200 * 1024, f"{peak} KiB"
        return f"peak {peak // 1024} MiB of all processes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)  # as all groups have it; the tests choose theirs
    parser.add_argument("only", nargs="*", metavar="TEST")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(options.build.resolve(), options.kills, options.models, options.seed, pathlib.Path(folder))
        for name in [n for n in dir(tests) if n.startswith("test_")]:
            if options.only and name.removeprefix("test_") not in options.only:
                continue
            try:
                said = getattr(tests, name)()
                passed += 1
                print(f"{name.removeprefix('test_')}: {said or 'ok'}", flush=True)
            except (AssertionError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"FAIL {name}: {e}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
