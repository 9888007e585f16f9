# Vector-Jacobian products of linear algebra, and of distances and norms that are made of others.

def _transposed(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)

def _of_inverse(grad: Tensor, result: Tensor) -> Tensor:
    t = _transposed(result)
    return -torch.matmul(torch.matmul(t, grad), t)

def inverse__self(grad: Tensor, result: Tensor) -> Tensor:
    return _of_inverse(grad, result)
linalg_inv__A = inverse__self
linalg_inv_ex__A = inverse__self

def _of_determinant(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    return (grad * result).unsqueeze(-1).unsqueeze(-1) * _transposed(torch.linalg_inv(A))

def linalg_det__A(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    return _of_determinant(grad, A, result)

def det__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return _of_determinant(grad, self, result)

def logdet__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad.unsqueeze(-1).unsqueeze(-1) * _transposed(torch.linalg_inv(self))

def linalg_slogdet__A(grads: List[Tensor], A: Tensor) -> Tensor:
    return grads[1].unsqueeze(-1).unsqueeze(-1) * _transposed(torch.linalg_inv(A))

def slogdet__self(grads: List[Tensor], self: Tensor) -> Tensor:
    return grads[1].unsqueeze(-1).unsqueeze(-1) * _transposed(torch.linalg_inv(self))

# Whether the right side is a vector, or a batch of vectors.
def _is_vector(A: Tensor, B: Tensor) -> bool:
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and B.size() == A.size()[:-1])

def linalg_solve__A(grad: Tensor, A: Tensor, B: Tensor, left: bool, result: Tensor) -> Tensor:
    g = torch.linalg_solve(_transposed(A), grad, left=left)
    if _is_vector(A, B):
        return -g.unsqueeze(-1) * result.unsqueeze(-2)
    return -(torch.matmul(g, _transposed(result)) if left else torch.matmul(_transposed(result), g))

def linalg_solve__B(grad: Tensor, A: Tensor, left: bool) -> Tensor:
    return torch.linalg_solve(_transposed(A), grad, left=left)

# https://arxiv.org/abs/1602.07527, the lower factor; the gradient is symmetric.
def _of_cholesky(grad: Tensor, L: Tensor) -> Tensor:
    inner = torch.tril(torch.matmul(_transposed(L), grad))
    inner = inner - 0.5 * torch.diag_embed(torch.diagonal(inner, 0, -2, -1))
    inverse = torch.linalg_inv(L)
    made = torch.matmul(torch.matmul(_transposed(inverse), inner), inverse)
    return 0.5 * (made + _transposed(made))

def linalg_cholesky__self(grad: Tensor, upper: bool, result: Tensor) -> Tensor:
    return _of_cholesky(_transposed(grad), _transposed(result)) if upper else _of_cholesky(grad, result)
cholesky__self = linalg_cholesky__self
linalg_cholesky_ex__self = linalg_cholesky__self

# Of distances between rows; nothing comes from rows that are equal.
def _of_distances(grad: Tensor, x1: Tensor, x2: Tensor, p: float, distance: Tensor) -> Tensor:
    d = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    g, r = grad.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 0.0:
        return torch.zeros_like(d)
    if p == 1.0:
        return g * torch.sign(d)
    if p == 2.0:
        return _zero_where(r == 0, g / r) * d
    if p == float("inf"):
        far = torch.clamp_max(torch.ceil(torch.abs(torch.abs(d) - r)), 1.0)
        return g * torch.sign(d) * (1 - far)
    scale = _zero_where(r == 0, g / torch.pow(r, p - 1))
    if p < 2.0:
        return torch.sign(d) * _zero_where(d == 0, torch.pow(torch.abs(d), p - 1)) * scale
    return d * torch.pow(torch.abs(d), p - 2) * scale

def cdist__x1(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    return _of_distances(grad, x1, x2, p, result).sum(-2)

def cdist__x2(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    return -_of_distances(grad, x1, x2, p, result).sum(-3)
