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
        reach = output_size[i] + 2 * padding[i] - dilation[i] * (kernel_size[i] - 1) - 1
        windows.append(reach // stride[i] + 1)
        covering.append(_covering(output_size[i], windows[i], kernel_size[i], dilation[i], padding[i], stride[i], x))
    x = x.reshape([x.size(0), x.size(1) // (kernel_size[0] * kernel_size[1]), kernel_size[0], kernel_size[1], windows[0], windows[1]])
    y = _with_taps_added(x.transpose(3, 4), 2, covering[0], kernel_size[0])
    y = _with_taps_added(y, 3, covering[1], kernel_size[1])
    y = y.to(self.dtype)  # sums of bools are integers
    return y if self.dim() == 3 else y.squeeze(0)
