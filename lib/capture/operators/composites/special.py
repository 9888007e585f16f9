# Special functions, in float64 and rounded once. Integrals whose integrand falls fast are sums over
# a few places on a further axis: the trapezoidal rule converges exponentially for them (Trefethen
# and Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56, 2014).

def _rounded(y: Tensor, like: Tensor) -> Tensor:
    return y.to(like.dtype if like.is_floating_point() else 6)

# exp(x^2) erfc(x) for x >= 0: https://dlmf.nist.gov/7.7 (1), by the rule at the middles of steps
# of 1/2, and what its pole adds.
def _erfcx(x: Tensor) -> Tensor:
    t = torch.arange(13, dtype=7, device=x.device) * 0.5 + 0.25
    near = torch.clamp(x, max=1e8)
    z = near.unsqueeze(-1)
    y = near * (torch.exp(-t * t) / (z * z + t * t)).sum(-1) * 0.3183098861837907  # 1 / pi
    low = torch.clamp(x, max=6)
    pole = 2 * torch.exp(low * (low - 12.566370614359172)) / (1 + torch.exp(-12.566370614359172 * low))
    y = torch.where(x < 6, y + pole, y)
    return torch.where(x > 1e8, 0.5641895835477563 / x, y)  # 1 / sqrt(pi)

# erfc(x) / exp(-x^2) for x >= 0 to the digits of float32, without a further axis: t exp(p(t)), t = 1 / (1 + x / 2),
# where p is an own fit of the logarithm at Chebyshev's places, good to 1.1e-8.
def _erfcx_to_float(x: Tensor) -> Tensor:
    t = 1 / (1 + 0.5 * x)
    p = torch.full_like(t, -0.17875724383680144)
    for c in [0.9913575969436291, -2.2051074991347264, 2.3987337273486946, -1.2254251678362926, 0.33554022488904256,
              -0.23370788943455578, -0.07473419465987388, 0.08259243328138303, 0.3750201990035861, 0.999999927250236,
              -1.2655121242770684]:
        p = p * t + c
    return t * torch.exp(p)

# 1 - erf(x) has no digits left where erf(x) is nearly 1.
def erfc(self: Tensor) -> Tensor:
    x = self.to(7)
    size = torch.abs(x)
    y = (_erfcx(size) if self.dtype == 7 else _erfcx_to_float(size)) * torch.exp(-size * size)
    return _rounded(torch.where(x < 0, 2 - y, y), self)

def erfc__Scalar(a: number) -> number:
    return torch.erfc(torch.tensor(float(a), dtype=7)).item()

def special_erfcx(self: Tensor) -> Tensor:
    x = self.to(7)
    y = _erfcx(torch.abs(x))
    return _rounded(torch.where(x < 0, 2 * torch.exp(x * x) - y, y), self)

def special_log_ndtr(self: Tensor) -> Tensor:
    x = self.to(7)
    z = x * 0.7071067811865476
    scaled = _erfcx(torch.abs(z))
    tail = 0.5 * scaled * torch.exp(-z * z)
    left = torch.log(0.5 * scaled) - z * z
    left = torch.where(x < -1, left, torch.log1p(-torch.where(x < 0, 1 - tail, tail)))
    return _rounded(torch.where(torch.isinf(x), torch.where(x < 0, x, torch.zeros_like(x)), left), self)

# The x >= 0 with erf(x) = y, where erfc(x) = q = 1 - y: Winitzki's approximation, good to 0.2 %,
# and three of Halley's steps, each of which cubes the error. Small y by the series about 0.
# https://dlmf.nist.gov/7.17
def _inverse_erf(y: Tensor, q: Tensor) -> Tensor:
    inner = torch.logical_and(q > 0, q <= 1)
    p = torch.where(inner, q, 0.5)
    log = torch.log(p * (2 - p))
    half = 4.330746750799873 + 0.5 * log  # 2 / (pi a) with a = 0.147
    x = torch.sqrt(torch.clamp_min(torch.sqrt(half * half - log / 0.147) - half, 0))
    for i in range(3):
        r = 0.8862269254527580 * (p * torch.exp(x * x) - _erfcx(x))
        x = x - r / (1 + x * r)
    s = y * y
    series = 0.8862269254527580 * y * (1 + s * (0.2617993877991494 + s * (0.1439317308492191 + s * (0.0976636195039740 + s * 0.0732990793668570))))
    x = torch.where(y < 0.03, series, x)
    ends = torch.where(q == 0, float("inf"), torch.full_like(x, float("nan")))
    return torch.where(inner, x, ends)

def erfinv(self: Tensor) -> Tensor:
    x = self.to(7)
    y = torch.abs(x)
    inverse = _inverse_erf(y, 1 - y)
    return _rounded(torch.where(x < 0, -inverse, torch.where(x == 0, x, inverse)), self)

def special_erfinv(self: Tensor) -> Tensor:
    return torch.erfinv(self)

def special_ndtri(self: Tensor) -> Tensor:
    p = self.to(7)
    inverse = 1.4142135623730951 * _inverse_erf(torch.abs(2 * p - 1), 2 * torch.where(p < 0.5, p, 1 - p))
    return _rounded(torch.where(p < 0.5, -inverse, inverse), self)

# exp(-|x|) I1(x): https://dlmf.nist.gov/10.32 (2) over 64 angles below 32, and the asymptotic
# series, https://dlmf.nist.gov/10.40 (1).
def special_i1e(self: Tensor) -> Tensor:
    x = torch.abs(self.to(7))
    low = torch.where(x < 32, x, 0)
    angles = torch.arange(64, dtype=7, device=self.device) * (3.141592653589793 / 32)
    sine = torch.sin(angles)
    near = low * (torch.exp(low.unsqueeze(-1) * (torch.cos(angles) - 1)) * sine * sine).mean(-1)
    z = torch.where(x < 32, 32, x)
    term = torch.ones_like(z)
    series = term
    for k in range(1, 13):
        term = term * (((2 * k - 1) * (2 * k - 1) - 4) / (8 * k)) / z
        series = series + term
    far = series * torch.rsqrt(6.283185307179586 * z)
    y = torch.where(x < 32, near, far)
    y = torch.where(torch.isnan(x), x, y)
    return _rounded(torch.where(self < 0, -y, y), self)

def special_i1(self: Tensor) -> Tensor:
    x = self.to(7)
    return _rounded(torch.exp(torch.abs(x)) * torch.special_i1e(x), self)

def special_i0(self: Tensor) -> Tensor:
    return torch.i0(self)
special_modified_bessel_i0 = special_i0

def special_modified_bessel_i1(self: Tensor) -> Tensor:
    return special_i1(self)

# exp(x) K0(x) and exp(x) K1(x): the power series up to 2, https://dlmf.nist.gov/10.31, above it
# Laplace's integral, https://dlmf.nist.gov/10.32 (8), with u^2 in the place of t.
def _scaled_k(self: Tensor, order: int) -> Tensor:
    x = self.to(7)
    low = torch.where(torch.logical_and(x > 0, x <= 2), x, 1)
    s = low * low / 4
    log = torch.log(low / 2)
    term = torch.ones_like(s)
    digamma = -0.5772156649015329
    near = torch.zeros_like(s)
    for k in range(16):
        if order == 0:
            near = near + term * (digamma - log)
            term = term * s / ((k + 1) * (k + 1))
        else:
            near = near + term * (log - digamma - 0.5 / (k + 1))
            term = term * s / ((k + 1) * (k + 2))
        digamma = digamma + 1 / (k + 1)
    if order == 1:
        near = 1 / low + 0.5 * low * near
    near = near * torch.exp(low)
    high = torch.where(x > 2, x, 2)
    u = torch.arange(22, dtype=7, device=self.device) * 0.3 + 0.15
    w = 1 + u * u / (2 * high.unsqueeze(-1))
    weight = torch.exp(-u * u)
    if order == 0:
        far = (weight * torch.rsqrt(w)).sum(-1) * 0.3
    else:
        far = (weight * (2 * u * u) * torch.sqrt(w)).sum(-1) * 0.3
    far = far * torch.sqrt(2 / high)
    y = torch.where(x > 2, far, near)
    ends = torch.where(x == 0, float("inf"), torch.full_like(x, float("nan")))
    return torch.where(x > 0, y, ends)

def special_scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    return _rounded(_scaled_k(x, 0), x)

def special_scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    return _rounded(_scaled_k(x, 1), x)

def special_modified_bessel_k0(self: Tensor) -> Tensor:
    return _rounded(_scaled_k(self, 0) * torch.exp(-self.to(7)), self)

def special_modified_bessel_k1(self: Tensor) -> Tensor:
    return _rounded(_scaled_k(self, 1) * torch.exp(-self.to(7)), self)

# J and Y of x >= 8: the modulus and phase of Hankel's integral, https://dlmf.nist.gov/10.9 (Laplace's
# integral of K at -ix) with u^2 in the place of t.
def _hankel(x: Tensor, order: int) -> Tuple[Tensor, Tensor]:
    u = torch.arange(16, dtype=7, device=x.device) * 0.4 + 0.2
    w = u * u / (2 * x.unsqueeze(-1))
    size = torch.sqrt(torch.sqrt(1 + w * w))
    angle = 0.5 * torch.atan(w)
    weight = torch.exp(-u * u) * 0.4
    if order == 0:
        weight = weight / size
        angle = -angle
    else:
        weight = weight * (2 * u * u) * size
    re = (weight * torch.cos(angle)).sum(-1) * 1.1283791670955126  # 2 / sqrt(pi)
    im = (weight * torch.sin(angle)).sum(-1) * 1.1283791670955126
    phase = x - (0.7853981633974483 + 1.5707963267948966 * order)
    root = torch.sqrt(0.6366197723675814 / x)
    cos, sin = torch.cos(phase), torch.sin(phase)
    return root * (re * cos - im * sin), root * (re * sin + im * cos)

# J of 0 <= x < 8 by its integral over 64 angles, https://dlmf.nist.gov/10.9 (4).
def _bessel_j(x: Tensor, order: int) -> Tensor:
    angles = torch.arange(64, dtype=7, device=x.device) * (3.141592653589793 / 32)
    waves = torch.cos(x.unsqueeze(-1) * torch.cos(angles))
    if order == 0:
        return waves.mean(-1)
    sine = torch.sin(angles)
    return x * (waves * sine * sine).mean(-1)

def _bessel(self: Tensor, order: int) -> Tensor:
    x = self.to(7)
    size = torch.abs(x)
    y = torch.where(size < 8, _bessel_j(torch.clamp(size, max=8), order), _hankel(torch.clamp(size, 8, 1e300), order)[0])
    y = torch.where(torch.isinf(x), 0, y)
    if order == 1:
        y = torch.where(x < 0, -y, y)
    return _rounded(torch.where(torch.isnan(x), x, y), self)

def special_bessel_j0(self: Tensor) -> Tensor:
    return _bessel(self, 0)

def special_bessel_j1(self: Tensor) -> Tensor:
    return _bessel(self, 1)

# Below 8 by the power series, https://dlmf.nist.gov/10.8 (1) and (2).
def _bessel_y(self: Tensor, order: int) -> Tensor:
    x = self.to(7)
    low = torch.where(torch.logical_and(x > 0, x < 8), x, 1)
    s = -low * low / 4
    log = 2 * torch.log(low / 2)
    term = torch.ones_like(s)
    digamma = -0.5772156649015329
    near = torch.zeros_like(s)
    for k in range(30):
        if order == 0:
            near = near + term * (log - 2 * digamma)
            term = term * s / ((k + 1) * (k + 1))
        else:
            near = near + term * (log - 2 * digamma - 1 / (k + 1))
            term = term * s / ((k + 1) * (k + 2))
        digamma = digamma + 1 / (k + 1)
    near = near * 0.3183098861837907
    if order == 1:
        near = 0.5 * low * near - 0.6366197723675814 / low
    y = torch.where(x < 8, near, _hankel(torch.clamp(x, 8, 1e300), order)[1])
    y = torch.where(torch.isinf(x), 0, y)
    ends = torch.where(x == 0, -float("inf"), torch.full_like(x, float("nan")))
    return _rounded(torch.where(x > 0, y, ends), self)

def special_bessel_y0(self: Tensor) -> Tensor:
    return _bessel_y(self, 0)

def special_bessel_y1(self: Tensor) -> Tensor:
    return _bessel_y(self, 1)

def special_spherical_bessel_j0(x: Tensor) -> Tensor:
    z = x.to(7)
    y = torch.sin(z) / torch.where(z == 0, 1, z)
    y = torch.where(z == 0, 1, torch.where(torch.isinf(z), 0, y))
    return _rounded(y, x)

# The Airy function: up to |x| = 2 by its power series, https://dlmf.nist.gov/9.4 (1), beyond by the
# integral https://dlmf.nist.gov/9.5 (7) with u = |x|^(1/4) t. A negative x has the sum of two on the
# rays at pi / 3, https://dlmf.nist.gov/9.2 (14). LibTorch says NaN at both infinities.
def special_airy_ai(x: Tensor) -> Tensor:
    wide = x.to(7)
    size = torch.abs(wide)
    low = torch.where(size < 2, wide, 0)
    cube = low * low * low
    f = torch.full_like(cube, 0.3550280538878172)
    g = -0.2588194037928068 * low
    series = f + g
    for k in range(3, 45, 3):
        f = f * cube / (k * (k - 1))
        g = g * cube / (k * (k + 1))
        series = series + (f + g)
    high = torch.where(size < 2, 2, size)
    root = torch.sqrt(high)
    fourth = torch.sqrt(root)
    u = torch.arange(32, dtype=7, device=x.device) * 0.2 + 0.1
    waves = torch.cos(u * u * u / (3 * (root * fourth).unsqueeze(-1))) * (0.2 / 3.141592653589793)
    angle = 2 * high * root / 3
    right = torch.exp(-angle) * (waves * torch.exp(-u * u)).sum(-1)
    weight = 2 * torch.exp(-0.8660254037844386 * u * u)
    phase = angle - 1.0471975511965976
    left = torch.cos(phase) * (waves * (weight * torch.cos(u * u / 2))).sum(-1)
    left = left - torch.sin(phase) * (waves * (weight * torch.sin(u * u / 2))).sum(-1)
    y = torch.where(size < 2, series, torch.where(wide > 0, right, left) / fourth)
    return _rounded(torch.where(torch.isfinite(wide), y, float("nan")), x)

# Hurwitz' zeta function by Euler's and Maclaurin's formula from the first q + k above 9 on,
# https://dlmf.nist.gov/25.11 (28); a negative q goes there step by step.
def _zeta(x: Tensor, q: Tensor) -> Tensor:
    inner = torch.logical_and(x > 1, torch.logical_or(q > 0, torch.logical_and(q != torch.floor(q), x == torch.floor(x))))
    inner = torch.logical_and(inner, torch.isfinite(x + q))
    s = torch.where(inner, x, 2)
    a = torch.where(inner, q, 10)
    y = torch.zeros_like(s + a)
    a = y + a
    while bool(torch.any(a <= 9)):
        more = a <= 9
        y = torch.where(more, y + torch.pow(a, -s), y)
        a = torch.where(more, a + 1, a)
    for i in range(6):
        y = y + torch.pow(a, -s)
        a = a + 1
    power = torch.pow(a, -s)
    y = y + power * (a / (s - 1) + 0.5)
    factor = s * power / a
    # B(2j) / (2j)!
    bernoulli = [8.333333333333333e-02, -1.3888888888888889e-03, 3.306878306878307e-05, -8.267195767195767e-07, 2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.389680296322583e-13]
    for j in range(8):
        y = y + bernoulli[j] * factor
        factor = factor * (s + 2 * j + 1) * (s + 2 * j + 2) / (a * a)
    poles = torch.logical_and(q <= 0, q == torch.floor(q))
    poles = torch.logical_or(x == 1, torch.logical_and(torch.logical_not(x < 1), poles))
    return torch.where(inner, y, torch.where(poles, float("inf"), torch.full_like(y, float("nan"))))

def special_zeta(self: Tensor, other: Tensor) -> Tensor:
    return _zeta(self.to(7), other.to(7)).to(torch.result_type(self, other) if (self.is_floating_point() or other.is_floating_point()) else 6)

def special_zeta__self_scalar(self: number, other: Tensor) -> Tensor:
    return _rounded(_zeta(torch.full([], float(self), dtype=7, device=other.device), other.to(7)), other)

def special_zeta__other_scalar(self: Tensor, other: number) -> Tensor:
    return _rounded(_zeta(self.to(7), torch.full([], float(other), dtype=7, device=self.device)), self)

def polygamma(n: int, self: Tensor) -> Tensor:
    if n == 0:
        return torch.digamma(self)
    factor = -1.0
    for i in range(1, n + 1):
        factor = -factor * i
    order = torch.full([], n + 1, dtype=7, device=self.device)
    return _rounded(factor * _zeta(order, self.to(7)), self)  # infinite at the poles

def special_polygamma(n: int, self: Tensor) -> Tensor:
    return polygamma(n, self)

# Q - erfc(eta sqrt(a / 2)) / 2 of large a, in units of exp(-a eta^2 / 2): https://dlmf.nist.gov/8.12
# (7), whose coefficients are series in eta.
def _temme(a: Tensor, eta: Tensor) -> Tensor:
    coefficients = [-0.3333333333333333, 0.08333333333333333, -0.01481481481481482, 0.001157407407407407, 0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07, -1.766595273682608e-07, 6.707853543401498e-09, -0.001851851851851852, -0.003472222222222222, 0.002645502645502645, -0.0009902263374485596, 0.000205761316872428, -4.018775720164609e-07, -1.809855033448998e-05, 7.64916091608111e-06, -1.612090089456345e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08, 0.004133597883597883, -0.002681327160493827, 0.0007716049382716049, 2.009387860082305e-06, -0.0001073665322636516, 5.292344882912013e-05, -1.276063518861873e-05, 3.423578734096138e-08, 1.372195730906293e-06, -6.298992138380055e-07, 1.428061420606424e-07, -2.047709842199087e-10, 0.0006494341563786008, 0.0002294720936213992, -0.0004691894943952557, 0.0002677206320628389, -7.561801671883977e-05, -2.396505113867297e-07, 1.10826541153473e-05, -5.674952826991597e-06, 1.423090073243588e-06, -2.786108029152814e-11, -1.695840409193028e-07, 8.099464905388083e-08, -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.463845257884342e-06, 6.641498215465122e-05, -3.968365047179435e-05, 1.137572697067842e-05, 2.507497226237533e-10, -1.695414953655831e-06, 8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11]
    # torch.tensor would round them to float32 first.
    table = torch.stack([torch.full([], c, dtype=7, device=a.device) for c in coefficients]).reshape([5, 12])
    powers = torch.pow(eta.unsqueeze(-1), torch.arange(12, dtype=7, device=a.device))
    terms = torch.matmul(powers, table.t()) * torch.pow(a.unsqueeze(-1), torch.arange(0, -5, -1, dtype=7, device=a.device))
    return terms.sum(-1) * torch.rsqrt(6.283185307179586 * a)

# P and Q where x is near a large a: the uniform expansion, https://dlmf.nist.gov/8.12 (3) and (4).
# eta^2 / 2 = m - log(1 + m) by the series of the logarithm in t = m / (2 + m).
def _incomplete_near(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    m = (x - a) / a
    t = m / (2 + m)
    k = torch.arange(12, dtype=7, device=a.device)
    t2 = t * t
    half = t * (m - 2 * t2 * (torch.pow(t2.unsqueeze(-1), k) / (2 * k + 3)).sum(-1))
    eta = torch.sqrt(2 * half)
    size = torch.exp(-a * half)
    right = m > 0
    rest = _temme(a, torch.where(right, eta, -eta))
    small = size * (0.5 * _erfcx(eta * torch.sqrt(a / 2)) + torch.where(right, rest, -rest))
    return torch.where(right, small, 1 - small) if upper else torch.where(right, 1 - small, small)

# The incomplete gamma functions P and Q: the power series below a + 1, else the continued fraction
# by Lentz' method, https://dlmf.nist.gov/8.7 (1) and https://dlmf.nist.gov/8.9 (2). Near a large a
# both would take the longer the larger it is: elsewhere they need less than 200 terms.
def _incomplete(self: Tensor, other: Tensor, upper: bool) -> Tensor:
    a, x = torch.broadcast_tensors([self.to(7), other.to(7)])
    inner = torch.logical_and(torch.logical_and(a > 0, x > 0), torch.isfinite(a + x))
    near = torch.logical_and(torch.logical_and(inner, a > 200), torch.abs(x - a) < 0.3 * a)
    far = torch.logical_and(inner, torch.logical_not(near))
    b, z = torch.where(far, a, 1), torch.where(far, x, 1)
    low = z < b + 1
    front = torch.exp(b * torch.log(z) - z - torch.lgamma(b))
    term = 1 / b
    series = term
    at = b
    while bool(torch.any(torch.logical_and(low, term > 1e-16 * series))):
        at = at + 1
        term = torch.where(low, term * z / at, 0)
        series = series + term
    tiny = 1e-300
    k = 0.0
    step = torch.where(low, z + 1, z) + 1 - b
    c = torch.full_like(step, 1 / tiny)
    d = 1 / torch.where(step == 0, tiny, step)
    fraction = d
    change = torch.where(low, 1, 2).to(7)
    # What is nearer to 1 is rounding, and goes on for ever.
    while bool(torch.any(torch.abs(change - 1) > 1e-15)) and k < 1000.0:
        k = k + 1.0
        numerator = k * (b - k)
        step = step + 2
        d = 1 / (numerator * d + step)
        c = step + numerator / c
        change = torch.where(low, torch.ones_like(d), d * c)
        fraction = fraction * change
    if upper:
        y = torch.where(low, 1 - front * series, front * fraction)
    else:
        y = torch.where(low, front * series, 1 - front * fraction)
    y = torch.where(near, _incomplete_near(torch.where(near, a, 300), torch.where(near, x, 300), upper), y)
    zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
    bad = torch.full_like(y, float("nan"))
    y = torch.where(inner, y, torch.where(torch.isinf(x), one, bad))
    y = torch.where(torch.isinf(a), torch.where(torch.isinf(x), bad, zero), y)
    y = torch.where(a == 0, torch.where(x > 0, one, bad), torch.where(x == 0, zero, y))
    return torch.where(torch.logical_or(x < 0, a < 0), bad, y).to(torch.result_type(self, other))

def igamma(self: Tensor, other: Tensor) -> Tensor:
    return _incomplete(self, other, False)
special_gammainc = igamma

def igammac(self: Tensor, other: Tensor) -> Tensor:
    return _incomplete(self, other, True)
special_gammaincc = igammac
