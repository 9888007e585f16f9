# Vector-Jacobian products of factorizations of matrices and of what is solved with them.

def _turned(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)

def _diagonal_only(x: Tensor) -> Tensor:
    return torch.diag_embed(torch.diagonal(x, 0, -2, -1))

# Of cholesky_inverse: LibTorch's gradient is not cut to the triangle that is read.
def cholesky_inverse__self(grad: Tensor, self: Tensor, upper: bool, result: Tensor) -> Tensor:
    common = torch.matmul(result, torch.matmul(grad + _turned(grad), result))
    return -torch.matmul(self, common) if upper else -torch.matmul(common, self)

def cholesky_solve__self(grad: Tensor, input2: Tensor, upper: bool) -> Tensor:
    return torch.cholesky_solve(grad, input2, upper)

def cholesky_solve__input2(grad: Tensor, input2: Tensor, upper: bool, result: Tensor) -> Tensor:
    common = torch.matmul(torch.cholesky_solve(grad, input2, upper), _turned(result))
    common = common + _turned(common)
    return -torch.matmul(input2, common) if upper else -torch.matmul(common, input2)

def _of_triangle(grad: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    if upper:
        return torch.triu(grad, 1 if unitriangular else 0)
    return torch.tril(grad, -1 if unitriangular else 0)

def linalg_solve_triangular__self(grad: Tensor, self: Tensor, upper: bool, left: bool, unitriangular: bool, result: Tensor) -> Tensor:
    g = torch.linalg_solve_triangular(_turned(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    made = torch.matmul(g, _turned(result)) if left else torch.matmul(_turned(result), g)
    return -_of_triangle(made, upper, unitriangular)

def linalg_solve_triangular__B(grad: Tensor, self: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    return torch.linalg_solve_triangular(_turned(self), grad, upper=not upper, left=left, unitriangular=unitriangular)

# Of L and U of A = P L U, whatever the form of A.
def _of_plu(of_lower: Tensor, of_upper: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    m, n = L.size(-2), U.size(-1)
    if m == n:
        inner = torch.tril(torch.matmul(_turned(L), of_lower), -1) + torch.triu(torch.matmul(of_upper, _turned(U)))
        right = torch.linalg_solve_triangular(_turned(U), inner, upper=False, left=False)
        return torch.matmul(P, torch.linalg_solve_triangular(_turned(L), right, upper=True, unitriangular=True))
    if m < n:
        U1, U2 = U.narrow(-1, 0, m), U.narrow(-1, m, n - m)
        g1, g2 = of_upper.narrow(-1, 0, m), of_upper.narrow(-1, m, n - m)
        inner = torch.tril(torch.matmul(_turned(L), of_lower) - torch.matmul(g2, _turned(U2)), -1)
        inner = inner + torch.triu(torch.matmul(g1, _turned(U1)))
        inner = torch.cat([torch.linalg_solve_triangular(_turned(U1), inner, upper=False, left=False), g2], -1)
        return torch.matmul(P, torch.linalg_solve_triangular(_turned(L), inner, upper=True, unitriangular=True))
    L1, L2 = L.narrow(-2, 0, n), L.narrow(-2, n, m - n)
    g1, g2 = of_lower.narrow(-2, 0, n), of_lower.narrow(-2, n, m - n)
    inner = torch.triu(torch.matmul(of_upper, _turned(U)) - torch.matmul(_turned(L2), g2))
    inner = inner + torch.tril(torch.matmul(_turned(L1), g1), -1)
    inner = torch.cat([torch.linalg_solve_triangular(_turned(L1), inner, upper=True, unitriangular=True), g2], -2)
    return torch.matmul(P, torch.linalg_solve_triangular(_turned(U), inner, upper=False, left=False))

def linalg_lu__A(grads: List[Tensor], results: List[Tensor]) -> Tensor:
    return _of_plu(torch.tril(grads[1], -1), torch.triu(grads[2]), results[0], results[1], results[2])

def _of_factors(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    P, L, U = torch.lu_unpack(LU, pivots)
    k = torch.diagonal(LU, 0, -2, -1).size(-1)
    return _of_plu(torch.tril(grad.narrow(-1, 0, k), -1), torch.triu(grad.narrow(-2, 0, k)), P, L, U)

def linalg_lu_factor__A(grads: List[Tensor], results: List[Tensor]) -> Tensor:
    return _of_factors(grads[0], results[0], results[1])
linalg_lu_factor_ex__A = linalg_lu_factor__A
_lu_with_info__self = linalg_lu_factor__A

def lu_unpack__LU_data(grads: List[Tensor], given: List[bool], LU_data: Tensor) -> Tensor:
    if not given[1] and not given[2]:
        return torch.zeros_like(LU_data)
    m, n = LU_data.size(-2), LU_data.size(-1)
    k = torch.diagonal(LU_data, 0, -2, -1).size(-1)
    lower, upper = torch.tril(grads[1], -1), torch.triu(grads[2])
    if m > n:
        upper = torch.cat([upper, torch.zeros_like(LU_data.narrow(-2, k, m - n))], -2)
    elif n > m:
        lower = torch.cat([lower, torch.zeros_like(LU_data.narrow(-1, k, n - m))], -1)
    return lower + upper

# The symmetric matrix with this upper triangle.
def _by_upper(x: Tensor) -> Tensor:
    return torch.triu(x) + _turned(torch.triu(x, 1))

def _of_qr(of_q: Tensor, of_r: Tensor, A: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    m, n = A.size(-2), A.size(-1)
    if m >= n:
        inner = _by_upper(torch.matmul(of_r, _turned(R)) - torch.matmul(_turned(Q), of_q))
        return torch.linalg_solve_triangular(_turned(R), of_q + torch.matmul(Q, inner), upper=False, left=False)
    U = R.narrow(-1, 0, m)
    of_u, of_v = of_r.narrow(-1, 0, m), of_r.narrow(-1, m, n - m)
    of_q = of_q + torch.matmul(A.narrow(-1, m, n - m), _turned(of_v))
    inner = _by_upper(torch.matmul(of_u, _turned(U)) - torch.matmul(_turned(Q), of_q))
    first = torch.linalg_solve_triangular(_turned(U), of_q + torch.matmul(Q, inner), upper=False, left=False)
    return torch.cat([first, torch.matmul(Q, of_v)], -1)

def linalg_qr__A(grads: List[Tensor], A: Tensor, mode: str, results: List[Tensor]) -> Tensor:
    assert mode != "r", "the R of a QR decomposition alone"
    assert mode != "complete" or A.size(-2) <= A.size(-1), "a complete QR decomposition of more rows than columns"
    return _of_qr(grads[0], grads[1], A, results[0], results[1])

def qr__self(grads: List[Tensor], self: Tensor, some: bool, results: List[Tensor]) -> Tensor:
    assert some or self.size(-2) <= self.size(-1), "a complete QR decomposition of more rows than columns"
    return _of_qr(grads[0], grads[1], self, results[0], results[1])

# x_j - x_i, with ones in the diagonal.
def _gaps(x: Tensor) -> Tensor:
    gaps = x.unsqueeze(-2) - x.unsqueeze(-1)
    return gaps + torch.diag_embed(torch.ones_like(x))

# Of eigenvalues in ascending order. The vectors are our own: their sign does not matter here.
def _of_eigenvalues(grad: Tensor, self: Tensor, UPLO: str) -> Tensor:
    A = _hermitian((self if UPLO == "L" or UPLO == "l" else _turned(self)).to(7))
    bound = torch.abs(A).sum([-2, -1]).unsqueeze(-1).unsqueeze(-1)
    X, V = _orthogonal_columns(A + bound * torch.eye(A.size(-1), dtype=7, device=A.device))
    order = torch.sort((X * X).sum(-2), -1)[1]
    V = V.gather(-1, order.unsqueeze(-2).expand_as(V)).to(self.dtype)
    return torch.matmul(V * grad.unsqueeze(-2), _turned(V))

def linalg_eigvalsh__self(grad: Tensor, self: Tensor, UPLO: str) -> Tensor:
    return _of_eigenvalues(grad, self, UPLO)

def linalg_eigh__self(grads: List[Tensor], given: List[bool], self: Tensor, UPLO: str, results: List[Tensor]) -> Tensor:
    if not given[1]:
        return _of_eigenvalues(grads[0], self, UPLO)
    values, vectors = results[0], results[1]
    inner = torch.matmul(_turned(vectors), grads[1]) / _gaps(values)
    inner = inner - _diagonal_only(inner) + torch.diag_embed(grads[0])
    return torch.matmul(torch.matmul(vectors, inner), _turned(vectors))

# Of singular values in descending order, by vectors of our own. Nothing comes from values of zero.
def _of_singular_values(grad: Tensor, A: Tensor) -> Tensor:
    X, V = _orthogonal_columns(A)
    squares, order = torch.sort((X * X).sum(-2), -1, True)
    k = grad.size(-1)
    squares, order = squares.narrow(-1, 0, k), order.narrow(-1, 0, k).unsqueeze(-2)
    U = X.gather(-1, order.expand(X.size()[:-1] + [k]))
    V = V.gather(-1, order.expand(V.size()[:-1] + [k])).to(A.dtype)
    U = (U / torch.sqrt(torch.where(squares > 0, squares, 1)).unsqueeze(-2)).to(A.dtype)
    return torch.matmul(U * grad.unsqueeze(-2), _turned(V))

def linalg_svdvals__A(grad: Tensor, A: Tensor) -> Tensor:
    return _of_singular_values(grad, A)

def _antisymmetric(x: Tensor) -> Tensor:
    return x - _turned(x)

def _of_svd(of_u: Tensor, of_s: Tensor, of_vh: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    V, of_v = _turned(Vh), _turned(of_vh)
    gaps = _gaps(S * S)
    rows, columns = S.unsqueeze(-1), S.unsqueeze(-2)
    left, right = torch.matmul(_turned(U), of_u), torch.matmul(Vh, of_v)
    inner = _antisymmetric(left) / gaps * columns + rows * (_antisymmetric(right) / gaps) + torch.diag_embed(of_s)
    outer = torch.matmul(U, inner)
    if U.size(-2) > S.size(-1):
        outer = outer + (of_u - torch.matmul(U, left)) / columns
    made = torch.matmul(outer, Vh)
    if V.size(-2) > S.size(-1):
        made = made + torch.matmul(U / columns, _turned(of_v - torch.matmul(V, right)))
    return made

def linalg_svd__A(grads: List[Tensor], given: List[bool], A: Tensor, full_matrices: bool, results: List[Tensor]) -> Tensor:
    if not given[0] and not given[2]:
        return _of_singular_values(grads[1], A)
    assert not full_matrices or A.size(-2) == A.size(-1), "a singular value decomposition with full_matrices"
    return _of_svd(grads[0], grads[1], grads[2], results[0], results[1], results[2])

def svd__self(grads: List[Tensor], given: List[bool], self: Tensor, some: bool, compute_uv: bool, results: List[Tensor]) -> Tensor:
    if not given[0] and not given[2]:
        return _of_singular_values(grads[1], self)
    assert some or self.size(-2) == self.size(-1), "a singular value decomposition with all vectors"
    return _of_svd(grads[0], grads[1], _turned(grads[2]), results[0], results[1], _turned(results[2]))

# https://doi.org/10.1137/0710036: of the pseudoinverse, whatever the rank, if it stays the same.
def _of_pseudoinverse(grad: Tensor, A: Tensor, P: Tensor) -> Tensor:
    g, t = _turned(grad), _turned(P)
    outside = g - torch.matmul(A, torch.matmul(P, g))
    inside = g - torch.matmul(torch.matmul(g, P), A)
    made = torch.matmul(outside, torch.matmul(P, t)) + torch.matmul(torch.matmul(t, P), inside)
    return made - torch.matmul(torch.matmul(t, grad), t)

def linalg_pinv__atol_rtol_tensor__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return _of_pseudoinverse(grad, self, result)
linalg_pinv__atol_rtol_float__self = linalg_pinv__atol_rtol_tensor__self
linalg_pinv__rcond_tensor__self = linalg_pinv__atol_rtol_tensor__self
linalg_pinv__self = linalg_pinv__atol_rtol_tensor__self
pinverse__self = linalg_pinv__atol_rtol_tensor__self

def _columns_of(A: Tensor, b: Tensor) -> Tensor:
    return b.unsqueeze(-1) if b.dim() == A.dim() - 1 else b

def linalg_lstsq__self(grads: List[Tensor], given: List[bool], self: Tensor, b: Tensor) -> Tensor:
    assert not given[1], "the residuals of linalg.lstsq"
    g, right = _columns_of(self, grads[0]), _columns_of(self, b)
    return _of_pseudoinverse(torch.matmul(g, _turned(right)), self, torch.linalg_pinv(self))

def linalg_lstsq__b(grads: List[Tensor], given: List[bool], self: Tensor, b: Tensor) -> Tensor:
    assert not given[1], "the residuals of linalg.lstsq"
    made = torch.matmul(_turned(torch.linalg_pinv(self)), _columns_of(self, grads[0]))
    return made.squeeze(-1) if b.dim() == self.dim() - 1 else made

# The exponential of the matrix beside its direction, as one matrix.
def _of_exponential(grad: Tensor, A: Tensor) -> Tensor:
    n = A.size(-1)
    t = _turned(A)
    both = torch.cat([torch.cat([t, grad], -1), torch.cat([torch.zeros_like(t), t], -1)], -2)
    return torch.linalg_matrix_exp(both).narrow(-2, 0, n).narrow(-1, n, n)

def linalg_matrix_exp__self(grad: Tensor, self: Tensor) -> Tensor:
    return _of_exponential(grad, self)
matrix_exp__self = linalg_matrix_exp__self
