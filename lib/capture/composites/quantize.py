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
