# Random orders, and distributions that need as many tries as it takes.

def randperm(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.argsort(torch.rand([n])).to(4 if dtype is None else dtype)

def randperm__generator(n: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.argsort(torch.rand([n])).to(4 if dtype is None else dtype)

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
