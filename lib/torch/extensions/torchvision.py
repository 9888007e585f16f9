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
