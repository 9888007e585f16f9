"""Tests of the built executables: symbols, start, determinism, and generated files that are up to date.

    tool_tests.py --build build/release
"""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/cli"))
sys.path.append(str(ROOT / ".deps/bench"))
import catalogue  # noqa: E402
import cli_page  # noqa: E402
from cuda_folder import CudaFolder  # noqa: E402
import make_models  # noqa: E402
import method_models  # noqa: E402
import module_functions  # noqa: E402
import onnx_values  # noqa: E402
import rule_models  # noqa: E402

# What LibTorch exports too: a second copy visible from the executable would be mixed up with its own.
FOREIGN = re.compile(r"google::protobuf|\bonnx|fmt::v|spdlog|\bmz_|nlohmann|CLI::")
HELP_MS = 50


def output_of(*words, **options) -> str:
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True,
                          **options).stdout


def test_exported_symbols(build: pathlib.Path) -> None:
    for name in ("onnx-export", "onnx-export-worker"):
        lines = output_of("nm", "-D", "--defined-only", "-C", build / name).splitlines()
        # Weak (v, w, V, W) template instances of the standard library are exported by every program.
        foreign = [line for line in lines if FOREIGN.search(line)]
        assert not foreign, f"{name} exports {len(foreign)} foreign symbols: {foreign[:3]}"


def test_supervisor_does_not_load_libtorch(build: pathlib.Path) -> None:
    # The names alone: an address may read c10 too.
    lines = output_of("ldd", build / "onnx-export").splitlines()
    libraries = "\n".join(line.split("(0x")[0] for line in lines)
    for name in ("torch", "c10", "onnxruntime", "protobuf"):
        assert name not in libraries, f"onnx-export links {name}:\n{libraries}"


def least_ms(build: pathlib.Path, *words: str) -> float:
    """Of nine runs: other processes of a busy machine lengthen most of them."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        output_of(build / "onnx-export", *words)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def test_help_and_lists_answer_at_once(build: pathlib.Path) -> None:
    # Machines differ: on one that takes 4 ms to start the program, the list takes 72.
    limit = max(HELP_MS, 20 * least_ms(build, "--version"))
    for words in (["--help"], ["list-ops", "--format", "json"]):
        least = least_ms(build, *words)
        assert least < limit, f"{words[0]} takes {least:.0f} ms, the limit is {limit:.0f}"


def test_same_bytes_anywhere(build: pathlib.Path) -> None:
    """Two folders, 1 and 2 threads, inline and external weights."""
    with tempfile.TemporaryDirectory() as top:
        digests: dict[str, set[str]] = {}
        for folder, threads in (("a", 1), ("some other/folder", 2)):
            work = pathlib.Path(top) / folder
            work.mkdir(parents=True)
            for name in ("small_resnet18", "small_lm_transformer"):
                model = catalogue.by_name()[name]
                source = work / "model.pt"
                make_models.make(model, "scripted", source)
                for external in ("never", "always"):
                    inputs = [w for i in model.inputs for w in ("--input", i.spec(model.sizes))]
                    output_of(build / "onnx-export", "model.pt", "-o", "m.onnx", "--force",
                              "--threads", threads, f"--external-data={external}", *inputs, cwd=work)
                    content = hashlib.sha256()
                    for file in sorted(work.glob("m.onnx*")):
                        content.update(file.name.encode() + file.read_bytes())
                        file.unlink()
                    digests.setdefault(f"{name}, external data {external}", set()).add(
                        content.hexdigest())
        different = [what for what, found in digests.items() if len(found) > 1]
        assert not different, f"the bytes depend on the folder or the threads: {different}"


def test_saved_test_data_runs(build: pathlib.Path) -> None:
    """Names, shapes and numbers of --save-test-data are those of ONNX Runtime on the same file."""
    import numpy
    import onnxruntime
    with tempfile.TemporaryDirectory() as top:
        model = catalogue.by_name()["small_lm_lstm"]
        work = pathlib.Path(top)
        make_models.make(model, "scripted", work / "model.pt")
        inputs = [w for i in model.inputs for w in ("--input", i.spec(model.sizes))]
        output_of(build / "onnx-export", "model.pt", *inputs, "--save-test-data", "data", cwd=work)
        session = onnxruntime.InferenceSession(work / "model.onnx")
        sets = sorted((work / "data").iterdir())
        assert len(sets) > 1, "no other sizes than the example's"
        for folder in sets:
            given = [onnx_values.read_tensor((folder / f"input_{i}.pb").read_bytes())
                     for i in range(len(session.get_inputs()))]
            assert [name for name, _ in given] == [i.name for i in session.get_inputs()], folder
            for i, actual in enumerate(session.run(None, dict(given))):
                name, expected = onnx_values.read_tensor((folder / f"output_{i}.pb").read_bytes())
                assert name == session.get_outputs()[i].name, folder
                assert actual.dtype == expected.dtype and actual.shape == expected.shape, folder
                numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_cuda_library_that_is_none(build: pathlib.Path) -> None:
    """A file that is no library, and one that registers nothing."""
    with tempfile.TemporaryDirectory() as top:
        work = pathlib.Path(top)
        cuda = CudaFolder(work)
        if cuda.taken:
            return
        method_models.make(work / "models")
        for code in ("OE0611", "OE0612"):
            if code == "OE0611":
                cuda.library.write_text("no library")
            else:
                cuda.library.unlink()
                subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", cuda.library], check=True)
            done = subprocess.run([build / "onnx-export", "models/codec.pt", "--method", "encode", "--device", "cuda"],
                                  cwd=work, env=cuda.environment, capture_output=True, text=True)
            assert done.returncode == 10 and f"[{code}]" in done.stderr, done.stderr
            assert not list(work.glob("*.onnx")), "a file is left"
            doctor = output_of(build / "onnx-export", "doctor", env=cuda.environment)
            assert re.search(r"^CUDA +(?!\d).*CUDA", doctor, re.MULTILINE), doctor


def test_example_on_another_device(build: pathlib.Path) -> None:
    """On a device that refuses the CPU's tensors as CUDA does (fake_cuda.cpp) the same bytes come out."""
    with tempfile.TemporaryDirectory() as top:
        work = pathlib.Path(top)
        cuda = CudaFolder(work)
        if cuda.taken:
            return
        cuda.library.symlink_to(build / "tests/fake_cuda/libtorch_cuda.so")
        assert re.search(r"^CUDA +1 device$", output_of(build / "onnx-export", "doctor", env=cuda.environment),
                         re.MULTILINE)
        method_models.make(work / "models")
        for folder in ("cpu", "cuda"):
            (work / folder).mkdir()
        runs = [["models/codec.pt", "--method", "encode"], ["models/on_gpu.pt", "--method", "decode"],
                ["models/devices.pt", "--input", "x:n=3x4"],
                ["models/codec.pt", "--method", "count", "--input", "n:512", "--state", "io"]]
        for name, kind in (("small_resnet18", "scripted"), ("small_lm_transformer", "traced")):
            model = catalogue.by_name()[name]
            make_models.make(model, kind, work / f"{name}.pt")
            runs.append([f"{name}.pt", *(w for i in model.inputs for w in ("--input", i.spec(model.sizes)))])
        for run in runs:
            command = [build / "onnx-export", *run, "--verify", "--force", "-o"]
            output_of(*command, "cpu/model.onnx", cwd=work)
            output_of(*command, "cuda/model.onnx", "--device", "cuda", cwd=work, env=cuda.environment)
            # Of one name, because a model names its saved state.
            assert (work / "cpu/model.onnx").read_bytes() == (work / "cuda/model.onnx").read_bytes(), run
        done = subprocess.run([build / "onnx-export", *runs[0], "--device", "cuda:1"], cwd=work,
                              env=cuda.environment, capture_output=True, text=True)
        assert done.returncode == 10 and "1 CUDA device available" in done.stderr, done.stderr


def test_methods_share_their_weights(build: pathlib.Path) -> None:
    """decode(encode(x)) in ONNX Runtime is LibTorch's; the data file has each tensor once, and no more."""
    import numpy
    import onnxruntime
    import torch
    with tempfile.TemporaryDirectory() as top:
        work = pathlib.Path(top)
        method_models.make(work)
        model = torch.jit.load(str(work / "codec.pt"))
        output_of(build / "onnx-export", "codec.pt", "--method", "encode,decode", "--external-data=always",
                  "--external-data-align", 1, "--external-data-threshold", 1,
                  "--input", "encode.x:batch=2x64", "--input", "decode.z:batch=2x16", cwd=work)
        used = [p for p in (model.book.weight, model.book.bias, model.gain)]
        data = (work / "codec.onnx.data").read_bytes()
        assert len(data) == sum(p.numel() * p.element_size() for p in used)
        for p in used:
            assert data.count(p.detach().numpy().tobytes()) == 1
        x = torch.randn(5, 64)
        codes, = onnxruntime.InferenceSession(work / "codec.encode.onnx").run(None, {"x": x.numpy()})
        actual = onnxruntime.InferenceSession(work / "codec.decode.onnx").run(None, {"z": codes})
        for a, e in zip(actual, model.decode(model.encode(x)), strict=True):
            numpy.testing.assert_allclose(a, e.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_other_weights_than_the_files(build: pathlib.Path) -> None:
    """--no-export-params: ONNX Runtime is given another state_dict, in whose order the inputs are."""
    import onnxruntime
    import torch
    with tempfile.TemporaryDirectory() as top:
        work = pathlib.Path(top)
        rule_models.make(work / "rules")
        output_of(build / "onnx-export", "rules/weights.pt", "--input", "x:n=2x3x8x8", "--no-export-params", cwd=work)
        model = torch.jit.load(str(work / "rules/weights.pt"))
        state = model.state_dict()
        with torch.no_grad():
            for t in state.values():
                if t.is_floating_point():
                    t.copy_(torch.rand_like(t))
        session = onnxruntime.InferenceSession(work / "weights.onnx")
        names = [i.name for i in session.get_inputs()]
        read = [n for n in state if n not in ("c.weight", "bn.num_batches_tracked")]  # tied, never read
        assert names == ["x", *read], names
        for batch in (2, 5):
            x = torch.rand(batch, 3, 8, 8)
            given = {n: (x if n == "x" else state[n]).detach().numpy() for n in names}
            torch.testing.assert_close(torch.from_numpy(session.run(None, given)[0]), model(x).detach())


def test_functions_compute_what_pytorch_does(build: pathlib.Path) -> None:
    """Of ONNX Runtime, and inlined by the onnx package where it is installed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "functions"
        module_functions.make(folder)
        for name in ("residual_traced", "repeats_traced"):
            written = folder / f"{name}.onnx"
            output_of(build / "onnx-export", folder / f"{name}.pt", "--dynamic-batch", "-q",
                      "--modules-as-functions", "-o", written)
            module_functions.judge(folder / f"{name}.pt", written)


def fresh(path: str, *words) -> None:
    made = output_of(*words)
    assert made == (ROOT / path).read_text(), f"{path} is out of date: run scripts/bless"


LONG_OPTION = re.compile(r"--[a-z][a-z-]+")


def verbs(build: pathlib.Path) -> list[str]:
    text = output_of(build / "onnx-export", "--help")
    return re.findall(r"^  ([a-z-]+) {2,}\S", text[text.index("Verbs"):], re.M)


def test_help_fits_one_screen(build: pathlib.Path) -> None:
    lines = output_of(build / "onnx-export", "--help").splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100, "--help is larger than 40 lines of 100 columns"
    assert {"inspect", "list-ops", "explain", "completion", "man", "doctor", "lint", "diff"} <= set(verbs(build))


def test_every_option_is_in_manual_and_completion(build: pathlib.Path) -> None:
    tool = build / "onnx-export"
    made = {"the manual": output_of(tool, "man").replace("\\-", "-")}
    for shell in ("bash", "zsh", "fish"):
        made[shell] = output_of(tool, "completion", shell)
    for words in [["--help-all"]] + [[verb, "--help"] for verb in verbs(build)]:
        listed = {m for line in output_of(tool, *words).splitlines() if line.startswith("  -")
                  for m in LONG_OPTION.findall(line[:34])}
        assert listed, f"{words}: no options"
        for name, text in made.items():
            form = "-l {}" if name == "fish" else "--{}"
            missing = [o for o in listed if form.format(o[2:]) not in text]
            assert not missing, f"{name} lacks {missing} of {words[0]}"


def test_manual_is_roff(build: pathlib.Path) -> None:
    groff = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=output_of(build / "onnx-export", "man"),
                           capture_output=True, text=True)
    assert not groff.returncode and not groff.stderr, groff.stderr


def test_operator_list_is_fresh(build: pathlib.Path) -> None:
    fresh("opsets/OPERATORS.md", build / "onnx-export", "list-ops", "--format", "md")


def test_derivative_table_is_fresh(build: pathlib.Path) -> None:
    fresh("opsets/derivatives.tsv", sys.executable, ROOT / "tests/support/derivative_table.py")


def test_pass_list_is_fresh(build: pathlib.Path) -> None:
    fresh("lib/optimize/PASSES.md", build / "document", "passes")


def test_what_stays_float32_is_documented(build: pathlib.Path) -> None:
    """The table of lib/ir/traits.cpp in docs/precision.md: each operator in the row of its reason."""
    code = (ROOT / "lib/ir/traits.cpp").read_text()
    reasons = dict(re.findall(r'(k\w+) = "([^"]+)"', code))
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", (ROOT / "docs/precision.md").read_text(), re.M))
    listed = re.findall(r'\{"(\w+)", [^}]*Half::\w+, (k\w+)\}', code)
    assert len(listed) > 50, "the table was not found"
    missing = [op for op, why in listed if f"`{op}`" not in rows[reasons[why]]]
    assert not missing, f"docs/precision.md does not say {missing}"
    stated = {op for why in reasons.values() for op in re.findall(r"`(\w+)`", rows[why])}
    surplus = stated - {op for op, _ in listed} - {"BatchNormalization", "Mul", "GridSample", "Resize"}
    assert not surplus, f"docs/precision.md says {sorted(surplus)}, and nothing keeps them"


def test_error_list_is_fresh(build: pathlib.Path) -> None:
    fresh("docs/errors.md", build / "document", "errors")


# The number of each exit code, as lib/support/diagnostics.h has them.
EXIT_CODE = re.compile(r"^  (\w+) = (\d+),$", re.M)
# How sources name a code together with what the process ends with.
FAILURE = re.compile(r'ExitCode::(\w+),\s*"(OE\d{4})"|'
                     r'\b(refuse|cannot_join|usage_error|unreadable|unwritable)\(\s*"(OE\d{4})"')
HELPERS = {"refuse": "Unsupported", "cannot_join": "Unsupported", "usage_error": "Usage",
           "unreadable": "Unreadable", "unwritable": "Unwritable"}


def test_every_code_is_listed_and_used(build: pathlib.Path) -> None:
    """Each code in the sources is in the table, with the exit code that they give it; no entry is unused."""
    exits = dict(EXIT_CODE.findall((ROOT / "lib/support/diagnostics.h").read_text()))
    rows = re.findall(r"^\| \[?(OE\d{4})[^|]*\| (\d+) \|", output_of(build / "document", "errors"), re.M)
    codes = [code for code, _ in rows]
    assert codes == sorted(set(codes)), "the table is not in order, or has a code twice"
    table, used, wrong = dict(rows), set(), []
    for path in (p for folder in ("app", "lib", "opsets") for p in (ROOT / folder).rglob("*.cpp")):
        if path.name == "error_codes.cpp":
            continue
        text = path.read_text()
        used |= set(re.findall(r'"(OE\d{4})"', text))
        for name, code, helper, its_code in FAILURE.findall(text):
            given = exits[name or HELPERS[helper]]
            if table.get(code or its_code) != given:
                wrong.append(f"{path.name}: {code or its_code} ends with {given}")
    assert not used - set(table), f"not in lib/support/error_codes.cpp: {sorted(used - set(table))}"
    assert not set(table) - used, f"used nowhere: {sorted(set(table) - used)}"
    assert not wrong, f"another exit code than in the table: {wrong}"


def test_cli_page_is_fresh(build: pathlib.Path) -> None:
    assert cli_page.page(build / "onnx-export") == cli_page.PATH.read_text(), "docs/cli.md is out of date: run scripts/bless"


def test_pages_name_options_that_exist(build: pathlib.Path) -> None:
    tool = build / "onnx-export"
    known = {m for words in [["--help-all"]] + [[verb, "--help"] for verb in verbs(build)]
             for m in LONG_OPTION.findall(output_of(tool, *words))}
    for name in ("README.md", "docs/inputs-on-the-command-line.md", "docs/custom-operators.md", "docs/what-converts.md"):
        for line in (ROOT / name).read_text().splitlines():
            if line.startswith(("onnx-export ", "$ onnx-export ")):
                missing = set(LONG_OPTION.findall(line.split("  #")[0])) - known
                assert not missing, f"{name} uses {missing}, which {tool} does not have"


def test_links_of_pages_lead_somewhere(build: pathlib.Path) -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    for page in pages:
        text = re.sub(r"^```.*?^ *```", "", page.read_text(), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert "://" in link or (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"


REFUSED_RUNG = """## a type that opset 12 lacks
-- in 13
g (float[2] x) => (bfloat16[2] y)
{
  y = Cast <to = 16> (x)
}
-- out 12
<what it became while it converted>
"""
REFUSED_CASE = """## erf
def forward(self, x):
    return torch.erf(x)
-- inputs
x: 2x3
"""


def test_bless_keeps_refusals_out(build: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for tool, text, refusal in (("opsets_tests", REFUSED_RUNG, "error: Cast: needs opset 13"),
                                    ("golden_tests", REFUSED_CASE, "-- error ..8: needs opset 9")):
            path = pathlib.Path(folder) / "one.test"
            path.write_text(text)
            command = [build / tool, path, "--bless"] + (["--python", sys.executable] if tool == "golden_tests" else [])
            refused = subprocess.run(command, capture_output=True, text=True, check=False)
            assert refused.returncode == 1 and "--allow-refusals" in refused.stdout, refused.stdout
            assert path.read_text() == text, f"{tool} blessed a refusal"
            subprocess.run([*command, "--allow-refusals"], capture_output=True, text=True, check=True)
            assert refusal in path.read_text(), path.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ.pop("ONNX_EXPORT_ORT_LIB", None)
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or options.only not in name:
            continue
        try:
            test(options.build.resolve())
            passed += 1
        except subprocess.CalledProcessError as e:
            failed += 1
            print(f"FAIL {name}: {e}\n{e.stdout}{e.stderr}")
        except Exception as e:
            failed += 1
            print(f"FAIL {name}: {e}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
