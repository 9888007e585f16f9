# Elements counted or reduced by the bin or the segment that they lie in.

def _range_of(x: Tensor) -> Tuple[Tensor, Tensor]:
    if x.size(0) == 0:
        return torch.zeros([x.size(1)], dtype=7), torch.ones([x.size(1)], dtype=7)
    return x.amin(0).to(7), x.amax(0).to(7)

# The edges of bins of one width for each column of x; a range without a width is made 1 wide.
def _even_edges(x: Tensor, bins: List[int], range: Optional[List[float]]) -> List[Tensor]:
    edges: List[Tensor] = []
    if range is None:
        low, high = _range_of(x)
        point = torch.where(low == high, 0.5, 0.0)
        low, high = low - point, high + point
        for d, count in enumerate(bins):
            edges.append(torch.linspace(low[d], high[d], count + 1, dtype=x.dtype))
    else:
        for d, count in enumerate(bins):
            first, last = range[2 * d], range[2 * d + 1]
            point = 0.5 if first == last else 0.0
            edges.append(torch.linspace(first - point, last + point, count + 1, dtype=x.dtype))
    return edges

# The bin among those of one width: by division, and of it and its neighbours the one whose edges
# say so, as LibTorch does. https://github.com/pytorch/pytorch/pull/58780
def _even_bin(x: Tensor, edges: Tensor, inside: Tensor) -> Tensor:
    bins = edges.size(0) - 1
    guess = (x - edges[0]) * bins / (edges[-1] - edges[0])
    guess = torch.where(inside, guess, torch.zeros_like(guess)).to(4)
    first = torch.clamp(guess - 1, min=0)
    bin = first - 1
    for k in [0, 1, 2]:
        at = first + k
        passed = torch.logical_and(edges[torch.clamp(at, max=bins)] <= x, torch.logical_and(at < guess + 2, at <= bins))
        bin = bin + passed.to(4)
    return bin

# x: [points, axes]. The last edge belongs to the last bin; what lies in no bin does not count.
def _histogram(x: Tensor, edges: List[Tensor], even: bool, weight: Optional[Tensor], density: bool) -> Tensor:
    place = torch.zeros_like(x.select(1, 0), dtype=4)
    inside = place == 0
    sizes: List[int] = []
    total = 1
    for d, e in enumerate(edges):
        v = x.select(1, d)
        inner = torch.logical_and(v >= e[0], v <= e[-1])
        bin = _even_bin(v, e, inner) if even else torch.searchsorted(e, v, right=True) - 1
        bins = e.size(0) - 1
        within = torch.where(inner, torch.clamp(bin, max=bins - 1), 0)
        place = within if d == 0 else place * bins + within
        inside = torch.logical_and(inside, inner)
        sizes.append(bins)
        total = total * bins
    one = torch.ones_like(x.select(1, 0)) if weight is None else weight.reshape([-1])
    counts = torch.zeros([total], dtype=x.dtype).scatter_add(0, place, torch.where(inside, one, torch.zeros_like(one)))
    y = counts.reshape(sizes)
    if density:
        y = y / y.sum()
        for d, e in enumerate(edges):
            shape = [1] * len(edges)
            shape[d] = e.size(0) - 1
            y = y / torch.diff(e).reshape(shape)
    return y

def _points(self: Tensor, axes: int) -> Tensor:
    count = 1
    for i in range(self.dim() - 1):
        count = count * self.size(i)
    return self.reshape([count, axes])

def histogram__bins_tensor(self: Tensor, bins: Tensor, weight: Optional[Tensor], density: bool) -> Tuple[Tensor, Tensor]:
    return _histogram(self.reshape([-1, 1]), [bins], False, weight, density), bins.clone()

def histogram__bin_ct(self: Tensor, bins: int, range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tuple[Tensor, Tensor]:
    x = self.reshape([-1, 1])
    edges = _even_edges(x, [bins], range)
    return _histogram(x, edges, True, weight, density), edges[0]

def histogramdd(self: Tensor, bins: List[int], range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tuple[Tensor, List[Tensor]]:
    x = _points(self, len(bins))
    edges = _even_edges(x, bins, range)
    return _histogram(x, edges, True, weight, density), edges

def histogramdd__int_bins(self: Tensor, bins: int, range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tuple[Tensor, List[Tensor]]:
    return histogramdd(self, [bins] * self.size(-1), range, weight, density)

def histogramdd__TensorList_bins(self: Tensor, bins: List[Tensor], range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tuple[Tensor, List[Tensor]]:
    return _histogram(_points(self, len(bins)), bins, False, weight, density), [e.clone() for e in bins]

def _histogramdd_bin_edges(self: Tensor, bins: List[int], range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> List[Tensor]:
    return _even_edges(_points(self, len(bins)), bins, range)

def _histogramdd_from_bin_cts(self: Tensor, bins: List[int], range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tensor:
    return histogramdd(self, bins, range, weight, density)[0]

def _histogramdd_from_bin_tensors(self: Tensor, bins: List[Tensor], weight: Optional[Tensor], density: bool) -> Tensor:
    return _histogram(_points(self, len(bins)), bins, False, weight, density)

# Segments lie along the last axis of their lengths, one after the other. What no segment holds goes
# into one behind the last.
def segment_reduce(data: Tensor, reduce: str, lengths: Optional[Tensor], indices: Optional[Tensor], offsets: Optional[Tensor], axis: int, unsafe: bool, initial: Optional[number]) -> Tensor:
    if offsets is not None:
        bounds = offsets.to(4)
    else:
        assert lengths is not None
        bounds = torch.constant_pad_nd(torch.cumsum(lengths.to(4), -1), [1, 0])
    dim = bounds.dim() - 1
    sizes = data.size()
    rows = torch.arange(sizes[dim], device=data.device).expand(sizes[:dim + 1]).contiguous()
    count = bounds.size(dim) - 1
    segment = torch.searchsorted(bounds, rows, right=True) - 1
    segment = torch.where(segment < 0, count, segment)
    each = torch.diff(bounds)
    for i in range(data.dim() - dim - 1):
        segment, each = segment.unsqueeze(-1), each.unsqueeze(-1)
    starts = {"max": -float("inf"), "min": float("inf"), "sum": 0.0, "mean": 0.0, "prod": 1.0}
    modes = {"max": "amax", "min": "amin", "sum": "sum", "mean": "sum", "prod": "prod"}
    start = starts[reduce] if initial is None else float(initial)
    into = sizes[:dim] + [count + 1] + sizes[dim + 1:]
    y = torch.full(into, start, dtype=data.dtype).scatter_reduce(dim, segment.expand(sizes), data, modes[reduce])
    y = y.narrow(dim, 0, count)
    if reduce == "mean":
        none = torch.full_like(y, float("nan")) if initial is None else y
        y = torch.where(each == 0, none, y / torch.clamp(each, min=1).to(y.dtype))
    return y
