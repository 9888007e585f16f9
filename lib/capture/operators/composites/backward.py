# Derivatives that files hold which were traced with them: grad_output times what the operator's own
# derivative is. https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml

def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * ((1 - output) * output)

def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * (1 - output * output)

def threshold_backward(grad_output: Tensor, self: Tensor, threshold: number) -> Tensor:
    return torch.where(self <= threshold, torch.zeros_like(grad_output), grad_output)

def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: number, max_val: number) -> Tensor:
    outside = torch.logical_or(self <= min_val, self >= max_val)
    return torch.where(outside, torch.zeros_like(grad_output), grad_output)

def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: number, self_is_result: bool) -> Tensor:
    return torch.where(self > 0, grad_output, grad_output * negative_slope)

def elu_backward(grad_output: Tensor, alpha: number, scale: number, input_scale: number, is_result: bool, self_or_result: Tensor) -> Tensor:
    y = self_or_result
    below = y + alpha * scale if is_result else torch.exp(y * input_scale) * (alpha * scale)
    return grad_output * torch.where(y <= 0, below * input_scale, torch.full_like(y, float(scale)))

def softplus_backward(grad_output: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    return torch.where(self * beta > threshold, grad_output, grad_output * torch.sigmoid(self * beta))

def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    inside = torch.logical_and(self > -3, self < 3)
    return torch.where(inside, grad_output / 6, torch.zeros_like(grad_output))

def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    inner = grad_output * (self / 3 + 0.5)
    return torch.where(self <= -3, torch.zeros_like(inner), torch.where(self < 3, inner, grad_output))

def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    y = torch.sigmoid(self)
    return grad_output * y * (1 + self * (1 - y))

def logit_backward(grad_output: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    low = 0.0 if eps is None else eps
    y = grad_output / (self * (1 - self))
    outside = torch.full_like(y, float("nan")) if eps is None else torch.zeros_like(y)
    return torch.where(torch.logical_or(self < low, self > 1 - low), outside, y)

def gelu_backward(grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        t = torch.tanh(0.7978845608028654 * (self + 0.044715 * self * self * self))
        slope = 0.7978845608028654 * (1 + 0.134145 * self * self)
        return grad_output * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * slope)
    area = 0.5 * (1 + torch.erf(self * 0.7071067811865476))
    return grad_output * (area + self * torch.exp(-0.5 * self * self) * 0.3989422804014327)

def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    weighed = grad_output * output
    return (weighed - output * weighed.sum(dim, True)).to(input_dtype)

def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    return (grad_output - torch.exp(output) * grad_output.sum(dim, True)).to(input_dtype)

def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * (mask.to(grad_output.dtype) * scale)

def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    factor = 2.0 / self.numel() if reduction == 1 else 2.0
    return factor * (self - target) * grad_output

def max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool, indices: Tensor) -> Tensor:
    flat = torch.zeros_like(self).flatten(-2)
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.size())

def select_backward(grad_output: Tensor, input_sizes: List[int], dim: int, index: int) -> Tensor:
    return torch.select_scatter(torch.zeros(input_sizes, dtype=grad_output.dtype), grad_output, dim, index)

def slice_backward(grad_output: Tensor, input_sizes: List[int], dim: int, start: int, end: int, step: int) -> Tensor:
    return torch.slice_scatter(torch.zeros(input_sizes, dtype=grad_output.dtype), grad_output, dim, start, end, step)

def embedding_dense_backward(grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    rows, at = grad_output.reshape([-1, grad_output.size(-1)]), indices.reshape([-1])
    kept = torch.where((at == padding_idx).unsqueeze(1), torch.zeros_like(rows), rows)
    if scale_grad_by_freq:
        count = torch.zeros([num_weights], dtype=rows.dtype).index_add(0, at, torch.ones_like(at).to(rows.dtype))
        kept = kept / count.index_select(0, at).unsqueeze(1)
    return torch.zeros([num_weights, grad_output.size(-1)], dtype=rows.dtype).index_add(0, at, kept)
