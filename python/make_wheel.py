"""Makes the wheel of what is built: installs the binaries beside the Python module, then runs pip wheel.

    make_wheel.py --build build/release --out dist

Nothing that was built runs, so a build for another processor gets its wheel too.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("onnx-export", "onnx-export-worker")
# Libraries that every manylinux system has, and those of the torch wheel. ONNX Runtime is opened with dlopen.
ALLOWED = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libz|ld-linux-[\w-]+|libtorch_cpu|libc10)\.so(\.\d+)?")


def output_of(*words) -> str:
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def cmake_program() -> str:
    beside = pathlib.Path(sys.executable).parent / "cmake"
    return str(beside) if beside.exists() else "cmake"


def cached(build: pathlib.Path, name: str) -> str:
    """What CMake's cache has for a variable."""
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)[1]


def torch_version(include: pathlib.Path) -> str:
    """ "2.13", of LibTorch's headers."""
    header = include / "torch/headeronly/version.h"
    if not header.exists():
        header = include / "torch/csrc/api/include/torch/version.h"
    text = header.read_text()
    return ".".join(re.search(rf"^#define TORCH_VERSION_{part} (\d+)", text, re.MULTILINE)[1] for part in ("MAJOR", "MINOR"))


def machine_of(program: pathlib.Path, readelf: str) -> str:
    machine = re.search(r"Machine:\s+(.+)", output_of(readelf, "-h", program))[1]
    return {"AArch64": "aarch64", "Advanced Micro Devices X86-64": "x86_64"}.get(machine) or sys.exit(f"error: {machine}")


def torch_glibc(site: pathlib.Path) -> tuple[int, int]:
    """(2, 28) beside a torch wheel that is tagged manylinux_2_28."""
    for wheel in site.glob("torch-*.dist-info/WHEEL"):
        if tag := re.search(r"manylinux_(\d+)_(\d+)_", wheel.read_text()):
            return int(tag[1]), int(tag[2])
    return 2, 17


def platform_of(folder: pathlib.Path, site: pathlib.Path, readelf: str) -> str:
    """The tag of the torch wheel, or a newer one where the binaries need a newer glibc: a tag that promises less
    than they need would install where they do not start. A build on an older system gets torch's own."""
    glibc = torch_glibc(site)
    for program in PROGRAMS:
        needed = output_of(readelf, "-d", folder / program)
        for library in re.findall(r"\(NEEDED\).*\[(.+)\]", needed):
            if not ALLOWED.fullmatch(library):
                sys.exit(f"error: {program} needs {library}, which neither the system nor the torch wheel has")
        for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output_of(readelf, "-V", folder / program)):
            glibc = max(glibc, (int(version[0]), int(version[1])))
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machine_of(folder / PROGRAMS[0], readelf)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    include = pathlib.Path(cached(options.build, "LibTorch_INCLUDE_DIR"))
    site = include.parent.parent  # torch/include
    stage = options.build / "wheel"
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(HERE, stage, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE.parent / "LICENSE", stage)
    package = stage / "onnx_export"
    output_of(cmake_program(), "--install", options.build, "--component", "wheel", "--prefix", package, "--strip")
    platform = platform_of(package / "bin", site, cached(options.build, "CMAKE_READELF"))
    build = {"version": cached(options.build, "CMAKE_PROJECT_VERSION"), "platform": platform,
             "requires": [f"torch=={torch_version(include)}.*", "onnxruntime>=1.18"]}
    (stage / "build.json").write_text(json.dumps(build, indent=2) + "\n")
    options.out.mkdir(parents=True, exist_ok=True)
    for old in options.out.glob("onnx_export-*.whl"):
        old.unlink()
    # Without isolation: scripts/setup installs setuptools.
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
                           "--no-build-isolation", "--no-deps", "--wheel-dir", options.out, stage],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"error: pip could not make the wheel\n{done.stdout}")
    print(*options.out.glob("onnx_export-*.whl"))


if __name__ == "__main__":
    main()
