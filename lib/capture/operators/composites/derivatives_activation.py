# Vector-Jacobian products of activations.

def relu__self(grad: Tensor, result: Tensor) -> Tensor:
    return torch.threshold_backward(grad, result, 0)

def threshold__self(grad: Tensor, self: Tensor, threshold: number) -> Tensor:
    return torch.threshold_backward(grad, self, threshold)

def hardtanh__self(grad: Tensor, self: Tensor, min_val: number, max_val: number) -> Tensor:
    return torch.hardtanh_backward(grad, self, min_val, max_val)

def relu6__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.hardtanh_backward(grad, self, 0, 6)

def leaky_relu__self(grad: Tensor, self: Tensor, negative_slope: number) -> Tensor:
    return torch.leaky_relu_backward(grad, self, negative_slope, False)

def elu__self(grad: Tensor, self: Tensor, alpha: number, scale: number, input_scale: number) -> Tensor:
    return torch.elu_backward(grad, alpha, scale, input_scale, False, self)

def celu__self(grad: Tensor, self: Tensor, alpha: number) -> Tensor:
    return torch.elu_backward(grad, alpha, 1.0, 1.0 / alpha, False, self)

def selu__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.elu_backward(grad, 1.6732632423543772, 1.0507009873554805, 1.0, False, self)

def softplus__self(grad: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    return torch.softplus_backward(grad, self, beta, threshold)

def hardsigmoid__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.hardsigmoid_backward(grad, self)

def hardswish__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.hardswish_backward(grad, self)

def silu__self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.silu_backward(grad, self)

def gelu__self(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    return torch.gelu_backward(grad, self, approximate=approximate)

def mish__self(grad: Tensor, self: Tensor) -> Tensor:
    inner = torch.tanh(torch.softplus(self))
    return grad * (inner + self * torch.sigmoid(self) * (1 - inner * inner))

def log_sigmoid__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sigmoid(-self)
log_sigmoid_forward__self = log_sigmoid__self

def hardshrink__self(grad: Tensor, self: Tensor, lambd: number) -> Tensor:
    return _zero_where(torch.logical_and(self >= -lambd, self <= lambd), grad)
softshrink__self = hardshrink__self

def _prelu_kernel__self(grad: Tensor, self: Tensor, weight: Tensor) -> Tensor:
    return torch.where(self > 0, grad, weight * grad)

def _prelu_kernel__weight(grad: Tensor, self: Tensor) -> Tensor:
    return torch.where(self > 0, torch.zeros_like(grad), self * grad)

def glu__self(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = torch.chunk(self, 2, dim)
    gate = torch.sigmoid(second)
    return torch.cat([gate * grad, first * grad * (gate * (1 - gate))], dim)

def softmax__int__self(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    weighed = grad * result
    return weighed - result * weighed.sum(dim, keepdim=True)
_softmax__self = softmax__int__self
_safe_softmax__self = softmax__int__self

def log_softmax__int__self(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return grad - torch.exp(result) * grad.sum(dim, keepdim=True)
_log_softmax__self = log_softmax__int__self

def dropout__input(grad: Tensor, train: bool) -> Tensor:
    assert not train, "dropout in training mode"
    return grad
feature_dropout__input = dropout__input
alpha_dropout__input = dropout__input
feature_alpha_dropout__input = dropout__input

def rrelu__self(grad: Tensor, self: Tensor, lower: number, upper: number, training: bool) -> Tensor:
    assert not training, "rrelu in training mode"
    return torch.leaky_relu_backward(grad, self, (lower + upper) / 2, False)
