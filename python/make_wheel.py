"""Makes the wheel of what is built: installs the binaries beside the Python module, then runs pip wheel.

    make_wheel.py --build build/release --out dist
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


def torch_tag(torch_version: str) -> tuple[int, int, str]:
    """(2, 28, "x86_64") of a torch wheel that is tagged manylinux_2_28_x86_64; the platform alone without one."""
    for site in sys.path:
        for wheel in pathlib.Path(site).glob(f"torch-{torch_version}*.dist-info/WHEEL"):
            if tag := re.search(r"manylinux_(\d+)_(\d+)_(\w+)", wheel.read_text()):
                return int(tag[1]), int(tag[2]), tag[3]
    return 2, 17, output_of("uname", "-m").strip()


def platform_of(folder: pathlib.Path, torch_version: str) -> str:
    """The tag of the torch wheel, or a newer one where the binaries need a newer glibc: a tag that promises less
    than they need would install where they do not start. A build on an older system gets torch's own."""
    major, minor, machine = torch_tag(torch_version)
    glibc = (major, minor)
    for program in PROGRAMS:
        needed = output_of("readelf", "-d", folder / program)
        for library in re.findall(r"\(NEEDED\).*\[(.+)\]", needed):
            if not ALLOWED.fullmatch(library):
                sys.exit(f"error: {program} needs {library}, which neither the system nor the torch wheel has")
        for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output_of("readelf", "-V", folder / program)):
            glibc = max(glibc, (int(version[0]), int(version[1])))
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machine}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    doctor = json.loads(output_of(options.build / "onnx-export", "doctor", "--json"))
    torch_version = doctor["libtorch"]["version"]
    major, minor = torch_version.split(".")[:2]
    stage = options.build / "wheel"
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(HERE, stage, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE.parent / "LICENSE", stage)
    package = stage / "onnx_export"
    output_of(cmake_program(), "--install", options.build, "--component", "wheel", "--prefix", package, "--strip")
    build = {"version": doctor["tool"]["version"], "platform": platform_of(package / "bin", torch_version),
             "requires": [f"torch=={major}.{minor}.*", "onnxruntime>=1.18"]}
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
