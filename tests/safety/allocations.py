"""Allocations of the supervisor that fail, while a model with weights in a file of their own is replaced.

    allocations.py --build build/release [--positions N] [--jobs N] [--figures FILE.json] [--only N]

A clean run counts the allocations of onnx-export (not those of its worker). Then one of them returns null,
or all from one on: N spread over the run, the first 20 after the worker's end, and N / 2 spread over the
rest, which is the commit. Where test data is written beside the model, the commit alone is hit. Commands
without a worker are hit at N / 4 places of each. The run has to end with a documented exit code, the old or
the new model has to be whole, and the next run has to succeed and leave nothing behind. Allocations before
main() are those of libraries and of static initialisers, where nobody can answer: they are counted apart.
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
        self.short: collections.Counter[int] = collections.Counter()
        self.said: dict[str, str] = {}  # by an undisturbed conversion of each scenario
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
        self.said[scenario.name] = text.replace(str(place.path), "")
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
        if code == 0 and text.replace(str(place.path), "") != self.said[scenario.name]:
            found.append(f"ended with 0 and printed {text!r}")
        return found + self.tests.next_run(place, scenario)

    def commands(self, positions: int) -> None:
        """Those that end without a worker."""
        place = self.tests.place()
        place.out.mkdir(exist_ok=True)
        for words in (["inspect", self.tests.models["A"].path], ["inspect", self.tests.models["A"].path, "--json"],
                      ["missing.pt"], [self.tests.models["A"].path, "--opset", "3"], ["explain", "OE0101"],
                      ["list-ops"], ["--help-all"], ["completion", "bash"]):
            def run(at: int, every: int, words: list = words) -> harness.Result:
                place.set(at, every)
                return harness.run([self.s.tool, *words], place.path, env=place.environment())

            def check(at: int, every: int, clean: harness.Result) -> None:
                done = run(at, every)
                self.short[done.code] += 1
                assert done.code in {7, 8, clean.code}, f"ended with {done.code}: {done.err[-300:]}"
                assert done.code != 0 or done.out == clean.out, "ended with 0, and not all is printed"

            clean = run(0, 0)
            total, at_main = place.counts()[:2]
            for at in spread(at_main + 1, total, positions):
                for every in (0, 1):
                    self.s.case(f"{' '.join(map(str, words))}, allocation {at}{' and all after it' if every else ''}",
                                lambda a=at, e=every, c=clean: check(a, e, c))

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
            a.commands(max(4, n // 4))
        for _ in pool.map(lambda p: a.one(*p), plan):
            pass
    codes = ", ".join(f"{c}: {m}" for c, m in sorted(a.codes.items()))
    early = ", ".join(f"{c}: {m}" for c, m in sorted(a.early.items()))
    short = ", ".join(f"{c}: {m}" for c, m in sorted(a.short.items()))
    figure = (f"{sum(a.codes.values())} failing allocations of {total} in a conversion, exit codes {codes}; "
              f"{sum(a.short.values())} in commands without a worker, {short}; before main() "
              f"starts: {early}")
    print(figure)
    s.figure("If an allocation of the supervisor fails after main() starts, the run ends with a documented exit code, "
             "and the old or the new model is complete", figure)
    return s.end()


if __name__ == "__main__":
    sys.exit(main())
