# Complex numbers: their parts, and what LibTorch makes of both.

# A conjugate is a view that knows it is one; its memory has the other sign.
def real(self: Tensor) -> Tensor:
    if not self.is_complex():
        return self
    if self.is_conj():
        return torch.view_as_real(torch._conj(self)).select(-1, 0)
    return torch.view_as_real(self).select(-1, 0)

def imag(self: Tensor) -> Tensor:
    if self.is_conj():
        return torch._neg_view(torch.view_as_real(torch._conj(self)).select(-1, 1))
    return torch.view_as_real(self).select(-1, 1)

def adjoint(self: Tensor) -> Tensor:
    return torch.conj(self.mT)
mH = adjoint

def matrix_H(self: Tensor) -> Tensor:
    return torch.conj(self.t())
