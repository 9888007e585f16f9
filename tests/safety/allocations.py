"""Allocations of the supervisor that fail, while a model with weights in a file of their own is replaced.

    allocations.py --build build/release [--positions N] [--jobs N] [--figures FILE.json] [--only N]

A clean run counts the allocations of onnx-export (not those of its worker). Then one of them returns null,
or all from one on: N spread over the run, the first 20 after the worker's end, and N / 2 spread over the
rest, which is the commit. Where test data is written beside the model, the commit alone is hit. The run has to end with a documented exit code, the old or the new model has to be
whole, and the next run has to succeed and leave nothing behind. Allocations before main() are those of
libraries and of static initialisers, where nobody can answer: they are counted apart.
"""
import collections
import concurrent.futures
import mmap
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading

import faults
import harness

PLAN = struct.Struct("qqqqqq")  # `Plan` of allocation_shim.cpp
# 7: a call of the C library had no memory, and the output could not be made. 8: memory ran out.
CODES = {0, 7, 8}


class Place(faults.Place):
    """The plan is another one than that of fault_shim.cpp."""

    def __init__(self, root: pathlib.Path, shim: pathlib.Path):
        super().__init__(root, shim)
        self.plan.close()
        path = self.path / "shim.so.plan"
        path.write_bytes(bytes(PLAN.size))
        with open(path, "r+b") as f:
            self.plan = mmap.mmap(f.fileno(), 0)

    def set(self, at: int = 0, every: int = 0) -> None:
        self.plan[:] = PLAN.pack(at, every, 0, 0, 0, 0)

    def counts(self) -> tuple[int, int, int, int]:
        """All, before main(), until the worker's end; whether one failed."""
        return PLAN.unpack(self.plan[:])[2:]


class Tests(faults.Tests):
    def place(self) -> Place:
        if not hasattr(self.local, "place"):
            self.local.place = Place(self.root, next(self.options.build.rglob("liballocation_shim.so")))
        return self.local.place


def spread(first: int, last: int, count: int) -> list[int]:
    return sorted({first + (last - first) * i // max(1, count - 1) for i in range(count)})


class Allocations:
    def __init__(self, s: harness.Suite, tests: Tests):
        self.s, self.tests = s, tests
        self.codes: collections.Counter[int] = collections.Counter()
        self.early: collections.Counter[int] = collections.Counter()
        self.lock = threading.Lock()

    def run(self, scenario: faults.Scenario, at: int, every: int) -> tuple[Place, int, str]:
        place = self.tests.place()
        self.tests.prepare(place, scenario)
        place.set(at, every)
        child = self.tests.start("B", place, scenario.new, True)
        try:
            text, _ = child.communicate(timeout=faults.SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise AssertionError("does not end") from None
        return place, child.returncode, text

    def clean(self, scenario: faults.Scenario) -> tuple[int, int, int]:
        place, code, text = self.run(scenario, 0, 0)
        total, at_main, at_end, _ = place.counts()
        assert code == 0, text
        assert 0 < at_main < at_end < total, (at_main, at_end, total)
        return total, at_main, at_end

    def problems(self, scenario: faults.Scenario, at: int, every: int, early: bool) -> list[str]:
        place, code, text = self.run(scenario, at, every)
        found = []
        if not place.counts()[3]:
            return []  # threads and timers make the counts differ: this run had fewer
        with self.lock:
            (self.early if early else self.codes)[code] += 1
        if not early and code not in CODES:
            found.append(f"ended with {code}: {text.strip()[-300:]}")
        if faults.orphans(place):
            found.append("a worker outlives its supervisor")
        who, wrong = self.tests.whose(place)
        found += wrong
        if who not in ("A", "B"):
            found.append("the old model is gone")
        if code == 0 and who != "B":
            found.append(f"ended with 0, and the model is {who}")
        return found + self.tests.next_run(place, scenario)

    def one(self, scenario: faults.Scenario, at: int, every: int, early: bool) -> None:
        try:
            found = self.problems(scenario, at, every, early)
        except AssertionError as e:
            found = [str(e)]

        def check() -> None:
            assert not found, "; ".join(found)

        with self.lock:
            self.s.case(f"{scenario.name}, allocation {at}{' and all after it' if every else ''}", check)


def main() -> int:
    s = harness.Suite(__doc__.splitlines()[0], "tests/safety/allocations.py")
    s.parser.add_argument("--positions", type=int, default=60)
    s.parser.add_argument("--only", type=int, help="lets one allocation fail, by its number")
    options = s.start()
    options.build = s.build
    with tempfile.TemporaryDirectory(prefix="allocations-") as root, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        a = Allocations(s, Tests(options, pathlib.Path(root).resolve()))
        pair, sets = (next(x for x in faults.SCENARIOS if x.name == n) for n in ("overwrite pair", "test data"))
        total, at_main, at_end = a.clean(pair)
        print(f"{total} allocations, {at_main} before main(), {total - at_end} after the worker's end", flush=True)
        n = options.positions
        late = set(spread(at_main + 1, total, n)) | set(range(at_end + 1, at_end + 21))
        late |= set(spread(at_end + 21, total, n // 2))
        if options.only:
            late = {options.only}
        plan = [(pair, at, every, False) for at in sorted(late) for every in (0, 1)]
        if not options.only:
            plan += [(pair, at, 0, True) for at in spread(1, at_main, max(2, n // 6))]
            of_sets, _, at_end = a.clean(sets)
            plan += [(sets, at, every, False) for at in spread(at_end + 1, of_sets, n // 2) for every in (0, 1)]
        for _ in pool.map(lambda p: a.one(*p), plan):
            pass
    codes = ", ".join(f"{c}: {m}" for c, m in sorted(a.codes.items()))
    early = ", ".join(f"{c}: {m}" for c, m in sorted(a.early.items()))
    figure = (f"{sum(a.codes.values())} failing allocations of {total}, exit codes {codes}; before main(), where "
              f"nobody can answer: {early}")
    print(figure)
    s.figure("A supervisor without memory ends in order, and the old or the new model is whole", figure)
    return s.end()


if __name__ == "__main__":
    sys.exit(main())
