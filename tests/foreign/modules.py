"""PyTorch's own module database (torch.testing): every nn.Module with every sample of its authors."""
import random
import typing
import zlib

import torch
from torch import nn

from cases import Case, Made, forms, settle

SAMPLED = 2  # float32 samples of a module in a run that is not full


class Recurrent(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input):
        return self.module(input)


class RecurrentState(Recurrent):
    def forward(self, input, hx: torch.Tensor):
        return self.module(input, hx)


class RecurrentPair(Recurrent):
    def forward(self, input, hx: typing.Tuple[torch.Tensor, torch.Tensor]):
        return self.module(input, hx)


def database():
    from torch.testing._internal import common_modules

    return common_modules.module_db


def samples(info, dtype: str, training: bool) -> list:
    torch.manual_seed(zlib.crc32(info.name.encode()))
    random.seed(0)
    inputs = info.module_inputs_func(info, device="cpu", dtype=getattr(torch, dtype), requires_grad=False,
                                     training=training)
    return [i for i in inputs if i.forward_input is not None]


def cases(full: bool) -> list[Case]:
    found = []
    for index, info in enumerate(database()):
        dtypes = {str(d).removeprefix("torch.") for d in info.dtypes} | {"float16"}
        for training in [False, True] if info.train_and_eval_differ else [False]:
            count = len(samples(info, "float32", training))
            for dtype in ["float32", "float64", "float16"]:
                if dtype not in dtypes:
                    continue
                if not full and dtype == ("float64" if index % 2 else "float16"):
                    continue
                few = SAMPLED if dtype == "float32" else 1
                chosen = range(count) if full and dtype == "float32" else _spread(count, 8 if full else few, index)
                for turn, sample in enumerate(chosen):
                    found += [Case("modules", info.name, form, (dtype, sample), training)
                              for form in forms(full, turn + index)]
    return found


def _spread(count: int, few: int, start: int) -> list[int]:
    """A few of `count` samples, far from each other, other ones for each module."""
    few = min(few, count)
    return sorted({(start + k * count // few) % count for k in range(few)})


def make(case: Case) -> Made:
    dtype, sample = case.key
    info = next(i for i in database() if i.name == case.subject)
    given = samples(info, dtype, case.training)[sample]
    torch.manual_seed(0)
    module = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs)
    call = given.forward_input
    module.to(getattr(torch, dtype))
    if info.is_lazy:
        module(*call.args, **call.kwargs)
    settle(module)
    if case.form == "scripted" and isinstance(module, torch.nn.RNNBase):
        # Their forward is a set of overloads, which only a module that calls it makes TorchScript choose from.
        state = call.kwargs.get("hx", call.args[1] if len(call.args) > 1 else None)
        module = {type(None): Recurrent, tuple: RecurrentPair}.get(type(state), RecurrentState)(module)
    return Made(module.train(case.training), tuple(call.args), dict(call.kwargs))
