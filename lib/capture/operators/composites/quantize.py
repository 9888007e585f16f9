# Quantization as training sees it: rounded to the grid, still a float.

def fake_quantize_per_tensor_affine(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
    inverse = 1.0 / scale
    q = torch.round(self * inverse + zero_point)
    return (torch.clamp(q, quant_min, quant_max) - zero_point) * scale

def fake_quantize_per_tensor_affine__tensor_qparams(self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    q = torch.round(self * torch.reciprocal(scale) + zero_point)
    return (torch.clamp(q, quant_min, quant_max) - zero_point) * scale

def fake_quantize_per_channel_affine(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    shape = [1] * self.dim()
    shape[axis] = scale.size(0)
    s, z = scale.reshape(shape), zero_point.reshape(shape)
    q = torch.round(self * torch.reciprocal(s) + z)
    return (torch.clamp(q, quant_min, quant_max) - z) * s

# Into integers: 0, 1 and 3 are uint8, int8 and int32, and 13, 12 and 14 the quantized types of
# LibTorch that have them.
def _range(dtype: int) -> Tuple[int, int, int]:
    if dtype == 13:
        return 0, 255, 0
    if dtype == 12:
        return -128, 127, 1
    assert dtype == 14, "quantized tensors of 2 or 4 bits have no form in ONNX yet"
    return -2147483648, 2147483647, 3

def quantize_per_tensor(self: Tensor, scale: float, zero_point: int, dtype: int) -> Tensor:
    low, high, integers = _range(dtype)
    q = ops.quantized_decomposed.quantize_per_tensor(self, scale, zero_point, low, high, integers)
    return torch._make_per_tensor_quantized_tensor(q, scale, zero_point)

def quantize_per_tensor__tensor_qparams(self: Tensor, scale: Tensor, zero_point: Tensor, dtype: int) -> Tensor:
    return torch.quantize_per_tensor(self, float(scale), int(zero_point), dtype)

def quantize_per_channel(self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: int) -> Tensor:
    low, high, integers = _range(dtype)
    q = ops.quantized_decomposed.quantize_per_channel(self, scales, zero_points, axis, low, high, integers)
    return torch._make_per_channel_quantized_tensor(q, scales, zero_points, axis)

# The scale that gives the tensor's range all integers, as LibTorch chooses it: zero is one of the
# numbers, and a scale that half floats could not tell from zero is widened.
# https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/quantized/cpu/QuantUtils.h
def _chosen(self: Tensor, low: int, high: int) -> Tuple[Tensor, Tensor]:
    smallest = 6.099999882280827e-05
    bottom = torch.clamp(torch.min(self).to(7), max=0.0)
    top = torch.clamp(torch.max(self).to(7), min=0.0)
    scale = (top - bottom) / (high - low)
    scale = torch.where(torch.eq(scale.to(6), 0.0), torch.full_like(scale, 0.1), scale)
    wider = torch.clamp(smallest / scale, min=1.0)
    bottom, top, scale = bottom * wider, top * wider, torch.clamp(scale, min=smallest)
    from_bottom, from_top = low - bottom / scale, high - top / scale
    nearer = abs(low) - torch.abs(bottom / scale) < abs(high) - torch.abs(top / scale)
    zero_point = torch.round(torch.clamp(torch.where(nearer, from_bottom, from_top), low, high))
    return scale, zero_point

def quantize_per_tensor_dynamic(self: Tensor, dtype: int, reduce_range: bool) -> Tensor:
    low, high, _integers = _range(dtype)
    if reduce_range:
        low, high = int(low / 2), int(high / 2)
    scale, zero_point = _chosen(self, low, high)
    return torch.quantize_per_tensor(self, float(scale), int(zero_point), dtype)

def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool) -> Tuple[float, int]:
    scale, zero_point = _chosen(self, 0, 127 if reduce_range else 255)
    return float(scale), int(zero_point)

def _fake_quantize_learnable_per_tensor_affine(self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float) -> Tensor:
    z = torch.clamp(torch.round(zero_point.reshape([-1])[0]), quant_min, quant_max)
    return torch.fake_quantize_per_tensor_affine(self, scale.reshape([-1])[0], z.to(3), quant_min, quant_max)

def _fake_quantize_learnable_per_channel_affine(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int, grad_factor: float) -> Tensor:
    z = torch.clamp(torch.round(zero_point), quant_min, quant_max)
    return torch.fake_quantize_per_channel_affine(self, scale, z.to(3), axis, quant_min, quant_max)
