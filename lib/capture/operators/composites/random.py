# Random orders, and distributions that need as many tries as it takes.

def randperm(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.argsort(torch.rand([n])).to(4 if dtype is None else dtype)

def randperm__generator(n: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.argsort(torch.rand([n])).to(4 if dtype is None else dtype)

# The forms that name a generator, which is None.

def rand__generator(size: List[int], generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.rand(size, dtype=dtype, device=device)

def randn__generator(size: List[int], generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.randn(size, dtype=dtype, device=device)

def randint__generator(high: int, size: List[int], generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.randint(high, size, dtype=dtype, device=device)

def randint__low_generator(low: int, high: int, size: List[int], generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.randint(low, high, size, dtype=dtype, device=device)

def rand_like__generator(self: Tensor, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.rand_like(self, dtype=dtype, device=device)

def randn_like__generator(self: Tensor, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.randn_like(self, dtype=dtype, device=device)

def randint_like__generator(self: Tensor, high: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.randint_like(self, high, dtype=dtype, device=device)

def randint_like__low_generator_dtype(self: Tensor, low: int, high: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.randint_like(self, low, high, dtype=dtype, device=device)

def randint_like__Tensor(self: Tensor, high: Tensor, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    return torch.randint_like(self, int(high), dtype=dtype, device=device)

# Marsaglia and Tsang, A simple method for generating gamma variables, ACM Transactions on
# Mathematical Software 26, 2000. Below 1 by that of alpha + 1. Never 0.
def _gamma(alpha: Tensor) -> Tensor:
    a = alpha.to(7)
    raised = torch.where(a < 1, torch.pow(1 - torch.rand_like(a), 1 / a), 1.0)
    d = torch.where(a < 1, a + 1, a) - 1 / 3
    y = torch.zeros_like(d)
    open = y == 0
    while bool(torch.any(open)):
        x = torch.randn_like(d)
        root = 1 + x / torch.sqrt(9 * d)
        v = torch.where(root > 0, root * root * root, 1.0)
        taken = torch.log(1 - torch.rand_like(d)) < 0.5 * x * x + d * (1 - v + torch.log(v))
        taken = torch.logical_and(torch.logical_and(taken, root > 0), open)
        y = torch.where(taken, d * v, y)
        open = torch.logical_and(open, torch.logical_not(taken))
    return torch.clamp(y * raised, min=1.1754943508222875e-38)

def _standard_gamma(self: Tensor, generator: Optional[Generator]) -> Tensor:
    return _gamma(self).to(self.dtype)

def _sample_dirichlet(self: Tensor, generator: Optional[Generator]) -> Tensor:
    y = _gamma(self)
    return (y / y.sum(-1, True)).to(self.dtype)

def log_normal(self: Tensor, mean: float, std: float, generator: Optional[Generator]) -> Tensor:
    return torch.exp(torch.randn_like(self, dtype=7) * std + mean).to(self.dtype)

def cauchy(self: Tensor, median: float, sigma: float, generator: Optional[Generator]) -> Tensor:
    u = torch.rand_like(self, dtype=7) - 0.5
    return (median + sigma * torch.tan(3.141592653589793 * u)).to(self.dtype)

# How many tries the first success takes.
def _tries(p: Tensor) -> Tensor:
    return torch.ceil(torch.log(1 - torch.rand_like(p)) / torch.log1p(-p)).clamp(min=1)

def geometric(self: Tensor, p: float, generator: Optional[Generator]) -> Tensor:
    return _tries(torch.full_like(self, p, dtype=7)).to(self.dtype)

# One more than the largest whole number that random_() draws: the type's, or what a float's mantissa can count to
# (an int64 has no number for its own).
def _end(dtype: int) -> int:
    ends = {0: 256, 1: 128, 2: 32768, 3: 2147483648, 4: 9223372036854775807, 5: 2049, 6: 16777217, 7: 9007199254740993, 11: 2, 15: 257}
    return ends[dtype]

def random(self: Tensor, generator: Optional[Generator]) -> Tensor:
    return torch.randint_like(self, _end(self.dtype))

def random__to(self: Tensor, to: int, generator: Optional[Generator]) -> Tensor:
    return torch.randint_like(self, to)

def random__from(self: Tensor, from_: int, to: Optional[int], generator: Optional[Generator]) -> Tensor:
    return torch.randint_like(self, from_, _end(self.dtype) if to is None else to)

# Below a mean of 10 counted one by one, above by rejection: Hoermann, The transformed rejection method for generating
# Poisson random variables, Insurance: Mathematics and Economics 12, 1993 (algorithm PTRS), and The generation of
# binomial random variates, Journal of Statistical Computation and Simulation 46, 1993 (BTRS).

# The number that is proposed, how far inside its place is, and the height at which.
def _proposed(a: Tensor, b: Tensor, middle: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    u = torch.rand_like(a) - 0.5
    inside = 0.5 - torch.abs(u)
    return torch.floor((2 * a / inside + b) * u + middle), inside, torch.rand_like(a)

# Whether it is taken: surely below `sure`, else where the logarithm of its probability, less the mode's, says so.
def _accepted(inside: Tensor, v: Tensor, sure: Tensor, spread: Tensor, a: Tensor, b: Tensor, ratio: Tensor) -> Tensor:
    fits = torch.log(v * spread / (a / (inside * inside) + b)) <= ratio
    return torch.logical_or(torch.logical_and(inside >= 0.07, v <= sure), fits)

# The counts after one more step, and which go on: those by rejection until one is taken, the others until they ended.
def _stepped(y: Tensor, open: Tensor, big: Tensor, k: Tensor, accepted: Tensor, ended: Tensor) -> Tuple[Tensor, Tensor]:
    y = torch.where(open, torch.where(big, k, torch.where(ended, y, y + 1)), y)
    return y, torch.logical_and(open, torch.logical_not(torch.where(big, accepted, ended)))

def poisson(self: Tensor, generator: Optional[Generator]) -> Tensor:
    rate = self.to(7)
    big = rate >= 10
    large = torch.where(big, rate, 10.0)
    b = 0.931 + 2.53 * torch.sqrt(large)
    a = 0.02483 * b - 0.059
    spread = 1.1239 + 1.1328 / (b - 3.4)
    product = torch.rand_like(rate)  # while it is above exp(-rate), one more came
    y = torch.zeros_like(rate)
    open = y == 0
    while bool(torch.any(open)):
        k, inside, v = _proposed(a, b, large + 0.43)
        valid = torch.logical_and(k >= 0, torch.logical_or(inside >= 0.013, v <= inside))
        count = torch.clamp(k, min=0)
        ratio = count * torch.log(large) - large - torch.lgamma(count + 1)
        accepted = torch.logical_and(valid, _accepted(inside, v, 0.9277 - 3.6224 / (b - 2), spread, a, b, ratio))
        y, open = _stepped(y, open, big, k, accepted, torch.logical_not(product > torch.exp(-rate)))
        product = product * torch.rand_like(rate)
    return y.to(self.dtype)

def binomial(count: Tensor, prob: Tensor, generator: Optional[Generator]) -> Tensor:
    n, given = torch.broadcast_tensors([count.to(7), prob.to(7)])
    flipped = given > 0.5
    p = torch.where(flipped, 1 - given, given)
    big = n * p >= 10
    m = torch.where(big, n, 20.0)
    q = torch.where(big, p, 0.5)
    deviation = torch.sqrt(m * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = 0.0248 * b + 0.01 * q - 0.0873
    spread = (2.83 + 5.1 / b) * deviation
    odds = torch.log(q / (1 - q))
    mode = torch.floor((m + 1) * q)
    top = torch.lgamma(mode + 1) + torch.lgamma(m - mode + 1)
    used = _tries(p)  # tries until the next success
    y = torch.zeros_like(p)
    open = y == 0
    while bool(torch.any(open)):
        k, inside, v = _proposed(a, b, m * q + 0.5)
        valid = torch.logical_and(k >= 0, k <= m)
        some = torch.where(valid, k, mode)
        ratio = top - torch.lgamma(some + 1) - torch.lgamma(m - some + 1) + (some - mode) * odds
        accepted = torch.logical_and(valid, _accepted(inside, v, 0.92 - 4.2 / b, spread, a, b, ratio))
        y, open = _stepped(y, open, big, k, accepted, torch.logical_not(used <= n))
        used = used + _tries(p)
    return torch.where(flipped, n - y, y).to(count.dtype)
