# Vector-Jacobian products of losses.

def _of_each(grad: Tensor, self: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    g = grad / self.numel() if reduction == 1 else grad
    return g if weight is None else g * weight

def binary_cross_entropy__self(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    slope = (self - target) / torch.clamp_min((1 - self) * self, 1e-12)
    return _of_each(grad, self, weight, reduction) * slope

def binary_cross_entropy__target(grad: Tensor, self: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    return _of_each(grad, self, weight, reduction) * (torch.log1p(-self) - torch.log(self))

def binary_cross_entropy_with_logits__self(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    g = _of_each(grad, self, weight, reduction)
    if pos_weight is None:
        return g * (torch.sigmoid(self) - target)
    positive = pos_weight * target
    return g * ((positive + 1 - target) * torch.sigmoid(self) - positive)

def binary_cross_entropy_with_logits__target(grad: Tensor, self: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    g = _of_each(grad, self, weight, reduction)
    if pos_weight is None:
        return g * -self
    return g * (torch.log_sigmoid(-self) - pos_weight * torch.log_sigmoid(self))

def ctc_loss__IntList__log_probs(grad: Tensor) -> Tensor:
    assert False, "its alignments are summed in a loop over time"
    return grad
ctc_loss__Tensor__log_probs = ctc_loss__IntList__log_probs
