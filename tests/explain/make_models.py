"""Runs the model.py of each folder that is named, in that folder; what fails is in its error.txt.

    make_models.py JOBS FOLDER...

Importing torch takes longer than making a model: one process imports it, a child of it makes each.
"""
import os
import pathlib
import sys
import traceback
import types
import typing
import warnings

import torch
from torch import Tensor, nn

NAMES = {"torch": torch, "nn": nn, "F": nn.functional, "Tensor": Tensor,
         **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")}}


def make(folder: str) -> None:
    os.chdir(folder)
    # Messages have the line of the text that a page shows, so nothing is put before it.
    module = types.ModuleType("model")
    module.__file__ = "model.py"
    module.__dict__.update(NAMES)
    sys.modules["model"] = module
    torch.manual_seed(0)
    try:
        exec(compile(pathlib.Path("model.py").read_text(), "model.py", "exec"), module.__dict__)
    except Exception:
        pathlib.Path("error.txt").write_text(traceback.format_exc(limit=-3))


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    jobs, folders = int(sys.argv[1]), sys.argv[2:]
    running = 0
    for folder in folders:
        if running == jobs:
            os.wait()
            running -= 1
        if os.fork() == 0:
            make(folder)
            os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()


if __name__ == "__main__":
    main()
