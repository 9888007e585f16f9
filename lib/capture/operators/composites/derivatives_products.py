# Vector-Jacobian products of matrix products and what is made of them.

def mm__self(grad: Tensor, mat2: Tensor) -> Tensor:
    return torch.mm(grad, mat2.t())

def mm__mat2(grad: Tensor, self: Tensor) -> Tensor:
    return torch.mm(self.t(), grad)

def bmm__self(grad: Tensor, mat2: Tensor) -> Tensor:
    return torch.bmm(grad, mat2.transpose(1, 2))

def bmm__mat2(grad: Tensor, self: Tensor) -> Tensor:
    return torch.bmm(self.transpose(1, 2), grad)

def mv__self(grad: Tensor, vec: Tensor) -> Tensor:
    return grad.unsqueeze(1) * vec

def mv__vec(grad: Tensor, self: Tensor) -> Tensor:
    return torch.mv(self.t(), grad)

def dot__self(grad: Tensor, tensor: Tensor) -> Tensor:
    return grad * tensor

def dot__tensor(grad: Tensor, self: Tensor) -> Tensor:
    return grad * self

def vdot__self(grad: Tensor, other: Tensor) -> Tensor:
    return grad * other
vdot__other = dot__tensor

def outer__self(grad: Tensor, vec2: Tensor) -> Tensor:
    return torch.mv(grad, vec2)

def outer__vec2(grad: Tensor, self: Tensor) -> Tensor:
    return torch.mv(grad.t(), self)

def matmul__self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if other.dim() == 1:
        return grad.unsqueeze(-1) * other
    if self.dim() == 1:
        return torch.matmul(other, grad.unsqueeze(-1)).squeeze(-1)
    return torch.matmul(grad, other.transpose(-2, -1))

def matmul__other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 1 and other.dim() == 1:
        return grad * self
    if self.dim() == 1:
        return self.unsqueeze(-1) * grad.unsqueeze(-2)
    if other.dim() == 1:
        return torch.matmul(self.transpose(-2, -1), grad.unsqueeze(-1)).squeeze(-1)
    if self.dim() > 2 and other.dim() == 2:
        rows = self.reshape([-1, self.size(-1)])
        return torch.mm(rows.t(), grad.reshape([-1, grad.size(-1)]))
    return torch.matmul(self.transpose(-2, -1), grad)

def linear__input(grad: Tensor, weight: Tensor) -> Tensor:
    return grad.unsqueeze(-1) * weight if weight.dim() == 1 else torch.matmul(grad, weight)

def linear__weight(grad: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    rows = input.reshape([-1, input.size(-1)])
    if weight.dim() == 1:
        return torch.mv(rows.t(), grad.reshape([-1]))
    return torch.mm(grad.reshape([-1, grad.size(-1)]).t(), rows)

def linear__bias(grad: Tensor) -> Tensor:
    return grad

def addmm__self(grad: Tensor, beta: number) -> Tensor:
    return _scaled_by(grad, beta)
baddbmm__self = addmm__self
addbmm__self = addmm__self
addmv__self = addmm__self
addr__self = addmm__self

def addmm__mat1(grad: Tensor, mat2: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.mm(grad, mat2.t()), alpha)

def addmm__mat2(grad: Tensor, mat1: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.mm(mat1.t(), grad), alpha)

def baddbmm__batch1(grad: Tensor, batch2: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.bmm(grad, batch2.transpose(1, 2)), alpha)

def baddbmm__batch2(grad: Tensor, batch1: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.bmm(batch1.transpose(1, 2), grad), alpha)

def addbmm__batch1(grad: Tensor, batch2: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.matmul(grad, batch2.transpose(1, 2)), alpha)

def addbmm__batch2(grad: Tensor, batch1: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.matmul(batch1.transpose(1, 2), grad), alpha)

def addmv__mat(grad: Tensor, vec: Tensor, alpha: number) -> Tensor:
    return _scaled_by(grad.unsqueeze(1) * vec, alpha)

def addmv__vec(grad: Tensor, mat: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.mv(mat.t(), grad), alpha)

def addr__vec1(grad: Tensor, vec2: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.mv(grad, vec2), alpha)

def addr__vec2(grad: Tensor, vec1: Tensor, alpha: number) -> Tensor:
    return _scaled_by(torch.mv(grad.t(), vec1), alpha)

# The product for one operand: the others and the gradient, whose labels are the result's. Labels that
# only this operand has are of axes that were summed: it is repeated along them.
def _einsum_operand(grad: Tensor, operands: List[Tensor], inputs: List[str], output: str, k: int) -> Tensor:
    others: List[Tensor] = [grad]
    labels: List[str] = [output]
    for i in range(len(operands)):
        if i != k:
            others.append(operands[i])
            labels.append(inputs[i])
    have = "".join(labels)
    wanted = ""
    alone: List[int] = []
    plain = inputs[k].replace("...", "")
    assert "..." not in inputs[k] or "..." in output, "einsum that sums an ellipsis"
    lead = operands[k].dim() - len(plain)
    before = inputs[k].find("...")
    for i in range(len(plain)):
        assert plain.count(plain[i]) == 1, "einsum with a diagonal"
        if before == i:
            wanted += "..."
        if plain[i] in have:
            wanted += plain[i]
        else:
            alone.append(i if before < 0 or i < before else i + lead)
    if before == len(plain):
        wanted += "..."
    made = torch.einsum(",".join(labels) + "->" + wanted, others)
    for axis in alone:
        made = made.unsqueeze(axis - operands[k].dim())
    return made.expand_as(operands[k]) if "..." not in wanted and len(alone) > 0 else made * torch.ones_like(operands[k]) if len(alone) > 0 else made

def einsum__tensors(grad: Tensor, equation: str, tensors: List[Tensor]) -> List[Tensor]:
    text = equation.replace(" ", "")
    inputs = text.split("->")[0].split(",")
    output = ""
    if "->" in text:
        output = text.split("->")[1]
    else:
        every = "".join(inputs)
        if "..." in every:
            output = "..."
        for label in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
            if every.count(label) == 1:
                output += label
    made: List[Tensor] = []
    for k in range(len(tensors)):
        made.append(_einsum_operand(grad, tensors, inputs, output, k))
    return made

# The gradient as wide as the padded input, then the input's part of it.
def _spread(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    n = input.dim() - 2
    zeros: List[int] = []
    for i in range(n):
        zeros.append(0)
    if n == 1:
        wide = torch.conv_transpose1d(grad, weight, None, stride, zeros, zeros, groups, dilation)
    elif n == 2:
        wide = torch.conv_transpose2d(grad, weight, None, stride, zeros, zeros, groups, dilation)
    else:
        wide = torch.conv_transpose3d(grad, weight, None, stride, zeros, zeros, groups, dilation)
    more: List[int] = []
    for i in range(n):
        more.append(0)
        more.append(padding[(n - 1 - i) % len(padding)] + stride[(n - 1 - i) % len(stride)] - 1)
    wide = torch.constant_pad_nd(wide, more)
    for i in range(n):
        wide = wide.narrow(i + 2, padding[i % len(padding)], input.size(i + 2))
    return wide

def _input_gradient(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    if input.dim() == weight.dim():
        return _spread(grad, input, weight, stride, padding, dilation, groups)
    return _spread(grad.unsqueeze(0), input.unsqueeze(0), weight, stride, padding, dilation, groups).squeeze(0)

def conv1d__input(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return _input_gradient(grad, input, weight, stride, padding, dilation, groups)
conv2d__input = conv1d__input
conv3d__input = conv1d__input

# A convolution of the input with the gradient, the batch being its channels.
def _weight_gradient(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    assert groups == 1, "the weight of a grouped convolution"
    x, g = input, grad
    if input.dim() < weight.dim():
        x, g = input.unsqueeze(0), grad.unsqueeze(0)
    x, g = x.transpose(0, 1), g.transpose(0, 1)
    if weight.dim() == 3:
        made = torch.conv1d(x, g, None, dilation, padding, stride)
    elif weight.dim() == 4:
        made = torch.conv2d(x, g, None, dilation, padding, stride)
    else:
        made = torch.conv3d(x, g, None, dilation, padding, stride)
    for i in range(weight.dim() - 2):
        made = made.narrow(i + 2, 0, weight.size(i + 2))
    return made.transpose(0, 1)

def conv1d__weight(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return _weight_gradient(grad, input, weight, stride, padding, dilation, groups)
conv2d__weight = conv1d__weight
conv3d__weight = conv1d__weight

# The sum over all axes but that of the channels.
def _bias_gradient(grad: Tensor, spatial: int) -> Tensor:
    axes: List[int] = []
    for i in range(spatial):
        axes.append(-1 - i)
    g = grad.sum(axes)
    return g.sum(0) if g.dim() > 1 else g

def conv1d__bias(grad: Tensor) -> Tensor:
    return _bias_gradient(grad, 1)

def conv2d__bias(grad: Tensor) -> Tensor:
    return _bias_gradient(grad, 2)

def conv3d__bias(grad: Tensor) -> Tensor:
    return _bias_gradient(grad, 3)

# A transposed convolution is what it is the gradient of: the input's is a plain one.
def _transposed_input(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    if weight.dim() == 3:
        made = torch.conv1d(grad, weight, None, stride, padding, dilation, groups)
    elif weight.dim() == 4:
        made = torch.conv2d(grad, weight, None, stride, padding, dilation, groups)
    else:
        made = torch.conv3d(grad, weight, None, stride, padding, dilation, groups)
    for i in range(weight.dim() - 2):
        made = made.narrow(-1 - i, 0, input.size(-1 - i))
    return made

def conv_transpose1d__input(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return _transposed_input(grad, input, weight, stride, padding, dilation, groups)
conv_transpose2d__input__input = conv_transpose1d__input
conv_transpose3d__input__input = conv_transpose1d__input

def conv_transpose1d__weight(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return _weight_gradient(input, grad, weight, stride, padding, dilation, groups)
conv_transpose1d__bias = conv1d__bias
conv_transpose2d__input__weight = conv_transpose1d__weight
conv_transpose2d__input__bias = conv2d__bias
conv_transpose3d__input__weight = conv_transpose1d__weight
conv_transpose3d__input__bias = conv3d__bias

# Each channel's windows hand their gradient to the element that they chose.
def _to_maxima(grad: Tensor, self: Tensor, indices: Tensor, spatial: int) -> Tensor:
    flat = torch.zeros_like(self).flatten(-spatial)
    return flat.scatter_add(-1, indices.flatten(-spatial), grad.flatten(-spatial)).reshape(self.size())

def max_pool1d_with_indices__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_maxima(grad, self, results[1], 1)

def max_pool2d_with_indices__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_maxima(grad, self, results[1], 2)

def max_pool3d_with_indices__self(grad: Tensor, self: Tensor, results: List[Tensor]) -> Tensor:
    return _to_maxima(grad, self, results[1], 3)
