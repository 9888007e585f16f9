"""torch_scatter's operators as plain loops, registered with PyTorch: what its files are judged by."""
import itertools

import torch

Maybe = torch.Tensor | None
BEST = {"max": lambda a, b: a > b, "min": lambda a, b: a < b}
HALVES = (torch.float16, torch.bfloat16)


def start_of(kind: str, dtype: torch.dtype) -> float | int:
    if kind in ("sum", "mean"):
        return 0
    if kind == "mul":
        return 1
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return limits.min if kind == "max" else limits.max


def broadcast(index: torch.Tensor, like: torch.Tensor, dim: int) -> torch.Tensor:
    if index.dim() == 1:
        index = index.reshape([1] * dim + [-1])
    return index.reshape(list(index.shape) + [1] * (like.dim() - index.dim())).expand(like.shape)


def divided(total: torch.Tensor, count: float, floor: bool) -> float | int:
    value = total.item()
    if total.is_floating_point():
        return value / count
    return value // count if floor else int(value / count)


def scatter(kind: str, src: torch.Tensor, index: torch.Tensor, dim: int, given: Maybe, size: int | None,
            floor: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    dim %= src.dim()
    index = broadcast(index, src, dim)
    shape = list(src.shape)
    shape[dim] = size if size is not None else int(index.max()) + 1 if index.numel() else 0
    out = torch.full(shape, start_of(kind, src.dtype), dtype=src.dtype) if given is None else given
    if given is None and src.numel() == 0:
        out.zero_()
    arg = torch.full(out.shape, src.shape[dim])
    count = torch.zeros(out.shape, dtype=torch.int64)
    for at in itertools.product(*map(range, src.shape)):
        to = at[:dim] + (int(index[at]),) + at[dim + 1:]
        count[to] += 1
        if kind in ("sum", "mean"):
            out[to] += src[at]
        elif kind == "mul":
            out[to] *= src[at]
        elif BEST[kind](src[at], out[to]):
            out[to], arg[to] = src[at], at[dim]
    if kind == "mean":
        for to in itertools.product(*map(range, out.shape)):
            out[to] = divided(out[to], max(int(count[to]), 1), floor)
    if kind in BEST and given is None:
        out[out == start_of(kind, src.dtype)] = 0
    return out, arg


def segment_coo(kind: str, src: torch.Tensor, index: torch.Tensor, given: Maybe,
                size: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    full = index.expand(src.shape[:index.dim()])
    return scatter(kind, src, full, index.dim() - 1, given, size, floor=False)


def segment_csr(kind: str, src: torch.Tensor, indptr: torch.Tensor,
                given: Maybe) -> tuple[torch.Tensor, torch.Tensor]:
    dim = indptr.dim() - 1
    indptr = indptr.expand(list(src.shape[:dim]) + [-1])
    shape = list(src.shape)
    shape[dim] = indptr.shape[-1] - 1
    out = torch.zeros(shape, dtype=src.dtype) if given is None else given
    arg = torch.full(out.shape, src.shape[dim])
    wide = src.float() if src.dtype in HALVES else src
    for to in itertools.product(*map(range, shape)):
        first, last = indptr[to[:dim]][to[dim]:to[dim] + 2].tolist()
        total = torch.tensor(start_of(kind, wide.dtype), dtype=wide.dtype)
        for e in range(first, last):
            x = wide[to[:dim] + (e,) + to[dim + 1:]]
            if kind in BEST and BEST[kind](x, total):
                total, arg[to] = x, e
            elif kind not in BEST:
                total = total + x
        if kind == "mean":
            total = torch.tensor(divided(total.to(src.dtype), max(last - first, 1), floor=False))
        out[to] = total if last > first or kind not in BEST else 0
    return out, arg


def gather_coo(src: torch.Tensor, index: torch.Tensor, given: Maybe) -> torch.Tensor:
    dim = index.dim() - 1
    shape = list(src.shape)
    shape[dim] = index.shape[dim]
    out = torch.zeros(shape, dtype=src.dtype) if given is None else given
    for at in itertools.product(*map(range, shape)):
        out[at] = src[at[:dim] + (int(index[at[:dim + 1]]),) + at[dim + 1:]]
    return out


def gather_csr(src: torch.Tensor, indptr: torch.Tensor, given: Maybe) -> torch.Tensor:
    dim = indptr.dim() - 1
    indptr = indptr.expand(list(src.shape[:dim]) + [-1])
    shape = list(src.shape)
    shape[dim] = int(indptr.reshape(-1)[-1]) if src.numel() else 0
    out = torch.zeros(shape, dtype=src.dtype) if given is None else given
    for at in itertools.product(*map(range, src.shape)):
        first, last = indptr[at[:dim]][at[dim]:at[dim] + 2].tolist()
        for e in range(first, last):
            out[at[:dim] + (e,) + at[dim + 1:]] = src[at]
    return out


def register() -> torch.library.Library:
    """The operators stay as long as what it returns."""
    library = torch.library.Library("torch_scatter", "DEF")

    def add(name: str, parameters: str, kernel: object, kind: str = "") -> None:
        result = "(Tensor, Tensor)" if kind in BEST else "Tensor"
        # Conservative, as the library's are: a call stays where only the output it is given counts.
        library.define(f"{name}(Tensor src, Tensor {parameters}) -> {result}", "CONSERVATIVE")

        def call(*arguments: object) -> object:
            arguments = [a.contiguous() if isinstance(a, torch.Tensor) else a for a in arguments]
            if not kind:
                return kernel(*arguments)
            made = kernel(kind, *arguments)
            return made if kind in BEST else made[0]
        library.impl(name, call, "CPU")

    for kind in ("sum", "mul", "mean", "min", "max"):
        add(f"scatter_{kind}", "index, int dim, Tensor? optional_out, int? dim_size", scatter, kind)
    for kind in ("sum", "mean", "min", "max"):
        add(f"segment_{kind}_coo", "index, Tensor? optional_out, int? dim_size", segment_coo, kind)
        add(f"segment_{kind}_csr", "indptr, Tensor? optional_out", segment_csr, kind)
    add("gather_coo", "index, Tensor? optional_out", gather_coo)
    add("gather_csr", "indptr, Tensor? optional_out", gather_csr)
    return library
