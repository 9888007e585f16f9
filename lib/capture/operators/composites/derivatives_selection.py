# Vector-Jacobian products of what chooses between values: bounds, the larger of two, conditions.
# Gradients at ties and at bounds are as LibTorch defines them.

def clamp__self(grad: Tensor, self: Tensor, min: Optional[number], max: Optional[number]) -> Tensor:
    zeros = torch.zeros_like(grad)
    if min is not None and max is not None:
        return torch.where(torch.logical_and(self >= min, self <= max), grad, zeros)
    if min is not None:
        return torch.where(self >= min, grad, zeros)
    if max is not None:
        return torch.where(self <= max, grad, zeros)
    return grad

def clamp__Tensor__self(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    zeros = torch.zeros_like(grad)
    if min is not None and max is not None:
        return torch.where(torch.logical_and(self >= min, self <= max), grad, zeros)
    if min is not None:
        return torch.where(self >= min, grad, zeros)
    if max is not None:
        return torch.where(self <= max, grad, zeros)
    return grad

def clamp__Tensor__min(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    assert min is not None
    below = self < min
    if max is not None:
        below = torch.logical_and(below, min < max)
    return torch.where(below, grad, torch.zeros_like(grad))

def clamp__Tensor__max(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    assert max is not None
    above = self > max
    if min is not None:
        above = torch.logical_or(above, max < min)
    return torch.where(above, grad, torch.zeros_like(grad))

def clamp_min__self(grad: Tensor, self: Tensor, min: number) -> Tensor:
    return torch.where(self >= min, grad, torch.zeros_like(grad))

def clamp_min__Tensor__self(grad: Tensor, self: Tensor, min: Tensor) -> Tensor:
    return torch.where(self >= min, grad, torch.zeros_like(grad))

def clamp_min__Tensor__min(grad: Tensor, self: Tensor, min: Tensor) -> Tensor:
    return torch.where(self < min, grad, torch.zeros_like(grad))

def clamp_max__self(grad: Tensor, self: Tensor, max: number) -> Tensor:
    return torch.where(self <= max, grad, torch.zeros_like(grad))

def clamp_max__Tensor__self(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    return torch.where(self <= max, grad, torch.zeros_like(grad))

def clamp_max__Tensor__max(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    return torch.where(self > max, grad, torch.zeros_like(grad))

# Half of it where the two are equal.
def _larger(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _zero_where(self < other, torch.where(self == other, grad / 2, grad))

def maximum__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _larger(grad, self, other)
max__other__self = maximum__self

def maximum__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _larger(grad, other, self)
max__other__other = maximum__other

def minimum__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _larger(grad, -self, -other)
min__other__self = minimum__self

def minimum__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _larger(grad, -other, -self)
min__other__other = minimum__other

def fmax__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    mine = torch.logical_or(self >= other, torch.isnan(other))
    return torch.where(mine, grad, torch.zeros_like(grad))

def fmax__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _zero_where(torch.logical_or(self >= other, torch.isnan(other)), grad)

def fmin__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    mine = torch.logical_or(self <= other, torch.isnan(other))
    return torch.where(mine, grad, torch.zeros_like(grad))

def fmin__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _zero_where(torch.logical_or(self <= other, torch.isnan(other)), grad)

def where__self__self(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, grad, torch.zeros_like(grad))
where__ScalarOther__self = where__self__self

def where__self__other(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, torch.zeros_like(grad), grad)
where__ScalarSelf__other = where__self__other

def masked_fill__Scalar__self(grad: Tensor, mask: Tensor) -> Tensor:
    return _zero_where(mask, grad)
masked_fill__Tensor__self = masked_fill__Scalar__self

def masked_fill__Tensor__value(grad: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, grad, torch.zeros_like(grad)).sum()

def fill__Scalar__self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)
fill__Tensor__self = fill__Scalar__self
zero__self = fill__Scalar__self

def fill__Tensor__value(grad: Tensor) -> Tensor:
    return grad.sum()

def nextafter__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return _zero_where(self == other, grad)
nextafter__other = fill__Scalar__self

# Among NaN where all elements are NaN.
def nanmedian__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return _shared_by_equals_or_nan(grad, self, result)

# Rounding passes the gradient on, bounds do not.
def _within(grad: Tensor, q: Tensor, quant_min: int, quant_max: int) -> Tensor:
    return torch.where(torch.logical_and(q >= quant_min, q <= quant_max), grad, torch.zeros_like(grad))

def fake_quantize_per_tensor_affine__self(grad: Tensor, self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
    return _within(grad, torch.round(self * (1.0 / scale) + zero_point), quant_min, quant_max)

def fake_quantize_per_tensor_affine__tensor_qparams__self(grad: Tensor, self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    return _within(grad, torch.round(self * torch.reciprocal(scale) + zero_point), quant_min, quant_max)

def fake_quantize_per_channel_affine__self(grad: Tensor, self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    s, z = scale, zero_point
    for i in range(self.dim() - 1 - axis % self.dim()):
        s, z = s.unsqueeze(-1), z.unsqueeze(-1)
    return _within(grad, torch.round(self * torch.reciprocal(s) + z), quant_min, quant_max)
