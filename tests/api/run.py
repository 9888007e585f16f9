"""The C++ interface as a project outside of the tree uses it: installed, found by find_package and pkg-config.

Its pages are made by Doxygen, for which every public member without a comment is an error.

    run.py --build build/release

The last line is `N passed, N failed`.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent


class Add(torch.nn.Module):
    def forward(self, x):
        return x + 1


class Eigen(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.eig(x)[0].real


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        prefix = work / "prefix"
        libraries = os.pathsep.join([str(pathlib.Path(torch.__file__).parent / "lib"),
                                     *(str(p / "onnxruntime/capi") for p in map(pathlib.Path, sys.path)
                                       if (p / "onnxruntime/capi").is_dir())])
        environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": folder, "LD_LIBRARY_PATH": libraries}

        def run(*words, **variables) -> subprocess.CompletedProcess:
            return subprocess.run([str(w) for w in words], cwd=work, env=environment | variables, text=True,
                                  capture_output=True)

        def check(what: str, done: subprocess.CompletedProcess, code: int = 0, *texts: str) -> None:
            nonlocal passed, failed
            everything = done.stdout + done.stderr
            if done.returncode == code and all(t in everything for t in texts):
                passed += 1
            else:
                failed += 1
                print(f"FAIL {what}: ended with {done.returncode}:\n{everything[-2000:]}")

        for component in ("runtime", "development"):
            check(f"install {component}", run(BIN / "cmake", "--install", options.build.resolve(), "--prefix", prefix,
                                              "--component", component))
        torch.jit.script(Add()).save(work / "add.pt")
        torch.jit.script(Eigen()).save(work / "eigen.pt")
        shutil.copytree(ROOT / "examples/cpp_api", work / "project")
        check("find_package", run(BIN / "cmake", "-S", "project", "-B", "made", "-G", "Ninja",
                                  f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}"))
        check("build with CMake", run(BIN / "cmake", "--build", "made"))
        check("converts", run("made/convert", "add.pt", "add.onnx", "x:n=2x3"), 0,
              "add.onnx: opset 18, 1 nodes, x has 2 axes, agrees")
        check("refuses with the line", run("made/convert", "eigen.pt", "eigen.onnx", "3x3"), 5, "OE5101 aten::linalg_eig",
              "run.py:")
        check("a missing file", run("made/convert", "nowhere.pt", "a.onnx"), 3, "OE0101")
        flags = run("pkg-config", "--cflags", "--libs", "onnx_export", PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
        check("pkg-config", flags, 0, "-lonnx_export")
        check("build with pkg-config", run("g++", "-std=c++17", "project/convert.cpp", "-o", "convert",
                                           *flags.stdout.split()))
        check("the program in PATH", run("./convert", "add.pt", "b.onnx", "2x3", PATH=f"{prefix / 'bin'}:/usr/bin:/bin"),
              0, "b.onnx: opset 18")
        check("the program in ONNX_EXPORT_TOOL", run("./convert", "add.pt", "c.onnx", "2x3",
                                                     ONNX_EXPORT_TOOL=str(prefix / "bin/onnx-export")), 0, "c.onnx: opset 18")
        check("no program", run("./convert", "add.pt", "d.onnx"), 1, "cannot start onnx-export")

        header = work / "api/include/onnx_export/onnx_export.h"
        shutil.copytree(ROOT / "api", work / "api")
        (work / "docs").mkdir()
        shutil.copy(ROOT / "docs/cpp.md", work / "docs")
        check("Doxygen", run("doxygen", "api/Doxyfile"))
        pages = "".join(p.read_text() for p in (work / "build/doxygen").glob("*.html"))
        check("the pages have the functions and cpp.md",
              subprocess.CompletedProcess((), 0, pages, ""), 0, "Converts a model.", "Installing")
        text = header.read_text()
        header.write_text(text.replace("///< replace an existing file", ""))
        check("a member without a comment", run("doxygen", "api/Doxyfile"), 1, "force", "is not documented")
        header.write_text(text.replace("\\param output", "\\param outputs"))
        check("a comment about no parameter", run("doxygen", "api/Doxyfile"), 1, "outputs")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
