# Connectionist temporal classification: how likely all alignments of a target are, in logarithms.
# https://www.cs.toronto.edu/~graves/icml_2006.pdf

# Each row's labels, [rows, width]; behind its length it has blanks.
def _labels(targets: Tensor, lengths: Tensor, blank: int) -> Tensor:
    labels = targets.to(4)
    if targets.dim() == 1:  # one row behind the other
        width = int(lengths.max())
        places = (torch.cumsum(lengths, 0) - lengths).unsqueeze(1) + torch.arange(width)
        labels = labels[torch.clamp(places, max=targets.size(0) - 1)]
    return torch.where(torch.arange(labels.size(1)) < lengths.unsqueeze(1), labels, blank)

# States are the labels with a blank before, between and behind them. A path that has not begun is in
# state 0; from there it goes to the next one, or over a blank between labels that differ.
def _negative_log_likelihood(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int) -> Tensor:
    labels = _labels(targets, target_lengths, blank)
    rows, width = labels.size(0), labels.size(1)
    states = torch.stack([torch.full_like(labels, blank), labels], 2).flatten(1)
    states = torch.constant_pad_nd(states, [0, 1], blank)
    before = torch.constant_pad_nd(states, [2, 0], -1)
    differ = before[:, :-2] != states
    last = 2 * width + 1
    impossible = torch.full([1], -float("inf"), dtype=log_probs.dtype)
    alpha = torch.where(torch.arange(last) == 0, torch.zeros_like(impossible), impossible).expand([rows, last])
    for t in range(log_probs.size(0)):
        before = torch.constant_pad_nd(alpha, [2, 0], -float("inf"))
        skip = torch.where(differ, before[:, :-2], impossible)
        paths = torch.logsumexp(torch.stack([alpha, before[:, 1:-1], skip]), 0)
        paths = paths + log_probs[t].gather(1, states)
        alpha = torch.where(t < input_lengths.unsqueeze(1), paths, alpha)
    end = 2 * target_lengths.unsqueeze(1)
    without = torch.where(end == 0, impossible, alpha.gather(1, torch.clamp(end - 1, min=0)))
    return -torch.logsumexp(torch.cat([alpha.gather(1, end), without], 1), 1)

def ctc_loss__Tensor(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    batched = log_probs.dim() == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    lengths = target_lengths.reshape([-1]).to(4)
    loss = _negative_log_likelihood(x, targets, input_lengths.reshape([-1]).to(4), lengths, blank)
    if zero_infinity:
        loss = torch.where(loss == float("inf"), torch.zeros_like(loss), loss)
    if reduction == 1:
        return (loss / torch.clamp(lengths, min=1).to(loss.dtype)).mean()
    if reduction == 2:
        return loss.sum()
    return loss if batched else loss.squeeze(0)

def ctc_loss__IntList(log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    return ctc_loss__Tensor(log_probs, targets, torch.tensor(input_lengths), torch.tensor(target_lengths), blank, reduction, zero_infinity)
