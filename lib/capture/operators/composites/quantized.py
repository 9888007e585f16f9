# Layers on quantized tensors: the numbers that the integers stand for, the operator on them, and
# the result in integers again. ONNX Runtime makes integer kernels of this form.

def _like(y: Tensor, q: Tensor, scale: float, zero_point: int) -> Tensor:
    return torch.quantize_per_tensor(y, scale, zero_point, q.dtype)

def _bias(bias: Optional[Tensor], x: Tensor, weight: Tensor) -> Optional[Tensor]:
    if bias is None:
        return None
    return torch.dequantize(ops.onnx_export.quantized_bias(bias, weight, x.q_scale()))

# --- convolutions. Those of one axis are packed as those of two, of which the first has one entry.

def _conv1d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    return torch.conv1d(x, w, b, p.stride()[-1:], p.padding()[-1:], p.dilation()[-1:], p.groups())

def _conv2d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    return torch.conv2d(x, w, b, p.stride(), p.padding(), p.dilation(), p.groups())

def _conv3d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv3dPackedParamsBase) -> Tensor:
    return torch.conv3d(x, w, b, p.stride(), p.padding(), p.dilation(), p.groups())

def _conv_transpose1d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    return torch.conv_transpose1d(x, w, b, p.stride()[-1:], p.padding()[-1:], p.output_padding()[-1:], p.groups(), p.dilation()[-1:])

def _conv_transpose2d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    return torch.conv_transpose2d(x, w, b, p.stride(), p.padding(), p.output_padding(), p.groups(), p.dilation())

def _conv_transpose3d(x: Tensor, w: Tensor, b: Optional[Tensor], p: __torch__.torch.classes.quantized.Conv3dPackedParamsBase) -> Tensor:
    return torch.conv_transpose3d(x, w, b, p.stride(), p.padding(), p.output_padding(), p.groups(), p.dilation())

def _static_conv1d(qx: Tensor, p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    w, b = ops.quantized.conv1d_unpack(p)
    return _conv1d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), p)

def _static_conv2d(qx: Tensor, p: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tensor:
    w, b = ops.quantized.conv2d_unpack(p)
    return _conv2d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), p)

def _static_conv3d(qx: Tensor, p: __torch__.torch.classes.quantized.Conv3dPackedParamsBase) -> Tensor:
    w, b = ops.quantized.conv3d_unpack(p)
    return _conv3d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), p)

def conv1d(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(_static_conv1d(qx, packed_weight), qx, output_scale, output_zero_point)

def conv1d_relu(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.relu(_static_conv1d(qx, packed_weight)), qx, output_scale, output_zero_point)

def conv2d__new(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(_static_conv2d(qx, packed_weight), qx, output_scale, output_zero_point)

def conv2d_relu__new(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.relu(_static_conv2d(qx, packed_weight)), qx, output_scale, output_zero_point)

def conv2d_add(qx: Tensor, qaccum: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(_static_conv2d(qx, packed_weight) + torch.dequantize(qaccum), qx, output_scale, output_zero_point)

def conv2d_add_relu(qx: Tensor, qaccum: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.relu(_static_conv2d(qx, packed_weight) + torch.dequantize(qaccum)), qx, output_scale, output_zero_point)

def conv3d__new(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv3dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(_static_conv3d(qx, packed_weight), qx, output_scale, output_zero_point)

def conv3d_relu__new(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv3dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.relu(_static_conv3d(qx, packed_weight)), qx, output_scale, output_zero_point)

def conv_transpose1d(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    w, b = ops.quantized.conv_transpose1d_unpack(packed_weight)
    y = _conv_transpose1d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), packed_weight)
    return _like(y, qx, output_scale, output_zero_point)

def conv_transpose2d(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    w, b = ops.quantized.conv_transpose2d_unpack(packed_weight)
    y = _conv_transpose2d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), packed_weight)
    return _like(y, qx, output_scale, output_zero_point)

def conv_transpose3d(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv3dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
    w, b = ops.quantized.conv_transpose3d_unpack(packed_weight)
    y = _conv_transpose3d(torch.dequantize(qx), torch.dequantize(w), _bias(b, qx, w), packed_weight)
    return _like(y, qx, output_scale, output_zero_point)

# --- linear layers

# All rows in one axis: so it is a Gemm with a bias, of which ONNX Runtime makes an integer kernel.
def _static_linear(x: Tensor, p: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
    w, b = ops.quantized.linear_unpack(p)
    if x.dim() == 2:
        return torch.linear(torch.dequantize(x), torch.dequantize(w), _bias(b, x, w))
    rows = x.reshape([-1, x.size(-1)])
    y = torch.linear(torch.dequantize(rows), torch.dequantize(w), _bias(b, x, w))
    return y.reshape(x.size()[:-1] + [w.size(0)])

def linear(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
    return _like(_static_linear(X, W_prepack), X, Y_scale_i, Y_zero_point_i)

def linear_relu(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
    return _like(torch.relu(_static_linear(X, W_prepack)), X, Y_scale_i, Y_zero_point_i)

def linear_leaky_relu(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int, negative_slope: float) -> Tensor:
    return _like(torch.leaky_relu(_static_linear(X, W_prepack), negative_slope), X, Y_scale_i, Y_zero_point_i)

def linear_tanh(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
    return _like(torch.tanh(_static_linear(X, W_prepack)), X, Y_scale_i, Y_zero_point_i)

# --- layers that choose the scale of their input as they run

# A convolution's result is rounded to the scale of its input, too, and clamped to that range. The
# bias comes behind it: ONNX Runtime would round one of floats.
def _on_grid_of(q: Tensor, y: Tensor, b: Optional[Tensor]) -> Tensor:
    if b is not None:
        y = y + b.reshape([-1] + [1] * (y.dim() - 2))
    return torch.dequantize(_like(y, q, q.q_scale(), q.q_zero_point()))

def _dynamic_linear(x: Tensor, p: __torch__.torch.classes.quantized.LinearPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.linear_unpack(p)
    scales, zero_points = ops.onnx_export.weight_steps(w)
    q = torch.quantize_per_tensor_dynamic(x, 13, reduce_range)
    sums = ops.onnx_export.integer_linear(q.int_repr(), w.int_repr(), q.q_zero_point(), zero_points)
    y = sums.to(6) * (scales * q.q_scale())
    return y if b is None else y + b

def linear_dynamic(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, reduce_range: bool) -> Tensor:
    return _dynamic_linear(X, W_prepack, reduce_range)

def linear_relu_dynamic(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, reduce_range: bool) -> Tensor:
    return torch.relu(_dynamic_linear(X, W_prepack, reduce_range))

def linear_dynamic_fp16(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
    w, b = ops.quantized.linear_unpack_fp16(W_prepack)
    return torch.linear(X, w, b)

def linear_relu_dynamic_fp16(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
    w, b = ops.quantized.linear_unpack_fp16(W_prepack)
    return torch.relu(torch.linear(X, w, b))

def conv1d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv1d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv1d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

def conv2d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv2d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv2d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

def conv3d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv3dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv3d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv3d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

def conv_transpose1d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv_transpose1d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv_transpose1d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

def conv_transpose2d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv_transpose2d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv_transpose2d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

def conv_transpose3d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv3dPackedParamsBase, reduce_range: bool) -> Tensor:
    w, b = ops.quantized.conv_transpose3d_unpack(packed_weight)
    q = torch.quantize_per_tensor_dynamic(qx, 13, reduce_range)
    return _on_grid_of(q, _conv_transpose3d(torch.dequantize(q), torch.dequantize(w), None, packed_weight), b)

# --- arithmetic

def add(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    return _like(torch.dequantize(qa) + torch.dequantize(qb), qa, scale, zero_point)

def add_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    return _like(torch.relu(torch.dequantize(qa) + torch.dequantize(qb)), qa, scale, zero_point)

def mul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    return _like(torch.dequantize(qa) * torch.dequantize(qb), qa, scale, zero_point)

def mul_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    return _like(torch.relu(torch.dequantize(qa) * torch.dequantize(qb)), qa, scale, zero_point)

def matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    return _like(torch.matmul(torch.dequantize(qa), torch.dequantize(qb)), qa, scale, zero_point)

def _bounds(q: Tensor) -> Tuple[int, int]:
    if q.dtype == 13:
        return 0, 255
    if q.dtype == 12:
        return -128, 127
    return -2147483648, 2147483647

# A number moves the zero point; where that would leave the range, the scale widens.
def _plus(qa: Tensor, b: number, relu: bool) -> Tensor:
    low, high = _bounds(qa)
    scale, zero_point = qa.q_scale(), qa.q_zero_point()
    moved = zero_point - int(round(float(b) / scale))
    if low > moved:
        scale = (float(high) - moved) / (float(high) - low) * scale
        zero_point = low
    elif high < moved:
        scale = (float(moved) - low) / (float(high) - low) * scale
        zero_point = high
    else:
        zero_point = moved
    y = torch.dequantize(qa) + float(int(round(float(b) / qa.q_scale()))) * qa.q_scale()
    if relu:
        y = torch.relu(y)
    return _like(y, qa, scale, zero_point)

# A number scales the scale; a negative one turns the integers around.
def _times(qa: Tensor, b: number, relu: bool) -> Tensor:
    low, high = _bounds(qa)
    y = torch.dequantize(qa) * float(b)
    if relu:
        y = torch.relu(y)
    if float(b) > 0:
        return _like(y, qa, float(b) * qa.q_scale(), qa.q_zero_point())
    if float(b) == 0:
        return _like(y, qa, 1.0, 0)
    return _like(y, qa, -float(b) * qa.q_scale(), high - (qa.q_zero_point() - low))

def add__Scalar(qa: Tensor, b: number) -> Tensor:
    return _plus(qa, b, False)
add_scalar = add__Scalar

def add__Scalar2(b: number, qa: Tensor) -> Tensor:
    return _plus(qa, b, False)

def add_relu__Scalar(qa: Tensor, b: number) -> Tensor:
    return _plus(qa, b, True)
add_scalar_relu = add_relu__Scalar

def add_relu__Scalar2(b: number, qa: Tensor) -> Tensor:
    return _plus(qa, b, True)

def mul__Scalar(qa: Tensor, b: number) -> Tensor:
    return _times(qa, b, False)
mul_scalar = mul__Scalar

def mul__Scalar2(b: number, qa: Tensor) -> Tensor:
    return _times(qa, b, False)

def mul_relu__Scalar(qa: Tensor, b: number) -> Tensor:
    return _times(qa, b, True)
mul_scalar_relu = mul_relu__Scalar

def mul_relu__Scalar2(b: number, qa: Tensor) -> Tensor:
    return _times(qa, b, True)

def _joined(qx: List[Tensor], dim: int, relu: bool, scale: Optional[float], zero_point: Optional[int]) -> Tensor:
    y = torch.cat([torch.dequantize(x) for x in qx], dim)
    if relu:
        y = torch.relu(y)
    s = qx[0].q_scale() if scale is None else scale
    z = qx[0].q_zero_point() if zero_point is None else zero_point
    return _like(y, qx[0], s, z)

def cat(qx: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]) -> Tensor:
    return _joined(qx, dim, False, scale, zero_point)

def cat_relu(qx: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]) -> Tensor:
    return _joined(qx, dim, True, scale, zero_point)

# --- normalization

def _batch_norm(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, var: Tensor, eps: float) -> Tensor:
    return torch.batch_norm(torch.dequantize(qx), weight, bias, mean, var, False, 0.0, eps, False)

def batch_norm(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, var: Tensor, eps: float, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(_batch_norm(qx, weight, bias, mean, var, eps), qx, output_scale, output_zero_point)
batch_norm1d = batch_norm
batch_norm2d = batch_norm
batch_norm3d = batch_norm

def batch_norm_relu(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, var: Tensor, eps: float, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.relu(_batch_norm(qx, weight, bias, mean, var, eps)), qx, output_scale, output_zero_point)
batch_norm1d_relu = batch_norm_relu
batch_norm2d_relu = batch_norm_relu
batch_norm3d_relu = batch_norm_relu

def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.layer_norm(torch.dequantize(input), normalized_shape, weight, bias, eps), input, output_scale, output_zero_point)

def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.group_norm(torch.dequantize(input), num_groups, weight, bias, eps), input, output_scale, output_zero_point)

def instance_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.group_norm(torch.dequantize(input), input.size(1), weight, bias, eps), input, output_scale, output_zero_point)

# --- activations

def hardswish(input: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.hardswish(torch.dequantize(input)), input, output_scale, output_zero_point)

def leaky_relu(qx: Tensor, negative_slope: number, inplace: bool, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.leaky_relu(torch.dequantize(qx), negative_slope), qx, output_scale, output_zero_point)

def elu(self: Tensor, output_scale: float, output_zero_point: int, alpha: number, scale: number, input_scale: number) -> Tensor:
    return _like(torch.elu(torch.dequantize(self), alpha, scale, input_scale), self, output_scale, output_zero_point)

def celu(self: Tensor, output_scale: float, output_zero_point: int, alpha: number) -> Tensor:
    return _like(torch.celu(torch.dequantize(self), alpha), self, output_scale, output_zero_point)

def sigmoid(qx: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.sigmoid(torch.dequantize(qx)), qx, output_scale, output_zero_point)

def softmax(qx: Tensor, dim: int, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.softmax(torch.dequantize(qx), dim), qx, output_scale, output_zero_point)

def prelu(qx: Tensor, weight: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    return _like(torch.prelu(torch.dequantize(qx), torch.dequantize(weight)), qx, output_scale, output_zero_point)

def relu6(qx: Tensor, inplace: bool) -> Tensor:
    return torch.clamp(qx, 0.0, 6.0)

def clamp(qx: Tensor, min: Optional[number], max: Optional[number]) -> Tensor:
    return torch.clamp(qx, min, max)

def threshold(qx: Tensor, threshold: number, value: number) -> Tensor:
    return torch.threshold(qx, threshold, value)

def dropout(self: Tensor, output_scale: float, output_zero_point: int, p: number, training: bool) -> Tensor:
    assert not training, "dropout of a quantized tensor draws nothing in inference only"
    return self

def max_pool1d(qx: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool2d(qx: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode)

# --- tables of bytes, each row with its own scale and its own offset

def _rows(table: Tensor, indices: Tensor) -> Tensor:
    scale, offset = table.q_per_channel_scales().to(6), table.q_per_channel_zero_points().to(6)
    offset = -scale * offset
    row = table.int_repr().index_select(0, indices.reshape([-1])).to(6)
    at = indices.reshape([-1])
    return row * scale.index_select(0, at).unsqueeze(1) + offset.index_select(0, at).unsqueeze(1)

def embedding_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool) -> Tensor:
    table = ops.quantized.embedding_bag_unpack(weight)
    return _rows(table, indices).reshape(indices.size() + [table.size(1)])

def embedding_bag_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, per_sample_weights: Optional[Tensor], compressed_indices_mapping: Optional[Tensor], include_last_offset: bool) -> Tensor:
    assert compressed_indices_mapping is None, "a pruned table has no form in ONNX yet"
    rows = _rows(ops.quantized.embedding_bag_unpack(weight), indices)
    if indices.dim() == 2:
        bags = rows.reshape([indices.size(0), indices.size(1), rows.size(1)])
        if per_sample_weights is not None:
            bags = bags * per_sample_weights.unsqueeze(2)
        return bags.sum([1])
    assert offsets is not None, "indices of one axis come with offsets"
    y, _0, _1, _2 = torch.embedding_bag(rows, torch.arange(indices.size(0)), offsets, False, 0, False, per_sample_weights, include_last_offset)
    return y

# --- recurrent cells; LibTorch leaves a bit of the input's range unused in all of them

def quantized_lstm_cell_dynamic(input: Tensor, hx: List[Tensor], w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, bias_ih: Tensor, bias_hh: Tensor) -> Tuple[Tensor, Tensor]:
    i, f, g, o = (_dynamic_linear(hx[0], w_hh, True) + _dynamic_linear(input, w_ih, True)).chunk(4, 1)
    c = torch.sigmoid(f) * hx[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c

def quantized_gru_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    ir, iz, n = _dynamic_linear(input, w_ih, True).chunk(3, 1)
    hr, hz, hn = _dynamic_linear(hx, w_hh, True).chunk(3, 1)
    n = torch.tanh(n + hn * torch.sigmoid(hr + ir))
    return (hx - n) * torch.sigmoid(hz + iz) + n

def quantized_rnn_relu_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.relu(_dynamic_linear(hx, w_hh, True) + _dynamic_linear(input, w_ih, True))

def quantized_rnn_tanh_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.tanh(_dynamic_linear(hx, w_hh, True) + _dynamic_linear(input, w_ih, True))
