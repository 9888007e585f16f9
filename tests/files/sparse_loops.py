"""torch_sparse's operators that the tool knows, as plain loops, registered with PyTorch."""
import torch


def ind2ptr(index: torch.Tensor, size: int) -> torch.Tensor:
    return torch.tensor([sum(i < j for i in index.tolist()) for j in range(size + 1)], dtype=torch.int64)


def ptr2ind(pointers: torch.Tensor, size: int) -> torch.Tensor:
    ends = pointers.tolist()
    rows = [row for row in range(len(ends) - 1) for _ in range(ends[row], ends[row + 1])]
    return torch.tensor(rows[:size], dtype=torch.int64)


def product(rowptr: torch.Tensor, col: torch.Tensor, value: torch.Tensor | None, mat: torch.Tensor,
            mean: bool) -> torch.Tensor:
    ends = rowptr.tolist()
    rows = []
    for first, last in zip(ends, ends[1:], strict=False):
        row = torch.zeros_like(mat[..., 0, :])
        for e in range(first, last):
            row = row + mat[..., int(col[e]), :] * (1 if value is None else value[e])
        if mean:
            row = torch.div(row, max(last - first, 1), rounding_mode=None if row.is_floating_point() else "trunc")
        rows.append(row.to(mat.dtype))
    return torch.stack(rows, -2)


def register() -> torch.library.Library:
    """The operators stay as long as what it returns."""
    library = torch.library.Library("torch_sparse", "DEF")
    library.define("ind2ptr(Tensor ind, int M) -> Tensor")
    library.define("ptr2ind(Tensor ptr, int E) -> Tensor")
    library.define("spmm_sum(Tensor? row, Tensor rowptr, Tensor col, Tensor? value, Tensor? colptr, "
                   "Tensor? csr2csc, Tensor mat) -> Tensor")
    library.define("spmm_mean(Tensor? row, Tensor rowptr, Tensor col, Tensor? value, Tensor? rowcount, "
                   "Tensor? colptr, Tensor? csr2csc, Tensor mat) -> Tensor")
    library.impl("ind2ptr", ind2ptr, "CPU")
    library.impl("ptr2ind", ptr2ind, "CPU")
    library.impl("spmm_sum", lambda _, at, col, value, *rest: product(at, col, value, rest[-1], mean=False), "CPU")
    library.impl("spmm_mean", lambda _, at, col, value, *rest: product(at, col, value, rest[-1], mean=True), "CPU")
    return library
