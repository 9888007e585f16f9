# https://github.com/rusty1s/pytorch_sparse, version 0.6, on the CPU. Indices ascend, and pointers
# ascend from 0 to the number of elements.

def ind2ptr(ind: Tensor, M: int) -> Tensor:
    counts = torch.zeros([M + 1], dtype=ind.dtype).scatter_add(0, ind + 1, torch.ones_like(ind))
    return torch.cumsum(counts, 0)

def ptr2ind(ptr: Tensor, E: int) -> Tensor:
    starts = torch.zeros([E + 1], dtype=ptr.dtype).scatter_add(0, ptr, torch.ones_like(ptr))
    return torch.cumsum(starts, 0)[:E] - 1

# The rows `col` of mat, weighted, added up between the row pointers.
def _product(rowptr: Tensor, col: Tensor, opt_value: Optional[Tensor], mat: Tensor) -> Tensor:
    parts = mat.index_select(-2, col)
    if opt_value is not None:
        parts = parts * opt_value.unsqueeze(-1)
    sizes = mat.size()
    sizes[-2] = rowptr.size(0) - 1
    return torch.zeros(sizes, dtype=mat.dtype).index_add(-2, ptr2ind(rowptr, col.size(0)), parts)

def spmm_sum(opt_row: Optional[Tensor], rowptr: Tensor, col: Tensor, opt_value: Optional[Tensor], opt_colptr: Optional[Tensor], opt_csr2csc: Optional[Tensor], mat: Tensor) -> Tensor:
    return _product(rowptr, col, opt_value, mat)

def spmm_mean(opt_row: Optional[Tensor], rowptr: Tensor, col: Tensor, opt_value: Optional[Tensor], opt_rowcount: Optional[Tensor], opt_colptr: Optional[Tensor], opt_csr2csc: Optional[Tensor], mat: Tensor) -> Tensor:
    total = _product(rowptr, col, opt_value, mat)
    count = torch.clamp(rowptr[1:] - rowptr[:-1], min=1).unsqueeze(-1)
    if total.is_floating_point():
        return total / count.to(total.dtype)
    return torch.div(total, count, rounding_mode="trunc").to(total.dtype)

def cuda_version() -> int:
    return -1
