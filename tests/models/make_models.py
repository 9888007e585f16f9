"""Writes the test models as .pt files: NAME.traced.pt and NAME.scripted.pt, fixed seeds.

    make_models.py --out DIR [--only NAME,...] [--form traced|scripted]
"""
import argparse
import contextlib
import pathlib
import sys
import warnings

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import catalogue  # noqa: E402


def settle(module: nn.Module) -> nn.Module:
    """Statistics other than mean 0 and variance 1, so that a mistake in a norm shows."""
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.running_mean, -0.1, 0.1)
            nn.init.uniform_(m.running_var, 0.8, 1.2)
    return module.eval()


def make(model: catalogue.Model, form: str, path: pathlib.Path) -> bool:
    """False when the model has no such form."""
    factory = getattr(model, form)
    if factory is None:
        return False
    torch.manual_seed(0)
    module = settle(factory())
    grad = torch.no_grad() if model.inference else contextlib.nullcontext()
    with grad, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form == "traced":
            arguments = model.arguments(model.tensors(model.sizes))
            file = torch.jit.trace(module, arguments, check_trace=False)
        else:
            file = torch.jit.script(module)
    part = path.with_suffix(".part")
    torch.jit.save(file, part)
    part.rename(path)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--form", choices=["traced", "scripted"])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    known = catalogue.by_name()
    for name in options.only.split(",") if options.only else known:
        if name not in known:
            sys.exit(f"error: no model is called '{name}'; there are {', '.join(known)}")
        for form in [options.form] if options.form else ["traced", "scripted"]:
            make(known[name], form, options.out / f"{name}.{form}.pt")


if __name__ == "__main__":
    main()
