# Functions of elements that LibTorch computes by others.

def special_entr(self: Tensor) -> Tensor:
    y = -self * torch.log(self)
    zero = torch.where(self == 0, torch.zeros_like(y), torch.full_like(y, -float("inf")))
    return torch.where(torch.isnan(self), y, torch.where(self > 0, y, zero))

def special_ndtr(self: Tensor) -> Tensor:
    x = self * 0.7071067811865476
    tail = 0.5 * torch.erfc(torch.abs(x))
    middle = 0.5 + 0.5 * torch.erf(x)
    outer = torch.where(x > 0, 1 - tail, tail)
    return torch.where(torch.abs(x) < 0.7071067811865476, middle, outer)

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
