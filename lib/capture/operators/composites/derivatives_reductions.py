# Vector-Jacobian products of reductions, norms and scans.

# A reduced tensor with the axes that it has lost, each of one element.
def _with_axes_back(x: Tensor, rank: int, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    if keepdim or rank == 0 or dim is None or len(dim) == 0:
        return x
    for i in range(rank):
        if i in dim or i - rank in dim:
            x = x.unsqueeze(i)
    return x

def _with_axis_back(x: Tensor, rank: int, dim: int, keepdim: bool) -> Tensor:
    return x if keepdim or rank == 0 else x.unsqueeze(dim)

# How many elements each one of the result stands for.
def _reduced_count(self: Tensor, dim: Optional[List[int]]) -> int:
    if dim is None or len(dim) == 0 or self.dim() == 0:
        return self.numel()
    n = 1
    for d in dim:
        n = n * self.size(d)
    return n

def _all_axes(self: Tensor, dim: Optional[List[int]]) -> List[int]:
    axes: List[int] = []
    for i in range(self.dim()):
        if dim is None or len(dim) == 0 or i in dim or i - self.dim() in dim:
            axes.append(i)
    return axes

# The gradient shared evenly by the elements that are equal to the result.
def _shared_by_equals(grad: Tensor, self: Tensor, result: Tensor, axes: List[int]) -> Tensor:
    chosen = (self == result).to(grad.dtype)
    return chosen * grad / (chosen.sum(axes, keepdim=True) if len(axes) > 0 else chosen)

# Of all elements; those that are NaN share it where the result is NaN.
def _shared_by_equals_or_nan(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    chosen = torch.where(torch.isnan(result), torch.isnan(self), self == result).to(grad.dtype)
    return chosen * (grad / chosen.sum())

def _to_chosen(grad: Tensor, self: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    if self.dim() == 0:
        return grad
    g, at = _with_axis_back(grad, self.dim(), dim, keepdim), _with_axis_back(indices, self.dim(), dim, keepdim)
    return torch.zeros_like(self).scatter(dim, at, g)

def sum__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad.expand_as(self)

def sum__dim_IntList__self(grad: Tensor, self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    return _with_axes_back(grad, self.dim(), dim, keepdim).expand_as(self)

def nansum__self(grad: Tensor, self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    g = _with_axes_back(grad, self.dim(), dim, keepdim).expand_as(self)
    return _zero_where(torch.isnan(self), g)

def mean__self(grad: Tensor, self: Tensor) -> Tensor:
    return (grad / self.numel()).expand_as(self)

def mean__dim__self(grad: Tensor, self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    g = _with_axes_back(grad, self.dim(), dim, keepdim)
    return (g / _reduced_count(self, dim)).expand_as(self)

def max__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return _shared_by_equals_or_nan(grad, self, result)
min__self = max__self
median__self = max__self

def amax__self(grad: Tensor, self: Tensor, dim: List[int], keepdim: bool, result: Tensor) -> Tensor:
    g, r = _with_axes_back(grad, self.dim(), dim, keepdim), _with_axes_back(result, self.dim(), dim, keepdim)
    return _shared_by_equals(g, self, r, _all_axes(self, dim))
amin__self = amax__self

def max__dim__self(grad: Tensor, self: Tensor, dim: int, keepdim: bool, results: List[Tensor]) -> Tensor:
    return _to_chosen(grad, self, dim, results[1], keepdim)
min__dim__self = max__dim__self
median__dim__self = max__dim__self
nanmedian__dim__self = max__dim__self
kthvalue__self = max__dim__self
mode__self = max__dim__self

def topk__self(grad: Tensor, self: Tensor, dim: int, results: List[Tensor]) -> Tensor:
    return _to_chosen(grad, self, dim, results[1], True)
sort__self = topk__self
sort__stable__self = topk__self

def cummax__self(grad: Tensor, self: Tensor, dim: int, results: List[Tensor]) -> Tensor:
    return grad if self.dim() == 0 else torch.zeros_like(self).scatter_add(dim, results[1], grad)
cummin__self = cummax__self

def cumsum__self(grad: Tensor, dim: int) -> Tensor:
    return grad if grad.dim() == 0 else torch.flip(torch.cumsum(torch.flip(grad, [dim]), dim), [dim])

# The product of all others, without a division by what may be zero.
def _product_of_others(self: Tensor, dim: int) -> Tensor:
    one = torch.ones_like(torch.slice(self, dim, 0, 1, 1))
    before = torch.cumprod(torch.cat([one, torch.slice(self, dim, 0, -1, 1)], dim), dim)
    back = torch.flip(self, [dim])
    after = torch.cumprod(torch.cat([one, torch.slice(back, dim, 0, -1, 1)], dim), dim)
    return before * torch.flip(after, [dim])

# As LibTorch does it, a division where no element at all is zero: it gives NaN for an infinite one.
def _product_without(result: Tensor, self: Tensor, dim: int) -> Tensor:
    zero = self == 0
    safe = torch.where(zero, torch.ones_like(self), self)
    return torch.where(torch.any(zero), _product_of_others(self, dim), result / safe)

def prod__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    x = self.to(grad.dtype)
    return grad * _product_without(result, x.reshape([-1]), 0).reshape(self.size())

def prod__dim_int__self(grad: Tensor, self: Tensor, dim: int, keepdim: bool, result: Tensor) -> Tensor:
    if self.dim() == 0:
        return grad
    r = _with_axis_back(result, self.dim(), dim, keepdim)
    return _with_axis_back(grad, self.dim(), dim, keepdim) * _product_without(r, self.to(grad.dtype), dim)

def _deviation(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: number, keepdim: bool) -> Tensor:
    axes = _all_axes(self, dim)
    middle = self.mean(axes, keepdim=True) if len(axes) > 0 else self
    g = _with_axes_back(grad, self.dim(), dim, keepdim)
    return g * (self - middle) * 2 / (_reduced_count(self, dim) - correction)

def var__correction__self(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    return _deviation(grad, self, dim, 1 if correction is None else correction, keepdim)

def std__correction__self(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool, result: Tensor) -> Tensor:
    g = _zero_where(result == 0, grad / (result * 2))
    return _deviation(g, self, dim, 1 if correction is None else correction, keepdim)

def var__self(grad: Tensor, self: Tensor, unbiased: bool) -> Tensor:
    return _deviation(grad, self, None, 1 if unbiased else 0, False)

def std__self(grad: Tensor, self: Tensor, unbiased: bool, result: Tensor) -> Tensor:
    g = _zero_where(result == 0, grad / (result * 2))
    return _deviation(g, self, None, 1 if unbiased else 0, False)

def logsumexp__self(grad: Tensor, self: Tensor, dim: List[int], keepdim: bool, result: Tensor) -> Tensor:
    g, r = _with_axes_back(grad, self.dim(), dim, keepdim), _with_axes_back(result, self.dim(), dim, keepdim)
    return g * torch.exp(self - r)

# The lowest finite number, for the logarithm of what is not there: -inf would give NaN once more.
def _lowest(like: Tensor) -> Tensor:
    low = -1.7976931348623157e308
    if like.dtype != 7:
        low = -65504.0 if like.dtype == 5 else -3.3895313892515355e38
    return torch.full_like(like, low)

# Positive and negative gradients apart, as sums of exponentials.
def logcumsumexp__self(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    if grad.dim() == 0:
        return grad
    size, low = torch.log(torch.abs(grad)), _lowest(grad)
    positive = torch.where(grad > 0, size, low) - result
    negative = torch.where(grad < 0, size, low) - result
    rising = torch.exp(torch.flip(torch.logcumsumexp(torch.flip(positive, [dim]), dim), [dim]) + self)
    falling = torch.exp(torch.flip(torch.logcumsumexp(torch.flip(negative, [dim]), dim), [dim]) + self)
    return rising - falling

def linalg_vector_norm__self(grad: Tensor, self: Tensor, ord: number, dim: Optional[List[int]], keepdim: bool, result: Tensor) -> Tensor:
    x = self.to(grad.dtype)
    axes = _all_axes(self, dim)
    g, r = _with_axes_back(grad, self.dim(), dim, keepdim), _with_axes_back(result, self.dim(), dim, keepdim)
    if ord == 0:
        return torch.zeros_like(x)
    if ord == 1:
        return torch.sign(x) * g
    if ord == 2:
        return x * _zero_where(r == 0, g / r)
    size = torch.abs(x)
    if ord == float("inf") or ord == float("-inf"):
        chosen = torch.logical_or(size == r, torch.isnan(x)).to(g.dtype)
        count = chosen.sum(axes, keepdim=True) if len(axes) > 0 else chosen
        return _zero_where(torch.isnan(x), torch.sign(x) * (g / count * chosen))
    if ord < 1:
        slope = torch.sign(x) * _zero_where(x == 0, torch.pow(size, ord - 1))
        return slope * (g * torch.pow(r, 1 - ord))
    scale = _zero_where(r == 0, g / torch.pow(r, ord - 1))
    if ord < 2:
        return torch.sign(x) * torch.pow(size, ord - 1) * scale
    return x * torch.pow(size, ord - 2) * scale

# The product up to j without the factor k, for every k and j.
def cumprod__self(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    if self.dim() == 0:
        return grad
    x, g = self.movedim(dim, -1).to(grad.dtype), grad.movedim(dim, -1)
    n = x.size(-1)
    square = torch.ones([n, n], dtype=11)  # bool
    own = torch.logical_and(square.tril(), square.triu())
    factors = torch.where(own, torch.ones_like(x).unsqueeze(-2), x.unsqueeze(-2))
    products = _zero_where(torch.logical_not(square.triu()), torch.cumprod(factors, -1))
    return (products * g.unsqueeze(-2)).sum(-1).movedim(-1, dim)

def aminmax__self(grads: List[Tensor], self: Tensor, dim: Optional[int], keepdim: bool, results: List[Tensor]) -> Tensor:
    axes: Optional[List[int]] = None
    if dim is not None:
        axes = [dim]
    total = torch.zeros_like(self)
    for i in range(2):
        g, r = _with_axes_back(grads[i], self.dim(), axes, keepdim), _with_axes_back(results[i], self.dim(), axes, keepdim)
        total = total + _shared_by_equals(g, self, r, _all_axes(self, axes))
    return total
