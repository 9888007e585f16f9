# Operators of LibTorch on integers, where ONNX has them for floats alone. Sums wrap around, as LibTorch's do.

def _each(numbers: List[int], axes: int) -> List[int]:
    return [numbers[0]] * axes if len(numbers) == 1 else numbers

# Windows of `kernel` elements along an axis: it becomes two, which window and the place in it.
def _windows(x: Tensor, axis: int, kernel: int, stride: int, dilation: int) -> Tensor:
    windows = (x.size(axis) - dilation * (kernel - 1) - 1) // stride + 1
    starts = torch.arange(windows, device=x.device) * stride
    at = starts.unsqueeze(1) + torch.arange(kernel, device=x.device) * dilation
    return torch.index_select(x, axis, at.flatten()).unflatten(axis, [-1, kernel])

# How many windows an axis has; the last one begins before the padding behind the axis ends.
def _window_count(length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    rest = length + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return rest // stride + 1
    return min((rest + stride - 1) // stride + 1, (length + padding - 1) // stride + 1)

# Zeros before and behind the last axes.
def _with_zeros(x: Tensor, begins: List[int], ends: List[int]) -> Tensor:
    pads: List[int] = []
    for i in range(len(begins)):
        pads.append(begins[len(begins) - 1 - i])
        pads.append(ends[len(begins) - 1 - i])
    return torch.constant_pad_nd(x, pads, 0)

# x[N, C, ...] with w[O, C / groups, ...]: one product of windows and kernels a group.
def _convolved(x: Tensor, w: Tensor, stride: List[int], dilation: List[int], groups: int) -> Tensor:
    axes = w.dim() - 2
    for i in range(axes):
        x = _windows(x, 2 + 2 * i, w.size(2 + i), stride[i], dilation[i])
    order = [0] + [2 + 2 * i for i in range(axes)] + [1] + [3 + 2 * i for i in range(axes)]
    x = x.permute(order)
    sizes = [x.size(1 + i) for i in range(axes)]
    columns = x.reshape([x.size(0), -1, groups, w[0].numel()]).transpose(1, 2)
    kernels = w.reshape([groups, w.size(0) // groups, w[0].numel()]).transpose(1, 2)
    y = torch.matmul(columns, kernels).transpose(2, 3)
    return y.reshape([x.size(0), w.size(0)] + sizes)

def _convolution_of(x: Tensor, w: Tensor, bias: Optional[Tensor], stride: List[int], begins: List[int], ends: List[int], dilation: List[int], transposed: bool, groups: int) -> Tensor:
    axes = w.dim() - 2
    alone = x.dim() == axes + 1
    if alone:
        x = x.unsqueeze(0)
    if transposed:
        # Zeros between the elements, and the kernels turned around.
        for i in range(axes):
            between = _with_zeros(x.unsqueeze(3 + i), [0] * (axes - i), [stride[i] - 1] + [0] * (axes - 1 - i))
            x = between.flatten(2 + i, 3 + i).narrow(2 + i, 0, (x.size(2 + i) - 1) * stride[i] + 1)
        w = w.flip([2 + i for i in range(axes)])
        w = w.unflatten(0, [groups, -1]).transpose(1, 2).flatten(0, 1)
        stride = [1] * axes
    y = _convolved(_with_zeros(x, begins, ends), w, stride, dilation, groups)
    if bias is not None:
        y = y + bias.reshape([-1] + [1] * axes)
    return y.squeeze(0) if alone else y

def convolution(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> Tensor:
    axes = weight.dim() - 2
    begins, steps = _each(padding, axes), _each(dilation, axes)
    ends = begins
    if transposed:
        more = _each(output_padding, axes)
        begins = [steps[i] * (weight.size(2 + i) - 1) - begins[i] for i in range(axes)]
        ends = [begins[i] + more[i] for i in range(axes)]
    return _convolution_of(input, weight, bias, _each(stride, axes), begins, ends, steps, transposed, groups)

def _convolution(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool, allow_tf32: bool) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)

def _convolution__deprecated(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)

def _convolution_mode(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    axes = weight.dim() - 2
    steps = _each(dilation, axes)
    all = [0] * axes
    if padding == "same":
        all = [steps[i] * (weight.size(2 + i) - 1) for i in range(axes)]
    begins = [n // 2 for n in all]
    ends = [all[i] - begins[i] for i in range(axes)]
    return _convolution_of(input, weight, bias, _each(stride, axes), begins, ends, steps, False, groups)

def conv1d(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)
conv2d = conv1d
conv3d = conv1d

def conv1d__padding(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return torch._convolution_mode(input, weight, bias, stride, padding, dilation, groups)
conv2d__padding = conv1d__padding
conv3d__padding = conv1d__padding

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)
conv_transpose2d__input = conv_transpose1d
conv_transpose3d__input = conv_transpose1d

# Windows along the last `axes` axes. Each is divided by how many of its elements lie in the input, or also in the
# padding; a window may reach beyond both, if it begins before.
def _averaged(x: Tensor, axes: int, kernel: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor: Optional[int], rounding: Optional[str]) -> Tensor:
    size = _each(kernel, axes)
    step = size if len(stride) == 0 else _each(stride, axes)
    pad = _each(padding, axes)
    count = torch.ones([], dtype=4, device=x.device)  # int64
    ends: List[int] = []
    for i in range(axes):
        length = x.size(i - axes)
        windows = _window_count(length, size[i], step[i], pad[i], 1, ceil_mode)
        ends.append(max((windows - 1) * step[i] + size[i] - length - pad[i], 0))
        begin = torch.arange(windows, device=x.device) * step[i] - pad[i]
        end = torch.clamp(begin + size[i], max=length + pad[i])
        inside = torch.clamp(end, max=length) - torch.clamp(begin, min=0)
        count = count.unsqueeze(-1) * (end - begin if count_include_pad else inside)
    y = _with_zeros(x, pad, ends)
    for i in range(axes):
        y = _windows(y, i - axes, size[i], step[i], 1).sum(i - axes)
    return torch.div(y, count if divisor is None else torch.full_like(count, divisor), rounding_mode=rounding)

def avg_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    return _averaged(self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None, "trunc")

def avg_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, "trunc")

def avg_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, "trunc")

# Interpolation of bytes as LibTorch's kernels do it: each axis, the last one first, is a sum of products with
# weights of 15 bits that is rounded to a byte.

# How much an element at a distance counts, by how many it reaches to each side: a triangle, the cubic convolution
# of Keys, Lanczos' window.
def _tap(distance: Tensor, reach: int, a: float) -> Tensor:
    x = torch.abs(distance)
    if reach == 1:
        return torch.clamp(1 - x, min=0)
    if reach == 3:
        return torch.where(x < 3, torch.sinc(x) * torch.sinc(x / 3), 0)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x < 1, near, torch.where(x < 2, far, 0))

# [outputs, inputs] of an axis. Beyond its ends an element stands for those that are missing.
def _taps(inputs: int, at: Tensor, reach: int) -> Tensor:
    index = torch.clamp(torch.floor(at), max=inputs - 1)
    rest = torch.clamp(at - index, 0, 1)
    every = torch.arange(inputs, dtype=7, device=at.device)
    weights = torch.zeros_like(at * every)
    for k in range(1 - reach, 1 + reach):
        place = torch.clamp(index + k, 0, inputs - 1)
        weights = weights + torch.where(every == place, _tap(rest - k, reach, -0.75), 0)
    return weights

# The same of a filter that is as much wider as the result is smaller.
def _smooth_taps(inputs: int, step: float, center: Tensor, reach: int) -> Tensor:
    wide = torch.clamp(torch.full([], step, dtype=7, device=center.device), min=1)
    side = wide * reach
    every = torch.arange(inputs, dtype=7, device=center.device)
    inside = torch.logical_and(every >= torch.trunc(center - side + 0.5), every < torch.trunc(center + side + 0.5))
    weights = torch.where(inside, _tap((every - center + 0.5) * (1 / wide), reach, -0.5), 0)
    return weights / weights.sum(1, keepdim=True)

# [outputs, inputs] in whole numbers, and what is 1 among them: the largest power of 2 with which none passes 15 bits.
def _byte_weights(inputs: int, outputs: int, align_corners: bool, scale: Optional[float], reach: int, smooth: bool, like: Tensor) -> Tuple[Tensor, Tensor]:
    step = inputs / outputs
    if align_corners:
        step = (inputs - 1) / max(outputs - 1, 1) * min(outputs - 1, 1)
    elif scale is not None and outputs != inputs:
        step = 1 / scale  # LibTorch leaves an axis that keeps its length
    places = torch.arange(outputs, dtype=7, device=like.device).unsqueeze(1)
    if smooth:
        weights = _smooth_taps(inputs, step, (places + 0.5) * step, reach)
    else:
        at = places * step if align_corners else (places + 0.5) * step - 0.5
        weights = _taps(inputs, torch.clamp(at, min=0) if reach == 1 else at, reach)
    powers = torch.pow(2.0, torch.arange(1, 23, dtype=7, device=like.device))
    fits = torch.floor(0.5 + weights.max() * powers) < 32768
    one = torch.pow(2.0, fits.sum().to(7))
    return torch.trunc(weights * one + torch.where(weights < 0, -0.5, 0.5)), one

def _to_byte(x: Tensor, one: Tensor) -> Tensor:
    return torch.clamp(torch.floor(x / one + 0.5), 0, 255)

def _interpolated(x: Tensor, size: List[int], align_corners: bool, scale_h: Optional[float], scale_w: Optional[float], reach: int, smooth: bool) -> Tensor:
    across, one = _byte_weights(x.size(3), size[1], align_corners, scale_w, reach, smooth, x)
    y = _to_byte(torch.matmul(x.to(7), across.t()), one)
    down, one = _byte_weights(x.size(2), size[0], align_corners, scale_h, reach, smooth, x)
    return _to_byte(torch.matmul(down, y), one).to(x.dtype)

# By a size or by factors.
def _interpolated_by(x: Tensor, size: Optional[List[int]], align_corners: bool, factors: Optional[List[float]], reach: int, smooth: bool) -> Tensor:
    if size is not None:
        return _interpolated(x, size, align_corners, None, None, reach, smooth)
    assert factors is not None, "neither a size nor a scale factor"
    scaled = [int(x.size(2) * factors[0]), int(x.size(3) * factors[1])]
    return _interpolated(x, scaled, align_corners, factors[0], factors[1], reach, smooth)

def upsample_bilinear2d(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _interpolated(self, output_size, align_corners, scales_h, scales_w, 1, False)

def upsample_bilinear2d__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _interpolated_by(input, output_size, align_corners, scale_factors, 1, False)

def upsample_bicubic2d(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _interpolated(self, output_size, align_corners, scales_h, scales_w, 2, False)

def upsample_bicubic2d__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _interpolated_by(input, output_size, align_corners, scale_factors, 2, False)

def _upsample_bilinear2d_aa(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _interpolated(self, output_size, align_corners, scales_h, scales_w, 1, True)

def _upsample_bilinear2d_aa__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _interpolated_by(input, output_size, align_corners, scale_factors, 1, True)

def _upsample_bicubic2d_aa(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _interpolated(self, output_size, align_corners, scales_h, scales_w, 2, True)

def _upsample_bicubic2d_aa__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _interpolated_by(input, output_size, align_corners, scale_factors, 2, True)

def _upsample_lanczos2d_aa(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _interpolated(self, output_size, align_corners, scales_h, scales_w, 3, True)

def _upsample_lanczos2d_aa__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _interpolated_by(input, output_size, align_corners, scale_factors, 3, True)
