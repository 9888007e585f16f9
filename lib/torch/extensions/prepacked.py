# What optimize_for_mobile makes of convolutions and linear layers: the layer and the clamp behind
# it, with the weights in an object of XNNPACK's (stand_ins.cpp lists what those hold).

def _clamped(x: Tensor, low: Optional[number], high: Optional[number]) -> Tensor:
    if low is None and high is None:
        return x
    return torch.clamp(x, low, high)

def linear_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.LinearOpContext) -> Tensor:
    return _clamped(torch.linear(X, W_prepack.weight, W_prepack.bias), W_prepack.output_min, W_prepack.output_max)

def conv2d_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.Conv2dOpContext) -> Tensor:
    p = W_prepack
    return _clamped(torch.conv2d(X, p.weight, p.bias, p.stride, p.padding, p.dilation, p.groups), p.output_min, p.output_max)

def conv2d_transpose_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.TransposeConv2dOpContext) -> Tensor:
    p = W_prepack
    return _clamped(torch.conv_transpose2d(X, p.weight, p.bias, p.stride, p.padding, p.output_padding, p.groups, p.dilation), p.output_min, p.output_max)
