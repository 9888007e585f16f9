# Vector-Jacobian products of reading and writing at indices.

def index__Tensor__self(grad: Tensor, self: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index_put(torch.zeros_like(self), indices, grad, True)

def index__Tensor_hacked_twin__self(grad: Tensor, self: Tensor, indices: List[Tensor]) -> Tensor:
    return torch.index_put(torch.zeros_like(self), indices, grad, True)

def _unsafe_index__Tensor__self(grad: Tensor, self: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index_put(torch.zeros_like(self), indices, grad, True)

def index_put__self(grad: Tensor, indices: List[Optional[Tensor]], values: Tensor, accumulate: bool) -> Tensor:
    return grad if accumulate else torch.index_put(grad, indices, torch.zeros_like(values), False)

def index_put__values(grad: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index(grad, indices)

def index_put__hacked_twin__self(grad: Tensor, indices: List[Tensor], values: Tensor, accumulate: bool) -> Tensor:
    return grad if accumulate else torch.index_put(grad, indices, torch.zeros_like(values), False)

def index_put__hacked_twin__values(grad: Tensor, indices: List[Tensor]) -> Tensor:
    return torch.index(grad, indices)

def index_select__self(grad: Tensor, self: Tensor, dim: int, index: Tensor) -> Tensor:
    if self.dim() == 0:
        return grad.reshape([])
    return torch.zeros_like(self).index_add(dim, index, grad)

def gather__self(grad: Tensor, self: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.zeros_like(self).scatter_add(dim, index, grad)

def take_along_dim__self(grad: Tensor, self: Tensor, indices: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        flat = torch.zeros_like(self).reshape([-1])
        return flat.scatter_add(0, indices.reshape([-1]), grad.reshape([-1])).reshape(self.size())
    return torch.zeros_like(self).scatter_add(dim, indices.expand_as(grad), grad)

def take__self(grad: Tensor, self: Tensor, index: Tensor) -> Tensor:
    flat = torch.zeros_like(self).reshape([-1])
    return flat.index_put([index], grad, True).reshape(self.size())

def embedding__weight(grad: Tensor, weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    return torch.embedding_dense_backward(grad, indices, weight.size(0), padding_idx, scale_grad_by_freq)

def scatter_add__self(grad: Tensor) -> Tensor:
    return grad

# The source may be larger than the index: what is not taken has no part in the result.
def _taken(grad: Tensor, source: Tensor, dim: int, index: Tensor) -> Tensor:
    if source.dim() == 0:
        return grad
    taken = torch.gather(grad, dim, index)
    for d in range(source.dim()):
        if source.size(d) != index.size(d):
            pad: List[int] = []
            for i in range(source.dim() - 1 - d):
                pad.append(0)
                pad.append(0)
            taken = torch.constant_pad_nd(taken, pad + [0, source.size(d) - taken.size(d)])
    return taken

def scatter_add__src(grad: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _taken(grad, src, dim, index)

def scatter__src__self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.scatter(dim, index, 0)

def scatter__src__src(grad: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _taken(grad, src, dim, index)

def scatter__value__self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.scatter(dim, index, 0)

def index_add__self(grad: Tensor) -> Tensor:
    return grad

def index_add__source(grad: Tensor, dim: int, index: Tensor, source: Tensor, alpha: number) -> Tensor:
    if source.dim() == 0 and grad.dim() > 0:
        return _scaled_by(grad.index_select(dim, index).reshape([]), alpha)
    return _scaled_by(grad.index_select(dim, index), alpha)

def index_copy__self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.index_fill(dim, index, 0)

def index_copy__source(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.index_select(dim, index)

def index_fill__int_Scalar__self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.index_fill(dim, index, 0)

def masked_select__self(grad: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    # Either may be repeated to the other's shape.
    both = torch.zeros_like(self) * torch.ones_like(mask).to(self.dtype)
    return both.masked_scatter(mask, grad)

def masked_scatter__self(grad: Tensor, mask: Tensor) -> Tensor:
    return _zero_where(mask.expand_as(grad), grad)

def masked_scatter__source(grad: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    taken = torch.masked_select(grad, mask)
    missing = source.numel() - taken.numel()
    return torch.cat([taken, torch.zeros([missing], dtype=grad.dtype)]).reshape(source.size())

# https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html
def _reduced_evenly(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
    own = (self == result).to(grad.dtype)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    count = own.scatter_add(dim, index, theirs)
    share = grad / count
    mine = own * share
    # LibTorch counts what it leaves out, too.
    return mine if include_self else mine.scatter(dim, index, 0), theirs * share.gather(dim, index)

def scatter_reduce__two__self(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    assert reduce != "prod", "scatter_reduce with 'prod'"
    if reduce == "amax" or reduce == "amin":
        return _reduced_evenly(grad, self, dim, index, src, include_self, result)[0]
    if include_self:
        count = torch.ones_like(grad).scatter_add(dim, index, torch.ones_like(src))
        return grad / count if reduce == "mean" else grad
    return grad.scatter(dim, index, 0)

def scatter_reduce__two__src(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tensor:
    assert reduce != "prod", "scatter_reduce with 'prod'"
    if reduce == "amax" or reduce == "amin":
        return _reduced_evenly(grad, self, dim, index, src, include_self, result)[1]
    if reduce == "mean":
        first = torch.ones_like(grad) if include_self else torch.zeros_like(grad)
        count = first.scatter_add(dim, index, torch.ones_like(src))
        return grad.gather(dim, index) / count.gather(dim, index)
    return grad.gather(dim, index)
