"""A TorchScript file run in its own element types and, beside them, in float64: for models that ask for their types."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.weak import WeakTensorKeyDictionary


class InFloat64(TorchDispatchMode):
    """Runs every operator twice: as it is, which decides what the model does, and on the operands' float64 twins."""

    def __init__(self):
        super().__init__()
        self.twins = WeakTensorKeyDictionary()

    def wide(self, value):
        if isinstance(value, torch.dtype) and value.is_floating_point:
            return torch.float64
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        if value not in self.twins:
            self.twins[value] = value.double() if value.dtype != torch.float64 else value.clone()
        return self.twins[value]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        precise = func(*tree_map(self.wide, args), **tree_map(self.wide, kwargs))  # before args are written
        own = func(*args, **kwargs)
        for o, p in zip(tree_flatten(own)[0], tree_flatten(precise)[0]):
            if isinstance(o, torch.Tensor) and o.is_floating_point():
                self.twins[o] = p
        return own


def run(module, arguments):
    """What `module(*arguments)` returns, its floating-point tensors in float64."""
    mode = InFloat64()
    with torch.no_grad(), mode:  # autograd would give the mode other tensors than those it has seen
        result = module(*arguments)
    return tree_map(mode.wide, result)
