# Operators of LibTorch on complex numbers that do not act on the parts alone.

# Of complex numbers only where they are converted to real ones first.
def softmax__int(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    return torch.softmax(self if dtype is None else self.to(dtype), dim)

def log_softmax__int(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    return torch.log_softmax(self if dtype is None else self.to(dtype), dim)

# log(exp(x) + exp(y)), from the one with the larger real part; its angle is not brought back into a turn.
def _log_add_exp(x: Tensor, y: Tensor) -> Tensor:
    smaller = torch.real(x) < torch.real(y)
    low, high = torch.where(smaller, x, y), torch.where(smaller, y, x)
    infinite = torch.logical_and(torch.isinf(torch.real(low)), torch.real(low) == torch.real(high))
    sum = torch.log(1 + torch.exp(low - high)) + high
    either = torch.where(torch.real(low) < 0, low, torch.log(torch.exp(low) + torch.exp(high)))
    return torch.where(infinite, either, sum)

def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    if self.dim() == 0:
        return self.clone()
    sums = self
    steps = torch.arange(self.size(dim), device=self.device)
    at = steps.reshape([-1] + [1] * (self.dim() - 1 - dim % self.dim()))
    for k in range(self.size(dim)):
        before = sums.select(dim, max(k - 1, 0))
        here = _log_add_exp(self.select(dim, k), before) if k > 0 else self.select(dim, k)
        sums = torch.where(at == k, here.unsqueeze(dim), sums)
    return sums

def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    dims = [-1 - i for i in range(len(normalized_shape))]
    small = (1.1920928955078125e-07 if input.dtype == 9 else 2.220446049250313e-16) if eps is None else eps
    y = input * torch.rsqrt(torch.mean(input * input, dims, True) + small)
    return y if weight is None else y * weight

def logspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.pow(base, torch.linspace(start, end, steps, dtype=start.dtype if dtype is None else dtype))
