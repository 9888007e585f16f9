# https://github.com/rusty1s/pytorch_scatter, version 2.1, on the CPU. There an output that is given
# and contiguous is written in place, and so it is here. Index pointers ascend from 0 to the size.
# What the library leaves to chance: arg of a segment in which nothing counted (it keeps that of the
# segment before), gathered elements outside of all segments, and a given output of segment_*_coo
# whose first index is not 0 (its first segment starts from the output's first element).

# index, as large as like: numbers along dim, or the leading axes up to dim.
def _broadcast(index: Tensor, like: Tensor, dim: int) -> Tensor:
    if index.dim() == 1:
        for i in range(dim):
            index = index.unsqueeze(0)
    for i in range(index.dim(), like.dim()):
        index = index.unsqueeze(-1)
    return index.expand(like.size())

def _sizes(like: Tensor, dim: int, size: int) -> List[int]:
    sizes = like.size()
    sizes[dim] = size
    return sizes

# 1 + the largest index; 0 where there is none.
def _groups(index: Tensor, dim_size: Optional[int]) -> int:
    if dim_size is not None:
        return dim_size
    none = torch.full([1], -1, dtype=index.dtype)
    return int(torch.max(torch.cat([index.reshape(-1), none]))) + 1

# index has the sizes of src.
def _sum(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], size: int) -> Tensor:
    if optional_out is not None:
        return optional_out.contiguous().scatter_add_(dim, index, src)
    return torch.zeros(_sizes(src, dim, size), dtype=src.dtype).scatter_add(dim, index, src)

# What no element is worse than: the identity of max and min. It does not count as an element, nor
# do NaN and what lies beyond it.
def _worst(src: Tensor, largest: bool) -> Tensor:
    if src.is_floating_point():
        top = 3.4028234663852886e38
        if src.dtype == 5:  # float16
            top = 65504.0
        elif src.dtype == 15:  # bfloat16
            top = 3.3895313892515355e38
        elif src.dtype == 7:  # float64
            top = 1.7976931348623157e308
        return torch.full([], -top if largest else top, dtype=src.dtype)
    if src.dtype == 0:  # uint8
        return torch.full([], 0 if largest else 255, dtype=src.dtype)
    half = 1 << (8 * src.element_size() - 2)
    high = half - 1 + half
    return torch.full([], -high - 1 if largest else high, dtype=src.dtype)

# The largest or smallest elements and where along dim they are first; src.size(dim) where none is
# better than what was there.
def _extreme(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], size: int, largest: bool) -> Tuple[Tensor, Tensor]:
    if optional_out is not None:
        out = optional_out.contiguous()
        before = out.gather(dim, index)
    else:
        before = _worst(src, largest)
        out = before.expand(_sizes(src, dim, size))
    better = src > before if largest else src < before
    result = out.scatter_reduce(dim, index, torch.where(better, src, before), "amax" if largest else "amin")
    end = src.size(dim)
    position = _broadcast(torch.arange(end), src, dim)
    first = torch.where(better & (src == result.gather(dim, index)), position, end)
    arg = torch.full(result.size(), end, dtype=4).scatter_reduce(dim, index, first, "amin")
    if optional_out is not None:
        return out.copy_(result), arg
    return result, arg

def _without_empty(result: Tuple[Tensor, Tensor], optional_out: Optional[Tensor], largest: bool) -> Tuple[Tensor, Tensor]:
    if optional_out is not None:
        return result
    out = result[0]
    return torch.where(out == _worst(out, largest), 0, out), result[1]

def _scatter_extreme(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int], largest: bool) -> Tuple[Tensor, Tensor]:
    dim = dim + src.dim() if dim < 0 else dim
    at = _broadcast(index, src, dim)
    return _without_empty(_extreme(src, at, dim, optional_out, _groups(at, dim_size), largest), optional_out, largest)

def scatter_sum(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tensor:
    dim = dim + src.dim() if dim < 0 else dim
    at = _broadcast(index, src, dim)
    return _sum(src, at, dim, optional_out, _groups(at, dim_size))

def scatter_mul(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tensor:
    dim = dim + src.dim() if dim < 0 else dim
    at = _broadcast(index, src, dim)
    if optional_out is not None:
        return optional_out.contiguous().scatter_reduce_(dim, at, src, "prod")
    # Without any element it is 0, not 1.
    start = torch.full(_sizes(src, dim, _groups(at, dim_size)), min(src.size(dim), 1), dtype=src.dtype)
    return start.scatter_reduce(dim, at, src, "prod")

def scatter_mean(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tensor:
    dim = dim + src.dim() if dim < 0 else dim
    out = scatter_sum(src, index, dim, optional_out, dim_size)
    axis = index.dim() - 1 if index.dim() <= dim else dim
    count = _sum(torch.ones_like(index, dtype=src.dtype), index, axis, None, out.size(dim))
    count = _broadcast(torch.clamp(count, min=1), out, dim)
    if out.is_floating_point():
        return out.div_(count)
    return out.div_(count, rounding_mode="floor")

def scatter_min(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tuple[Tensor, Tensor]:
    return _scatter_extreme(src, index, dim, optional_out, dim_size, False)

def scatter_max(src: Tensor, index: Tensor, dim: int, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tuple[Tensor, Tensor]:
    return _scatter_extreme(src, index, dim, optional_out, dim_size, True)

# Integers are divided towards zero here.
def _share(total: Tensor, count: Tensor, dim: int) -> Tensor:
    count = _broadcast(torch.clamp(count, min=1), total, dim)
    if total.is_floating_point():
        return total / count.to(total.dtype)
    return torch.div(total, count, rounding_mode="trunc").to(total.dtype)

# --- sorted indices

# index with the leading sizes of src.
def _leading(index: Tensor, src: Tensor) -> Tensor:
    return index.expand(src.size()[:index.dim()])

def segment_sum_coo(src: Tensor, index: Tensor, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tensor:
    return scatter_sum(src, _leading(index, src), index.dim() - 1, optional_out, dim_size)

def segment_mean_coo(src: Tensor, index: Tensor, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tensor:
    dim = index.dim() - 1
    at = _leading(index, src)
    out = scatter_sum(src, at, dim, optional_out, dim_size)
    mean = _share(out, _sum(torch.ones_like(at), at, dim, None, out.size(dim)), dim)
    return mean if optional_out is None else out.copy_(mean)

def segment_min_coo(src: Tensor, index: Tensor, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tuple[Tensor, Tensor]:
    return _scatter_extreme(src, _leading(index, src), index.dim() - 1, optional_out, dim_size, False)

def segment_max_coo(src: Tensor, index: Tensor, optional_out: Optional[Tensor], dim_size: Optional[int]) -> Tuple[Tensor, Tensor]:
    return _scatter_extreme(src, _leading(index, src), index.dim() - 1, optional_out, dim_size, True)

def gather_coo(src: Tensor, index: Tensor, optional_out: Optional[Tensor]) -> Tensor:
    dim = index.dim() - 1
    if dim == 0:
        result = src.index_select(0, index)
    else:
        for i in range(index.dim(), src.dim()):
            index = index.unsqueeze(-1)
        result = src.gather(dim, index.expand(_sizes(src, dim, index.size(dim))))
    return result if optional_out is None else optional_out.contiguous().copy_(result)

# --- index pointers

# indptr with the leading sizes of src.
def _pointers(indptr: Tensor, src: Tensor) -> Tensor:
    return indptr.expand(_sizes(src, indptr.dim() - 1, indptr.size(-1))[:indptr.dim()])

# The segment of each of `size` elements: -1 before the first; the last one's again behind it, and
# one more than that where behind is true.
def _segments(indptr: Tensor, size: int) -> Tensor:
    starts = torch.zeros(_sizes(indptr, -1, size + 1), dtype=4).scatter_add(-1, indptr, torch.ones_like(indptr))
    return torch.cumsum(starts, -1)[..., :size] - 1

# The segments' sums or such stand before one more, of the elements that are in none.
def _inside(result: Tensor, dim: int) -> Tensor:
    return result.narrow(dim, 0, result.size(dim) - 1)

def _elements(indptr: Tensor, src: Tensor) -> Tensor:
    count = indptr.size(-1) - 1
    dim = indptr.dim() - 1
    at = _segments(indptr, src.size(dim))
    return _broadcast(torch.where(at < 0, count, at), src, dim)

# What float16 and bfloat16 are added up and compared in.
def _wide(src: Tensor) -> Tensor:
    return src.to(6) if src.dtype == 5 or src.dtype == 15 else src

def _written(result: Tensor, optional_out: Optional[Tensor], src: Tensor) -> Tensor:
    if optional_out is None:
        return result
    out = optional_out.contiguous()
    if src.numel() > 0:
        out.copy_(result)
    return out

def _csr_sum(src: Tensor, indptr: Tensor) -> Tensor:
    dim = indptr.dim() - 1
    out = _sum(_wide(src), _elements(indptr, src), dim, None, indptr.size(-1))
    return _inside(out, dim).to(src.dtype)

def _csr_extreme(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor], largest: bool) -> Tuple[Tensor, Tensor]:
    dim = indptr.dim() - 1
    pointers = _pointers(indptr, src)
    result, arg = _extreme(_wide(src), _elements(pointers, src), dim, None, indptr.size(-1), largest)
    out = _inside(result, dim).to(src.dtype)
    empty = pointers.diff() == 0
    for i in range(indptr.dim(), src.dim()):
        empty = empty.unsqueeze(-1)
    return _written(torch.where(empty, 0, out), optional_out, src), _inside(arg, dim)

def segment_sum_csr(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor]) -> Tensor:
    return _written(_csr_sum(src, _pointers(indptr, src)), optional_out, src)

def segment_mean_csr(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor]) -> Tensor:
    pointers = _pointers(indptr, src)
    mean = _share(_csr_sum(src, pointers), pointers.diff(), indptr.dim() - 1)
    return _written(mean, optional_out, src)

def segment_min_csr(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    return _csr_extreme(src, indptr, optional_out, False)

def segment_max_csr(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    return _csr_extreme(src, indptr, optional_out, True)

def gather_csr(src: Tensor, indptr: Tensor, optional_out: Optional[Tensor]) -> Tensor:
    dim = indptr.dim() - 1
    pointers = _pointers(indptr, src)
    if optional_out is None:
        # All but the last axis's size may be 0 too, and then there is nothing to gather.
        size = int(indptr.reshape(-1)[-1]) * min(src.numel(), 1)
    else:
        size = optional_out.size(dim)
    at = _segments(pointers, size)
    inside = (at >= 0) & (at < indptr.size(-1) - 1)
    at = torch.where(inside, at, 0)
    for i in range(indptr.dim(), src.dim()):
        at = at.unsqueeze(-1)
        inside = inside.unsqueeze(-1)
    result = src.gather(dim, at.expand(_sizes(src, dim, size)))
    if optional_out is None:
        return torch.where(inside, result, 0)
    out = optional_out.contiguous()
    if src.numel() > 0:
        out.copy_(torch.where(inside, result, out))
    return out

def cuda_version() -> int:
    return -1
