"""LibTorch with a replacement of its CUDA library (fake_cuda.cpp) or another file in its place."""
import os
import pathlib


class CudaFolder:
    """LibTorch's libraries with another libtorch_cuda.so beside them; None where they have one of their own."""

    def __init__(self, top: pathlib.Path):
        import torch
        for library in (pathlib.Path(torch.__file__).parent / "lib").glob("*.so*"):
            (top / library.name).symlink_to(library)
        self.library = top / "libtorch_cuda.so"
        self.taken = self.library.exists()
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(top)}
