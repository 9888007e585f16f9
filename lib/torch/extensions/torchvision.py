# https://docs.pytorch.org/vision/stable/ops.html, version 0.28, on the CPU: operators on boxes that
# ONNX lacks. Boxes are [K, 5]: the number of the image, then the corners.

# The planes of images, [.., height * width], between pixels; `at` is [.., places]. What lies further
# out than a pixel is 0. Borders: what lies between the outermost pixels and there takes the pixel
# itself where `clamped`, else it mixes with 0.
def _sampled(planes: Tensor, height: int, width: int, y: Tensor, x: Tensor, clamped: bool) -> Tensor:
    if clamped:
        inside = torch.logical_and(torch.logical_and(y >= -1, y <= height), torch.logical_and(x >= -1, x <= width))
        y = torch.clamp(y, 0, height - 1)
        x = torch.clamp(x, 0, width - 1)
    else:
        inside = torch.logical_and(torch.logical_and(y > -1, y < height), torch.logical_and(x > -1, x < width))
    top, left = torch.floor(y), torch.floor(x)
    down, right = y - top, x - left
    total = torch.zeros_like(y)
    for dy in [0, 1]:
        for dx in [0, 1]:
            row, column = top + dy, left + dx
            there = torch.logical_and(torch.logical_and(row >= 0, row < height), torch.logical_and(column >= 0, column < width))
            place = torch.clamp(row, 0, height - 1) * width + torch.clamp(column, 0, width - 1)
            place = torch.where(inside, place, torch.zeros_like(place)).to(4)  # int64
            value = planes.gather(-1, place)
            weight = (down if dy == 1 else 1 - down) * (right if dx == 1 else 1 - right)
            total = total + torch.where(torch.logical_and(there, inside), value * weight, torch.zeros_like(value))
    return total

# Every element of a kernel reads where its offset says, with a weight of its own. Offsets are [N,
# groups * 2 * kernel elements, height, width], masks half of that.
def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> Tensor:
    n, channels, height, width = input.size(0), input.size(1), input.size(2), input.size(3)
    kh, kw = weight.size(2), weight.size(3)
    out_h = (height + 2 * pad_h - (dilation_h * (kh - 1) + 1)) // stride_h + 1
    out_w = (width + 2 * pad_w - (dilation_w * (kw - 1) + 1)) // stride_w + 1
    taps = kh * kw
    shifts = offset.reshape([n, offset_groups, taps, 2, out_h, out_w])
    tap = torch.arange(taps)
    rows = (torch.div(tap, kw, rounding_mode="floor") * dilation_h - pad_h).reshape([taps, 1, 1])
    rows = rows + (torch.arange(out_h) * stride_h).reshape([out_h, 1])
    columns = (torch.remainder(tap, kw) * dilation_w - pad_w).reshape([taps, 1, 1])
    columns = columns + torch.arange(out_w) * stride_w
    y = (shifts.select(3, 0) + rows).reshape([n, offset_groups, 1, taps * out_h * out_w])
    x = (shifts.select(3, 1) + columns).reshape([n, offset_groups, 1, taps * out_h * out_w])
    each = channels // offset_groups
    planes = input.reshape([n, offset_groups, each, height * width])
    sizes = [n, offset_groups, each, taps * out_h * out_w]
    read = _sampled(planes, height, width, y.expand(sizes), x.expand(sizes), False)
    if use_mask:
        read = read * mask.reshape([n, offset_groups, 1, taps * out_h * out_w])
    inner = channels // groups * taps
    columns_of = read.reshape([n, groups, inner, out_h * out_w])
    kernels = weight.reshape([groups, weight.size(0) // groups, inner])
    result = torch.matmul(kernels, columns_of).reshape([n, weight.size(0), out_h, out_w])
    return result + bias.reshape([1, -1, 1, 1])

# Of every box and channel of the result the plane that it reads: channels lie [C, bins] one behind
# the other, so that each bin has planes of its own. [K, C, bins, height * width]
def _own_planes(input: Tensor, rois: Tensor, bins: int) -> Tensor:
    images = input.reshape([input.size(0), input.size(1) // bins, bins, input.size(2) * input.size(3)])
    return images.index_select(0, rois[:, 0].to(4))

def _mapping(rois: Tensor, channels: int, ph: int, pw: int) -> Tensor:
    own = torch.arange(channels * ph * pw, dtype=3).reshape([1, channels, ph, pw])
    return own.expand([rois.size(0), channels, ph, pw]).contiguous()

def ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int) -> Tuple[Tensor, Tensor]:
    ph, pw = pooled_height, pooled_width
    channels = input.size(1) // (ph * pw)
    corners = rois[:, 1:] * spatial_scale - 0.5
    size_h = (corners[:, 3] - corners[:, 1]) / ph
    size_w = (corners[:, 2] - corners[:, 0]) / pw
    # As many samples as the largest box needs; those beyond a box' own number do not count.
    count_h = torch.full_like(size_h, sampling_ratio) if sampling_ratio > 0 else torch.ceil(size_h)
    count_w = torch.full_like(size_w, sampling_ratio) if sampling_ratio > 0 else torch.ceil(size_w)
    none = torch.zeros([1], dtype=rois.dtype)
    most_h = sampling_ratio if sampling_ratio > 0 else int(torch.cat([count_h, none]).max())
    most_w = sampling_ratio if sampling_ratio > 0 else int(torch.cat([count_w, none]).max())
    k = rois.size(0)
    i, j = torch.arange(most_h), torch.arange(most_w)
    y = (i + 0.5) * size_h.unsqueeze(1) / count_h.unsqueeze(1)
    y = y.unsqueeze(1) + (torch.arange(ph) * size_h.unsqueeze(1) + corners[:, 1:2]).unsqueeze(2)
    x = (j + 0.5) * size_w.unsqueeze(1) / count_w.unsqueeze(1)
    x = x.unsqueeze(1) + (torch.arange(pw) * size_w.unsqueeze(1) + corners[:, 0:1]).unsqueeze(2)
    kept = torch.logical_and((i < count_h.unsqueeze(1)).unsqueeze(2), (j < count_w.unsqueeze(1)).unsqueeze(1))
    sizes = [k, channels, ph, pw, most_h * most_w]
    grid = [k, 1, ph, pw, most_h, most_w]
    y = y.reshape([k, 1, ph, 1, most_h, 1]).expand(grid).reshape([k, 1, ph, pw, most_h * most_w]).expand(sizes)
    x = x.reshape([k, 1, 1, pw, 1, most_w]).expand(grid).reshape([k, 1, ph, pw, most_h * most_w]).expand(sizes)
    planes = _own_planes(input, rois, ph * pw).reshape([k, channels, ph, pw, input.size(2) * input.size(3)])
    values = _sampled(planes, input.size(2), input.size(3), y, x, True)
    total = torch.where(kept.reshape([k, 1, 1, 1, most_h * most_w]), values, torch.zeros_like(values)).sum(-1)
    result = total / (count_h * count_w).reshape([k, 1, 1, 1])
    return result, _mapping(rois, channels, ph, pw)

# Half away from zero, as C rounds.
def _rounded(x: Tensor) -> Tensor:
    whole = torch.trunc(x)
    return whole + torch.where(torch.abs(x - whole) >= 0.5, torch.sign(x), torch.zeros_like(x))

# [K, bins, size]: which places of an axis lie in which bin. The last place is in none.
def _in_bins(low: Tensor, high: Tensor, bins: int, size: int) -> Tensor:
    start = _rounded(low).unsqueeze(1)
    each = torch.clamp(_rounded(high).unsqueeze(1) - start, min=1) / bins
    i = torch.arange(bins)
    first = torch.clamp(torch.floor(i * each) + start, 0, size - 1).unsqueeze(2)
    last = torch.clamp(torch.ceil((i + 1) * each) + start, 0, size - 1).unsqueeze(2)
    place = torch.arange(size)
    return torch.logical_and(place >= first, place < last)

def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> Tuple[Tensor, Tensor]:
    ph, pw = pooled_height, pooled_width
    channels, height, width = input.size(1) // (ph * pw), input.size(2), input.size(3)
    k = rois.size(0)
    boxes = rois * spatial_scale
    rows = _in_bins(boxes[:, 2], boxes[:, 4], ph, height).reshape([k, 1, ph, 1, height, 1])
    columns = _in_bins(boxes[:, 1], boxes[:, 3], pw, width).reshape([k, 1, 1, pw, 1, width])
    inside = torch.logical_and(rows, columns)
    planes = _own_planes(input, rois, ph * pw).reshape([k, channels, ph, pw, height, width])
    total = torch.where(inside, planes, torch.zeros_like(planes)).sum([4, 5])
    area = inside.to(input.dtype).sum([4, 5])
    return total / torch.clamp(area, min=1), _mapping(rois, channels, ph, pw)

# The corners of boxes (center, sizes, degrees): [4, ..] of x and of y, one after the other around it.
def _corners(x: Tensor, y: Tensor, boxes: Tensor) -> Tuple[Tensor, Tensor]:
    w, h = boxes.select(-1, 2), boxes.select(-1, 3)
    angle = boxes.select(-1, 4).to(7) * 0.01745329251
    cos, sin = torch.cos(angle).to(w.dtype) * 0.5, torch.sin(angle).to(w.dtype) * 0.5
    x0, y0 = x + sin * h + cos * w, y + cos * h - sin * w
    x1, y1 = x - sin * h + cos * w, y - cos * h - sin * w
    return torch.stack([x0, x1, 2 * x - x0, 2 * x - x1]), torch.stack([y0, y1, 2 * y - y0, 2 * y - y1])

# Which corners `px`, `py` lie in the box of corners `x`, `y`, within 1e-5.
def _corners_inside(px: Tensor, py: Tensor, x: Tensor, y: Tensor) -> Tensor:
    ux, uy, vx, vy = x[1] - x[0], y[1] - y[0], x[0] - x[3], y[0] - y[3]
    dx, dy = px - x[0], py - y[0]
    u, v = (dx * ux + dy * uy).to(7), -(dx * vx + dy * vy).to(7)
    inside = torch.logical_and(u > -1e-5, u < (ux * ux + uy * uy).to(7) + 1e-5)
    return torch.logical_and(inside, torch.logical_and(v > -1e-5, v < (vx * vx + vy * vy).to(7) + 1e-5))

# Where edges cross and the corners of either box in the other: [24, pairs] of x, of y, and whether
# it is one.
def _shared_points(x: Tensor, y: Tensor, other_x: Tensor, other_y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    ux, uy = (x.roll(-1, 0) - x).unsqueeze(1), (y.roll(-1, 0) - y).unsqueeze(1)
    vx, vy = other_x.roll(-1, 0) - other_x, other_y.roll(-1, 0) - other_y
    det = vx * uy - ux * vy
    crossing = torch.abs(det).to(7) > 1e-14
    det = torch.where(crossing, det, torch.ones_like(det))
    dx, dy = other_x - x.unsqueeze(1), other_y - y.unsqueeze(1)
    along, across = (vx * dy - dx * vy) / det, (ux * dy - dx * uy) / det
    s, t = along.to(7), across.to(7)
    crossing = torch.logical_and(crossing, torch.logical_and(s > -1e-5, s < 1 + 1e-5))
    crossing = torch.logical_and(crossing, torch.logical_and(t > -1e-5, t < 1 + 1e-5))
    px, py = x.unsqueeze(1) + ux * along, y.unsqueeze(1) + uy * along
    there = torch.cat([crossing.flatten(0, 1), _corners_inside(x, y, other_x, other_y), _corners_inside(other_x, other_y, x, y)])
    return torch.cat([px.flatten(0, 1), x, other_x]), torch.cat([py.flatten(0, 1), y, other_y]), there

# Points [n, pairs], of which each pair has `count`, in the order of their angle at the lowest one,
# which is the first, and is 0. Angles within 1e-6 are one: it is the order of the exchanges that says
# which order points of tiny boxes get.
def _around(px: Tensor, py: Tensor, count: Tensor) -> Tuple[Tensor, Tensor]:
    n = px.size(0)
    place = torch.arange(n).unsqueeze(1)
    far = torch.full_like(px, float("inf"))
    there = place < count
    lowest = torch.logical_and(there, py == torch.where(there, py, far).amin(0))
    lowest = torch.logical_and(lowest, px == torch.where(lowest, px, far).amin(0))
    start = lowest.to(3).argmax(0, keepdim=True)
    px, py = px - px.gather(0, start), py - py.gather(0, start)
    x, y = torch.where(place == start, px[0], px), torch.where(place == start, py[0], py)
    x[0], y[0] = torch.zeros_like(x[0]), torch.zeros_like(y[0])
    for i in range(1, n - 1):
        for j in range(i + 1, n):
            ax, ay, bx, by = x[i].clone(), y[i].clone(), x[j], y[j]
            cross = (ax * by - bx * ay).to(7)
            closer = torch.logical_and(torch.abs(cross) < 1e-6, ax * ax + ay * ay > bx * bx + by * by)
            swap = torch.logical_and(j < count, torch.logical_or(cross < -1e-6, closer))
            x[i], y[i] = torch.where(swap, bx, ax), torch.where(swap, by, ay)
            x[j], y[j] = torch.where(swap, ax, bx), torch.where(swap, ay, by)
    return x, y

# The area of the convex hull of points that _around put in order.
def _hull_area(x: Tensor, y: Tensor, count: Tensor) -> Tensor:
    place = torch.arange(x.size(0)).unsqueeze(1)
    # The first point beside the start.
    apart = torch.logical_and((x * x + y * y).to(7) > 1e-8, torch.logical_and(place > 0, place < count))
    second = torch.where(apart.any(0), apart.to(3).argmax(0), count)
    at = torch.clamp(second, max=x.size(0) - 1).unsqueeze(0)
    x, y = torch.where(place == 1, x.gather(0, at), x), torch.where(place == 1, y.gather(0, at), y)
    size = torch.where(second < count, 2, 1)
    next = second + 1
    # A step takes the last point back, where the next one makes it no corner, or puts the next one behind it.
    while bool(torch.any(next < count)):
        more = next < count
        at = torch.clamp(next, max=x.size(0) - 1).unsqueeze(0)
        last, before = (size - 1).unsqueeze(0), torch.clamp(size - 2, min=0).unsqueeze(0)
        ax, ay, bx, by = x.gather(0, at)[0], y.gather(0, at)[0], x.gather(0, before)[0], y.gather(0, before)[0]
        cx, cy = x.gather(0, last)[0] - bx, y.gather(0, last)[0] - by
        back = torch.logical_and(size > 1, (ax - bx) * cy >= cx * (ay - by))
        put = torch.logical_and(torch.logical_and(more, torch.logical_not(back)), place == size)
        x, y = torch.where(put, ax, x), torch.where(put, ay, y)
        size = torch.where(more, torch.where(back, size - 1, size + 1), size)
        next = torch.where(torch.logical_and(more, torch.logical_not(back)), next + 1, next)
    parts = torch.abs(x[1:-1] * y[2:] - x[2:] * y[1:-1])
    return torch.where(place[1:-1] < size - 1, parts, torch.zeros_like(parts)).sum(0) / 2

# Boxes are [N, 5] and [M, 5], the result is [N, M] in float32.
def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    n, m = boxes1.size(0), boxes2.size(0)
    first, second = boxes1.unsqueeze(1).expand([n, m, 5]).reshape([n * m, 5]), boxes2.expand([n, m, 5]).reshape([n * m, 5])
    middle = (first[:, :2] + second[:, :2]).to(7) / 2
    own, others = (first[:, :2].to(7) - middle).to(first.dtype), (second[:, :2].to(7) - middle).to(first.dtype)
    x, y = _corners(own[:, 0], own[:, 1], first)
    other_x, other_y = _corners(others[:, 0], others[:, 1], second)
    px, py, there = _shared_points(x, y, other_x, other_y)
    count = there.sum(0)
    # Pairs of fewer than 3 points share no area.
    pairs = torch.nonzero(count > 2).squeeze(1)
    count = count.index_select(0, pairs)
    place = torch.where(there, torch.cumsum(there, 0) - 1, 24).index_select(1, pairs)
    most = int(torch.cat([count, torch.full([1], 3)]).max())
    none = torch.zeros([25, pairs.size(0)], dtype=px.dtype)
    px = none.scatter(0, place, px.index_select(1, pairs))[:most]
    py = none.scatter(0, place, py.index_select(1, pairs))[:most]
    px, py = _around(px, py, count)
    shared = torch.zeros([n * m], dtype=px.dtype).index_copy(0, pairs, _hull_area(px, py, count))
    area1, area2 = first[:, 2] * first[:, 3], second[:, 2] * second[:, 3]
    flat = torch.logical_or(area1.to(7) < 1e-14, area2.to(7) < 1e-14)
    return torch.where(flat, torch.zeros_like(shared), shared / (area1 + area2 - shared)).to(6).reshape([n, m])
