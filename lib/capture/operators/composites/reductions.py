# Spreads and norms by the one overload that says everything, and statistics made of them.

def var(self: Tensor, unbiased: bool) -> Tensor:
    return torch.var(self, None, correction=int(unbiased))

def var__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    return torch.var(self, dim, correction=int(unbiased), keepdim=keepdim)

def std(self: Tensor, unbiased: bool) -> Tensor:
    return torch.std(self, None, correction=int(unbiased))

def std__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    return torch.std(self, dim, correction=int(unbiased), keepdim=keepdim)

def var_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, None, correction=int(unbiased)), torch.mean(self)

def var_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, correction=int(unbiased), keepdim=keepdim), torch.mean(self, dim, keepdim)

def var_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)

def std_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, None, correction=int(unbiased)), torch.mean(self)

def std_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, correction=int(unbiased), keepdim=keepdim), torch.mean(self, dim, keepdim)

def std_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)

def norm__Scalar(self: Tensor, p: number) -> Tensor:
    return torch.linalg_vector_norm(self, p)

def norm__ScalarOpt_dim(self: Tensor, p: Optional[number], dim: List[int], keepdim: bool) -> Tensor:
    if p is None:
        return torch.linalg_vector_norm(self, 2, dim, keepdim)
    return torch.linalg_vector_norm(self, p, dim, keepdim)

def norm__ScalarOpt_dim_dtype(self: Tensor, p: Optional[number], dim: List[int], keepdim: bool, dtype: int) -> Tensor:
    return norm__ScalarOpt_dim(self.to(dtype), p, dim, keepdim)

def norm__ScalarOpt_dtype(self: Tensor, p: Optional[number], dtype: int) -> Tensor:
    return norm__ScalarOpt_dim(self.to(dtype), p, [], False)

def frobenius_norm__dim(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    return torch.linalg_vector_norm(self, 2, dim, keepdim)

def _singular_values(self: Tensor, dim: List[int], dtype: Optional[int]) -> Tensor:
    x = self if dtype is None else self.to(dtype)
    return torch.linalg_svdvals(torch.movedim(x, dim, [-2, -1]))

# What two axes were reduced to, with axes of 1 in their places.
def _with_axes(x: Tensor, dim: List[int]) -> Tensor:
    return torch.movedim(x.unsqueeze(-1).unsqueeze(-1), [-2, -1], dim)

# The largest norm along an axis: 0 of none.
def _largest(norms: Tensor, dim: int) -> Tensor:
    if norms.size(dim) == 0:
        return norms.sum([dim], True)
    return torch.amax(norms, [dim], True)

# Largest or smallest row sum (infinite order) or column sum (order 1).
def linalg_matrix_norm(self: Tensor, ord: number, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    order = float(ord)
    if abs(order) == 2.0:
        s = _singular_values(self, dim, dtype)
        x = _largest(s, -1).squeeze(-1) if order > 0 else s.amin(-1)
        return _with_axes(x, dim) if keepdim else x
    rows = abs(order) == float("inf")
    x = torch.linalg_vector_norm(self, 1, [dim[1] if rows else dim[0]], True, dtype=dtype)
    other = dim[0] if rows else dim[1]
    x = _largest(x, other) if order > 0 else torch.amin(x, [other], True)
    return x if keepdim else x.squeeze(dim)

def linalg_matrix_norm__str_ord(self: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord == "nuc":
        x = _singular_values(self, dim, dtype).sum(-1)
        return _with_axes(x, dim) if keepdim else x
    return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)

def linalg_norm(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    axes = self.dim() if dim is None else len(dim)
    if axes < 2:
        return torch.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)
    return linalg_matrix_norm(self, ord, [0, 1] if dim is None else dim, keepdim, dtype)

def linalg_norm__ord_str(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    return linalg_matrix_norm__str_ord(self, ord, [0, 1] if dim is None else dim, keepdim, dtype)

def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return torch.linalg_vector_norm(v, pow)
    axes: List[int] = []
    for i in range(v.dim()):
        if i != dim:
            axes.append(i)
    return torch.linalg_vector_norm(v, pow, axes, True)

# The norms are double: LibTorch's are in the accumulate type.
def renorm(self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    axes: List[int] = []
    for i in range(self.dim()):
        if i != dim % self.dim():
            axes.append(i)
    norm = torch.linalg_vector_norm(self.to(10 if self.is_complex() else 7), p, axes, True)
    factor = torch.where(norm > maxnorm, torch.reciprocal(norm + 1e-7) * maxnorm, torch.ones_like(norm))
    return self * factor.to(self.dtype)

def cov(self: Tensor, correction: int, fweights: Optional[Tensor], aweights: Optional[Tensor]) -> Tensor:
    x = self.reshape([1, -1]) if self.dim() < 2 else self
    if fweights is None and aweights is None:
        x = x - x.sum(1, keepdim=True) / x.size(1)
        return (torch.mm(x, torch.conj(x.t())) / max(x.size(1) - correction, 0)).squeeze()
    w = torch.ones([x.size(1)], dtype=4)  # int64
    if fweights is not None:
        w = w * fweights
    if aweights is not None:
        w = w * aweights
    total = w.sum()
    less = total - correction if aweights is None else total - correction * (w * aweights).sum() / total
    x = x - (x * w).sum(1, keepdim=True) / total
    return (torch.mm(x, torch.conj((x * w).t())) / torch.clamp_min(less, 0)).squeeze()

def corrcoef(self: Tensor) -> Tensor:
    c = torch.cov(self)
    if c.dim() == 0:
        return c / c
    deviation = torch.sqrt(torch.real(torch.diagonal(c)))
    r = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if r.is_complex():
        return torch.complex(torch.clamp(torch.real(r), -1, 1), torch.clamp(torch.imag(r), -1, 1))
    return torch.clamp(r, -1, 1)

def sum_to_size(self: Tensor, size: List[int]) -> Tensor:
    if len(size) == 0:
        return self.sum()
    lead = self.dim() - len(size)
    axes: List[int] = []
    for i in range(self.dim()):
        if i < lead or size[i - lead] == 1:
            axes.append(i)
    x = self if len(axes) == 0 else self.sum(axes, keepdim=True)
    return x.reshape(size)
