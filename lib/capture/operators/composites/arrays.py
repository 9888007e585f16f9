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
    base = x if x.is_floating_point() or x.is_complex() else x.to(4)  # int64
    return torch.pow(base.unsqueeze(1), columns)

def linalg_vander(x: Tensor, N: Optional[int]) -> Tensor:
    if x.dim() == 0:
        x = x.unsqueeze(0)
    n = x.size(-1) if N is None else N
    base = x if x.is_floating_point() or x.is_complex() else x.to(4)  # int64
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

# Each tensor in num_chunks pieces along dim, the last ones filled up with zeros, then piece by piece
# one tensor beside the other.
def _chunk_cat(tensors: List[Tensor], dim: int, num_chunks: int) -> Tensor:
    axis = dim % tensors[0].dim()
    rows: List[Tensor] = []
    for x in tensors:
        sizes = x.size()
        chunk = (sizes[axis] + num_chunks - 1) // num_chunks
        filled = torch.constant_pad_nd(x, [0, 0] * (x.dim() - axis - 1) + [0, chunk * num_chunks - sizes[axis]])
        each = chunk
        for size in sizes[axis + 1:]:
            each = each * size
        rows.append(filled.reshape(sizes[:axis] + [num_chunks, each]))
    return torch.cat(rows, axis + 1)

def _clamped(self: Tensor, indices: List[Optional[Tensor]]) -> List[Optional[Tensor]]:
    clamped: List[Optional[Tensor]] = []
    for i, index in enumerate(indices):
        if index is None:
            clamped.append(index)
        else:
            clamped.append(torch.clamp(index, -self.size(i), self.size(i) - 1))
    return clamped

def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], fill: number) -> Tensor:
    return ops.aten.index(self, _clamped(self, indices)).masked_fill(torch.logical_not(mask), fill)

def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], values: Tensor) -> Tensor:
    kept = values.masked_fill(torch.logical_not(mask), 0)
    return torch.index_put(self, _clamped(self, indices), kept, True)

# Places of unequal distance: https://pytorch.org/docs/stable/generated/torch.gradient.html
def _gradient_at(x: Tensor, places: Tensor, dim: int, edge_order: int) -> Tensor:
    h = torch.diff(places)
    shape = [1] * x.dim()
    shape[dim] = -1
    n = x.size(dim)
    near, far = h[:-1], h[1:]
    a = (-far / (near * (near + far))).reshape(shape)
    b = ((far - near) / (near * far)).reshape(shape)
    c = (near / (far * (near + far))).reshape(shape)
    center = a * x.narrow(dim, 0, n - 2) + b * x.narrow(dim, 1, n - 2) + c * x.narrow(dim, 2, n - 2)
    if edge_order == 1:
        first = (x.narrow(dim, 1, 1) - x.narrow(dim, 0, 1)) / h[0]
        last = (x.narrow(dim, n - 1, 1) - x.narrow(dim, n - 2, 1)) / h[-1]
        return torch.cat([first, center, last], dim)
    h0, h1 = h[0], h[1]
    first = -(2 * h0 + h1) / (h0 * (h0 + h1)) * x.narrow(dim, 0, 1) + (h0 + h1) / (h0 * h1) * x.narrow(dim, 1, 1) - h0 / (h1 * (h0 + h1)) * x.narrow(dim, 2, 1)
    h0, h1 = h[-1], h[-2]
    last = h0 / (h1 * (h0 + h1)) * x.narrow(dim, n - 3, 1) - (h0 + h1) / (h0 * h1) * x.narrow(dim, n - 2, 1) + (2 * h0 + h1) / (h0 * (h0 + h1)) * x.narrow(dim, n - 1, 1)
    return torch.cat([first, center, last], dim)

def _gradient_by(x: Tensor, step: number, dim: int, edge_order: int) -> Tensor:
    n = x.size(dim)
    center = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / step
    if edge_order == 1:
        first = (x.narrow(dim, 1, 1) - x.narrow(dim, 0, 1)) / step
        last = (x.narrow(dim, n - 1, 1) - x.narrow(dim, n - 2, 1)) / step
    else:
        first = (-1.5 * x.narrow(dim, 0, 1) + 2 * x.narrow(dim, 1, 1) - 0.5 * x.narrow(dim, 2, 1)) / step
        last = (0.5 * x.narrow(dim, n - 3, 1) - 2 * x.narrow(dim, n - 2, 1) + 1.5 * x.narrow(dim, n - 1, 1)) / step
    return torch.cat([first, center / 2, last], dim)

def _gradients_at(x: Tensor, places: List[Tensor], dim: List[int], edge_order: int) -> List[Tensor]:
    return [_gradient_at(x, places[i], dim[i] % x.dim(), edge_order) for i in range(len(dim))]

def _axes_or(x: Tensor, dim: Optional[int]) -> List[int]:
    if dim is None:
        return [i for i in range(x.dim())]
    return [dim]

def gradient__scalarint(self: Tensor, spacing: Optional[number], dim: Optional[int], edge_order: int) -> List[Tensor]:
    step = 1.0 if spacing is None else float(spacing)
    return [_gradient_by(self, step, d % self.dim(), edge_order) for d in _axes_or(self, dim)]

def gradient__scalararray(self: Tensor, spacing: number, dim: List[int], edge_order: int) -> List[Tensor]:
    return [_gradient_by(self, spacing, d % self.dim(), edge_order) for d in dim]

def gradient__array(self: Tensor, dim: List[int], edge_order: int) -> List[Tensor]:
    return [_gradient_by(self, 1.0, d % self.dim(), edge_order) for d in dim]

def gradient__tensorarrayint(self: Tensor, spacing: List[Tensor], dim: Optional[int], edge_order: int) -> List[Tensor]:
    return _gradients_at(self, spacing, _axes_or(self, dim), edge_order)

def gradient__tensorarray(self: Tensor, spacing: List[Tensor], dim: List[int], edge_order: int) -> List[Tensor]:
    return _gradients_at(self, spacing, dim, edge_order)

# Products of groups that follow one another along one axis: `offs` says where each ends. What is behind the last
# group LibTorch leaves undefined.
def _grouped_mm(self: Tensor, mat2: Tensor, offs: Optional[Tensor], bias: Optional[Tensor], out_dtype: Optional[int]) -> Tensor:
    if offs is None:
        return torch.bmm(self, mat2)
    products: List[Tensor] = []
    i, begin = 0, 0
    for offset in offs.unbind(0):
        end = int(offset)
        if self.dim() == 3:
            products.append(torch.mm(self[i], mat2[:, begin:end]))
        elif mat2.dim() == 3:
            products.append(torch.mm(self[begin:end], mat2[i]))
        else:
            products.append(torch.mm(self[:, begin:end], mat2[begin:end]))
        begin = end
        i += 1
    if self.dim() == 3:
        products.append(torch.zeros_like(self[0, :, :1] * mat2[:1, begin:]))
        return torch.cat(products, 1).reshape(self.size(1), mat2.size(1))
    if mat2.dim() == 3:
        products.append(torch.zeros_like(self[begin:, :1] * mat2[0, :1]))
        return torch.cat(products).reshape(self.size(0), mat2.size(2))
    return torch.stack(products)

def _weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    return (torch.mm(self.to(6), mat2.to(6).t()) * scales.to(6)).to(self.dtype)

def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    sizes: List[int] = []
    for size in shape:
        sizes.append(int(size))
    return self.reshape(sizes)

def _local_scalar_dense(self: Tensor) -> number:
    return self.item()
