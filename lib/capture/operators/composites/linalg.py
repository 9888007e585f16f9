# Linear algebra by elimination. Every loop over a size does one step of the algorithm for all
# matrices at once. Computed in float64 and rounded once: LibTorch's own rounding depends on its
# LAPACK, and this is nearer to the exact result than either.

def _wide(self: Tensor) -> Tensor:
    return self.to(10) if self.is_complex() else self.to(7)

def _adjoint(self: Tensor) -> Tensor:
    return torch.conj(self.mT)

def _one(self: Tensor) -> Tensor:
    return torch.ones_like(torch.real(self)).to(self.dtype)

# |re| + |im|, by which LAPACK chooses pivots.
def _size1(self: Tensor) -> Tensor:
    if self.is_complex():
        return torch.abs(torch.real(self)) + torch.abs(torch.imag(self))
    return torch.abs(self)

# Elimination with partial pivoting (getrf) of [..., m, n]: L below the diagonal and U in one,
# the rows that were swapped (from 1, int32), the order that this gives them, and the first pivot
# that is zero (from 1; 0: none).
def _lu(A: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    rows = torch.arange(A.size(-2), device=A.device)
    columns = torch.arange(A.size(-1), device=A.device)
    diagonal = torch.diagonal(A, 0, -2, -1)
    steps = torch.arange(diagonal.size(-1), device=A.device)
    pivots = (steps + 1).to(3).expand(diagonal.size())
    order = rows.expand(A.sum(-1).size())
    info = torch.zeros(A.sum([-2, -1]).size(), dtype=3, device=A.device)
    LU = _wide(A)
    for k in range(diagonal.size(-1)):
        candidates = torch.where(rows >= k, _size1(LU.select(-1, k)), -1)
        p = torch.argmax(candidates, -1, keepdim=True)
        swapped = torch.where(rows == k, p, torch.where(rows == p, k, rows))
        LU = LU.gather(-2, swapped.unsqueeze(-1).expand(LU.size()))
        order = order.gather(-1, swapped)
        pivots = torch.where(steps == k, (p + 1).to(3), pivots)
        pivot = LU.select(-1, k).select(-1, k)
        zero = _size1(pivot) == 0
        info = torch.where(torch.logical_and(zero, info == 0), k + 1, info).to(3)
        divisor = torch.where(zero, _one(pivot), pivot).unsqueeze(-1)
        factor = (LU.select(-1, k) / divisor).unsqueeze(-1)
        rest = LU - factor * LU.select(-2, k).unsqueeze(-2)
        rest = torch.where(columns > k, rest, torch.where(columns == k, factor, LU))
        LU = torch.where((rows > k).unsqueeze(-1), rest, LU)
    return LU, pivots, order, info

# L X = B by forward substitution; what lies above the diagonal is not read.
def _forward(L: Tensor, B: Tensor, unit: bool) -> Tensor:
    rows = torch.arange(L.size(-1), device=L.device)
    X = torch.broadcast_tensors([B, torch.diagonal(L, 0, -2, -1).unsqueeze(-1).to(B.dtype)])[0]
    for k in range(L.size(-1)):
        column = L.select(-1, k).unsqueeze(-1)
        x = X.select(-2, k).unsqueeze(-2)
        if not unit:
            x = x / column.select(-2, k).unsqueeze(-2)
        rest = X - column * x
        X = torch.where((rows > k).unsqueeze(-1), rest, torch.where((rows == k).unsqueeze(-1), x, X))
    return X

def _back_substituted(U: Tensor, B: Tensor, unit: bool) -> Tensor:
    return torch.flip(_forward(torch.flip(U, [-2, -1]), torch.flip(B, [-2]), unit), [-2])

def _triangular(A: Tensor, B: Tensor, upper: bool, unit: bool) -> Tensor:
    return _back_substituted(A, B, unit) if upper else _forward(A, B, unit)

# The rows that `pivots` swap one after the other, as an order of all m rows.
def _order(pivots: Tensor, m: int) -> Tensor:
    rows = torch.arange(m, device=pivots.device)
    order = rows + torch.zeros_like(pivots.sum(-1, keepdim=True))
    for k in range(pivots.size(-1)):
        p = pivots.select(-1, k).unsqueeze(-1).to(4) - 1
        swapped = torch.where(rows == k, p, torch.where(rows == p, k, rows))
        order = order.gather(-1, swapped)
    return order

def _unit_lower(LU: Tensor) -> Tensor:
    k = torch.diagonal(LU, 0, -2, -1).size(-1)
    eye = torch.eye(LU.size(-2), k, dtype=7, device=LU.device).to(LU.dtype)
    return torch.tril(LU.narrow(-1, 0, k), -1) + eye

def _upper(LU: Tensor) -> Tensor:
    return torch.triu(LU.narrow(-2, 0, torch.diagonal(LU, 0, -2, -1).size(-1)))

# The matrix whose column i is 1 in row order[i].
def _permutation(order: Tensor, like: Tensor) -> Tensor:
    rows = torch.arange(order.size(-1), device=order.device)
    return (rows.unsqueeze(-1) == order.unsqueeze(-2)).to(like.dtype)

def linalg_lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots, order, info = _lu(A)
    return LU.to(A.dtype), pivots, info

def linalg_lu_factor(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor]:
    LU, pivots, order, info = _lu(A)
    return LU.to(A.dtype), pivots

def _lu_with_info(self: Tensor, pivot: bool, check_errors: bool) -> Tuple[Tensor, Tensor, Tensor]:
    return linalg_lu_factor_ex(self, pivot, check_errors)

def linalg_lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots, order, info = _lu(A)
    LU = LU.to(A.dtype)
    return _permutation(order, A), _unit_lower(LU), _upper(LU)

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Tuple[Tensor, Tensor, Tensor]:
    none = torch.zeros([0], dtype=LU_data.dtype, device=LU_data.device)
    P, L, U = none, none, none
    if unpack_pivots:
        P = _permutation(_order(LU_pivots, LU_data.size(-2)), LU_data)
    if unpack_data:
        L, U = _unit_lower(LU_data), _upper(LU_data)
    return P, L, U

# A X = B for A[order] = L U.
def _lu_solved(LU: Tensor, order: Tensor, B: Tensor) -> Tensor:
    b = torch.broadcast_tensors([B, torch.zeros_like(order).unsqueeze(-1).to(B.dtype)])[0]
    place = order.unsqueeze(-1).expand(b.size())
    return _back_substituted(LU, _forward(LU, b.gather(-2, place), True), False)

def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    wide = _wide(LU)
    order = _order(pivots, LU.size(-1))
    b = _wide(B if left else _adjoint(B))
    if adjoint == left:  # A^H X = B: U^H (L^H (P^T X)) = B
        x = _back_substituted(_adjoint(wide), _forward(_adjoint(wide), b, False), True)
        rows = torch.arange(order.size(-1), device=order.device)
        back = (_permutation(order, order) * rows).sum(-1).unsqueeze(-1)
        x = x.gather(-2, back.expand(x.size()))
    else:
        x = _lu_solved(wide, order, b)
    return (x if left else _adjoint(x)).to(LU.dtype)

def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return linalg_lu_solve(LU_data, LU_pivots, self, True, False)

# Whether B is one vector for each matrix of A.
def _vector_rhs(A: Tensor, B: Tensor) -> bool:
    if B.dim() == 1:
        return True
    if A.dim() - 1 != B.dim():
        return False
    same = True
    for i in range(B.dim()):
        same = same and A.size(i) == B.size(i)
    return same

def linalg_solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    LU, pivots, order, info = _lu(A if left else A.mT)
    if _vector_rhs(A, B):
        x = _lu_solved(LU, order, _wide(B).unsqueeze(-1)).select(-1, 0)
    elif left:
        x = _lu_solved(LU, order, _wide(B))
    else:
        x = _lu_solved(LU, order, _wide(B).mT).mT
    return x.to(A.dtype), info

def linalg_solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    return linalg_solve_ex(A, B, left, False)[0]

def linalg_inv_ex(A: Tensor, check_errors: bool) -> Tuple[Tensor, Tensor]:
    LU, pivots, order, info = _lu(A)
    eye = torch.eye(A.size(-1), dtype=7, device=A.device).to(LU.dtype)
    return _lu_solved(LU, order, eye).to(A.dtype), info

def linalg_inv(A: Tensor) -> Tensor:
    return linalg_inv_ex(A, False)[0]

def inverse(self: Tensor) -> Tensor:
    return linalg_inv_ex(self, False)[0]

def _product(x: Tensor) -> Tensor:
    if not x.is_complex():
        return torch.prod(x, -1)
    result = _one(x.sum(-1))
    for k in range(x.size(-1)):
        result = result * x.select(-1, k)
    return result

# The sign of the order of rows, and the diagonal of U.
def _lu_diagonal(A: Tensor) -> Tuple[Tensor, Tensor]:
    LU, pivots, order, info = _lu(A)
    swaps = (pivots != torch.arange(1, A.size(-1) + 1, device=A.device)).sum(-1)
    return 1 - 2 * torch.remainder(swaps, 2), torch.diagonal(LU, 0, -2, -1)

def linalg_det(A: Tensor) -> Tensor:
    sign, diagonal = _lu_diagonal(A)
    return (sign * _product(diagonal)).to(A.dtype)

def det(self: Tensor) -> Tensor:
    return linalg_det(self)

def linalg_slogdet(A: Tensor) -> Tuple[Tensor, Tensor]:
    sign, diagonal = _lu_diagonal(A)
    logs = torch.log(torch.abs(diagonal)).sum(-1)
    return (sign * _product(torch.sgn(diagonal))).to(A.dtype), logs.to(torch.abs(A).dtype)

def slogdet(self: Tensor) -> Tuple[Tensor, Tensor]:
    return linalg_slogdet(self)

def logdet(self: Tensor) -> Tensor:
    sign, logs = linalg_slogdet(self)
    if self.is_complex():
        return torch.log(sign) + logs
    return torch.where(sign == -1, float("nan"), logs)

def linalg_solve_triangular(self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    if left:
        x = _triangular(_wide(self), _wide(B), upper, unitriangular)
    else:
        x = _triangular(_wide(self).mT, _wide(B).mT, not upper, unitriangular).mT
    return x.to(self.dtype)

def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    a = _wide(A.mT if transpose else A)
    x = _triangular(a, _wide(self), upper != transpose, unitriangular)
    copy = torch.broadcast_tensors([A, torch.diagonal(x.matmul(x.mT), 0, -2, -1).unsqueeze(-1)])[0]
    return x.to(self.dtype), copy

# The lower factor, and the first leading minor that is not positive (from 1; 0: none). Only the
# lower triangle is read.
def _cholesky(A: Tensor) -> Tuple[Tensor, Tensor]:
    rows = torch.arange(A.size(-1), device=A.device)
    info = torch.zeros(A.sum([-2, -1]).size(), dtype=3, device=A.device)
    L = _wide(A)
    for k in range(A.size(-1)):
        column = L.select(-1, k)
        pivot = torch.real(column.select(-1, k))
        info = torch.where(torch.logical_and(torch.logical_not(pivot > 0), info == 0), k + 1, info).to(3)
        root = torch.sqrt(pivot).unsqueeze(-1)
        column = torch.where(rows > k, column / root, torch.where(rows == k, root, 0).to(column.dtype))
        rest = L - column.unsqueeze(-1) * torch.conj(column).unsqueeze(-2)
        L = torch.where(rows > k, rest, torch.where(rows == k, column.unsqueeze(-1), L))
    return torch.tril(L), info

def linalg_cholesky_ex(self: Tensor, upper: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    L, info = _cholesky(_adjoint(self) if upper else self)
    return (_adjoint(L) if upper else L).to(self.dtype), info

def linalg_cholesky(self: Tensor, upper: bool) -> Tensor:
    return linalg_cholesky_ex(self, upper, False)[0]
cholesky = linalg_cholesky

def cholesky_solve(self: Tensor, input2: Tensor, upper: bool) -> Tensor:
    L = _wide(_adjoint(input2) if upper else input2)
    return _back_substituted(_adjoint(L), _forward(L, _wide(self), False), False).to(self.dtype)

def cholesky_inverse(self: Tensor, upper: bool) -> Tensor:
    return cholesky_solve(torch.eye(self.size(-1), dtype=7, device=self.device).to(self.dtype), self, upper)

# By squaring: as many products as n has digits.
def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    left = abs(n)
    if left == 0:
        eye = torch.eye(self.size(-1), dtype=7, device=self.device).to(self.dtype)
        return torch.zeros_like(self) + eye
    power = linalg_inv_ex(self, False)[0] if n < 0 else self
    while left % 2 == 0:
        power = torch.matmul(power, power)
        left = left // 2
    result = power
    left = left // 2
    while left > 0:
        power = torch.matmul(power, power)
        if left % 2 == 1:
            result = torch.matmul(result, power)
        left = left // 2
    return result

def matrix_power(self: Tensor, n: int) -> Tensor:
    return linalg_matrix_power(self, n)

# Taylor's series of the matrix halved until its norm is below 1/2, then squared as often.
def linalg_matrix_exp(self: Tensor) -> Tensor:
    A = _wide(self)
    eye = torch.eye(A.size(-1), dtype=7, device=A.device).to(A.dtype)
    norm = torch.abs(A).sum(-1).sum(-1)
    halvings = torch.ceil(torch.clamp(torch.log2(norm) + 1, 0, 1100))
    A = A / torch.exp2(halvings).unsqueeze(-1).unsqueeze(-1)
    result = torch.zeros_like(A) + eye
    for i in range(14):
        result = torch.matmul(A, result) / (14 - i) + eye
    most = int(torch.cat([halvings.flatten(), torch.zeros([1], dtype=7, device=A.device)]).max())
    for i in range(most):
        result = torch.where((halvings > i).unsqueeze(-1).unsqueeze(-1), torch.matmul(result, result), result)
    return result.to(self.dtype)

def matrix_exp(self: Tensor) -> Tensor:
    return linalg_matrix_exp(self)

def linalg_tensorinv(self: Tensor, ind: int) -> Tensor:
    sizes = self.size()
    A = self.flatten(0, ind - 1).flatten(1)
    return linalg_inv_ex(A, False)[0].reshape(sizes[ind:] + sizes[:ind])

def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    A = self
    if dims is not None:
        order = [i for i in range(A.dim())]
        last = [d % A.dim() for d in dims]
        kept: List[int] = []
        for i in order:
            if i not in last:
                kept.append(i)
        A = A.permute(kept + last)
    result = A.size()[other.dim():]
    A = A.flatten(0, other.dim() - 1)
    A = A.flatten(1) if A.dim() > 1 else A.unsqueeze(-1)
    return linalg_solve_ex(A, other.flatten(), True, False)[0].reshape(result)
