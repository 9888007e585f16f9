# Fourier transforms: what they add to LibTorch's three transforms between complex and real.

# How a transform is scaled: not at all, by the root of the number of elements, by that number.
def _scaling(norm: Optional[str], forward: bool) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    return 1

# Numbers of a type that transforms have.
def _floating(self: Tensor, complex: bool) -> Tensor:
    x = self if self.is_floating_point() or self.is_complex() else self.to(6)  # float32
    if not complex or x.is_complex():
        return x
    return torch.complex(x, torch.zeros_like(x))

# `n` entries of an axis: its first ones, or zeros behind them.
def _resized(x: Tensor, n: int, dim: int) -> Tensor:
    shape = list(x.size())
    shape[dim] = max(n - shape[dim], 0)
    return torch.narrow(torch.cat([x, torch.zeros(shape, dtype=x.dtype)], dim), dim, 0, n)

def fft_fft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, False)
    if n is not None:
        x = _resized(x, n, dim)
    if x.is_complex():
        return torch._fft_c2c(x, [dim % x.dim()], _scaling(norm, True), True)
    return torch._fft_r2c(x, [dim % x.dim()], _scaling(norm, True), False)

def fft_ifft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, True)
    if n is not None:
        x = _resized(x, n, dim)
    return torch._fft_c2c(x, [dim % x.dim()], _scaling(norm, False), False)

def fft_rfft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, False)
    if n is not None:
        x = _resized(x, n, dim)
    return torch._fft_r2c(x, [dim % x.dim()], _scaling(norm, True), True)

def fft_irfft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, True)
    size = n if n is not None else 2 * (x.size(dim) - 1)
    x = _resized(x, size // 2 + 1, dim)
    return torch._fft_c2r(x, [dim % x.dim()], _scaling(norm, False), size)

def fft_hfft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, True)
    size = n if n is not None else 2 * (x.size(dim) - 1)
    x = torch.conj(_resized(x, size // 2 + 1, dim))
    return torch._fft_c2r(x, [dim % x.dim()], _scaling(norm, True), size)

def fft_ihfft(self: Tensor, n: Optional[int] = None, dim: int = -1, norm: Optional[str] = None) -> Tensor:
    x = _floating(self, False)
    if n is not None:
        x = _resized(x, n, dim)
    return torch.conj(torch._fft_r2c(x, [dim % x.dim()], _scaling(norm, False), True))

# The axes to transform: those named, else the last ones of which there are sizes, else all.
def _axes(rank: int, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    if dim is not None:
        return [d % rank for d in dim]
    if s is not None:
        return [rank - len(s) + i for i in range(len(s))]
    return [i for i in range(rank)]

def _all_resized(x: Tensor, s: Optional[List[int]], dims: List[int]) -> Tensor:
    if s is not None:
        for i in range(len(s)):
            if s[i] != -1:
                x = _resized(x, s[i], dims[i])
    return x

def _last_size(x: Tensor, s: Optional[List[int]], dims: List[int]) -> int:
    if s is not None:
        if s[-1] != -1:
            return s[-1]
    return 2 * (x.size(dims[-1]) - 1)

def fft_fftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    dims = _axes(self.dim(), s, dim)
    x = _all_resized(_floating(self, True), s, dims)
    return torch._fft_c2c(x, dims, _scaling(norm, True), True)

def fft_ifftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    dims = _axes(self.dim(), s, dim)
    x = _all_resized(_floating(self, True), s, dims)
    return torch._fft_c2c(x, dims, _scaling(norm, False), False)

def fft_rfftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    dims = _axes(self.dim(), s, dim)
    x = _all_resized(_floating(self, False), s, dims)
    return torch._fft_r2c(x, dims, _scaling(norm, True), True)

# All but the last axis first, then the one that becomes real.
def _to_real(self: Tensor, s: Optional[List[int]], dims: List[int], scaling: int, conjugate: bool) -> Tensor:
    x = _floating(self, True)
    last = _last_size(x, s, dims)
    if s is not None:
        x = _all_resized(x, s[:-1], dims)
    x = _resized(x, last // 2 + 1, dims[-1])
    if conjugate:
        x = torch.conj(x)
    return torch._fft_c2r(x, dims, scaling, last)

def fft_irfftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    return _to_real(self, s, _axes(self.dim(), s, dim), _scaling(norm, False), False)

def fft_hfftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    return _to_real(self, s, _axes(self.dim(), s, dim), _scaling(norm, True), True)

def fft_ihfftn(self: Tensor, s: Optional[List[int]] = None, dim: Optional[List[int]] = None, norm: Optional[str] = None) -> Tensor:
    dims = _axes(self.dim(), s, dim)
    x = _all_resized(_floating(self, False), s, dims)
    return torch.conj(torch._fft_r2c(x, dims, _scaling(norm, False), True))

def fft_fft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_fftn(self, s, dim, norm)

def fft_ifft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_ifftn(self, s, dim, norm)

def fft_rfft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_rfftn(self, s, dim, norm)

def fft_irfft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_irfftn(self, s, dim, norm)

def fft_hfft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_hfftn(self, s, dim, norm)

def fft_ihfft2(self: Tensor, s: Optional[List[int]] = None, dim: List[int] = [-2, -1], norm: Optional[str] = None) -> Tensor:
    return fft_ihfftn(self, s, dim, norm)

def fft_fftshift(self: Tensor, dim: Optional[List[int]] = None) -> Tensor:
    dims = _axes(self.dim(), None, dim)
    return torch.roll(self, [self.size(d) // 2 for d in dims], dims)

def fft_ifftshift(self: Tensor, dim: Optional[List[int]] = None) -> Tensor:
    dims = _axes(self.dim(), None, dim)
    return torch.roll(self, [(self.size(d) + 1) // 2 for d in dims], dims)

# The window in the middle of n_fft zeros.
def _window(window: Optional[Tensor], length: int, n_fft: int, like: Tensor) -> Tensor:
    w = window if window is not None else torch.ones([length], dtype=torch.real(like).dtype)
    left = (n_fft - length) // 2
    return torch.constant_pad_nd(w, [left, n_fft - length - left], 0)

def stft(self: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None, normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None, align_to_window: Optional[bool] = None) -> Tensor:
    hop = hop_length if hop_length is not None else n_fft // 4
    length = win_length if win_length is not None else n_fft
    x = self.unsqueeze(0) if self.dim() == 1 else self
    w = _window(window, length, n_fft, x)
    if align_to_window is not None:
        if align_to_window:
            side = (n_fft - length) // 2
            x = torch.constant_pad_nd(x, [side, side], 0)
    frames = x.unfold(-1, n_fft, hop) * w
    scaling = 1 if normalized else 0
    if frames.is_complex():
        half = onesided if onesided is not None else False
        z = torch._fft_c2c(frames, [2], scaling, True)
    else:
        half = onesided if onesided is not None else True
        z = torch._fft_r2c(frames, [2], scaling, half)
    z = z.transpose(1, 2)
    if self.dim() == 1:
        z = z.squeeze(0)
    if return_complex is not None:
        if return_complex:
            return z
    return torch.view_as_real(z)

def stft__center(self: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None, align_to_window: Optional[bool] = None) -> Tensor:
    x = self
    if center:
        side = n_fft // 2
        x = torch.pad(self.unsqueeze(0).unsqueeze(0) if self.dim() == 1 else self.unsqueeze(0), [side, side], pad_mode)
        x = x.squeeze(0).squeeze(0) if self.dim() == 1 else x.squeeze(0)
    return stft(x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)

# Frames laid over each other, `hop` apart: [batch, frames, n] -> [batch, (frames - 1) * hop + n].
def _overlapped(frames: Tensor, hop: int) -> Tensor:
    n = frames.size(2)
    blocks = (n + hop - 1) // hop
    x = torch.constant_pad_nd(frames, [0, blocks * hop - n], 0)
    x = x.unflatten(2, [blocks, hop])
    sum = torch.constant_pad_nd(x.select(2, 0), [0, 0, 0, blocks - 1], 0)
    for k in range(1, blocks):
        sum = sum + torch.constant_pad_nd(x.select(2, k), [0, 0, k, blocks - 1 - k], 0)
    return torch.narrow(sum.flatten(1), 1, 0, (frames.size(1) - 1) * hop + n)

def istft(self: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None, center: bool = True, normalized: bool = False, onesided: Optional[bool] = None, length: Optional[int] = None, return_complex: bool = False) -> Tensor:
    hop = hop_length if hop_length is not None else n_fft // 4
    width = win_length if win_length is not None else n_fft
    x = self if self.dim() == 3 else self.unsqueeze(0)
    w = _window(window, width, n_fft, self)
    half = onesided if onesided is not None else x.size(1) != n_fft
    x = x.transpose(1, 2)
    scaling = 1 if normalized else 2
    if return_complex:
        y = torch._fft_c2c(x, [2], scaling, False)
    else:
        y = torch._fft_c2r(x if half else x[:, :, : n_fft // 2 + 1], [2], scaling, n_fft)
    frames = y.size(1)
    total = n_fft + hop * (frames - 1)
    y = _overlapped(y * w, hop)
    envelope = _overlapped((w * w).view([1, 1, n_fft]).expand([1, frames, n_fft]), hop)
    start = n_fft // 2 if center else 0
    end = total
    if length is not None:
        end = start + length
    elif center:
        end = total - n_fft // 2
    missing = max(end - total, 0)
    y = torch.narrow(y, 1, start, end - missing - start) / torch.narrow(envelope, 1, start, end - missing - start)
    if length is not None:
        y = torch.constant_pad_nd(y, [0, missing], 0)
    return y if self.dim() == 3 else y.squeeze(0)
