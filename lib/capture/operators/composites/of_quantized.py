# Operators of LibTorch where an argument is a quantized tensor. What the result's scale and zero
# point are is the operator's own rule: the argument's, or for a known range that range's.

def _same(y: Tensor, q: Tensor) -> Tensor:
    return torch.quantize_per_tensor(y, q.q_scale(), q.q_zero_point(), q.dtype)

# 256 steps that begin at `lowest`.
def _steps(y: Tensor, q: Tensor, scale: float, lowest: int) -> Tensor:
    return torch.quantize_per_tensor(y, scale, lowest - (128 if q.dtype == 12 else 0), q.dtype)

def relu(self: Tensor) -> Tensor:
    return _same(torch.relu(torch.dequantize(self)), self)

def relu6(self: Tensor) -> Tensor:
    return _same(torch.clamp(torch.dequantize(self), 0.0, 6.0), self)

def hardtanh(self: Tensor, min_val: number, max_val: number) -> Tensor:
    return torch.clamp(self, min_val, max_val)

# The bounds are rounded to the tensor's steps first.
def clamp(self: Tensor, min: Optional[number], max: Optional[number]) -> Tensor:
    return _same(torch.clamp(torch.dequantize(self), min, max), self)

def threshold(self: Tensor, threshold: number, value: number) -> Tensor:
    return _same(torch.threshold(torch.dequantize(self), threshold, value), self)

def leaky_relu(self: Tensor, negative_slope: number) -> Tensor:
    return _same(torch.leaky_relu(torch.dequantize(self), negative_slope), self)

def gelu(self: Tensor, approximate: str) -> Tensor:
    return _same(torch.gelu(torch.dequantize(self), approximate=approximate), self)

def sigmoid(self: Tensor) -> Tensor:
    return _steps(torch.sigmoid(torch.dequantize(self)), self, 0.00390625, 0)

def hardsigmoid(self: Tensor) -> Tensor:
    return _steps(torch.hardsigmoid(torch.dequantize(self)), self, 0.00390625, 0)

def tanh(self: Tensor) -> Tensor:
    return _steps(torch.tanh(torch.dequantize(self)), self, 0.0078125, 128)

def avg_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    return _same(torch.avg_pool1d(torch.dequantize(self), kernel_size, stride, padding, ceil_mode, count_include_pad), self)

def avg_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _same(torch.avg_pool2d(torch.dequantize(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), self)

def avg_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _same(torch.avg_pool3d(torch.dequantize(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), self)

def adaptive_avg_pool1d(self: Tensor, output_size: List[int]) -> Tensor:
    return _same(torch.adaptive_avg_pool1d(torch.dequantize(self), output_size), self)

def adaptive_avg_pool2d(self: Tensor, output_size: List[int]) -> Tensor:
    return _same(torch.adaptive_avg_pool2d(torch.dequantize(self), output_size), self)

def adaptive_avg_pool3d(self: Tensor, output_size: List[int]) -> Tensor:
    return _same(torch.adaptive_avg_pool3d(torch.dequantize(self), output_size), self)

def quantized_max_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode)

def quantized_max_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)

def quantized_max_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool3d(self, kernel_size, stride, padding, dilation, ceil_mode)

def upsample_bilinear2d(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _same(torch.upsample_bilinear2d(torch.dequantize(self), output_size, align_corners, scales_h, scales_w), self)

def upsample_bilinear2d__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _same(torch.upsample_bilinear2d(torch.dequantize(input), output_size, align_corners, scale_factors), input)

def constant_pad_nd(self: Tensor, pad: List[int], value: number) -> Tensor:
    return _same(torch.constant_pad_nd(torch.dequantize(self), pad, value), self)

def pad(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    return _same(torch.pad(torch.dequantize(self), pad, mode, value), self)

def mean(self: Tensor, dtype: Optional[int]) -> Tensor:
    return _same(torch.mean(torch.dequantize(self)), self)

def mean__dim(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    return _same(torch.mean(torch.dequantize(self), dim, keepdim), self)

def std__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    return _same(torch.std(torch.dequantize(self), dim, unbiased, keepdim), self)

def std__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    return _same(torch.std(torch.dequantize(self), dim, correction=correction, keepdim=keepdim), self)

def max(self: Tensor) -> Tensor:
    return _same(torch.max(torch.dequantize(self)), self)

def min(self: Tensor) -> Tensor:
    return _same(torch.min(torch.dequantize(self)), self)

def max__dim(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    values, indices = torch.max(torch.dequantize(self), dim, keepdim)
    return _same(values, self), indices

def min__dim(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    values, indices = torch.min(torch.dequantize(self), dim, keepdim)
    return _same(values, self), indices

def cat(tensors: List[Tensor], dim: int) -> Tensor:
    return _same(torch.cat([torch.dequantize(t) for t in tensors], dim), tensors[0])

def stack(tensors: List[Tensor], dim: int) -> Tensor:
    return _same(torch.stack([torch.dequantize(t) for t in tensors], dim), tensors[0])

def masked_fill__Scalar(self: Tensor, mask: Tensor, value: number) -> Tensor:
    return _same(torch.masked_fill(torch.dequantize(self), mask, value), self)

# --- comparisons are those of the numbers

def eq__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.eq(torch.dequantize(self), torch.dequantize(other))

def eq__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.eq(torch.dequantize(self), other)

def ne__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.ne(torch.dequantize(self), torch.dequantize(other))

def ne__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.ne(torch.dequantize(self), other)

def lt__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.lt(torch.dequantize(self), torch.dequantize(other))

def lt__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.lt(torch.dequantize(self), other)

def le__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.le(torch.dequantize(self), torch.dequantize(other))

def le__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.le(torch.dequantize(self), other)

def gt__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.gt(torch.dequantize(self), torch.dequantize(other))

def gt__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.gt(torch.dequantize(self), other)

def ge__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.ge(torch.dequantize(self), torch.dequantize(other))

def ge__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.ge(torch.dequantize(self), other)
