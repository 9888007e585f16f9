# Windows that each lie anywhere.

# Windows begin where a random number between 0 and 1 puts them.
# https://arxiv.org/abs/1412.6071
def _fractional_starts(samples: Tensor, size: int, kernel: int, count: int) -> Tensor:
    u = samples.unsqueeze(-1)
    alpha = torch.full_like(u, size - kernel) / max(count - 1, 1)
    i = torch.arange(count, device=samples.device)
    starts = ((i + u) * alpha).to(4) - (u * alpha).to(4)
    return torch.where(i == count - 1, size - kernel, starts)

# The elements of each window, picked from the flat plane.
def _fractional_max(x: Tensor, kernel: List[int], sizes: List[int], samples: List[Tensor]) -> Tuple[Tensor, Tensor]:
    planes = x.flatten(-len(kernel))
    places = torch.zeros(samples[0].size() + [1] * (2 * len(kernel)), dtype=4, device=x.device)
    for d, k in enumerate(kernel):
        at = _fractional_starts(samples[d], x.size(d - len(kernel)), k, sizes[d]).unsqueeze(-1)
        at = at + torch.arange(k, device=x.device)
        shape = samples[d].size() + [1] * (2 * len(kernel))
        shape[samples[d].dim() + d] = sizes[d]
        shape[samples[d].dim() + len(kernel) + d] = k
        places = places * x.size(d - len(kernel)) + at.reshape(shape)
    windows = places.flatten(-len(kernel)).flatten(samples[0].dim(), -2)
    values = planes.unsqueeze(-2).expand(windows.size()[:-1] + [planes.size(-1)]).gather(-1, windows)
    most, which = values.max(-1)
    index = windows.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    shape = samples[0].size() + sizes
    return most.reshape(shape), index.reshape(shape)

def _samples_of(x: Tensor, samples: Tensor, axes: int) -> Tensor:
    return samples if x.dim() == axes + 2 else samples[0]

def fractional_max_pool2d(self: Tensor, kernel_size: List[int], output_size: List[int], random_samples: Tensor) -> Tuple[Tensor, Tensor]:
    u = _samples_of(self, random_samples, 2)
    return _fractional_max(self, kernel_size, output_size, [u.select(-1, 1), u.select(-1, 0)])

def fractional_max_pool3d(self: Tensor, kernel_size: List[int], output_size: List[int], random_samples: Tensor) -> Tuple[Tensor, Tensor]:
    u = _samples_of(self, random_samples, 3)
    return _fractional_max(self, kernel_size, output_size, [u.select(-1, 0), u.select(-1, 1), u.select(-1, 2)])
