# Operators whose numbers (sizes, kernels) are computed, where their rows know them at export.

# Where the taps that cover each place of a padded axis are among [kernel, windows + 1]: the last window is of zeros.
def _covering(length: int, windows: int, kernel: int, dilation: int, padding: int, stride: int, like: Tensor) -> Tensor:
    taps = torch.arange(kernel, device=like.device)
    behind = (torch.arange(length, device=like.device) + padding).unsqueeze(1) - taps * dilation
    window = torch.div(behind, stride, rounding_mode="floor")
    covers = torch.logical_and(window * stride == behind, torch.logical_and(window >= 0, window < windows))
    return (taps * (windows + 1) + torch.where(covers, window, windows)).flatten()

# Two axes [kernel, windows] become one of places, at which the taps are added.
def _with_taps_added(x: Tensor, axis: int, covering: Tensor, kernel: int) -> Tensor:
    filled = torch.constant_pad_nd(x, [0, 0] * (x.dim() - axis - 2) + [0, 1]).flatten(axis, axis + 1)
    return torch.index_select(filled, axis, covering).unflatten(axis, [-1, kernel]).sum(axis + 1)

# col2im of any sizes, where those of ONNX's Col2Im have to be known before opset 18: one axis after the other. It
# gathers, because scattered sums are loops before opset 16.
def col2im(self: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    x = self if self.dim() == 3 else self.unsqueeze(0)
    windows: List[int] = []
    covering: List[Tensor] = []
    for i in range(2):
        windows.append(_window_count(output_size[i], kernel_size[i], stride[i], padding[i], dilation[i], False))
        covering.append(_covering(output_size[i], windows[i], kernel_size[i], dilation[i], padding[i], stride[i], x))
    x = x.reshape([x.size(0), x.size(1) // (kernel_size[0] * kernel_size[1]), kernel_size[0], kernel_size[1], windows[0], windows[1]])
    y = _with_taps_added(x.transpose(3, 4), 2, covering[0], kernel_size[0])
    y = _with_taps_added(y, 3, covering[1], kernel_size[1])
    y = y.to(self.dtype)  # sums of bools are integers
    return y if self.dim() == 3 else y.squeeze(0)

# Pooling with windows of computed lengths: what each window has is gathered.

def _averaged_wide(x: Tensor, axes: int, kernel: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor: Optional[int]) -> Tensor:
    if not x.is_floating_point():
        return _averaged(x, axes, kernel, stride, padding, ceil_mode, count_include_pad, divisor, "trunc")
    wide = x.to(6) if x.dtype == 5 or x.dtype == 15 else x  # halves are added up in float32
    return _averaged(wide, axes, kernel, stride, padding, ceil_mode, count_include_pad, divisor, None).to(x.dtype)

def avg_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    return _averaged_wide(self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

def avg_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged_wide(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

def avg_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged_wide(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

# A window's places beyond the input are replaced by the nearest of its own inside; one that has none gives the least
# number.
def _largest_of_windows(x: Tensor, axis: int, size: int, step: int, pad: int, gap: int, ceil_mode: bool) -> Tensor:
    length = x.size(axis)
    windows = _window_count(length, size, step, pad, gap, ceil_mode)
    begin = (torch.arange(windows, device=x.device) * step - pad).unsqueeze(1)
    first = torch.div(torch.clamp(-begin, min=0) + gap - 1, gap, rounding_mode="floor")
    last = torch.div(length - 1 - begin, gap, rounding_mode="floor")
    taps = torch.arange(size, device=x.device)
    at = torch.clamp(begin + torch.minimum(torch.maximum(taps, first), last) * gap, 0, length - 1)
    y = torch.index_select(x, axis, at.flatten()).unflatten(axis, [-1, size]).amax(axis)
    if not x.is_floating_point():
        return y
    some = (torch.clamp(last, max=size - 1) >= first).reshape([-1] + [1] * (-1 - axis))
    return torch.where(some, y, float("-inf"))

def _largest_along(x: Tensor, axes: int, kernel: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    size, pad, gap = _each(kernel, axes), _each(padding, axes), _each(dilation, axes)
    step = size if len(stride) == 0 else _each(stride, axes)
    for i in range(axes):
        x = _largest_of_windows(x, i - axes, size[i], step[i], pad[i], gap[i], ceil_mode)
    return x

def max_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return _largest_along(self, 1, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return _largest_along(self, 2, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return _largest_along(self, 3, kernel_size, stride, padding, dilation, ceil_mode)

def im2col(self: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    x = _with_zeros(self if self.dim() == 4 else self.unsqueeze(0), padding, padding)
    for i in range(2):
        x = _windows(x, 2 + 2 * i, kernel_size[i], stride[i], dilation[i])
    y = x.permute([0, 1, 3, 5, 2, 4]).flatten(1, 3).flatten(2, 3)
    return y if self.dim() == 4 else y.squeeze(0)

def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Optional[Generator]) -> Tensor:
    if not replacement:
        return torch.topk(self.to(7) / torch.exponential(torch.zeros_like(self, dtype=7)), num_samples, -1)[1]
    sums = torch.cumsum(self.to(7), -1)
    sizes = self.size()
    u = torch.rand(sizes[:-1] + [num_samples], dtype=7, device=self.device) * sums[..., -1:]
    return torch.searchsorted(sums, u, right=True).clamp(max=sizes[-1] - 1)
