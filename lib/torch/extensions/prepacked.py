# What optimize_for_mobile makes of convolutions and linear layers: the layer and the clamp behind
# it, with the weights in an object of XNNPACK's: LibTorch's own, or that of stand_ins.cpp.

def _clamped(x: Tensor, low: Optional[number], high: Optional[number]) -> Tensor:
    if low is None and high is None:
        return x
    return torch.clamp(x, low, high)

def linear_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.LinearOpContext) -> Tensor:
    weight, bias, low, high = W_prepack.__getstate__()
    return _clamped(torch.linear(X, weight, bias), low, high)

def conv2d_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.Conv2dOpContext) -> Tensor:
    weight, bias, stride, padding, dilation, groups, low, high = W_prepack.__getstate__()
    return _clamped(torch.conv2d(X, weight, bias, stride, padding, dilation, groups), low, high)

def conv2d_transpose_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.TransposeConv2dOpContext) -> Tensor:
    weight, bias, stride, padding, output_padding, dilation, groups, low, high = W_prepack.__getstate__()
    return _clamped(torch.conv_transpose2d(X, weight, bias, stride, padding, output_padding, groups, dilation), low, high)
