# Linear algebra by reflections and rotations. Every loop over a size does one step of the algorithm
# for all matrices at once. Computed in float64 and rounded once, as in linalg.py,
# whose helpers it shares.

# The squares of absolute values.
def _squares(self: Tensor) -> Tensor:
    return torch.real(self * torch.conj(self))

# Householder's reflections, with LAPACK's signs (geqrf): R, below it the vectors without their
# leading 1, and their factors.
def _reflected(A: Tensor) -> Tuple[Tensor, Tensor]:
    rows = torch.arange(A.size(-2), device=A.device)
    columns = torch.arange(A.size(-1), device=A.device)
    R = _wide(A)
    tau = torch.zeros_like(torch.diagonal(R, 0, -2, -1))
    steps = torch.arange(tau.size(-1), device=A.device)
    for k in range(tau.size(-1)):
        column = R.select(-1, k)
        alpha = column.select(-1, k).unsqueeze(-1)
        squares = _squares(column)
        length = torch.sqrt(torch.where(rows >= k, squares, 0).sum(-1, keepdim=True))
        rest = torch.where(rows > k, squares, 0).sum(-1, keepdim=True)
        none = rest == 0
        if A.is_complex():
            none = torch.logical_and(none, torch.imag(alpha) == 0)
        beta = torch.where(none, torch.real(alpha), torch.where(torch.real(alpha) < 0, length, -length)).to(R.dtype)
        one = _one(alpha)
        factor = torch.where(none, torch.zeros_like(alpha), (beta - alpha) / torch.where(none, one, beta))
        v = column / torch.where(none, one, alpha - beta)
        v = torch.where(rows > k, v, torch.where(rows == k, one, torch.zeros_like(one)))
        products = torch.matmul(torch.conj(v).unsqueeze(-2), R)
        image = R - torch.conj(factor).unsqueeze(-1) * v.unsqueeze(-1) * products
        stored = torch.where(rows > k, v, torch.where(rows == k, beta, column)).unsqueeze(-1)
        R = torch.where(columns > k, image, torch.where(columns == k, stored, R))
        tau = torch.where(steps == k, factor, tau)
    return R, tau

# The product of reflections, applied to C (from the last to the first; else from the first).
def _reflections_applied(V: Tensor, tau: Tensor, C: Tensor, last_first: bool, adjoint: bool) -> Tensor:
    rows = torch.arange(V.size(-2), device=V.device)
    result = C
    for k in range(tau.size(-1)):
        at = tau.size(-1) - 1 - k if last_first else k
        factor = tau.select(-1, at).unsqueeze(-1).unsqueeze(-1)
        column = V.select(-1, at)
        one = _one(column)
        v = torch.where(rows > at, column, torch.where(rows == at, one, torch.zeros_like(one))).unsqueeze(-1)
        factor = torch.conj(factor) if adjoint else factor
        result = result - factor * v * torch.matmul(torch.conj(v).mT, result)
    return result

def geqrf(self: Tensor) -> Tuple[Tensor, Tensor]:
    R, tau = _reflected(self)
    return R.to(self.dtype), tau.to(self.dtype)

def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    eye = torch.eye(input.size(-2), input.size(-1), dtype=7, device=input.device).to(input.dtype)
    wide = _wide(input)
    return _reflections_applied(wide, _wide(tau), torch.zeros_like(wide) + eye, True, False).to(input.dtype)

def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    return linalg_householder_product(self, input2)

# Q C = H1 (H2 (... C)), Q^H C = ... H2^H (H1^H C), and from the right by what is adjoint.
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    C = _wide(input3 if left else _adjoint(input3))
    adjoint = transpose == left
    C = _reflections_applied(_wide(self), _wide(input2), C, not adjoint, adjoint)
    return (C if left else _adjoint(C)).to(input3.dtype)

def linalg_qr(A: Tensor, mode: str) -> Tuple[Tensor, Tensor]:
    R, tau = _reflected(A)
    if mode == "r":
        return torch.zeros([0], dtype=A.dtype, device=A.device), torch.triu(R.narrow(-2, 0, tau.size(-1))).to(A.dtype)
    rows = A.size(-2) if mode == "complete" else tau.size(-1)
    eye = torch.eye(A.size(-2), rows, dtype=7, device=A.device).to(R.dtype)
    eye = torch.zeros_like(R.sum(-1)).unsqueeze(-1) + eye
    Q = _reflections_applied(R, tau, eye, True, False)
    return Q.to(A.dtype), torch.triu(R.narrow(-2, 0, rows)).to(A.dtype)

def qr(self: Tensor, some: bool) -> Tuple[Tensor, Tensor]:
    return linalg_qr(self, "reduced" if some else "complete")

# One-sided Jacobi iterations (Hestenes; Golub and Van Loan, Matrix Computations, 8.6): rotations V
# until the columns of A V are orthogonal; their lengths are the singular values. Every round turns
# n / 2 pairs of columns that have none in common: in round r column i meets column r - i modulo
# n, or n + 1 where n is even. It ends when a whole sweep has found nothing left to turn. What is
# smaller than 1e-18 of the whole is zero.
def _orthogonal_columns(A: Tensor) -> Tuple[Tensor, Tensor]:
    n = A.size(-1)
    at = torch.arange(n, device=A.device)
    rounds = n + 1 - n % 2
    X = _wide(A)
    largest = torch.abs(X).sum([-2, -1], keepdim=True)
    largest = torch.where(torch.logical_and(largest > 0, largest < float("inf")), largest, 1)
    X = X / largest
    V = torch.zeros_like(X.sum(-2)).unsqueeze(-1) + torch.eye(n, dtype=7, device=A.device).to(X.dtype)
    floor = 1e-36 * _squares(X).sum([-2, -1]).unsqueeze(-1)
    quiet = torch.zeros([], dtype=4, device=A.device)
    step = 0
    while int(quiet) < rounds and step < 60 * rounds:
        other = torch.remainder(step % rounds - at, rounds)
        other = torch.where(other < n, other, at)
        Y, W = X.index_select(-1, other), V.index_select(-1, other)
        own = _squares(X).sum(-2)
        theirs = own.index_select(-1, other)
        inner = (torch.conj(X) * Y).sum(-2)
        size = torch.abs(inner)
        turns = torch.logical_and(size > 1e-15 * torch.sqrt(own) * torch.sqrt(theirs), torch.minimum(own, theirs) > floor)
        turns = torch.logical_and(turns, other != at)
        zeta = (theirs - own) / (2 * torch.where(turns, size, 1))
        sign = torch.where(zeta == 0, torch.sign(other - at).to(zeta.dtype), torch.sign(zeta))
        t = sign / (torch.abs(zeta) + torch.sqrt(1 + zeta * zeta))
        t = torch.where(turns, t, 0)
        c = torch.rsqrt(1 + t * t).unsqueeze(-2)
        phase = (torch.conj(inner) / torch.where(turns, size, 1)) * t
        phase = phase.unsqueeze(-2)
        X, V = (X - Y * phase) * c, (V - W * phase) * c
        quiet = torch.where(turns.any(), torch.zeros_like(quiet), quiet + 1)
        step = step + 1
    return X * largest, V

def linalg_svdvals(A: Tensor, driver: Optional[str]) -> Tensor:
    X, V = _orthogonal_columns(A)
    lengths = torch.sort(torch.sqrt(_squares(X).sum(-2)), -1, True)[0]
    return lengths.narrow(-1, 0, torch.diagonal(A, 0, -2, -1).size(-1)).to(torch.abs(A).dtype)

# Moved by a bound of the eigenvalues they are positive, and so the singular values.
def linalg_eigvalsh(self: Tensor, UPLO: str) -> Tensor:
    A = _wide(self if UPLO == "L" or UPLO == "l" else _adjoint(self))
    below = torch.tril(A, -1)
    A = below + _adjoint(below) + torch.diag_embed(torch.real(torch.diagonal(A, 0, -2, -1)))
    bound = torch.abs(A).sum([-2, -1]).unsqueeze(-1)
    eye = torch.eye(A.size(-1), dtype=7, device=A.device).to(A.dtype)
    X, V = _orthogonal_columns(A + bound.unsqueeze(-1) * eye)
    lengths = torch.sort(torch.sqrt(_squares(X).sum(-2)), -1)[0]
    return (lengths - bound).to(torch.abs(self).dtype)

# Vectors have a sign that LAPACK chooses: they are LibTorch's own operator, which nothing can say.
def linalg_svd(A: Tensor, full_matrices: bool, driver: Optional[str]) -> Tuple[Tensor, Tensor, Tensor]:
    U, S, Vh = torch._linalg_svd(A, full_matrices, True, driver=driver)
    return U, linalg_svdvals(A, driver), Vh

def svd(self: Tensor, some: bool, compute_uv: bool) -> Tuple[Tensor, Tensor, Tensor]:
    if not compute_uv:
        m, n = self.size(-2), self.size(-1)
        return torch.zeros(self.size()[:-1] + [m], dtype=self.dtype), linalg_svdvals(self, None), torch.zeros(self.size()[:-2] + [n, n], dtype=self.dtype)
    U, S, Vh = torch._linalg_svd(self, not some, True)
    return U, linalg_svdvals(self, None), _adjoint(Vh)

def linalg_eigh(self: Tensor, UPLO: str) -> Tuple[Tensor, Tensor]:
    values, vectors = torch._linalg_eigh(self, UPLO, True)
    return linalg_eigvalsh(self, UPLO), vectors

# Of a symmetric matrix only the lower triangle is read.
def _hermitian(A: Tensor) -> Tensor:
    below = torch.tril(A, -1)
    return below + _adjoint(below) + torch.diag_embed(torch.real(torch.diagonal(A, 0, -2, -1)).to(A.dtype))

# What is left out of the singular values s, which are in no order.
def _tolerance(A: Tensor, s: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor]) -> Tensor:
    eps = 1.1920928955078125e-07 if torch.abs(A).dtype == 6 else 2.220446049250313e-16
    relative = torch.full([], eps * max(A.size(-2), A.size(-1)), dtype=7, device=A.device)
    absolute = torch.zeros([], dtype=7, device=A.device)
    if atol is not None:
        absolute = atol.to(7)
    if rtol is not None:
        relative = rtol.to(7)
    elif atol is not None:
        relative = torch.where(absolute > 0, torch.zeros_like(absolute), relative)
    # Of a matrix without columns there is no largest.
    largest = torch.constant_pad_nd(s, [0, 1]).amax(-1)
    return torch.maximum(absolute, relative * largest).unsqueeze(-1)

def linalg_pinv__atol_rtol_tensor(self: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    X, V = _orthogonal_columns(_hermitian(self) if hermitian else self)
    s = torch.sqrt(_squares(X).sum(-2))
    kept = s > _tolerance(self, s, atol, rtol)
    inverse = torch.where(kept, 1 / torch.where(kept, s * s, 1), 0)
    return torch.matmul(V * inverse.unsqueeze(-2), _adjoint(X)).to(self.dtype)

def _scalar(x: Optional[float]) -> Optional[Tensor]:
    if x is None:
        return None
    return torch.tensor(x, dtype=7)

def linalg_pinv__atol_rtol_float(self: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    return linalg_pinv__atol_rtol_tensor(self, _scalar(atol), _scalar(rtol), hermitian)

def linalg_pinv(self: Tensor, rcond: float, hermitian: bool) -> Tensor:
    return linalg_pinv__atol_rtol_tensor(self, _scalar(0.0), _scalar(rcond), hermitian)

def linalg_pinv__rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool) -> Tensor:
    return linalg_pinv__atol_rtol_tensor(self, _scalar(0.0), rcond, hermitian)

def pinverse(self: Tensor, rcond: float) -> Tensor:
    return linalg_pinv(self, rcond, False)

def linalg_matrix_rank__atol_rtol_tensor(input: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    X, V = _orthogonal_columns(_hermitian(input) if hermitian else input)
    s = torch.sqrt(_squares(X).sum(-2))
    rank = (s > _tolerance(input, s, atol, rtol)).sum(-1)
    # Of an empty matrix LibTorch does not look at the tolerances' shape.
    if rank.dim() > input.dim() - 2 and input.numel() == 0:
        return torch.zeros(input.size()[:-2], dtype=4, device=input.device)
    return rank

def linalg_matrix_rank__atol_rtol_float(self: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    return linalg_matrix_rank__atol_rtol_tensor(self, _scalar(atol), _scalar(rtol), hermitian)

def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool) -> Tensor:
    return linalg_matrix_rank__atol_rtol_tensor(self, _scalar(tol), _scalar(0.0), hermitian)

def linalg_matrix_rank__tol_tensor(input: Tensor, tol: Tensor, hermitian: bool) -> Tensor:
    return linalg_matrix_rank__atol_rtol_tensor(input, tol, _scalar(0.0), hermitian)

# The solution of least length. Of LibTorch's drivers gelsy, the default, tells the rank, and gels
# the residuals.
def linalg_lstsq(self: Tensor, b: Tensor, rcond: Optional[float], driver: Optional[str]) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    name = "gelsy" if driver is None else driver
    assert name == "gelsy" or name == "gels", "whether this driver gives residuals depends on the rank that the data has"
    vector = b.dim() == self.dim() - 1
    if vector:
        for i in range(b.dim()):
            vector = vector and b.size(i) == self.size(i)
    assert vector or b.dim() >= self.dim(), "LibTorch repeats right-hand sides of a lower rank than the matrices in an order of its own"
    X, V = _orthogonal_columns(self)
    s = torch.sqrt(_squares(X).sum(-2))
    kept = s > _tolerance(self, s, None, _scalar(rcond) if name == "gelsy" else None)
    inverse = torch.where(kept, 1 / torch.where(kept, s * s, 1), 0)
    right = _wide(b).unsqueeze(-1) if vector else _wide(b)
    x = torch.matmul(V * inverse.unsqueeze(-2), torch.matmul(_adjoint(X), right))
    solution = (x.select(-1, 0) if vector else x).to(self.dtype)
    none = torch.zeros([0], dtype=torch.abs(self).dtype, device=self.device)
    if name == "gelsy":
        return solution, none, kept.sum(-1), none
    residuals = none
    if self.size(-2) > self.size(-1):
        rest = torch.abs(torch.matmul(_wide(self), x) - right)
        residuals = (rest * rest).sum(-2).to(none.dtype)
    return solution, residuals, none.to(4), none

# By the largest singular value and the least, or norms of the matrix and of its inverse.
def linalg_cond(self: Tensor, p: Optional[number]) -> Tensor:
    order = 2.0 if p is None else float(p)
    if abs(order) == 2.0:
        s = torch.linalg_svdvals(self)
        most, least = s.select(-1, 0), s.select(-1, -1)
        return most / least if order > 0 else least / most
    inverse, info = torch.linalg_inv_ex(self)
    inverse = torch.where((info > 0).unsqueeze(-1).unsqueeze(-1), torch.full_like(inverse, float("inf")), inverse)
    return torch.linalg_matrix_norm(self, order) * torch.linalg_matrix_norm(inverse, order)

def linalg_cond__p_str(self: Tensor, p: str) -> Tensor:
    if p == "nuc":
        s = torch.linalg_svdvals(self)
        return s.sum(-1) * (1 / s).sum(-1)
    inverse, info = torch.linalg_inv_ex(self)
    inverse = torch.where((info > 0).unsqueeze(-1).unsqueeze(-1), torch.full_like(inverse, float("inf")), inverse)
    return torch.linalg_matrix_norm(self, p) * torch.linalg_matrix_norm(inverse, p)

def nuclear_norm(self: Tensor, keepdim: bool) -> Tensor:
    return torch.linalg_matrix_norm(self, "nuc", [-2, -1], keepdim)

def nuclear_norm__dim(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    return torch.linalg_matrix_norm(self, "nuc", dim, keepdim)
