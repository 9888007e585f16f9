"""Files with nothing given: inputs are found in the program, and the model is verified with every free axis dynamic.

    alone.py --build build/release [--suites NAME,...] [--jobs N] [--part K/N] [--full] [--write-table]

The suites are published files (ONNX_EXPORT_WILD, as in wild.py), the test models, and those of tests/foreign: all
without the example that torch.jit.trace leaves in a file. At least nine of ten files of a suite have to convert and
verify (of published files and models all but those of KNOWN), and no result may be wrong. Files that cannot be made
and suites without a folder are not run. --write-table writes docs/inputs.md; it also runs every file once more with the
inputs that were found, to measure the cost of finding them.
"""
import argparse
import concurrent.futures
import dataclasses
import importlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = {"published": "Files published by other projects", "models": "The tests' models, traced and scripted",
          "vision": "torchvision", "timm_models": "timm", "transformer_models": "transformers",
          "modules": "PyTorch's module database"}
SHARE = {"modules": 0.85}  # its losses and packed layers take several inputs that have to fit each other
# Files of the suites that the test group runs which do not convert and verify alone.
KNOWN = {
    "published": {
        "ec05bd9134b6335e.pt": "two inputs have to have the number of edges of a third, which is found for one of them",
        "a67cc4601738772b.pt": "the model differentiates by an input that has to require a gradient",
    },
    "models": {
        "phase_search.traced.pt": "istft takes the number of frequencies that another tensor of the model has",
    },
}
LIMIT_S = 300


def without_example(path: pathlib.Path) -> None:
    """Takes out what torch.jit.trace notes of its arguments."""
    part = path.with_suffix(".part")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(part, "w") as target:
        for record in source.infolist():
            if "traced_inputs" not in record.filename:
                target.writestr(record.filename, source.read(record))
    part.rename(path)


def make_models(folder: pathlib.Path) -> None:
    sys.path.insert(0, str(ROOT / "tests/models"))
    import catalogue
    import make_models as maker

    for model in catalogue.small():
        for form in ("traced", "scripted"):
            path = folder / f"{model.name}.{form}.pt"
            if maker.make(model, form, path) is not False:
                without_example(path)


def make_foreign(family: str, folder: pathlib.Path, full: bool) -> None:
    sys.path.insert(0, str(ROOT / "tests/foreign"))
    import environment

    if environment.prepare():
        return
    environment.enter()
    from cases import NotExportable, write
    module = importlib.import_module(family)
    for case in module.cases(full):
        path = folder / (re.sub(r"[^\w.]+", "_", case.label) + ".pt")
        child = os.fork()  # what one leaves behind is no other's to find
        if child == 0:
            try:
                write(module.make(case), case.form, path)
                without_example(path)
            except (NotExportable, RuntimeError):
                path.unlink(missing_ok=True)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


def files_of(suite: str, folder: pathlib.Path, full: bool) -> list[pathlib.Path]:
    if suite == "published":
        wild = pathlib.Path(os.environ.get("ONNX_EXPORT_WILD", ROOT.parent / "shared/wild"))
        index = wild / "index.jsonl"
        return [wild / json.loads(line)["file"] for line in index.read_text().splitlines()] if index.exists() else []
    own = folder / suite
    own.mkdir()
    subprocess.run([sys.executable, __file__, "--make", suite, str(own)] + ["--full"] * full, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return sorted(own.glob("*.pt"))


@dataclasses.dataclass
class Result:
    file: pathlib.Path
    found: bool
    code: int
    free: bool = False  # an axis is, so that other sizes were verified
    ratio: float = 0  # of the time with the same inputs given
    seconds: float = 0
    said: str = ""


def convert(tool: pathlib.Path, file: pathlib.Path, out: pathlib.Path, *more: str) -> tuple[int, dict, str, float]:
    begun = time.monotonic()
    run = subprocess.run([tool, file, "-o", out, "--force", "--json", *more], capture_output=True, text=True,
                         timeout=LIMIT_S, check=False)
    return run.returncode, json.loads(run.stdout or "{}"), run.stderr, time.monotonic() - begun


def run_file(tool: pathlib.Path, file: pathlib.Path, folder: pathlib.Path, measure: bool) -> Result:
    out = folder / f"{file.stem}.onnx"
    try:
        code, said, text, _ = convert(tool, file, out, "--verify", "--dynamic-axes")
        known = said.get("inputs_found") or []
        # A file with an example of its own is described already.
        found = bool(known) or code in (0, 11)
        result = Result(file, found, code, any(a["free"] for i in known for a in i["axes"]), said=text)
        if measure and found:
            given = ["--guess=off"] + [w for i in known for w in ("--input", i["spec"])]
            pairs = [(convert(tool, file, out)[3], convert(tool, file, out, *given)[3]) for _ in range(2)]
            result.seconds = min(p[0] for p in pairs)
            result.ratio = result.seconds / min(p[1] for p in pairs)
        return result
    except subprocess.TimeoutExpired:
        return Result(file, False, -1, said="takes too long")
    finally:
        for left in folder.glob(f"{file.stem}.onnx*"):
            left.unlink()


def table(results: dict[str, list[Result]]) -> str:
    lines = ["# Inputs inferred from the file", "",
             "Generated by `tests/files/alone.py --write-table`. Each file is converted without a description of its",
             "inputs; traced files are stripped of their example inputs.", "",
             "- *Found*: LibTorch runs the model on the inferred inputs.",
             "- *Verified*: the model converts with every free axis dynamic, and ONNX Runtime agrees with LibTorch.",
             "- *Time*: the time of a conversion without verification, relative to the same conversion with these",
             "  inputs on the command line.", "",
             "| suite | files | found | verified | of these at other sizes | time, median | slowest |",
             "|---|---|---|---|---|---|---|"]
    for suite, of in results.items():
        good = [r for r in of if r.code in (0, 11)]
        ratios = [r.ratio for r in of if r.ratio]
        lines.append(f"| {SUITES[suite]} | {len(of)} | {sum(r.found for r in of)} | {len(good)} | "
                     f"{sum(r.free for r in good)} | {statistics.median(ratios):.2f} x | "
                     f"{max(r.seconds for r in of):.1f} s |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--suites", default="published,models")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--part", default="1/1", help="K/N: every Nth file, from the Kth on")
    parser.add_argument("--full", action="store_true", help="all models that tests/foreign knows, not the sample of its tests")
    parser.add_argument("--write-table", action="store_true")
    parser.add_argument("--make", nargs=2, metavar=("SUITE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        warnings.simplefilter("ignore")
        suite, folder = options.make
        make_models(pathlib.Path(folder)) if suite == "models" else make_foreign(suite, pathlib.Path(folder), options.full)
        return 0
    tool = (options.build / "onnx-export").resolve()
    first, step = map(int, options.part.split("/"))
    results, passed, failed = {}, 0, 0
    with tempfile.TemporaryDirectory(prefix="alone_") as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        for suite in options.suites.split(","):
            files = files_of(suite, folder, options.full)[first - 1::step]
            if not files:
                print(f"{suite}: SKIPPED, there are no files")
                continue
            of = list(pool.map(lambda f: run_file(tool, f, folder, options.write_table), files))
            results[suite] = of
            good = sum(r.code in (0, 11) for r in of)
            bad = [r for r in of if r.code in (1, 6, 9) or r.code < 0]
            for r in of:
                if r in bad or (r.code not in (0, 11) and suite != "modules"):
                    print(f"{r.file.name}: exit code {r.code}\n{r.said.strip()[:700]}")
            enough = good >= SHARE.get(suite, 0.9) * len(of)
            if suite in KNOWN:
                bad_files = {r.file.name for r in of if r.code not in (0, 11)}
                known_files = KNOWN[suite].keys() & {r.file.name for r in of}
                for file in sorted(bad_files - known_files):
                    print(f"FAIL {file} does not convert and verify, and KNOWN does not name it")
                for file in sorted(known_files - bad_files):
                    print(f"FAIL {file} converts and verifies: take it out of KNOWN")
                enough = bad_files == known_files
            print(f"{suite}: {good} of {len(of)} convert and verify, {sum(r.found for r in of)} have inputs, {len(bad)} are wrong")
            passed += enough + (not bad)
            failed += (not enough) + bool(bad)
    if options.write_table:
        (ROOT / "docs/inputs.md").write_text(table(results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
