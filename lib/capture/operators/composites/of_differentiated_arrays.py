# Joins, differences and statistics, differentiated through the operators that they are made of.

def atleast_1d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    return [torch.atleast_1d(x) for x in tensors]

def atleast_2d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    return [torch.atleast_2d(x) for x in tensors]

def atleast_3d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    return [torch.atleast_3d(x) for x in tensors]

def diff(self: Tensor, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]) -> Tensor:
    if n == 0:
        return self.clone()
    parts: List[Tensor] = []
    if prepend is not None:
        parts.append(prepend)
    parts.append(self)
    if append is not None:
        parts.append(append)
    x = torch.cat(parts, dim) if len(parts) > 1 else self
    for i in range(n):
        x = torch.slice(x, dim, 1, None, 1) - torch.slice(x, dim, 0, -1, 1)
    return x

def msort(self: Tensor) -> Tensor:
    return torch.sort(self, 0)[0]

def linalg_diagonal(A: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(A, offset, dim1, dim2)

def linalg_multi_dot(tensors: List[Tensor]) -> Tensor:
    y = tensors[0]
    for i in range(len(tensors) - 1):
        y = torch.matmul(y, tensors[i + 1])
    return y

def float_power__Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    return torch.pow(self.to(7), exponent.to(7))

def float_power__Scalar(self: number, exponent: Tensor) -> Tensor:
    return torch.pow(self, exponent.to(7))

def nanmean(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    count = torch.logical_not(torch.isnan(self)).sum(dim, keepdim)
    return torch.nansum(self, dim, keepdim, dtype=dtype) / count

# Sorted, and between the two neighbours of the place that q names.
def _between(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    x = self.reshape([-1])
    if dim is not None and self.dim() > 0:
        x = self.movedim(dim, -1)
    x = torch.sort(x, -1)[0]
    nan = torch.isnan(x)
    places = q.reshape([-1])
    if ignore_nan:
        places = places * (torch.logical_not(nan).sum(-1, keepdim=True) - 1)
        places = torch.where(places < 0, torch.zeros_like(places), places)
    else:
        last = x.size(-1) - 1
        places = places * last
        places = torch.where(nan.any(-1, True), torch.zeros_like(places) + last, places)
    if interpolation == "lower":
        places = torch.floor(places)
    elif interpolation == "higher":
        places = torch.ceil(places)
    elif interpolation == "nearest":
        places = torch.round(places)
    below = places.to(4)
    y = torch.gather(x, -1, below)
    if interpolation == "linear" or interpolation == "midpoint":
        weight = places - below if interpolation == "linear" else torch.full_like(places, 0.5)
        y = torch.lerp(y, torch.gather(x, -1, torch.ceil(places).to(4)), weight)
    y = y.squeeze(-1) if q.dim() == 0 else y.movedim(-1, 0)
    if keepdim and self.dim() > 0:
        if dim is not None:
            axis = dim % self.dim()
            return y.unsqueeze(axis if q.dim() == 0 else axis + 1)
        for i in range(self.dim()):
            y = y.unsqueeze(-1)
    return y

def quantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _between(self, q, dim, keepdim, interpolation, False)

def quantile__scalar(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _between(self, torch.full([], q, dtype=self.dtype), dim, keepdim, interpolation, False)

def nanquantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _between(self, q, dim, keepdim, interpolation, True)

def nanquantile__scalar(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _between(self, torch.full([], q, dtype=self.dtype), dim, keepdim, interpolation, True)
