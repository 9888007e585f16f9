# Orthogonal polynomials: https://dlmf.nist.gov/18.9 has the recurrences, https://dlmf.nist.gov/18.5 the
# sines and cosines that Chebyshev's are between -1 and 1. Outside the recurrence runs in the result's
# type and ends at NaN, so that it overflows where LibTorch's does.
# Families: Chebyshev's T, U, V, W are 0 to 3, Hermite's H and He 4 and 5, Laguerre's 6, Legendre's 7.

def _degree_one(x: Tensor, family: int) -> Tensor:
    if family == 0 or family == 5 or family == 7:
        return x
    if family == 6:
        return 1 - x
    return x + x - 1 if family == 2 else (x + x + 1 if family == 3 else x + x)

# acos of -1 <= x <= 1 by the sine of half of it, with a step of Newton's: runtimes have the inverse
# functions in float32 only.
def _arc(x: Tensor) -> Tensor:
    y = torch.sqrt((1 - torch.abs(x)) / 2)
    half = torch.asin(y)
    arc = 2 * (half + (y - torch.sin(half)) / torch.cos(half))
    return torch.where(x < 0, 3.141592653589793 - arc, arc)

# For -1 <= x <= 1.
def _chebyshev(x: Tensor, n: Tensor, family: int) -> Tensor:
    t = _arc(torch.clamp(x, -1, 1))
    even = torch.where(n - 2 * torch.floor(n / 2) == 0, 1.0, -1.0)
    if family == 0:
        return torch.cos(n * t)
    if family == 1:
        ends = torch.where(x > 0, n + 1, (n + 1) * even)
        return torch.where(torch.abs(x) == 1, ends, torch.sin((n + 1) * t) / torch.sin(t))
    if family == 2:
        return torch.where(x == -1, (2 * n + 1) * even, torch.cos((n + 0.5) * t) / torch.cos(t / 2))
    return torch.where(x == 1, 2 * n + 1, torch.sin((n + 0.5) * t) / torch.sin(t / 2))

def _polynomial(self: Tensor, degree: Tensor, family: int, shifted: bool) -> Tensor:
    x, n = torch.broadcast_tensors([self + self - 1 if shifted else self, degree])
    n = torch.where(torch.isfinite(n), torch.trunc(n), -1)
    p, q = torch.ones_like(x), _degree_one(x, family)
    y = torch.where(n == 0, p, q)
    more = n > 1
    if family < 4:
        inner = torch.abs(x) <= 1
        y = torch.where(inner, _chebyshev(x.to(7), n.to(7), family).to(x.dtype), y)
        more = torch.logical_and(more, torch.logical_not(inner))
    elif family < 6:
        limit = 512 if x.dtype == 7 else 128
        y = torch.where(n > limit, float("nan"), y)
        more = torch.logical_and(more, n <= limit)
    k = 1.0
    while bool(torch.any(more)):
        if family < 4:
            r = (x + x) * q - p
        elif family == 4:
            r = (x + x) * q - (2 * k) * p
        elif family == 5:
            r = x * q - k * p
        elif family == 6:
            r = ((2 * k + (1 - x)) * q - k * p) / (k + 1)
        else:
            r = ((2 * k + 1) * x * q - k * p) / (k + 1)
        p = q
        q = r
        y = torch.where(more, r, y)
        k = k + 1
        more = torch.logical_and(torch.logical_and(more, n > k), torch.logical_not(torch.isnan(r)))
    return torch.where(n < 0, 0, y)

def _of_both(x: Tensor, n: Tensor, family: int, shifted: bool) -> Tensor:
    dtype = torch.result_type(x, n) if x.is_floating_point() or n.is_floating_point() else 6
    return _polynomial(x.to(dtype), n.to(dtype), family, shifted)

def _of_degrees(x: number, n: Tensor, family: int, shifted: bool) -> Tensor:
    dtype = n.dtype if n.is_floating_point() else 6
    return _polynomial(torch.full([], float(x), dtype=dtype, device=n.device), n.to(dtype), family, shifted)

def _of_degree(x: Tensor, n: number, family: int, shifted: bool) -> Tensor:
    dtype = x.dtype if x.is_floating_point() else 6
    return _polynomial(x.to(dtype), torch.full([], float(n), dtype=dtype, device=x.device), family, shifted)

def special_chebyshev_polynomial_t(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 0, False)

def special_chebyshev_polynomial_t__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 0, False)

def special_chebyshev_polynomial_t__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 0, False)

def special_chebyshev_polynomial_u(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 1, False)

def special_chebyshev_polynomial_u__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 1, False)

def special_chebyshev_polynomial_u__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 1, False)

def special_chebyshev_polynomial_v(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 2, False)

def special_chebyshev_polynomial_v__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 2, False)

def special_chebyshev_polynomial_v__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 2, False)

def special_chebyshev_polynomial_w(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 3, False)

def special_chebyshev_polynomial_w__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 3, False)

def special_chebyshev_polynomial_w__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 3, False)

def special_shifted_chebyshev_polynomial_t(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 0, True)

def special_shifted_chebyshev_polynomial_t__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 0, True)

def special_shifted_chebyshev_polynomial_t__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 0, True)

def special_shifted_chebyshev_polynomial_u(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 1, True)

def special_shifted_chebyshev_polynomial_u__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 1, True)

def special_shifted_chebyshev_polynomial_u__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 1, True)

def special_shifted_chebyshev_polynomial_v(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 2, True)

def special_shifted_chebyshev_polynomial_v__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 2, True)

def special_shifted_chebyshev_polynomial_v__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 2, True)

def special_shifted_chebyshev_polynomial_w(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 3, True)

def special_shifted_chebyshev_polynomial_w__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 3, True)

def special_shifted_chebyshev_polynomial_w__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 3, True)

def special_hermite_polynomial_h(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 4, False)

def special_hermite_polynomial_h__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 4, False)

def special_hermite_polynomial_h__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 4, False)

def special_hermite_polynomial_he(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 5, False)

def special_hermite_polynomial_he__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 5, False)

def special_hermite_polynomial_he__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 5, False)

def special_laguerre_polynomial_l(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 6, False)

def special_laguerre_polynomial_l__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 6, False)

def special_laguerre_polynomial_l__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 6, False)

def special_legendre_polynomial_p(x: Tensor, n: Tensor) -> Tensor:
    return _of_both(x, n, 7, False)

def special_legendre_polynomial_p__x_scalar(x: number, n: Tensor) -> Tensor:
    return _of_degrees(x, n, 7, False)

def special_legendre_polynomial_p__n_scalar(x: Tensor, n: number) -> Tensor:
    return _of_degree(x, n, 7, False)
