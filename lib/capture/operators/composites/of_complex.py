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
    wide = input.dtype == 7 or input.dtype == 10
    small = (2.220446049250313e-16 if wide else 1.1920928955078125e-07) if eps is None else eps
    y = input * torch.rsqrt(torch.mean(input * input, dims, True) + small)
    if weight is None:
        return y
    return y * weight if input.is_complex() else torch.real(y * weight)

def logspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.pow(base, torch.linspace(start, end, steps, dtype=dtype))

# Of variance 1, which the parts share.
def randn(size: List[int], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    part = 7 if dtype is not None and dtype == 10 else 6
    re, im = torch.randn(size, dtype=part, device=device), torch.randn(size, dtype=part, device=device)
    return torch.complex(re, im) * 0.70710678118654752

def rand(size: List[int], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    part = 7 if dtype is not None and dtype == 10 else 6
    return torch.complex(torch.rand(size, dtype=part, device=device), torch.rand(size, dtype=part, device=device))

def randn_like(self: Tensor, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.randn(self.size(), dtype=self.dtype if dtype is None else dtype, device=self.device)

def rand_like(self: Tensor, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.rand(self.size(), dtype=self.dtype if dtype is None else dtype, device=self.device)

# LibTorch draws nothing of complex numbers here: it refuses where it would have to.
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return input * 0 if train and p == 1 else input

def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return dropout(input, p, train)
alpha_dropout = feature_dropout
feature_alpha_dropout = feature_dropout

# One entry of `index` along `dim` after the other: within one no place comes twice. Of `src` the first elements
# on every axis count.
def _multiplied_into(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    x, at, factors = torch.atleast_1d(self), torch.atleast_1d(index), torch.atleast_1d(src)
    for i in range(at.dim()):
        factors = factors.narrow(i, 0, at.size(i))
    for k in range(at.size(dim)):
        place = at.select(dim, k).unsqueeze(dim)
        x = torch.scatter(x, dim, place, x.gather(dim, place) * factors.select(dim, k).unsqueeze(dim))
    return x.reshape(self.size())

def scatter__reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    if reduce == "add":
        return torch.scatter_add(self, dim, index, src)
    return _multiplied_into(self, dim, index, src)

def scatter__value_reduce(self: Tensor, dim: int, index: Tensor, value: number, reduce: str) -> Tensor:
    return scatter__reduce(self, dim, index, torch.full(index.size(), value, dtype=self.dtype, device=self.device), reduce)

# Pairs of parts of all operands at once would be twice as many for each.
def linalg_multi_dot(tensors: List[Tensor]) -> Tensor:
    product = tensors[0]
    for i in range(1, len(tensors)):
        product = torch.matmul(product, tensors[i])
    return product

def chain_matmul(matrices: List[Tensor]) -> Tensor:
    return linalg_multi_dot(matrices)
