# Losses, differentiated through the operators that they are made of.

def _reduced(loss: Tensor, reduction: int) -> Tensor:
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()

def mse_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    d = self - target
    return _reduced(d * d, reduction)

def l1_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return _reduced(torch.abs(self - target), reduction)

def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    d = torch.abs(self - target)
    if beta == 0.0:
        return _reduced(d, reduction)
    return _reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)

def huber_loss(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    d = torch.abs(self - target)
    return _reduced(torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)

def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    zeros = torch.zeros_like(self)
    apart = torch.where(target != 1, torch.clamp_min(margin - self, 0), zeros)
    return _reduced(apart + torch.where(target != -1, self, zeros), reduction)

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    axis = target.dim()
    lengths = ((input1 * input1).sum(axis) + 1e-12) * ((input2 * input2).sum(axis) + 1e-12)
    cosine = (input1 * input2).sum(axis) / torch.sqrt(lengths)
    zeros = torch.zeros_like(cosine)
    apart = torch.where(target == -1, torch.clamp_min(cosine - margin, 0), zeros)
    return _reduced(torch.where(target == 1, 1 - cosine, zeros) + apart, reduction)

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    if log_input:
        loss = torch.exp(input) - target * input
    else:
        loss = input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(6.283185307179586 * target)
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)

def kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    if log_target:
        return _reduced(torch.exp(target) * (target - self), reduction)
    return _reduced(torch.xlogy(target, target) - target * self, reduction)

def multi_margin_loss(self: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    x = self.reshape([1, -1]) if self.dim() < 2 else self
    classes, at = x.size(1), target.reshape([-1, 1])
    distance = torch.rsub(torch.gather(x, 1, at), margin) + x
    counts = torch.logical_and(distance > 0, torch.arange(classes).unsqueeze(0) != at)
    loss = torch.where(counts, distance, torch.zeros_like(distance))
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * torch.take(weight, at)
    return _reduced((loss.sum(1) / classes).reshape(target.size()), reduction)

# The classes of a row are those before its first negative number.
def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    x, t = self.reshape([-1, 1] if self.dim() == 0 else [-1, self.size(-1)]), target
    t = t.reshape(x.size())
    valid = torch.cumsum((t < 0).to(4), 1) == 0
    at = torch.where(valid, t, torch.zeros_like(t))
    named = torch.zeros_like(x).scatter_add(1, at, valid.to(x.dtype)) > 0
    distance = 1 - torch.gather(x, 1, at).unsqueeze(2) + x.unsqueeze(1)
    counts = torch.logical_and(valid.unsqueeze(2), torch.logical_not(named).unsqueeze(1))
    counts = torch.logical_and(counts, distance > 0)
    loss = torch.where(counts, distance, torch.zeros_like(distance)).sum([1, 2]) / x.size(1)
    return _reduced(loss.reshape([]) if self.dim() < 2 else loss, reduction)

# Of each row, and what it counts.
def _nll(self: Tensor, target: Tensor, weight: Optional[Tensor], ignore_index: int) -> Tuple[Tensor, Tensor]:
    axis = 1 if self.dim() > 1 else 0
    zeros = torch.zeros_like(target)
    used = target != ignore_index
    at = torch.where(used, target, zeros)
    w = torch.ones_like(target).to(self.dtype) if weight is None else torch.take(weight, at)
    w = torch.where(used, w, zeros.to(self.dtype))
    picked = -torch.gather(self, axis, at.unsqueeze(axis)).squeeze(axis) * w
    return torch.where(used, picked, zeros.to(self.dtype)), w

def nll_loss_nd(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    loss, w = _nll(self, target, weight, ignore_index)
    return loss.sum() / w.sum() if reduction == 1 else _reduced(loss, reduction)

def nll_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    return nll_loss_nd(self, target, weight, reduction, ignore_index)
nll_loss2d = nll_loss

def cross_entropy_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float) -> Tensor:
    axis = 1 if self.dim() > 1 else 0
    logs, classes = torch.log_softmax(self, axis), self.size(axis)
    weighed = logs if weight is None else logs * (_by_channel(weight, self.dim()) if axis == 1 else weight)
    if target.dim() == self.dim():
        share = target
        if label_smoothing > 0.0:
            share = target * (1 - label_smoothing) + label_smoothing / classes
        loss = -(weighed * share).sum(axis)
        return loss.sum() / loss.numel() if reduction == 1 else _reduced(loss, reduction)
    nll = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0.0:
        return nll
    used = target != ignore_index
    smooth = -weighed.sum(axis)
    smooth = torch.where(used, smooth, torch.zeros_like(smooth))
    if reduction == 1:
        smooth = smooth.sum() / _nll(logs, target, weight, ignore_index)[1].sum()
    elif reduction == 2:
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / classes)
