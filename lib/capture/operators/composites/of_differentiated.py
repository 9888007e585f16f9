# Operators that are differentiated through the operators that they are made of.

def _normalized(input: Tensor, axes: List[int], eps: float) -> Tensor:
    middle = input - input.mean(axes, keepdim=True)
    return middle * torch.rsqrt((middle * middle).mean(axes, keepdim=True) + eps)

def _last_axes(n: int) -> List[int]:
    axes: List[int] = []
    for i in range(n):
        axes.append(i - n)
    return axes

def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enable: bool) -> Tensor:
    y = _normalized(input, _last_axes(len(normalized_shape)), eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias

# LibTorch takes no gradient of the mean and of the scale.
def native_layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    none = torch.zeros([0])
    return layer_norm(input, normalized_shape, weight, bias, eps, False), none, none

def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    axes = _last_axes(len(normalized_shape))
    small = 2.220446049250313e-16 if input.dtype == 7 else 1.1920928955078125e-07
    if eps is not None:
        small = eps
    y = input * torch.rsqrt((input * input).mean(axes, keepdim=True) + small)
    return y if weight is None else y * weight

def _by_channel(t: Tensor, rank: int) -> Tensor:
    shape: List[int] = [-1]
    for i in range(rank - 2):
        shape.append(1)
    return t.reshape(shape)

def _scaled(y: Tensor, weight: Optional[Tensor], bias: Optional[Tensor]) -> Tensor:
    if weight is not None:
        y = y * _by_channel(weight, y.dim())
    return y if bias is None else y + _by_channel(bias, y.dim())

# By the input's own statistics over `first` and the axes behind the channels, or by running ones.
def _channel_norm(input: Tensor, first: List[int], mean: Optional[Tensor], var: Optional[Tensor],
                  own_statistics: bool, eps: float) -> Tensor:
    if own_statistics:
        for i in range(input.dim() - 2):
            first.append(i + 2)
        return _normalized(input, first, eps)
    assert mean is not None and var is not None
    return (input - _by_channel(mean, input.dim())) * _by_channel(torch.rsqrt(var + eps), input.dim())

def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enabled: bool) -> Tensor:
    n = input.size(1) // num_groups
    for i in range(input.dim() - 2):
        n = n * input.size(i + 2)
    y = _normalized(input.reshape([input.size(0), num_groups, n]), [2], eps).reshape(input.size())
    return _scaled(y, weight, bias)

def native_group_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], N: int, C: int, HxW: int, group: int, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    x = input.reshape([N, group, C // group * HxW])
    mean = x.mean([2], keepdim=True)
    scale = torch.rsqrt(((x - mean) * (x - mean)).mean([2]) + eps)
    return group_norm(input, group, weight, bias, eps, False), mean.squeeze(2), scale

def instance_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    none: List[int] = []
    return _scaled(_channel_norm(input, none, running_mean, running_var, use_input_stats, eps), weight, bias)

def batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    return _scaled(_channel_norm(input, [0], running_mean, running_var, training, eps), weight, bias)

def native_batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    none = torch.zeros([0])
    return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False), none, none

def prelu(self: Tensor, weight: Tensor) -> Tensor:
    slopes = _by_channel(weight, self.dim()) if weight.numel() > 1 else weight.reshape([])
    return torch._prelu_kernel(self, slopes.expand_as(self))

def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    rows = torch.mm(self.reshape([-1, self.size(-1)]), other.reshape([-1, other.size(-1)]).t())
    return rows.reshape(self.size()[:-1] + other.size()[:-1])

def tensordot(self: Tensor, other: Tensor, dims_self: List[int], dims_other: List[int]) -> Tensor:
    left, left_axes, right, right_axes = [0], [0], [0], [0]
    left.clear()
    left_axes.clear()
    right.clear()
    right_axes.clear()
    for i in range(self.dim()):
        if i not in dims_self and i - self.dim() not in dims_self:
            left.append(self.size(i))
            left_axes.append(i)
    for i in range(other.dim()):
        if i not in dims_other and i - other.dim() not in dims_other:
            right.append(other.size(i))
            right_axes.append(i)
    n = 1
    for d in dims_self:
        n = n * self.size(d)
    a = self.permute(left_axes + dims_self).reshape([-1, n])
    b = other.permute(dims_other + right_axes).reshape([n, -1])
    return torch.mm(a, b).reshape(left + right)

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    outer = (input1.unsqueeze(-1) * input2.unsqueeze(-2)).flatten(-2)
    y = torch.matmul(outer, weight.reshape([weight.size(0), -1]).t())
    return y if bias is None else y + bias

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    assert dropout_p == 0.0 and not enable_gqa, "attention with dropout or grouped queries"
    factor = 1.0 / float(query.size(-1)) ** 0.5 if scale is None else scale
    scores = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        allowed = torch.ones([query.size(-2), key.size(-2)], dtype=11).tril()  # bool
        scores = torch.where(allowed, scores, torch.full_like(scores, float("-inf")))
    if attn_mask is not None:
        if attn_mask.dtype == 11:
            scores = torch.where(attn_mask, scores, torch.full_like(scores, float("-inf")))
        else:
            scores = scores + attn_mask
    return torch.matmul(torch.softmax(scores, -1), value)

def var_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim=keepdim)
