"""Makes the `-- python` cases of golden files: DIR/<index>.pt, or DIR/<index>.error.

    script_cases.py FILE.test DIR [FILE.test DIR ...]

One process makes those of all files, because importing torch takes longer than making a case. The file
format is documented in tests/ops/README.md.
"""
import importlib.util
import pathlib
import re
import sys
import traceback
import warnings

import torch

PRELUDE = ("import torch, math, enum\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
           "from torch import Tensor\nfrom typing import *\n")


def cases(text: str):
    """Yields (index, source) of the cases that ask for Python."""
    parts = re.split(r"^## .*\n", text, flags=re.M)[1:]
    for index, part in enumerate(parts):
        if re.search(r"^-- python\b", part, flags=re.M):
            yield index, re.split(r"^-- ", part, maxsplit=1, flags=re.M)[0]


def make(source: str, file: pathlib.Path) -> torch.jit.ScriptModule:
    # TorchScript reads sources back through the file they came from, so it has to exist.
    file.write_text(PRELUDE + source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    model = module.model
    if not isinstance(model, torch.jit.ScriptModule):
        model = torch.jit.script(model.eval())
    return model


def main() -> None:
    warnings.simplefilter("ignore")
    words = [pathlib.Path(w) for w in sys.argv[1:]]
    for path, directory in zip(words[::2], words[1::2]):
        for index, source in cases(path.read_text()):
            target, error = directory / f"{index}.pt", directory / f"{index}.error"
            target.unlink(missing_ok=True)
            # The module's name is that of the file: one for each case.
            name = f"{directory.parent.name}_{directory.name}_{index}.py"
            try:
                torch.jit.save(make(source, directory / name), target)
            except Exception:
                error.write_text(traceback.format_exc(limit=3))


if __name__ == "__main__":
    main()
