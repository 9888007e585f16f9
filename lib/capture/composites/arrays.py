# Products, differences and layouts of whole tensors.

def kron(self: Tensor, other: Tensor) -> Tensor:
    rank = max(self.dim(), other.dim())
    a, b = self, other
    for i in range(rank - self.dim()):
        a = a.unsqueeze(0)
    for i in range(rank - other.dim()):
        b = b.unsqueeze(0)
    sizes: List[int] = []
    for i in range(rank):
        sizes.append(a.size(i) * b.size(i))
    for i in range(rank):
        a = a.unsqueeze(2 * i + 1)
        b = b.unsqueeze(2 * i)
    return (a * b).reshape(sizes)

def vander(x: Tensor, N: Optional[int], increasing: bool) -> Tensor:
    n = x.size(0) if N is None else N
    columns = torch.arange(n, device=x.device)
    columns = columns if increasing else n - 1 - columns
    base = x if x.is_floating_point() else x.to(4)  # int64
    return torch.pow(base.unsqueeze(1), columns)

def linalg_vander(x: Tensor, N: Optional[int]) -> Tensor:
    if x.dim() == 0:
        x = x.unsqueeze(0)
    n = x.size(-1) if N is None else N
    base = x if x.is_floating_point() else x.to(4)  # int64
    return torch.pow(base.unsqueeze(-1), torch.arange(n, device=x.device))

def trapezoid__x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    if x.dim() == 1:
        shape = [1] * y.dim()
        shape[dim] = x.size(0)
        dx = torch.diff(x.reshape(shape), 1, dim)
    else:
        dx = torch.diff(x, 1, dim)
    n = y.size(dim)
    return ((y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) * dx).sum(dim) / 2.0

def trapezoid__dx(y: Tensor, dx: number, dim: int) -> Tensor:
    n = y.size(dim)
    ends = y.select(dim, 0) + y.select(dim, n - 1)
    return (y.sum(dim) - ends * 0.5) * dx

def trapz__x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    return trapezoid__x(y, x, dim)

def trapz__dx(y: Tensor, dx: float, dim: int) -> Tensor:
    return trapezoid__dx(y, dx, dim)

def cumulative_trapezoid__x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    if x.dim() == 1:
        shape = [1] * y.dim()
        shape[dim] = x.size(0)
        x = x.reshape(shape)
    n = y.size(dim)
    return torch.cumsum(torch.diff(x, 1, dim) * (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)), dim) / 2.0

def cumulative_trapezoid__dx(y: Tensor, dx: number, dim: int) -> Tensor:
    n = y.size(dim)
    return torch.cumsum((y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) * (dx * 0.5), dim)

def linalg_cross(self: Tensor, other: Tensor, dim: int) -> Tensor:
    a, b = torch.broadcast_tensors([self, other])
    x, y = torch.roll(a, -1, dim), torch.roll(b, -1, dim)
    z, w = torch.roll(a, -2, dim), torch.roll(b, -2, dim)
    return x * w - z * y

def cross(self: Tensor, other: Tensor, dim: Optional[int]) -> Tensor:
    axis = -1
    if dim is None:
        for i in range(self.dim() - 1, -1, -1):
            if self.size(i) == 3:
                axis = i
    else:
        axis = dim
    return linalg_cross(self, other, axis)

def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    assert n >= 0, "negative powers need an inverse, which ONNX graphs cannot compute"
    result = torch.eye(self.size(-1), dtype=self.dtype, device=self.device).expand_as(self)
    for i in range(n):
        result = torch.matmul(result, self)
    return result

def diag(self: Tensor, diagonal: int) -> Tensor:
    return torch.diag_embed(self, diagonal) if self.dim() == 1 else torch.diagonal_copy(self, diagonal)

def diagflat(self: Tensor, offset: int) -> Tensor:
    return torch.diag_embed(self.flatten(), offset)

def trace(self: Tensor) -> Tensor:
    return torch.diagonal(self).sum()

def hstack(tensors: List[Tensor]) -> Tensor:
    pieces = torch.atleast_1d(tensors)
    return torch.cat(pieces, 0 if pieces[0].dim() == 1 else 1)

def vstack(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_2d(tensors))

def dstack(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_3d(tensors), 2)

def column_stack(tensors: List[Tensor]) -> Tensor:
    columns: List[Tensor] = []
    for x in tensors:
        columns.append(x if x.dim() >= 2 else torch.atleast_1d(x).unsqueeze(1))
    return torch.cat(columns, 1)

# Every block padded with zeros to the whole width, one above the other.
def block_diag(tensors: List[Tensor]) -> Tensor:
    blocks = torch.atleast_2d(tensors)
    width = 0
    for block in blocks:
        width = width + block.size(1)
    left = 0
    rows: List[Tensor] = []
    for block in blocks:
        rows.append(torch.constant_pad_nd(block, [left, width - left - block.size(1)]))
        left = left + block.size(1)
    return torch.cat(rows)

# All tuples of one entry of each vector, the last one running fastest.
def cartesian_prod(tensors: List[Tensor]) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    grids = torch.meshgrid(tensors, indexing="ij")
    return torch.stack([grid.flatten() for grid in grids], 1)
