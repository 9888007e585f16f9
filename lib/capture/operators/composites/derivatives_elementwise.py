# Vector-Jacobian products: NAME__OVERLOAD__ARGUMENT is the gradient of a result times the derivative
# of the operator by that argument. Parameters are the operator's own that it needs, `grad` or `grads`
# (of the first or of all results) and `result` or `results`. Broadcasting and element types are the
# caller's. https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml

# The gradient of an axis that may have one row where the result has several, whose sum it is then.
def summed_rows(grad: Tensor, dim: int, size: int) -> Tensor:
    one = torch.full([], size, dtype=4) == 1  # int64
    return torch.where(one, grad.sum(dim, keepdim=True), grad).narrow(dim, 0, size)

def _zero_where(mask: Tensor, grad: Tensor) -> Tensor:
    return torch.where(mask, torch.zeros_like(grad), grad)

def _scaled_by(grad: Tensor, factor: number) -> Tensor:
    return grad if factor == 1 else grad * factor

def add__Tensor__self(grad: Tensor) -> Tensor:
    return grad
add__Scalar__self = add__Tensor__self
sub__Tensor__self = add__Tensor__self
sub__Scalar__self = add__Tensor__self
frac__self = add__Tensor__self
fmod__Scalar__self = add__Tensor__self
fmod__Tensor__self = add__Tensor__self
remainder__Scalar__self = add__Tensor__self
remainder__Tensor__self = add__Tensor__self
addcmul__self = add__Tensor__self
addcdiv__self = add__Tensor__self

def add__Tensor__other(grad: Tensor, alpha: number) -> Tensor:
    return _scaled_by(grad, alpha)

def sub__Tensor__other(grad: Tensor, alpha: number) -> Tensor:
    return _scaled_by(-grad, alpha)
rsub__Scalar__self = sub__Tensor__other

def mul__Tensor__self(grad: Tensor, other: Tensor) -> Tensor:
    return grad * other

def mul__Tensor__other(grad: Tensor, self: Tensor) -> Tensor:
    return grad * self

def mul__Scalar__self(grad: Tensor, other: number) -> Tensor:
    return grad * other

def div__Tensor__self(grad: Tensor, other: Tensor) -> Tensor:
    return grad / other

def div__Tensor__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * ((self / other) / other)

def div__Scalar__self(grad: Tensor, other: number) -> Tensor:
    return grad / other

def div__Tensor_mode__self(grad: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    return grad / other if rounding_mode is None else torch.zeros_like(grad)

def div__Tensor_mode__other(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    return -grad * ((self / other) / other) if rounding_mode is None else torch.zeros_like(grad)

def div__Scalar_mode__self(grad: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
    return grad / other if rounding_mode is None else torch.zeros_like(grad)

def _power(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    if exponent == 0:
        return torch.zeros_like(grad)
    if exponent == 1:
        return grad
    if exponent == 2:
        return grad * (self * 2)
    return grad * (torch.pow(self, exponent - 1) * exponent)

def pow__Tensor_Scalar__self(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    return _power(grad, self, exponent)

def pow__Tensor_Tensor__self(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    return _zero_where(exponent == 0, grad * (exponent * torch.pow(self, exponent - 1)))

def pow__Tensor_Tensor__exponent(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    slope = result * torch.log(self)
    return grad * _zero_where(torch.logical_and(self == 0, exponent >= 0), slope)

def pow__Scalar__exponent(grad: Tensor, self: number, exponent: Tensor, result: Tensor) -> Tensor:
    base = torch.zeros_like(result) + self
    slope = result * torch.log(base)
    return grad * (_zero_where(exponent >= 0, slope) if self == 0 else slope)

def float_power__Tensor_Scalar__self(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    return _power(grad, self.to(grad.dtype), exponent)

def square__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * (self * 2)

def neg__self(grad: Tensor) -> Tensor:
    return -grad

def abs__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sign(self)

def exp__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * result

def exp2__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * result * 0.6931471805599453

def expm1__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (result + 1)

def log__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / self

def log2__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (self * 0.6931471805599453)

def log10__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (self * 2.302585092994046)

def log1p__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (self + 1)

def sqrt__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad / (2 * result)

def rsqrt__self(grad: Tensor, result: Tensor) -> Tensor:
    return -0.5 * grad * (result * result * result)

def reciprocal__self(grad: Tensor, result: Tensor) -> Tensor:
    return -grad * (result * result)

def sin__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.cos(self)

def cos__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * -torch.sin(self)

def tan__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (1 + result * result)

def asin__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.rsqrt(1 - self * self)

def acos__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * -torch.rsqrt(1 - self * self)

def atan__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (self * self + 1)

def sinh__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.cosh(self)

def cosh__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sinh(self)

def tanh__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (1 - result * result)

def asinh__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.rsqrt(self * self + 1)

def acosh__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.rsqrt(self * self - 1)

def atanh__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (1 - self * self)

def sigmoid__self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * ((1 - result) * result)

def erf__self(grad: Tensor, self: Tensor) -> Tensor:
    return 1.1283791670955126 * torch.exp(-(self * self)) * grad

def erfc__self(grad: Tensor, self: Tensor) -> Tensor:
    return -1.1283791670955126 * torch.exp(-(self * self)) * grad

def erfinv__self(grad: Tensor, result: Tensor) -> Tensor:
    return 0.886226925452758 * torch.exp(result * result) * grad

def lgamma__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.digamma(self)

def digamma__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.polygamma(1, self)

def polygamma__self(grad: Tensor, n: int, self: Tensor) -> Tensor:
    return grad * torch.polygamma(n + 1, self)

def i0__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.special_i1(self)

def sinc__self(grad: Tensor, self: Tensor) -> Tensor:
    angle = self * 3.141592653589793
    square = self * self * 3.141592653589793
    return _zero_where(square == 0, grad * ((angle * torch.cos(angle) - torch.sin(angle)) / square))

def logit__self(grad: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    return torch.logit_backward(grad, self, eps)

def floor__self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)
ceil__self = floor__self
round__self = floor__self
round__decimals__self = floor__self
trunc__self = floor__self
sign__self = floor__self
sgn__self = floor__self
angle__self = floor__self
bernoulli__p__self = floor__self
bernoulli__Tensor__self = floor__self
bernoulli__Tensor__p = floor__self
normal__Tensor_float__mean = floor__self
normal__float_Tensor__std = floor__self
normal__Tensor_Tensor__mean = floor__self
normal__Tensor_Tensor__std = floor__self

def deg2rad__self(grad: Tensor) -> Tensor:
    return grad * 0.017453292519943295

def rad2deg__self(grad: Tensor) -> Tensor:
    return grad * 57.29577951308232

def nan_to_num__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.where(torch.isfinite(self), grad, torch.zeros_like(grad))

def atan2__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * other / (self * self + other * other)

def atan2__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * -self / (self * self + other * other)

def hypot__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (self / result)

def hypot__other(grad: Tensor, other: Tensor, result: Tensor) -> Tensor:
    return grad * (other / result)

def fmod__Tensor__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * torch.div(self, other, rounding_mode="trunc")

def remainder__Tensor__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * torch.div(self, other, rounding_mode="floor")

def copysign__Tensor__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * _zero_where(self == 0, result / self)
copysign__Tensor__other = floor__self
copysign__Scalar__self = copysign__Tensor__self

def logaddexp__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp(other - self))

def logaddexp__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp(self - other))

def logaddexp2__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp2(other - self))

def logaddexp2__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp2(self - other))

def xlogy__Tensor__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * _zero_where(torch.logical_and(self == 0, other <= 0), torch.log(other))

def xlogy__Tensor__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * self / other

def xlogy__Scalar_Self__other(grad: Tensor, self: number, other: Tensor) -> Tensor:
    return grad * self / other

def xlogy__Scalar_Other__self(grad: Tensor, self: Tensor, other: number) -> Tensor:
    slope = torch.log(torch.zeros_like(grad) + other)
    return grad * (slope if other > 0 else _zero_where(self == 0, slope))

def lerp__Scalar__self(grad: Tensor, weight: number) -> Tensor:
    return grad * (1 - weight)

def lerp__Scalar__end(grad: Tensor, weight: number) -> Tensor:
    return grad * weight

def lerp__Tensor__self(grad: Tensor, weight: Tensor) -> Tensor:
    return grad * (1 - weight)

def lerp__Tensor__end(grad: Tensor, weight: Tensor) -> Tensor:
    return grad * weight

def lerp__Tensor__weight(grad: Tensor, self: Tensor, end: Tensor) -> Tensor:
    return grad * (end - self)

def addcmul__tensor1(grad: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return grad * (tensor2 * value)

def addcmul__tensor2(grad: Tensor, tensor1: Tensor, value: number) -> Tensor:
    return grad * (tensor1 * value)

def addcdiv__tensor1(grad: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return grad * (torch.reciprocal(tensor2) * value)

def addcdiv__tensor2(grad: Tensor, tensor1: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return -grad * (tensor1 * value / (tensor2 * tensor2))

# LibTorch has one formula for all, where the operator itself has pieces.
def special_entr__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * (-1 - torch.log(self))

def special_log_ndtr__self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * 0.3989422804014327 * torch.exp(-(result + self * self / 2))

# What is drawn does not depend on what it is drawn by.
def bernoulli__self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)
