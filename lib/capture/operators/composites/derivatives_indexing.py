# Vector-Jacobian products of reading and writing at indices.

def index__Tensor__self(grad: Tensor, self: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index_put(torch.zeros_like(self), indices, grad, True)
_unsafe_index__Tensor__self = index__Tensor__self

def index__Tensor_hacked_twin__self(grad: Tensor, self: Tensor, indices: List[Tensor]) -> Tensor:
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
    if self.dim() != index.dim() and (self.dim() > 1 or index.dim() > 1):
        return torch.zeros_like(self)  # only an empty index may have another rank
    return torch.zeros_like(self).scatter_add(dim, index, grad)

def take_along_dim__self(grad: Tensor, self: Tensor, indices: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        flat = torch.zeros_like(self).reshape([-1])
        at = torch.where(indices < 0, indices + self.numel(), indices)
        return flat.scatter_add(0, at.reshape([-1]), grad.reshape([-1])).reshape(self.size())
    sizes: List[int] = []
    for i in range(self.dim()):
        sizes.append(self.size(i) if i == dim or i - self.dim() == dim else grad.size(i))
    at = torch.where(indices < 0, indices + self.size(dim), indices)
    return torch.zeros(sizes, dtype=grad.dtype).scatter_add(dim, at.expand_as(grad), grad)

def take__self(grad: Tensor, self: Tensor, index: Tensor) -> Tensor:
    flat = torch.zeros_like(self).reshape([-1])
    return flat.index_put([index], grad, True).reshape(self.size())

def embedding__weight(grad: Tensor, weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    return torch.embedding_dense_backward(grad, indices, weight.size(0), padding_idx, scale_grad_by_freq)

def scatter_add__self(grad: Tensor) -> Tensor:
    return grad
index_add__self = scatter_add__self

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
scatter__src__src = scatter_add__src
scatter__value__self = scatter__src__self

def index_add__source(grad: Tensor, dim: int, index: Tensor, source: Tensor, alpha: number) -> Tensor:
    if source.dim() == 0 and grad.dim() > 0:
        return _scaled_by(grad.index_select(dim, index).reshape([]), alpha)
    return _scaled_by(grad.index_select(dim, index), alpha)

def index_copy__self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.index_fill(dim, index, 0)
index_fill__int_Scalar__self = index_copy__self
index_fill__int_Tensor__self = index_copy__self

def index_copy__source(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.index_select(dim, index)

def index_fill__int_Tensor__value(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    kept = torch.ones_like(grad).index_fill(dim, index, 0)
    return _zero_where(kept != 0, grad).sum()

def put__self(grad: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    return grad if accumulate else grad.put(index, torch.zeros_like(source), False)

def put__source(grad: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return grad.take(index).reshape(source.size())

def combinations__self(grad: Tensor, self: Tensor, r: int, with_replacement: bool) -> Tensor:
    at = torch.combinations(torch.arange(self.size(0)), r, with_replacement)
    return torch.index_put(torch.zeros_like(self), [at], grad, True)

# A strided view takes elements of the memory, which is the tensor itself: its places are those of counted elements.
def as_strided__self(grad: Tensor, self: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    places = torch.as_strided(torch.arange(self.numel()), size, stride, storage_offset)
    flat = torch.zeros_like(self).reshape([-1])
    return torch.index_put(flat, [places], grad, True).reshape(self.size())

# Rows from `start`, which a tensor holds.
def _rows_back(grad: Tensor, self: Tensor, dim: int, start: Tensor) -> Tensor:
    first = torch.where(start < 0, start + self.size(dim), start)
    return torch.zeros_like(self).index_add(dim, torch.arange(grad.size(dim)) + first, grad)

def narrow__Tensor__self(grad: Tensor, self: Tensor, dim: int, start: Tensor) -> Tensor:
    return _rows_back(grad, self, dim, start.reshape([]).to(4))

def tensor_split__indices__self(grads: List[Tensor], self: Tensor, indices: List[int], dim: int) -> Tensor:
    last, rising = 0, True
    for i in indices:
        rising = rising and i >= last
        last = i
    if rising:
        return torch.cat(grads, dim)
    total = _rows_back(grads[0], self, dim, torch.full([], 0, dtype=4))
    for k in range(len(indices)):
        total = total + _rows_back(grads[k + 1], self, dim, torch.full([], indices[k], dtype=4))
    return total

def hsplit__array__self(grads: List[Tensor], self: Tensor, indices: List[int]) -> Tensor:
    return tensor_split__indices__self(grads, self, indices, 0 if self.dim() == 1 else 1)

def vsplit__array__self(grads: List[Tensor], self: Tensor, indices: List[int]) -> Tensor:
    return tensor_split__indices__self(grads, self, indices, 0)

def dsplit__array__self(grads: List[Tensor], self: Tensor, indices: List[int]) -> Tensor:
    return tensor_split__indices__self(grads, self, indices, 2)

def tensor_split__tensor_indices_or_sections__self(grads: List[Tensor], self: Tensor, tensor_indices_or_sections: Tensor, dim: int) -> Tensor:
    if tensor_indices_or_sections.dim() == 0:
        return torch.cat(grads, dim)
    total = _rows_back(grads[0], self, dim, torch.full([], 0, dtype=4))
    for k in range(len(grads) - 1):
        total = total + _rows_back(grads[k + 1], self, dim, tensor_indices_or_sections.select(0, k))
    return total

# LibTorch's own: it keeps what the source covers, and is zero elsewhere.
def as_strided_scatter__self(grad: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    kept = torch.as_strided(grad.contiguous(), size, stride, storage_offset)
    return torch.as_strided_scatter(torch.zeros_like(grad), kept, size, stride, storage_offset)

def as_strided_scatter__src(grad: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    return torch.as_strided(grad.contiguous(), size, stride, storage_offset)

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
