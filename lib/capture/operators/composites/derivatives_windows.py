# Vector-Jacobian products of pooling, resampling and windows that are linear in their input.

# The gradient along one axis of a product with a matrix of [in, out].
def _back_along(grad: Tensor, matrix: Tensor, axis: int) -> Tensor:
    return torch.matmul(grad.movedim(axis, -1), matrix.to(grad.dtype).transpose(0, 1)).movedim(-1, axis)

# Means of windows [first, last) of n elements, divided by `count`, as a matrix.
def _means(first: Tensor, last: Tensor, count: Tensor, n: int) -> Tensor:
    at = torch.arange(n).unsqueeze(-1)
    inside = torch.logical_and(at >= first, at < last)
    return inside.to(7) / count.to(7)

def _adaptive(grad: Tensor, self: Tensor, spatial: int) -> Tensor:
    for i in range(spatial):
        axis = i - spatial
        n, m = self.size(axis), grad.size(axis)
        out = torch.arange(m)
        first = torch.floor_divide(out * n, m)
        last = torch.floor_divide((out + 1) * n + m - 1, m)
        grad = _back_along(grad, _means(first, last, last - first, n), axis)
    return grad

def adaptive_avg_pool1d__self(grad: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad, self, 1)

def adaptive_avg_pool2d__self(grad: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad, self, 2)
_adaptive_avg_pool2d__self = adaptive_avg_pool2d__self

def adaptive_avg_pool3d__self(grad: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad, self, 3)
_adaptive_avg_pool3d__self = adaptive_avg_pool3d__self

def _averaged(grad: Tensor, self: Tensor, spatial: int, kernel_size: List[int], stride: List[int], padding: List[int], count_include_pad: bool, divisor: Optional[int]) -> Tensor:
    for i in range(spatial):
        axis = i - spatial
        k, p = kernel_size[i % len(kernel_size)], padding[i % len(padding)]
        s = k if len(stride) == 0 else stride[i % len(stride)]
        n = self.size(axis)
        first = torch.arange(grad.size(axis)) * s - p
        last = torch.clamp_max(first + k, n + p)
        padded = last - first
        first, last = torch.clamp_min(first, 0), torch.clamp_max(last, n)
        count = torch.ones_like(first) if divisor is not None else padded if count_include_pad else last - first
        grad = _back_along(grad, _means(first, last, count, n), axis)
    return grad if divisor is None else grad / divisor

def avg_pool1d__self(grad: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], count_include_pad: bool) -> Tensor:
    return _averaged(grad, self, 1, kernel_size, stride, padding, count_include_pad, None)

def avg_pool2d__self(grad: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(grad, self, 2, kernel_size, stride, padding, count_include_pad, divisor_override)

def avg_pool3d__self(grad: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return _averaged(grad, self, 3, kernel_size, stride, padding, count_include_pad, divisor_override)

# To the elements of the last axes that flat indices name.
def _to_places(grad: Tensor, indices: Tensor, self: Tensor, spatial: int) -> Tensor:
    flat = torch.zeros_like(self).flatten(-spatial)
    return flat.scatter_add(-1, indices.flatten(-spatial), grad.flatten(-spatial)).reshape(self.size())

def adaptive_max_pool1d__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_places(grad, results[1], self, 1)

def adaptive_max_pool2d__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_places(grad, results[1], self, 2)

def adaptive_max_pool3d__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_places(grad, results[1], self, 3)

def _from_places(grad: Tensor, indices: Tensor, spatial: int) -> Tensor:
    return grad.flatten(-spatial).gather(-1, indices.flatten(-spatial)).reshape(indices.size())

def max_unpool2d__self(grad: Tensor, indices: Tensor) -> Tensor:
    return _from_places(grad, indices, 2)

def max_unpool3d__self(grad: Tensor, indices: Tensor) -> Tensor:
    return _from_places(grad, indices, 3)

# What resampling makes of the rows of the identity: its matrix of [in, out].
def _resampled(kind: str, n: int, m: int, align_corners: bool, scale: Optional[float]) -> Tensor:
    rows = torch.eye(n, dtype=7).unsqueeze(1)
    if kind == "nearest":
        return torch.upsample_nearest1d(rows, [m], scale).squeeze(1)
    if kind == "exact":
        return torch._upsample_nearest_exact1d(rows, [m], scale).squeeze(1)
    if kind == "linear":
        return torch.upsample_linear1d(rows, [m], align_corners, scale).squeeze(1)
    planes = rows.unsqueeze(1)
    if kind == "cubic":
        return torch.upsample_bicubic2d(planes, [1, m], align_corners, None, scale).squeeze(1).squeeze(1)
    return torch._upsample_bilinear2d_aa(planes, [1, m], align_corners, None, scale).squeeze(1).squeeze(1)

def _resampled_back(grad: Tensor, kind: str, self: Tensor, align_corners: bool, scales: List[Optional[float]]) -> Tensor:
    for i in range(len(scales)):
        axis = i - len(scales)
        matrix = _resampled(kind, self.size(axis), grad.size(axis), align_corners, scales[i])
        grad = _back_along(grad, matrix, axis)
    return grad

def _scales_of(spatial: int, factors: Optional[List[float]]) -> List[Optional[float]]:
    scales: List[Optional[float]] = []
    for i in range(spatial):
        scales.append(factors[i] if factors is not None else None)
    return scales

def upsample_nearest1d__self(grad: Tensor, self: Tensor, scales: Optional[float]) -> Tensor:
    return _resampled_back(grad, "nearest", self, False, [scales])

def upsample_nearest2d__self(grad: Tensor, self: Tensor, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "nearest", self, False, [scales_h, scales_w])

def upsample_nearest3d__self(grad: Tensor, self: Tensor, scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "nearest", self, False, [scales_d, scales_h, scales_w])

def _upsample_nearest_exact1d__self(grad: Tensor, self: Tensor, scales: Optional[float]) -> Tensor:
    return _resampled_back(grad, "exact", self, False, [scales])

def _upsample_nearest_exact2d__self(grad: Tensor, self: Tensor, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "exact", self, False, [scales_h, scales_w])

def _upsample_nearest_exact3d__self(grad: Tensor, self: Tensor, scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "exact", self, False, [scales_d, scales_h, scales_w])

def upsample_linear1d__self(grad: Tensor, self: Tensor, align_corners: bool, scales: Optional[float]) -> Tensor:
    return _resampled_back(grad, "linear", self, align_corners, [scales])

def upsample_bilinear2d__self(grad: Tensor, self: Tensor, align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "linear", self, align_corners, [scales_h, scales_w])

def upsample_trilinear3d__self(grad: Tensor, self: Tensor, align_corners: bool, scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "linear", self, align_corners, [scales_d, scales_h, scales_w])

def upsample_bicubic2d__self(grad: Tensor, self: Tensor, align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "cubic", self, align_corners, [scales_h, scales_w])

def _upsample_bilinear2d_aa__self(grad: Tensor, self: Tensor, align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return _resampled_back(grad, "linear_aa", self, align_corners, [scales_h, scales_w])

def upsample_nearest1d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "nearest", input, False, _scales_of(1, scale_factors))

def upsample_nearest2d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "nearest", input, False, _scales_of(2, scale_factors))

def upsample_nearest3d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "nearest", input, False, _scales_of(3, scale_factors))

def _upsample_nearest_exact1d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "exact", input, False, _scales_of(1, scale_factors))

def _upsample_nearest_exact2d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "exact", input, False, _scales_of(2, scale_factors))

def _upsample_nearest_exact3d__vec__input(grad: Tensor, input: Tensor, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "exact", input, False, _scales_of(3, scale_factors))

def upsample_linear1d__vec__input(grad: Tensor, input: Tensor, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "linear", input, align_corners, _scales_of(1, scale_factors))

def upsample_bilinear2d__vec__input(grad: Tensor, input: Tensor, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "linear", input, align_corners, _scales_of(2, scale_factors))

def upsample_trilinear3d__vec__input(grad: Tensor, input: Tensor, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "linear", input, align_corners, _scales_of(3, scale_factors))

def upsample_bicubic2d__vec__input(grad: Tensor, input: Tensor, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "cubic", input, align_corners, _scales_of(2, scale_factors))

def _upsample_bilinear2d_aa__vec__input(grad: Tensor, input: Tensor, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return _resampled_back(grad, "linear_aa", input, align_corners, _scales_of(2, scale_factors))

def im2col__self(grad: Tensor, self: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    return torch.col2im(grad, [self.size(-2), self.size(-1)], kernel_size, dilation, padding, stride)

def col2im__self(grad: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    return torch.im2col(grad, kernel_size, dilation, padding, stride)
