# Functions of elements that LibTorch computes by others.

def special_entr(self: Tensor) -> Tensor:
    y = -self * torch.log(self)
    zero = torch.where(self == 0, torch.zeros_like(y), torch.full_like(y, -float("inf")))
    return torch.where(torch.isnan(self), y, torch.where(self > 0, y, zero))

def special_ndtr(self: Tensor) -> Tensor:
    x = self * 0.7071067811865476
    tail = 0.5 * torch.erfc(torch.abs(x))
    middle = 0.5 + 0.5 * torch.erf(x)
    outer = torch.where(x > 0, 1 - tail, tail)
    return torch.where(torch.abs(x) < 0.7071067811865476, middle, outer)

def special_xlog1py(self: Tensor, other: Tensor) -> Tensor:
    y = self * torch.log1p(other)
    return torch.where(torch.isnan(other), y, torch.where(self == 0, torch.zeros_like(y), y))

def ldexp__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return self * torch.pow(2.0, other)
