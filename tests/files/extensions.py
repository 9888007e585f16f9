"""Files that call operators of other libraries which the tool knows. The judge of each is the library's
meaning in plain loops, at the example's sizes and at others."""
import pathlib

import torch
from torch import Tensor, nn

import scatter_loops
import sparse_loops
import vision_loops

LIBRARIES = (scatter_loops.register(), sparse_loops.register(), vision_loops.register())
ops = torch.ops.torch_scatter
sparse = torch.ops.torch_sparse
vision = torch.ops.torchvision


class GraphLayer(nn.Module):
    """A graph network's: messages along the edges, added up where they arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(8, 5), nn.Linear(9, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        pair = torch.cat([x[edges[0]], x[edges[1]]], dim=1)
        message = torch.relu(self.message(pair))
        total = ops.scatter_sum(message, edges[1], 0, None, x.size(0))
        return self.update(torch.cat([x, total], dim=1))


class Attention(nn.Module):
    """Softmax over the edges that arrive at a node; the number of nodes is the index's."""

    def forward(self, score: Tensor, to: Tensor) -> Tensor:
        most, _ = ops.scatter_max(score, to, 0, None, None)
        e = torch.exp(score - most[to])
        return e / ops.scatter_sum(e, to, 0, None, None)[to]


class Means(nn.Module):
    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        whole = (x * 4).to(torch.int64)
        return (ops.scatter_mean(x, at, -2, None, 7), ops.scatter_mean(whole, at, 1, None, None),
                ops.scatter_mean(x, at.expand(1, -1), 1, None, 7))


class Extremes(nn.Module):
    """First positions of what is equal; NaN and groups that nothing counts in; every way to name dim."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        rough = torch.round(x)
        holes = torch.where(x > 0.5, torch.full_like(x, -float("inf")), torch.where(x < -1, torch.full_like(x, float("nan")), rough))
        low, where_low = ops.scatter_min(rough, at, -1, None, 6)
        high, where_high = ops.scatter_max(holes, at, 2, None, None)
        whole, where_whole = ops.scatter_max(rough.to(torch.int32), at, 2, None, 6)
        product = ops.scatter_mul(x, at, 2, None, None)
        return low, where_low, high, where_high, whole, where_whole, product


class Given(nn.Module):
    """Outputs that are written in place: what was there counts, and the writing is seen."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        total, product, most = torch.ones(5, 3), torch.full([5, 3], 2.0), torch.zeros(5, 3)
        a = ops.scatter_sum(x, at, 0, total, None)
        b = ops.scatter_mul(x, at, 0, product, None)
        c, where = ops.scatter_max(x, at, 0, most, None)
        mean = total * 2
        d = ops.scatter_mean(x, at, 0, mean, None)
        return a + total, b * product, c - most, where, mean, d


class GivenViews(nn.Module):
    """Parts of a tensor as outputs; the library writes a copy of one that is not contiguous."""

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        y = torch.zeros(4, 3)
        ops.scatter_sum(x, at, 0, y[1], None)
        total = ops.segment_sum_csr(x[:, None].expand(-1, 2), torch.tensor([0, 1, 3]), y.t()[:2, :2])
        ops.gather_coo(x, torch.sort(at)[0], y[2])
        ops.gather_csr(x, torch.tensor([0, 1, 1, 3]), y[3])
        return y + total.sum()


class Pointers(nn.Module):
    """`bounds` in any order, between 0 and 1, say where the segments end."""

    def forward(self, x: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        inner = (torch.sort(torch.clamp(bounds, 0.0, 1.0))[0] * x.size(0)).to(torch.int64)
        at = torch.cat([torch.zeros(1, dtype=torch.int64), inner, torch.full([1], x.size(0))])
        most, where_most = ops.segment_max_csr(x, at, None)
        low, where_low = ops.segment_min_csr(torch.round(x).to(torch.int64), at, None)
        e = torch.exp(x - ops.gather_csr(most, at, None))
        soft = e / ops.gather_csr(ops.segment_sum_csr(e, at, None), at, None)
        whole = ops.segment_mean_csr((x * 9).to(torch.int32), at, None)
        return soft, where_most, low, where_low, whole, ops.segment_mean_csr(x, at, None), most


class PointersOfRows(nn.Module):
    """Each row has its own segments, which do not hold all elements."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        most, where = ops.segment_max_csr(x, at, None)
        return ops.segment_sum_csr(x, at, None), most, where


class Sorted(nn.Module):
    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        most, where = ops.segment_max_coo(x, at, None, 6)
        low, _ = ops.segment_min_coo(x, at, None, None)
        mean = ops.segment_mean_coo((x * 9).to(torch.int64), at, None, None)
        return ops.segment_sum_coo(x, at, None, 6), ops.gather_coo(most, at, None), where, low, mean


class SortedGiven(nn.Module):
    """An output that is given; the first index is 0, since what the library does of others is no sum."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        total, mean, rows = torch.ones(5, 3), torch.ones(5, 3), torch.zeros_like(x)
        ops.segment_sum_coo(x, at, total, None)
        ops.segment_mean_coo(x, at, mean, None)
        ops.gather_coo(total, at, rows)
        return total, mean, rows


class Sparse(nn.Module):
    """A product with a sparse matrix of rows x 5; `rows` ascends."""

    def forward(self, rows: Tensor, col: Tensor, value: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        at = sparse.ind2ptr(rows, 6)
        whole = torch.round(x * 4).to(torch.int32)
        return (sparse.spmm_sum(rows, at, col, value, None, None, x), sparse.ptr2ind(at, rows.size(0)),
                sparse.spmm_mean(None, at, col, None, None, None, None, whole),
                sparse.spmm_mean(None, at, col, value, None, None, None, x[0]))


class Deformed(nn.Module):
    """Groups of channels and of offsets, with masks and without."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 2, 3, 2)), nn.Parameter(torch.randn(4))
        self.one = nn.Parameter(torch.randn(2, 4, 1, 1))

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        y = vision.deform_conv2d(x, self.weight, offset * 2, mask, self.bias, 2, 1, 1, 2, 1, 2, 2, 2, True)
        none = torch.zeros(x.size(0), 1)
        return y, vision.deform_conv2d(y, self.one, offset[:, :2], none, self.bias[:2], 1, 1, 0, 0, 1, 1, 1, 1, False)


class OwnPlanes(nn.Module):
    """Boxes that reach out of the image, are empty or end before they begin."""

    def forward(self, x: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        image = torch.remainder(torch.floor(boxes[:, :1]), x.size(0))
        rois = torch.cat([image, boxes[:, 1:]], dim=1)
        a, at = vision.ps_roi_align(x, rois, 0.5, 3, 2, 2)
        b, _ = vision.ps_roi_align(x, rois, 1.2, 2, 3, -1)
        c, where = vision.ps_roi_pool(x, rois, 0.5, 3, 2)
        return a, at, torch.nan_to_num(b, 7.0), c, where


class RotatedOverlap(nn.Module):
    """Boxes apart, equal, a quarter turned, within one another, without an area, and so small that the margins count."""

    def forward(self, boxes: Tensor, others: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        small = torch.tensor([0.004, 0.004, 0.004, 0.004, 1.0], dtype=torch.float64)
        return (vision.box_iou_rotated(boxes, others), vision.box_iou_rotated(others.double(), boxes.double()),
                vision.box_iou_rotated(boxes * small, others * small))


def make(folder: pathlib.Path) -> list[tuple[str, tuple, object, list[str], list[tuple[tuple, object]]]]:
    """(file, arguments, what it gives, options, other arguments and what they give)"""
    generator = torch.Generator().manual_seed(29)
    cases = []

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    def below(end: int, *shape: int) -> Tensor:
        return torch.randint(0, end, shape, generator=generator)

    def ascending(end: int, *shape: int) -> Tensor:
        index = below(end, *shape).sort(-1)[0]
        index[..., 0] = 0
        return index

    def case(module: nn.Module, axes: list[str], *runs: tuple) -> None:
        file = type(module).__name__.lower() + ".pt"
        torch.jit.script(module.eval()).save(folder / file)
        with torch.no_grad():
            expected = [(arguments, module(*arguments)) for arguments in runs]
        options = ["--dynamic-axes", " ".join(axes)] if axes else []
        cases.append((file, *expected[0], options, expected[1:]))

    case(GraphLayer(), ["x:0=nodes", "edges:1=edges"], (random(6, 4), below(6, 2, 11)),
         (random(3, 4), below(3, 2, 25)), (random(2, 4), below(2, 2, 0)))
    case(Attention(), ["score:0=edges", "to:0=edges"], (random(9, 2), below(5, 9)), (random(17, 2), below(3, 17)),
         (random(1, 2), below(4, 1)))
    case(Means(), ["x:0=b", "x:1=n", "at:0=n"], (random(2, 8, 3), below(7, 8)), (random(3, 5, 3), below(7, 5)))
    case(Extremes(), ["x:2=n", "at:2=n"], (random(2, 2, 9), below(6, 2, 2, 9)), (random(2, 2, 14), below(4, 2, 2, 14)))
    case(Given(), ["x:0=n", "at:0=n"], (random(7, 3), below(5, 7)), (random(12, 3), below(5, 12)))
    case(GivenViews(), [], (random(3), below(3, 3)))
    case(Pointers(), ["x:0=n", "bounds:0=m"], (random(9, 2), random(4).abs()), (random(20, 2), random(3).abs()),
         (random(3, 2), random(8).abs()))
    case(PointersOfRows(), ["x:1=n"], (random(3, 8, 2), below(9, 3, 5).sort(-1)[0]),
         (random(3, 12, 2), below(13, 3, 5).sort(-1)[0]))
    case(Sorted(), ["x:1=n", "at:1=n"], (random(2, 9, 3), ascending(6, 2, 9)), (random(2, 13, 3), ascending(5, 2, 13)))
    case(SortedGiven(), ["x:0=n", "at:0=n"], (random(7, 3), ascending(5, 7)), (random(12, 3), ascending(4, 12)))
    case(Sparse(), ["rows:0=n", "col:0=n", "value:0=n", "x:0=b"],
         (ascending(6, 8), below(5, 8), random(8), random(2, 5, 3)),
         (ascending(4, 13), below(5, 13), random(13), random(3, 5, 3)))
    case(Deformed(), ["x:0=n", "x:2=h", "offset:0=n", "offset:2=g", "mask:0=n", "mask:2=g"],
         (random(2, 4, 7, 5), random(2, 24, 4, 7), random(2, 12, 4, 7)),
         (random(1, 4, 9, 5), random(1, 24, 5, 7), random(1, 12, 5, 7)))
    boxes = torch.tensor([[0.0, 1, 2, 9, 11], [1, -3, -4, 5, 30], [0, 4, 4, 4, 4], [1, 6, 3, 2, 1], [0, 2.5, 0.5, 7, 6.5]])
    case(OwnPlanes(), ["x:2=h", "boxes:0=k"], (random(2, 12, 6, 7), boxes), (random(2, 12, 9, 7), boxes[1:4] * 1.31 + 0.01),
         (random(2, 12, 5, 7), boxes[:0]))
    turned = torch.cat([random(9, 2), random(9, 2).abs() + 0.2, random(9, 1) * 90], dim=1)
    alike = turned.clone()
    alike[1, 4] += 90
    alike[2, 2:4] *= 0.3
    alike[3, 2] = 0
    alike[4, 2] *= -1
    alike[5:, 4] = turned[5:, 4] + torch.tensor([45.0, 90.0, 180.0, 1e-4])
    case(RotatedOverlap(), ["boxes:0=n", "others:0=m"], (turned, alike), (alike[2:7], turned[:3]), (turned[:0], turned),
         (turned[:2] - 100, turned[3:]))
    return cases
