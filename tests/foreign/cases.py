"""What a case is, and how a module and its arguments become a TorchScript file, traced or scripted."""
import dataclasses
import inspect
import pathlib
import typing


@dataclasses.dataclass(frozen=True)
class Case:
    family: str            # the file that makes it: modules, vision, ...
    subject: str           # the row of the table
    form: str              # traced, scripted, or shipped (a file of a package)
    key: tuple = ()        # what the family needs to make it again
    training: bool = False
    cost: int = 1          # about seconds, to begin with the longest

    @property
    def label(self) -> str:
        key = " ".join(str(k) for k in self.key if str(k) not in self.subject)
        return " ".join(filter(None, [self.family, self.subject, key, self.form, "train" if self.training else ""]))


@dataclasses.dataclass
class Made:
    """An eager module in the mode of its case, and the call that its authors wrote."""
    module: typing.Any
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)
    plain: bool = True  # it returns what torch.jit.trace takes: tensors and tuples


class NotExportable(Exception):
    """torch.jit itself refuses the model."""


def forms(full: bool, turn: int) -> list[str]:
    """Both, or by turns one of them."""
    both = ["traced", "scripted"]
    return both if full else [both[turn % 2]]


def settle(module):
    """Evaluation mode, and statistics other than mean 0 and variance 1, so that a mistake in a norm shows."""
    import torch

    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.running_mean is not None:
            torch.nn.init.uniform_(part.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(part.running_var, 0.8, 1.2)
    return module.eval()


def leaves(value, kinds=None) -> list:
    """The numbers and tensors in a value, in order; None and strings are not among them."""
    import torch

    if isinstance(value, (torch.Tensor, bool, int, float)):
        return [value] if kinds is None or isinstance(value, kinds) else []
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [leaf for v in value for leaf in leaves(v, kinds)]


def rebuild(value, replacements):
    """`value` with its leaves taken from an iterator instead."""
    import torch

    if isinstance(value, (torch.Tensor, bool, int, float)):
        return next(replacements)
    if isinstance(value, dict):
        return type(value)((k, rebuild(v, replacements)) for k, v in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[rebuild(v, replacements) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(v, replacements) for v in value)
    return value


def write(made: Made, form: str, path: pathlib.Path) -> tuple:
    """Saves the module as a TorchScript file; returns the positional arguments of its forward."""
    import torch

    torch.manual_seed(1)
    try:
        if form == "scripted":
            script = torch.jit.script(made.module)
            arguments = _positional(made)
        else:
            module, arguments = only_tensors(made)
            script = torch.jit.trace(module, arguments, check_trace=False)
        torch.jit.save(script, path)
    except Exception as e:
        raise NotExportable(f"{type(e).__name__}: {e}") from e
    return arguments


def _positional(made: Made) -> tuple:
    bound = inspect.signature(made.module.forward).bind(*made.args, **made.kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def only_tensors(made: Made):
    """The module and its arguments, or, where torch.jit.trace would refuse those, a module that holds what is no tensor."""
    import torch

    if made.plain and not made.kwargs and all(isinstance(a, torch.Tensor) for a in made.args):
        return made.module, made.args

    class Call(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = made.module
            self.train(made.module.training)

        def forward(self, *tensors):
            given = iter(tensors)
            every = (next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(call))
            args, kwargs = rebuild(call, every)
            result = self.module(*args, **kwargs)
            return result if isinstance(result, torch.Tensor) else tuple(leaves(result, torch.Tensor))

    call = (made.args, made.kwargs)
    return Call(), tuple(leaf for leaf in leaves(call) if isinstance(leaf, torch.Tensor))
