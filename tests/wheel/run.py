"""The Python wheel: made, installed into a fresh virtual environment, and used there.

    run.py --build build/release

LibTorch is not downloaded again: torch and onnxruntime are links into the build's environment, beside the wheel, as
pip would install them, and the packages that they import are found through a .pth file. So pip installs with --no-deps,
and what the wheel requires is read from its metadata.
"""
import argparse
import email
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from cases import MODEL

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PIPX = "pipx==1.18.4"
class Environment:
    def __init__(self, folder: pathlib.Path, there: bool = False):
        self.folder = folder
        if not there:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python, self.tool = folder / "bin/python3", folder / "bin/onnx-export"
        self.site = next(folder.glob("lib/python3*/site-packages"))
        self.packages = next(p for p in map(pathlib.Path, sys.path) if (p / "onnxruntime").is_dir())
        import torch
        self.torch = pathlib.Path(torch.__file__).parent

    def install(self, wheel: pathlib.Path) -> None:
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps",
                        "--disable-pip-version-check", wheel], check=True)

    def path_file(self, there: bool) -> None:
        """The build's packages, by a .pth file."""
        file = self.site / "packages_of_the_build.pth"
        if there:
            file.write_text(f"{self.packages}\n{self.torch.parent}\n")
        else:
            file.unlink()

    def links(self, there: bool) -> None:
        for package in (self.torch, self.packages / "onnxruntime"):
            link = self.site / package.name
            if there:
                link.symlink_to(package)
            else:
                link.unlink()

    def run(self, *words, cwd: pathlib.Path, **variables) -> subprocess.CompletedProcess:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("ONNX_EXPORT_", "LD_", "PYTHON", "VIRTUAL"))}
        return subprocess.run([str(w) for w in words], cwd=cwd, env=clean | variables, capture_output=True, text=True)


def require(done: subprocess.CompletedProcess, code: int, *texts: str) -> None:
    everything = done.stdout + done.stderr
    assert done.returncode == code, f"{done.args} ended with {done.returncode}, not {code}:\n{everything[-3000:]}"
    for text in texts:
        assert text in everything, f"{done.args} does not print '{text}':\n{everything[-3000:]}"


def test_files_and_metadata(wheel: pathlib.Path) -> None:
    import torch
    minor = ".".join(torch.__version__.split(".")[:2])
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = email.message_from_bytes(archive.read(next(n for n in names if n.endswith("/METADATA"))))
        tag = archive.read(next(n for n in names if n.endswith("/WHEEL"))).decode()
    assert {"onnx_export/bin/onnx-export", "onnx_export/bin/onnx-export-worker"} <= set(names), names
    wanted = metadata.get_all("Requires-Dist")
    assert f"torch=={minor}.*" in wanted and any(w.startswith("onnxruntime") for w in wanted), wanted
    assert "Root-Is-Purelib: false" in tag and "Tag: py3-none-manylinux_2_" in tag, tag


def test_command(e: Environment, work: pathlib.Path) -> None:
    (work / "make.py").write_text(MODEL)  # a file: torch.jit.script reads the source
    require(e.run(e.python, "make.py", cwd=work), 0)
    require(e.run(e.tool, "--version", cwd=work), 0, "onnx-export ")
    require(e.run(e.tool, "model.pt", "--input", "x:batch=2x3", "--verify", cwd=work), 0, "verified")
    assert (work / "model.onnx").is_file()
    require(e.run(e.tool, "verify", "model.pt", "model.onnx", "--input", "x:batch=2x3", cwd=work), 0)
    require(e.run(e.python, "-m", "onnx_export", "inspect", "model.pt", cwd=work), 0, "forward")


def test_libraries_are_those_beside_the_wheel(e: Environment, work: pathlib.Path) -> None:
    done = e.run(e.tool, "doctor", "--json", cwd=work)
    require(done, 0)
    found = json.loads(done.stdout)
    inside = {"worker": found["worker"], "LibTorch": found["libtorch"]["library"],
              "ONNX Runtime": found["onnxruntime"]["library"]}
    for what, path in inside.items():
        assert path.startswith(str(e.site)), f"{what} is {path}, not in {e.site}"


def test_without_a_gpu(e: Environment, work: pathlib.Path) -> None:
    """The CUDA libraries are missing, or they are loaded and find no device."""
    done = e.run(e.tool, "model.pt", "--input", "x:2x3", "--device", "cuda", "-o", "gpu.onnx", cwd=work,
                 CUDA_VISIBLE_DEVICES="")
    require(done, 10, "OE061")
    assert not (work / "gpu.onnx").exists()


def test_torch_elsewhere(e: Environment, work: pathlib.Path) -> None:
    """Another folder of sys.path, as with --system-site-packages."""
    e.links(False)
    try:
        require(e.run(e.tool, "model.pt", "--input", "x:2x3", "-o", "elsewhere.onnx", "--verify", cwd=work), 0)
        e.path_file(False)
        words = (e.tool, "model.pt", "--input", "x:2x3", "-o", "elsewhere.onnx", "--force", "--verify")
        require(e.run(*words, cwd=work), 10, "OE0006", "pip install")
        require(e.run(*words, "--torch", e.torch, "--ort-lib", ort_library(e), cwd=work), 0, "verified")
        require(e.run(*words, cwd=work, ONNX_EXPORT_TORCH=str(e.torch), ONNX_EXPORT_ORT_LIB=ort_library(e)), 0)
        require(e.run(*words, "--torch", work, cwd=work), 10, "OE0006", "no libtorch_cpu.so")
        other = work / "other"
        (other / "include/torch/headeronly").mkdir(parents=True)
        (other / "lib").symlink_to(e.torch / "lib")
        require(e.run(*words, "--torch", other, cwd=work), 0)  # a link is what it leads to
        (other / "lib").unlink()
        (other / "lib").mkdir()
        (other / "lib/libtorch_cpu.so").touch()
        (other / "include/torch/headeronly/version.h").write_text(
            "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 1\n")
        require(e.run(*words, "--torch", other, cwd=work), 10, "OE0006", "LibTorch 2.1 in")
    finally:
        e.path_file(True)
        e.links(True)


def empty_wheel(folder: pathlib.Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def test_pipx(e: Environment, wheel: pathlib.Path, work: pathlib.Path) -> None:
    """`pipx install`, with empty wheels of what ours requires, in whose place come the same links."""
    home, program, empty = work / "pipx", work / "pipx_program", work / "empty"
    empty.mkdir()
    torch_minor = ".".join(importlib.metadata.version("torch").split(".")[:2])
    empty_wheel(empty, "torch", f"{torch_minor}.99")  # newer than those of the index
    empty_wheel(empty, "onnxruntime", "99.0")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target",
                    program, PIPX], check=True)
    done = e.run(sys.executable, "-m", "pipx", "install", f"--pip-args=--find-links={empty}", wheel, cwd=work,
                 PYTHONPATH=str(program), PIPX_HOME=str(home), PIPX_BIN_DIR=str(work / "pipx_bin"))
    require(done, 0, "onnx-export")
    made = Environment(home / "venvs/onnx-export", there=True)
    made.path_file(True)
    made.links(True)
    tool = work / "pipx_bin/onnx-export"
    require(e.run(tool, "model.pt", "--input", "x:2x3", "-o", "pipx.onnx", "--verify", cwd=work), 0, "verified")
    done = e.run(tool, "doctor", "--json", cwd=work)
    assert json.loads(done.stdout)["libtorch"]["library"].startswith(str(home)), done.stdout


def ort_library(e: Environment) -> str:
    return str(next((e.packages / "onnxruntime/capi").glob("libonnxruntime.so*")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top).resolve()
        made = subprocess.run([sys.executable, ROOT / "python/make_wheel.py", "--build", build, "--out",
                               folder / "dist"], capture_output=True, text=True)
        if made.returncode != 0:
            print(f"FAIL the wheel cannot be made: {made.stderr}")
            print("0 passed, 1 failed")
            return 1
        wheel = next((folder / "dist").glob("*.whl"))
        e, work = Environment(folder / "venv"), folder / "work"
        work.mkdir()
        e.install(wheel)
        e.path_file(True)
        e.links(True)
        tests = [(test_files_and_metadata, (wheel,))]
        tests += [(t, (e, work)) for t in (test_command, test_libraries_are_those_beside_the_wheel,
                                           test_without_a_gpu, test_torch_elsewhere)]
        tests.append((test_pipx, (e, wheel, work)))
        for test, arguments in tests:
            try:
                test(*arguments)
                passed += 1
            except AssertionError as why:
                failed += 1
                print(f"FAIL {test.__name__}: {why}")
        for file in ("module_tests.py", "documented_examples.py"):
            done = e.run(e.python, HERE / file, cwd=work)
            *lines, last = done.stdout.strip().splitlines() or [""]
            figures = last.split()
            if len(figures) != 4 or figures[1] != "passed,":
                lines = [*lines, last, done.stderr, f"FAIL {file}: ended with {done.returncode}"]
                figures = ["0", "", "1"]
            print("\n".join(lines), end="\n" if lines else "")
            passed, failed = passed + int(figures[0]), failed + int(figures[2])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
