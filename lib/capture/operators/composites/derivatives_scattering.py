# Vector-Jacobian products of reductions into what indices name.

# https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html
def _reduced_evenly(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
    own = (self == result).to(grad.dtype)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    count = own.scatter_add(dim, index, theirs)
    share = grad / count
    mine = own * share
    # LibTorch counts what it leaves out, too.
    return mine if include_self else mine.scatter(dim, index, 0), theirs * share.gather(dim, index)

def _one_where(mask: Tensor, x: Tensor) -> Tensor:
    return torch.where(mask, torch.ones_like(x), x)

# A factor of zero has the product of the others, which is zero where another one is zero, too.
def _of_factors(grad: Tensor, grad_of_others: Tensor, src: Tensor, zeros: Tensor) -> Tensor:
    zero = src == 0
    return torch.where(torch.logical_and(zero, zeros == 1), grad_of_others, grad / _one_where(zero, src))

def _scattered_product(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor) -> Tensor:
    zeros = torch.zeros_like(self).scatter_add(dim, index, (src == 0).to(self.dtype)).gather(dim, index)
    single = torch.logical_and(src == 0, zeros == 1)
    others = torch.scatter_reduce(self, dim, index, _one_where(single, src), "prod", include_self=include_self)
    return _of_factors((grad * result).gather(dim, index), (grad * others).gather(dim, index), src, zeros)

def scatter_reduce__two__self(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    if reduce == "amax" or reduce == "amin":
        return _reduced_evenly(grad, self, dim, index, src, include_self, result)[0]
    if reduce == "prod" and include_self:
        own = _one_where(self == 0, self)
        return grad * torch.scatter_reduce(own, dim, index, src, "prod", include_self=True) / own
    if include_self:
        count = torch.ones_like(grad).scatter_add(dim, index, torch.ones_like(src))
        return grad / count if reduce == "mean" else grad
    return grad.scatter(dim, index, 0)

def scatter_reduce__two__src(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    if reduce == "amax" or reduce == "amin":
        return _reduced_evenly(grad, self, dim, index, src, include_self, result)[1]
    if reduce == "prod":
        return _scattered_product(grad, self, dim, index, src, include_self, result)
    if reduce == "mean":
        first = torch.ones_like(grad) if include_self else torch.zeros_like(grad)
        count = first.scatter_add(dim, index, torch.ones_like(src))
        return grad.gather(dim, index) / count.gather(dim, index)
    return grad.gather(dim, index)

# The rows that an index names, in the rank of the source.
def _rows_of(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    rows = x.index_select(dim, index)
    return rows.reshape([]) if source.dim() == 0 and rows.dim() > 0 else rows

def _evenly_by_rows(grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, result: Tensor) -> Tuple[Tensor, Tensor]:
    own = (self == result).to(grad.dtype)
    theirs = (source == _rows_of(result, dim, index, source)).to(grad.dtype)
    share = grad / own.index_add(dim, index, theirs)
    return own * share, theirs * _rows_of(share, dim, index, source)

def _rows_counted(grad: Tensor, dim: int, index: Tensor, source: Tensor, include_self: bool) -> Tensor:
    first = torch.ones_like(grad) if include_self else torch.zeros_like(grad)
    count = first.index_add(dim, index, torch.ones_like(source))
    return _one_where(count == 0, count)

def index_reduce__self(grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    y = grad
    if reduce == "mean":
        y = grad / _rows_counted(grad, dim, index, source, include_self)
    elif reduce == "prod":
        own = _one_where(self == 0, self)
        y = grad * torch.index_reduce(own, dim, index, source, "prod", include_self=include_self) / own
    else:
        y = _evenly_by_rows(grad, self, dim, index, source, result)[0]
    return y if include_self else y.index_fill(dim, index, 0)

def index_reduce__source(grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    if reduce == "mean":
        return _rows_of(grad / _rows_counted(grad, dim, index, source, include_self), dim, index, source)
    if reduce != "prod":
        return _evenly_by_rows(grad, self, dim, index, source, result)[1]
    count = torch.zeros_like(self).index_add(dim, index, (source == 0).to(self.dtype))
    zeros = _rows_of(count, dim, index, source)
    single = torch.logical_and(source == 0, zeros == 1)
    others = torch.index_reduce(self, dim, index, _one_where(single, source), "prod", include_self=include_self)
    of_others = _rows_of(grad * others, dim, index, source)
    return _of_factors(_rows_of(grad * result, dim, index, source), of_others, source, zeros)
