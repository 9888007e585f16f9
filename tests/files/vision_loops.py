"""torchvision's operators that ONNX lacks, as plain loops, registered with PyTorch: what their files are judged by."""
import itertools
import math

import torch

Tensor = torch.Tensor


def between(plane: Tensor, y: float, x: float) -> float:
    """Bilinear; outside of the plane is 0."""
    height, width = plane.shape
    total = 0.0
    for row, column in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)):
        if 0 <= row < height and 0 <= column < width:
            total += float(plane[row, column]) * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def deform_conv2d(x, weight, offset, mask, bias, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask):
    count, channels, height, width = x.shape
    outputs, per_group, kh, kw = weight.shape
    oh, ow = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    out = torch.zeros(count, outputs, oh, ow)
    for n, o, r, c in itertools.product(range(count), range(outputs), range(oh), range(ow)):
        total = float(bias[o])
        for k, i, j in itertools.product(range(per_group), range(kh), range(kw)):
            channel = o // (outputs // groups) * per_group + k
            tap = channel // (channels // offset_groups) * kh * kw + i * kw + j
            y = r * sh - ph + i * dh + float(offset[n, 2 * tap, r, c])
            at = c * sw - pw + j * dw + float(offset[n, 2 * tap + 1, r, c])
            factor = float(mask[n, tap, r, c]) if use_mask else 1.0
            total += float(weight[o, k, i, j]) * factor * between(x[n, channel], y, at)
        out[n, o, r, c] = total
    return out


def clamped(plane: Tensor, y: float, x: float) -> float:
    """Bilinear; a pixel further out the border counts, beyond that 0."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    return between(plane, min(max(y, 0), height - 1), min(max(x, 0), width - 1))


def own_planes(x: Tensor, rois: Tensor, ph: int, pw: int):
    """Each box, bin and the channel that belongs to them."""
    channels = x.shape[1] // (ph * pw)
    mapping = torch.arange(channels * ph * pw, dtype=torch.int32).reshape(channels, ph, pw)
    each = itertools.product(range(len(rois)), range(channels), range(ph), range(pw))
    return channels, mapping.expand(len(rois), channels, ph, pw).clone(), each


def ps_roi_align(x, rois, scale, ph, pw, sampling):
    channels, mapping, each = own_planes(x, rois, ph, pw)
    out = torch.zeros(len(rois), channels, ph, pw)
    for k, c, i, j in each:
        plane = x[int(rois[k, 0]), int(mapping[k, c, i, j])]
        left, top, right, bottom = (float(v) * scale - 0.5 for v in rois[k, 1:])
        bin_h, bin_w = (bottom - top) / ph, (right - left) / pw
        rows, columns = sampling if sampling > 0 else math.ceil(bin_h), sampling if sampling > 0 else math.ceil(bin_w)
        total = sum(clamped(plane, top + i * bin_h + (a + 0.5) * bin_h / rows, left + j * bin_w + (b + 0.5) * bin_w / columns)
                    for a in range(rows) for b in range(columns))
        out[k, c, i, j] = total / (rows * columns) if rows * columns else math.nan
    return out, mapping


def half_away(v: float) -> int:
    return int(math.copysign(math.floor(abs(v) + 0.5), v))


def ps_roi_pool(x, rois, scale, ph, pw):
    channels, mapping, each = own_planes(x, rois, ph, pw)
    out = torch.zeros(len(rois), channels, ph, pw)

    def places(low: float, high: float, bins: int, size: int, which: int) -> range:
        start = half_away(low * scale)
        length = max(half_away(high * scale) - start, 1) / bins
        first, last = math.floor(which * length) + start, math.ceil((which + 1) * length) + start
        return range(min(max(first, 0), size - 1), min(max(last, 0), size - 1))

    for k, c, i, j in each:
        plane = x[int(rois[k, 0]), int(mapping[k, c, i, j])]
        rows = places(float(rois[k, 2]), float(rois[k, 4]), ph, x.shape[2], i)
        columns = places(float(rois[k, 1]), float(rois[k, 3]), pw, x.shape[3], j)
        values = [float(plane[r, s]) for r in rows for s in columns]
        out[k, c, i, j] = sum(values) / len(values) if values else 0
    return out, mapping


def points_of(box: list[float], dtype: torch.dtype) -> list[Tensor]:
    """The corners of (center, sizes, degrees), around it."""
    center, (w, h) = torch.tensor(box[:2], dtype=dtype), torch.tensor(box[2:4], dtype=dtype)
    angle = float(torch.tensor(box[4], dtype=dtype)) * 0.01745329251
    cos = torch.tensor(math.cos(angle) if math.isfinite(angle) else math.nan, dtype=dtype) * 0.5
    sin = torch.tensor(math.sin(angle) if math.isfinite(angle) else math.nan, dtype=dtype) * 0.5
    a = center + torch.stack([sin * h + cos * w, cos * h - sin * w])
    b = center + torch.stack([-sin * h + cos * w, -cos * h - sin * w])
    return [a, b, 2 * center - a, 2 * center - b]


def cross(a: Tensor, b: Tensor) -> float:
    return float(a[0] * b[1] - b[0] * a[1])


def shared_points(one: list[Tensor], other: list[Tensor]) -> list[Tensor]:
    """Where edges cross, and the corners of each in the other, with a margin that takes some twice."""
    points, near = [], 1e-5
    for i, j in itertools.product(range(4), range(4)):
        u, v = one[(i + 1) % 4] - one[i], other[(j + 1) % 4] - other[j]
        between, det = other[j] - one[i], cross(v, u)
        if not abs(det) <= 1e-14:
            s, t = cross(v, between) / det, cross(u, between) / det
            if -near < s < 1 + near and -near < t < 1 + near:
                points.append(one[i] + u * s)
    for corners, box in ((one, other), (other, one)):
        u, v = box[1] - box[0], box[3] - box[0]
        for p in corners:
            s, t = float((p - box[0]) @ u), float((p - box[0]) @ v)
            if -near < s < float(u @ u) + near and -near < t < float(v @ v) + near:
                points.append(p)
    return points


def hull_area(points: list[Tensor]) -> float:
    """By Graham's scan, sorted by exchanges and with margins of their own size: what boxes smaller than these get."""
    start = min(points, key=lambda p: (float(p[1]), float(p[0])))
    first = next(k for k, p in enumerate(points) if p is start)
    q = [p - start for p in points]
    q[0], q[first] = q[first], q[0]
    for i in range(1, len(q) - 1):
        for j in range(i + 1, len(q)):
            turn = cross(q[i], q[j])
            if turn < -1e-6 or (abs(turn) < 1e-6 and float(q[i] @ q[i]) > float(q[j] @ q[j])):
                q[i], q[j] = q[j], q[i]
    k = next((k for k in range(1, len(q)) if float(q[k] @ q[k]) > 1e-8), None)
    if k is None:
        return 0.0
    hull = [q[0], q[k]]
    for p in q[k + 1:]:
        while len(hull) > 1 and float((p - hull[-2])[0] * (hull[-1] - hull[-2])[1]) >= float((hull[-1] - hull[-2])[0] * (p - hull[-2])[1]):
            hull.pop()
        hull.append(p)
    return sum(abs(cross(a, b)) for a, b in zip(hull[1:], hull[2:])) / 2


def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    out = torch.zeros(len(boxes1), len(boxes2))
    for i, j in itertools.product(range(len(boxes1)), range(len(boxes2))):
        a, b = boxes1[i], boxes2[j]
        middle = (a[:2] + b[:2]).double() / 2
        areas = float(a[2] * a[3]), float(b[2] * b[3])
        if areas[0] < 1e-14 or areas[1] < 1e-14:
            continue
        one, other = (points_of([*(v[:2].double() - middle).tolist(), *v[2:].tolist()], a.dtype) for v in (a, b))
        points = shared_points(one, other)
        common = hull_area(points) if len(points) > 2 else 0.0
        whole = areas[0] + areas[1] - common
        out[i, j] = common / whole if whole else math.nan
    return out


def register() -> torch.library.Library:
    """The operators stay as long as what it returns."""
    library = torch.library.Library("torchvision", "DEF")
    sizes = "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w"
    pooled = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
    library.define(f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {sizes}, "
                   "SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor")
    library.define(f"ps_roi_align({pooled}, int sampling_ratio) -> (Tensor, Tensor)")
    library.define(f"ps_roi_pool({pooled}) -> (Tensor, Tensor)")
    library.define("box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor")
    for kernel in (deform_conv2d, ps_roi_align, ps_roi_pool, box_iou_rotated):
        library.impl(kernel.__name__, kernel, "CPU")
    return library
