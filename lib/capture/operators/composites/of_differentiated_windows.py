# Windows, padding and pooling, differentiated through the operators that they are made of.

def _conv(x: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    if weight.dim() == 3:
        return torch.conv1d(x, weight, bias, stride, padding, dilation, groups)
    if weight.dim() == 4:
        return torch.conv2d(x, weight, bias, stride, padding, dilation, groups)
    return torch.conv3d(x, weight, bias, stride, padding, dilation, groups)

def _conv_transpose(x: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    if weight.dim() == 3:
        return torch.conv_transpose1d(x, weight, bias, stride, padding, output_padding, groups, dilation)
    if weight.dim() == 4:
        return torch.conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return torch.conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation)

def convolution(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> Tensor:
    if transposed:
        return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(input, weight, bias, stride, padding, dilation, groups)

def _convolution(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool, allow_tf32: bool) -> Tensor:
    if transposed:
        return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(input, weight, bias, stride, padding, dilation, groups)

# padding="same": what a side has more lies at the end.
def _same(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    spatial = weight.dim() - 2
    around: List[int] = []
    none: List[int] = []
    for i in range(spatial):
        none.append(0)
        if padding == "same":
            total = dilation[(spatial - 1 - i) % len(dilation)] * (weight.size(weight.dim() - 1 - i) - 1)
            around.append(total // 2)
            around.append(total - total // 2)
    x = torch.constant_pad_nd(input, around, 0) if len(around) > 0 else input
    return _conv(x, weight, bias, stride, none, dilation, groups)

def _convolution_mode(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return _same(input, weight, bias, stride, padding, dilation, groups)
conv1d__padding = _convolution_mode
conv2d__padding = _convolution_mode
conv3d__padding = _convolution_mode

def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    size = self.size()
    return self.reshape([size[0], groups, size[1] // groups, -1]).transpose(1, 2).reshape(size)

def max_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

def max_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

def max_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

# Rows of every padded axis by number, the last axis first.
def _padded(x: Tensor, pad: List[int], mode: str) -> Tensor:
    for i in range(len(pad) // 2):
        d = x.dim() - 1 - i
        at = torch.arange(-pad[2 * i], x.size(d) + pad[2 * i + 1])
        last = x.size(d) - 1
        if mode == "replicate":
            at = torch.clamp_max(torch.clamp_min(at, 0), last)
        elif mode == "reflect":
            at = last - torch.abs(last - torch.abs(at))
        else:  # what is cut off is not wrapped around
            before, after = pad[2 * i], pad[2 * i + 1]
            first, left = max(-before, 0), x.size(d) - max(-before, 0) - max(-after, 0)
            at = torch.remainder(torch.arange(-max(before, 0), left + max(after, 0)), left) + first
        x = x.index_select(d, at)
    return x

def reflection_pad1d(self: Tensor, padding: List[int]) -> Tensor:
    return _padded(self, padding, "reflect")
reflection_pad2d = reflection_pad1d
reflection_pad3d = reflection_pad1d

def replication_pad1d(self: Tensor, padding: List[int]) -> Tensor:
    return _padded(self, padding, "replicate")
replication_pad2d = replication_pad1d
replication_pad3d = replication_pad1d

def _pad_circular(self: Tensor, pad: List[int]) -> Tensor:
    return _padded(self, pad, "circular")

def pad(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    if mode == "constant":
        return torch.constant_pad_nd(self, pad, 0.0 if value is None else value)
    return _padded(self, pad, mode)

def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    r, lead = upscale_factor, self.size()[:-3]
    n = len(lead)
    c, h, w = self.size(-3) // (r * r), self.size(-2), self.size(-1)
    x = self.reshape([-1, c, r, r, h, w]).permute([0, 1, 4, 2, 5, 3])
    return x.reshape(lead + [c, h * r, w * r])

def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    r, lead = downscale_factor, self.size()[:-3]
    c, h, w = self.size(-3), self.size(-2) // r, self.size(-1) // r
    x = self.reshape([-1, c, h, r, w, r]).permute([0, 1, 3, 5, 2, 4])
    return x.reshape(lead + [c * r * r, h, w])
