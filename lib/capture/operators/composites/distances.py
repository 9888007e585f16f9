# Distances between vectors, norms of differences, and their angle.

# Each norm is kept away from 0 on its own; it is that of the vector after broadcasting, in the
# vector's own type, but for integers.
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    dtype = torch.result_type(x1, x2)
    x, y = torch.broadcast_tensors([x1, x2])
    x = x if x.is_floating_point() else x.to(dtype)
    y = y if y.is_floating_point() else y.to(dtype)
    x = x / torch.clamp_min(torch.linalg_vector_norm(x, 2, [dim], True), eps)
    y = y / torch.clamp_min(torch.linalg_vector_norm(y, 2, [dim], True), eps)
    return (x * y).sum([dim])

def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    return torch.linalg_vector_norm(x1 - x2 + eps, p, [-1], keepdim)

def dist(self: Tensor, other: Tensor, p: number) -> Tensor:
    return torch.linalg_vector_norm(self - other, p)

# The difference is formed directly in every mode, which is at least as exact as LibTorch's matrix
# product form for many rows.
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int]) -> Tensor:
    return torch.linalg_vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, [-1])

# Of all pairs of rows i < j, in their order.
def pdist(self: Tensor, p: float) -> Tensor:
    pairs = torch.triu_indices(self.size(0), self.size(0), 1)
    return torch.linalg_vector_norm(self[pairs[0]] - self[pairs[1]], p, [1])

def linalg_vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    products = torch.conj(x) * y
    return products.sum([dim], dtype=products.dtype)

# Integers wrap around until the margin makes them floats.
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    loss = torch.relu(-target * (input1 - input2) + margin)
    if reduction == 0:
        return loss
    return loss.mean() if reduction == 1 else loss.sum()

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int) -> Tensor:
    near = pairwise_distance(anchor, positive, p, eps, False)
    far = pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps, False))
    loss = torch.relu(margin + (near - far))
    if reduction == 0:
        return loss
    return loss.mean() if reduction == 1 else loss.sum()
