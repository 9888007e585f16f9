# Operators of LibTorch on integers, where ONNX has them for floats alone. Sums wrap around, as LibTorch's do.

def _each(numbers: List[int], axes: int) -> List[int]:
    return [numbers[0]] * axes if len(numbers) == 1 else numbers

# Windows of `kernel` elements along an axis: it becomes two, which window and the place in it.
def _windows(x: Tensor, axis: int, kernel: int, stride: int, dilation: int) -> Tensor:
    windows = (x.size(axis) - dilation * (kernel - 1) - 1) // stride + 1
    starts = torch.arange(windows, device=x.device) * stride
    at = starts.unsqueeze(1) + torch.arange(kernel, device=x.device) * dilation
    return torch.index_select(x, axis, at.flatten()).unflatten(axis, [-1, kernel])

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

def conv2d(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)

def conv3d(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)

def conv1d__padding(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return torch._convolution_mode(input, weight, bias, stride, padding, dilation, groups)

def conv2d__padding(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return torch._convolution_mode(input, weight, bias, stride, padding, dilation, groups)

def conv3d__padding(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return torch._convolution_mode(input, weight, bias, stride, padding, dilation, groups)

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

def conv_transpose2d__input(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

def conv_transpose3d__input(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

# Windows along the last `axes` axes. Each is divided by how many of its elements lie in the input, or also in the
# padding; a window may reach beyond both, if it begins before.
def _averaged(x: Tensor, axes: int, kernel: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor: Optional[int]) -> Tensor:
    size = _each(kernel, axes)
    step = size if len(stride) == 0 else _each(stride, axes)
    pad = _each(padding, axes)
    count = torch.ones([], dtype=4, device=x.device)  # int64
    ends: List[int] = []
    for i in range(axes):
        length = x.size(i - axes)
        windows = (length + 2 * pad[i] - size[i] + (step[i] - 1 if ceil_mode else 0)) // step[i] + 1
        if ceil_mode:
            windows = min(windows, (length + pad[i] - 1) // step[i] + 1)
        ends.append(max((windows - 1) * step[i] + size[i] - length - pad[i], 0))
        begin = torch.arange(windows, device=x.device) * step[i] - pad[i]
        end = torch.clamp(begin + size[i], max=length + pad[i])
        inside = torch.clamp(end, max=length) - torch.clamp(begin, min=0)
        count = count.unsqueeze(-1) * (end - begin if count_include_pad else inside)
    y = _with_zeros(x, pad, ends)
    for i in range(axes):
        y = _windows(y, i - axes, size[i], step[i], 1).sum(i - axes)
    return torch.div(y, count if divisor is None else torch.full_like(count, divisor), rounding_mode="trunc")

def avg_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    return _averaged(self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

def avg_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

def avg_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
