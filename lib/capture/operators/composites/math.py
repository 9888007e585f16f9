# Functions of elements that LibTorch computes by others.

def special_entr(self: Tensor) -> Tensor:
    log = torch.log(self)
    y = -self.to(log.dtype) * log
    zero = torch.where(self == 0, torch.zeros_like(y), torch.full_like(y, -float("inf")))
    return torch.where(torch.isnan(self), y, torch.where(self > 0, y, zero))

def special_ndtr(self: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(self * 0.7071067811865476))

def special_xlog1py(self: Tensor, other: Tensor) -> Tensor:
    y = self * torch.log1p(other)
    return torch.where(torch.isnan(other), y, torch.where(self == 0, torch.zeros_like(y), y))

def ldexp__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return self * torch.pow(2.0, other)

# Euclid's algorithm, as many steps as the longest pair needs.
def gcd(self: Tensor, other: Tensor) -> Tensor:
    zero = (self - self) + (other - other)
    a, b = torch.abs(self + zero), torch.abs(other + zero)
    while bool(torch.any(b != 0)):
        rest = torch.remainder(a, torch.where(b == 0, 1, b))
        a = torch.where(b == 0, a, b)
        b = rest
    return a

def lcm(self: Tensor, other: Tensor) -> Tensor:
    divisor = gcd(self, other)
    share = torch.div(self, torch.where(divisor == 0, 1, divisor), rounding_mode="trunc")
    # C++ computes in int (int32) what is narrower.
    product = share.to(3) * other if divisor.element_size() < 4 else share * other
    return torch.abs(product).to(divisor.dtype)

# Stirling's series at 8 and above, brought there by the recurrence, and by reflection below 0.5.
# https://dlmf.nist.gov/5.11
def lgamma(self: Tensor) -> Tensor:
    x = self.to(7)  # float64
    low = x < 0.5
    y = torch.where(low, 1 - x, x)
    near = y < 8
    p = torch.where(near, y, 1)
    product = p * (p + 1) * (p + 2) * (p + 3) * (p + 4) * (p + 5) * (p + 6) * (p + 7)
    z = torch.where(near, y + 8, y)
    s = 1 / (z * z)
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / z
    result = (z - 0.5) * (torch.log(z) - 1) + 0.4189385332046727 + series  # log(2 pi) / 2 - 1 / 2
    result = torch.where(near, result - torch.log(product), result)
    sine = torch.abs(torch.sin(3.141592653589793 * (x - torch.round(x))))
    reflected = 1.1447298858494002 - torch.log(sine) - result  # log(pi)
    result = torch.where(low, torch.where(torch.isinf(x), -x, reflected), result)
    return result.to(self.dtype if self.is_floating_point() else 6)

def mvlgamma(self: Tensor, p: int) -> Tensor:
    result = torch.lgamma(self) + p * (p - 1) / 4 * 1.1447298858494002  # log(pi)
    for i in range(1, p):
        result = result + torch.lgamma(self - i / 2)
    return result

def digamma(self: Tensor) -> Tensor:
    x = self.to(7)  # float64
    low = x < 0.5
    y = torch.where(low, 1 - x, x)
    shift = torch.zeros_like(y)
    for i in range(8):
        shift = shift + 1 / (y + i)
    z = y + 8
    s = 1 / (z * z)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    result = torch.log(z) - 0.5 / z - series - shift
    part = x - torch.round(x)
    reflected = result - 3.141592653589793 / torch.tan(3.141592653589793 * part)
    poles = torch.where(x == 0, -1 / x, float("nan"))
    reflected = torch.where(part == 0, poles, reflected)
    result = torch.where(low, reflected, result)
    return result.to(self.dtype if self.is_floating_point() else 6)

def positive(self: Tensor) -> Tensor:
    return self

# exp(-|x|) I0(x): its integral over 64 angles, exact to 1e-20 below 32, and the asymptotic series.
# https://dlmf.nist.gov/10.32 and https://dlmf.nist.gov/10.40
def special_i0e(self: Tensor) -> Tensor:
    size = torch.abs(self.to(7))  # float64
    falls = torch.cos(torch.arange(64, dtype=7, device=self.device) * (3.141592653589793 / 32)) - 1
    near = torch.exp(torch.where(size < 32, size, 0).unsqueeze(-1) * falls).mean(-1)
    x = torch.where(size < 32, 32, size)
    term = torch.ones_like(x)
    series = term
    for k in range(1, 13):
        term = term * ((2 * k - 1) * (2 * k - 1) / (8 * k)) / x
        series = series + term
    far = series * torch.rsqrt(6.283185307179586 * x)
    far = torch.where(torch.isnan(size), size, far)
    result = torch.where(size < 32, near, far)
    return result.to(self.dtype if self.is_floating_point() else 6)

def i0(self: Tensor) -> Tensor:
    x = torch.abs(self.to(7))
    return (torch.exp(x) * special_i0e(x)).to(self.dtype if self.is_floating_point() else 6)

def kaiser_window__beta(window_length: int, periodic: bool, beta: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    steps = max(window_length if periodic else window_length - 1, 1)
    # From -1 to 1; a single place is 0.
    place = torch.arange(window_length, dtype=7) * (2 / steps) - min(window_length - 1, 1)
    window = i0(beta * torch.sqrt(torch.clamp_min(1 - place * place, 0))) / i0(torch.tensor(beta, dtype=7))
    return window.to(6 if dtype is None else dtype)

def kaiser_window__periodic(window_length: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return kaiser_window__beta(window_length, periodic, 12.0, dtype, layout, device, pin_memory)

def kaiser_window(window_length: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return kaiser_window__beta(window_length, True, 12.0, dtype, layout, device, pin_memory)

# x 2^e of float64, in two steps: one power alone may be beyond what numbers reach.
def _times_power(x: Tensor, e: Tensor) -> Tensor:
    half = torch.floor(e / 2)
    return x * torch.pow(2.0, half) * torch.pow(2.0, e - half)

# The e with 2^(e - 1) <= x < 2^e of finite x > 0 in float64; a logarithm may be one off.
def _binary_exponent(x: Tensor) -> Tensor:
    e = torch.floor(torch.log2(x)) + 1
    m = _times_power(x, -e)
    return torch.where(m >= 1, e + 1, torch.where(m < 0.5, e - 1, e))

def frexp__Tensor(self: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.to(7)
    regular = torch.logical_and(torch.isfinite(x), x != 0)
    z = torch.where(regular, x, 1)
    e = _binary_exponent(torch.abs(z))
    return torch.where(regular, _times_power(z, -e), x).to(self.dtype), torch.where(regular, e, 0).to(3)

# Bits of the mantissa, exponent of the smallest number, and the largest one.
def _format_of(dtype: int) -> Tuple[int, int, float]:
    if dtype == 7:
        return 53, -1074, 1.7976931348623157e308
    if dtype == 15:  # bfloat16
        return 8, -133, 3.3895313892515355e38
    if dtype == 5:  # float16
        return 11, -24, 65504.0
    return 24, -149, 3.4028234663852886e38

def nextafter(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    digits, lowest, largest = _format_of(dtype)
    x, y = torch.broadcast_tensors([self.to(7), other.to(7)])
    way = torch.where(y > x, 1.0, torch.full_like(x, -1.0))
    regular = torch.logical_and(torch.isfinite(x), x != 0)
    z = torch.where(regular, torch.abs(x), 1)
    e = _binary_exponent(z)
    # Numbers are twice as close below a power of two.
    closer = torch.logical_and(way * x < 0, _times_power(z, -e) == 0.5)
    step = torch.clamp(torch.where(closer, e - 1, e) - digits, min=lowest)
    beside = torch.where(torch.isinf(x), -way * largest, x)
    beside = torch.where(regular, x + way * _times_power(torch.ones_like(x), step), beside)
    beside = torch.where(x == 0, way * _times_power(torch.ones_like(x), torch.full_like(x, lowest)), beside)
    beside = torch.where(x == y, y, beside)
    return torch.where(torch.logical_or(torch.isnan(x), torch.isnan(y)), x + y, beside).to(dtype)
