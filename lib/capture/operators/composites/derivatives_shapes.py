# Vector-Jacobian products of operators that move elements: views, joins, pieces, copies.

def view__self(grad: Tensor, self: Tensor) -> Tensor:
    return grad.reshape(self.size())
view_as__self = view__self
reshape__self = view__self
reshape_as__self = view__self
_unsafe_view__self = view__self
_reshape_alias__self = view__self
flatten__using_ints__self = view__self
unflatten__int__self = view__self
ravel__self = view__self
squeeze__self = view__self
squeeze__dim__self = view__self
squeeze__dims__self = view__self
atleast_1d__self = view__self
atleast_2d__self = view__self
atleast_3d__self = view__self

def unsqueeze__self(grad: Tensor, dim: int) -> Tensor:
    return grad.squeeze(dim)

def transpose__int__self(grad: Tensor, dim0: int, dim1: int) -> Tensor:
    return grad.transpose(dim0, dim1)

def t__self(grad: Tensor) -> Tensor:
    return grad.t()

def mT__self(grad: Tensor) -> Tensor:
    return grad.transpose(-2, -1)

def numpy_T__self(grad: Tensor) -> Tensor:
    return torch.numpy_T(grad)

def permute__self(grad: Tensor, dims: List[int]) -> Tensor:
    back: List[int] = []
    for i in range(len(dims)):
        for k in range(len(dims)):
            if dims[k] == i or dims[k] + len(dims) == i:
                back.append(k)
    return grad.permute(back)

def movedim__int__self(grad: Tensor, source: int, destination: int) -> Tensor:
    return torch.movedim(grad, destination, source)

def movedim__intlist__self(grad: Tensor, source: List[int], destination: List[int]) -> Tensor:
    return torch.movedim(grad, destination, source)

def expand__self(grad: Tensor) -> Tensor:
    return grad
expand_as__self = expand__self
broadcast_to__self = expand__self
clone__self = expand__self
contiguous__self = expand__self
alias__self = expand__self
lift_fresh__self = expand__self
cpu__self = expand__self
resolve_conj__self = expand__self
resolve_neg__self = expand__self
type_as__self = expand__self
to__dtype__self = expand__self
to__dtype_layout__self = expand__self
to__device__self = expand__self
to__other__self = expand__self
to__prim_Device__self = expand__self
to__prim_dtype__self = expand__self
_to_copy__self = expand__self
_cast_Float__self = expand__self
_cast_Double__self = expand__self
_cast_Half__self = expand__self

def broadcast_tensors__tensors(grads: List[Tensor]) -> List[Tensor]:
    return grads

# One block of a repeated tensor, the sum of all of them.
def _sum_of_blocks(grad: Tensor, self: Tensor, repeats: List[int]) -> Tensor:
    sizes: List[int] = []
    axes: List[int] = []
    lead = len(repeats) - self.dim()
    for i in range(len(repeats)):
        axes.append(2 * i)
        sizes.append(repeats[i])
        sizes.append(1 if i < lead else self.size(i - lead))
    return grad if len(axes) == 0 else grad.reshape(sizes).sum(axes).reshape(self.size())

def repeat__self(grad: Tensor, self: Tensor, repeats: List[int]) -> Tensor:
    return _sum_of_blocks(grad, self, repeats)

def tile__self(grad: Tensor, self: Tensor, dims: List[int]) -> Tensor:
    missing = self.dim() - len(dims)
    repeats: List[int] = []
    for i in range(missing):
        repeats.append(1)
    return _sum_of_blocks(grad, self, repeats + dims)

def repeat_interleave__self_int__self(grad: Tensor, self: Tensor, repeats: int, dim: Optional[int]) -> Tensor:
    if dim is None:
        return grad.reshape([-1, repeats]).sum(1).reshape(self.size())
    d = dim if dim >= 0 else dim + self.dim()
    return grad.unflatten(d, [-1, repeats]).sum(d + 1)

def repeat_interleave__self_Tensor__self(grad: Tensor, self: Tensor, repeats: Tensor, dim: Optional[int]) -> Tensor:
    d = 0 if dim is None else dim
    x = self.reshape([-1]) if dim is None else self
    times = repeats.reshape([-1]).expand([x.size(d)])
    rows = torch.repeat_interleave(torch.arange(x.size(d)), times)
    return torch.zeros_like(x).index_add(d, rows, grad).reshape(self.size())

def select__int__self(grad: Tensor, self: Tensor, dim: int, index: int) -> Tensor:
    return torch.select_scatter(torch.zeros_like(self), grad, dim, index)

def slice__Tensor__self(grad: Tensor, self: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    return torch.slice_scatter(torch.zeros_like(self), grad, dim, start, end, step)

def narrow__self(grad: Tensor, self: Tensor, dim: int, start: int, length: int) -> Tensor:
    begin = start if start >= 0 else start + self.size(dim)
    return torch.slice_scatter(torch.zeros_like(self), grad, dim, begin, begin + length)

def diagonal__self(grad: Tensor, self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal_scatter(torch.zeros_like(self), grad, offset, dim1, dim2)

def diag_embed__self(grad: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(grad, offset, dim1, dim2)

def select_scatter__self(grad: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    return torch.select_scatter(grad, torch.zeros_like(src), dim, index)

def select_scatter__src(grad: Tensor, dim: int, index: int) -> Tensor:
    return grad.select(dim, index)

def slice_scatter__self(grad: Tensor, src: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    return torch.slice_scatter(grad, torch.zeros_like(src), dim, start, end, step)

def slice_scatter__src(grad: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    return torch.slice(grad, dim, start, end, step)

def diagonal_scatter__self(grad: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal_scatter(grad, torch.zeros_like(src), offset, dim1, dim2)
diagonal_scatter__src = diag_embed__self

def tril__self(grad: Tensor, diagonal: int) -> Tensor:
    return torch.tril(grad, diagonal)

def triu__self(grad: Tensor, diagonal: int) -> Tensor:
    return torch.triu(grad, diagonal)

def flip__self(grad: Tensor, dims: List[int]) -> Tensor:
    return torch.flip(grad, dims)

def fliplr__self(grad: Tensor) -> Tensor:
    return torch.fliplr(grad)

def flipud__self(grad: Tensor) -> Tensor:
    return torch.flipud(grad)

def roll__self(grad: Tensor, shifts: List[int], dims: List[int]) -> Tensor:
    back: List[int] = []
    for s in shifts:
        back.append(-s)
    return torch.roll(grad, back, dims)

def rot90__self(grad: Tensor, k: int, dims: List[int]) -> Tensor:
    return torch.rot90(grad, -k, dims)

def cat__tensors(grad: Tensor, tensors: List[Tensor], dim: int) -> List[Tensor]:
    parts: List[Tensor] = []
    at = 0
    for t in tensors:
        # LibTorch leaves out tensors of shape [0] whatever the others' rank is.
        if t.dim() == 1 and grad.dim() != 1:
            parts.append(torch.zeros_like(t))
        else:
            parts.append(grad.narrow(dim, at, t.size(dim)))
            at = at + t.size(dim)
    return parts

def stack__tensors(grad: Tensor, tensors: List[Tensor], dim: int) -> List[Tensor]:
    parts: List[Tensor] = []
    for i in range(len(tensors)):
        parts.append(grad.select(dim, i))
    return parts

def unbind__int__self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.stack(grads, dim)

def chunk__self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)
split__Tensor__self = chunk__self
split__sizes__self = chunk__self
split_with_sizes__self = chunk__self
unsafe_chunk__self = chunk__self
unsafe_split__Tensor__self = chunk__self
tensor_split__sections__self = chunk__self

def unfold__self(grad: Tensor, self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    if self.dim() == 0:
        return grad.reshape([])
    d = dimension if dimension >= 0 else dimension + self.dim()
    rows = torch.arange(grad.size(d)).unsqueeze(1) * step + torch.arange(size)
    windows = grad.movedim(-1, d + 1).flatten(d, d + 1)
    return torch.zeros_like(self).index_add(d, rows.flatten(), windows)

def constant_pad_nd__self(grad: Tensor, pad: List[int]) -> Tensor:
    back: List[int] = []
    for p in pad:
        back.append(-p)
    return torch.constant_pad_nd(grad, back)

def hsplit__int__self(grads: List[Tensor]) -> Tensor:
    return torch.hstack(grads)

def vsplit__int__self(grads: List[Tensor]) -> Tensor:
    return torch.vstack(grads)

def dsplit__int__self(grads: List[Tensor]) -> Tensor:
    return torch.dstack(grads)

def copy__self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)
copy__src = expand__self

def _of_grid(grads: List[Tensor], tensors: List[Tensor], swapped: bool) -> List[Tensor]:
    made: List[Tensor] = []
    for i in range(len(tensors)):
        own = 1 - i if swapped and i < 2 and len(tensors) > 1 else i
        axes: List[int] = []
        for k in range(len(tensors)):
            if k != own:
                axes.append(k)
        made.append((grads[i].sum(axes) if len(axes) > 0 else grads[i]).reshape(tensors[i].size()))
    return made

def meshgrid__tensors(grads: List[Tensor], tensors: List[Tensor]) -> List[Tensor]:
    return _of_grid(grads, tensors, False)

def meshgrid__indexing__tensors(grads: List[Tensor], tensors: List[Tensor], indexing: str) -> List[Tensor]:
    return _of_grid(grads, tensors, indexing == "xy")

# Of some operands only the shape or the element type is read.
def expand_as__other() -> Optional[Tensor]:
    return None
view_as__other = expand_as__other
reshape_as__other = expand_as__other
type_as__other = expand_as__other
to__other__other = expand_as__other
