"""The command onnx-export."""
import os
import sys

from .tool import environment, program


def main() -> None:
    os.execve(program(), ["onnx-export", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
