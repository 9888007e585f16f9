# Linear algebra that is differentiated through the operators that it is made of.

def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    if n == 0:
        eye = torch.eye(self.size(-1), dtype=self.dtype, device=self.device)
        return torch.where(torch.zeros_like(self, dtype=11), self, eye)  # zeros, not nothing, come from it
    power = torch.linalg_inv(self) if n < 0 else self
    result = power
    for i in range(abs(n) - 1):
        result = torch.matmul(result, power)
    return result

def matrix_power(self: Tensor, n: int) -> Tensor:
    return linalg_matrix_power(self, n)

def linalg_tensorinv(self: Tensor, ind: int) -> Tensor:
    sizes = self.size()
    return torch.linalg_inv(self.flatten(0, ind - 1).flatten(1)).reshape(sizes[ind:] + sizes[:ind])

def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    A = self
    if dims is not None:
        last = [d % A.dim() for d in dims]
        kept: List[int] = []
        for i in range(A.dim()):
            if i not in last:
                kept.append(i)
        A = A.permute(kept + last)
    result = A.size()[other.dim():]
    A = A.flatten(0, other.dim() - 1)
    A = A.reshape([A.size(0), -1])
    return torch.linalg_solve(A, other.flatten()).reshape(result)

def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    M = A.transpose(-2, -1) if transpose else A
    X = torch.linalg_solve_triangular(M, self, upper=upper != transpose, unitriangular=unitriangular)
    return X, A.expand(X.size()[:-2] + A.size()[-2:]) * 1

# P L U X = B by two triangles.
def _solved_by_factors(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    P = torch.lu_unpack(LU, pivots, False, True)[0]
    eye = torch.eye(LU.size(-1), dtype=LU.dtype, device=LU.device)
    L, U = torch.tril(LU, -1) + eye, torch.triu(LU)
    if not left:
        return _solved_by_factors_left(P, L, U, B.transpose(-2, -1), not adjoint).transpose(-2, -1)
    return _solved_by_factors_left(P, L, U, B, adjoint)

def _solved_by_factors_left(P: Tensor, L: Tensor, U: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    if adjoint:
        Y = torch.linalg_solve_triangular(U.transpose(-2, -1), B, upper=False)
        return torch.matmul(P, torch.linalg_solve_triangular(L.transpose(-2, -1), Y, upper=True, unitriangular=True))
    Y = torch.linalg_solve_triangular(L, torch.matmul(P.transpose(-2, -1), B), upper=False, unitriangular=True)
    return torch.linalg_solve_triangular(U, Y, upper=True)

def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    return _solved_by_factors(LU, pivots, B, left, adjoint)

def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return _solved_by_factors(LU_data, LU_pivots, self, True, False)

def linalg_solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    return torch.linalg_solve(A, B, left=left), torch.zeros(A.size()[:-2], dtype=3, device=A.device)
