# Normalisation: of batches, of weights, of probabilities.

def _safe_softmax(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    y = torch.softmax(self, dim, dtype)
    return torch.where(torch.all(self == -float("inf"), dim, True), torch.zeros_like(y), y)

# Normalisation that says that it writes: native_batch_norm writes without saying so.
def _native_batch_norm_legit(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)

def _batch_norm_with_update(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    y, mean, scale = torch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return y, mean, scale, torch.zeros([0], dtype=0)

def _batch_norm_with_update_functional(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    new_mean, new_var = running_mean.clone(), running_var.clone()
    y, mean, scale = torch.native_batch_norm(input, weight, bias, new_mean, new_var, True, momentum, eps)
    return y, mean, scale, torch.zeros([0], dtype=0), new_mean, new_var

def _batch_norm_no_update(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    y, mean, scale = torch.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return y, mean, scale, torch.zeros([0], dtype=0)

def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    return torch.embedding_renorm_(self.clone(), indices, max_norm, norm_type)
