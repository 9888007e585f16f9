"""torchvision.models.detection, scripted: lists of images of different sizes in, a dict of each image out.

Heads with fresh weights score whole fields alike, so that rounding orders them, in LibTorch as in ONNX Runtime. Those of
trained networks tell classes and places apart, so the layers of the heads are scaled until what they give is spread.
Only a few boxes are kept, as users do too.
"""
import sys

from cases import Case, Made, settle

IMAGES = [(3, 90, 110), (3, 120, 80)]
SMALL = {"min_size": 96, "max_size": 128}
BOXES = {"rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 20, "box_score_thresh": 0.2, "box_detections_per_img": 10}
ANCHORS = {"topk_candidates": 40, "detections_per_img": 10}
NAMES = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": {**SMALL, **BOXES, "rpn_score_thresh": 0.0},
    "fasterrcnn_mobilenet_v3_large_fpn": {**SMALL, **BOXES, "rpn_score_thresh": 0.0},
    "fasterrcnn_resnet50_fpn": {**SMALL, **BOXES}, "fasterrcnn_resnet50_fpn_v2": {**SMALL, **BOXES},
    "maskrcnn_resnet50_fpn": {**SMALL, **BOXES}, "maskrcnn_resnet50_fpn_v2": {**SMALL, **BOXES},
    "keypointrcnn_resnet50_fpn": {**SMALL, **BOXES, "num_keypoints": 5},
    "retinanet_resnet50_fpn": {**SMALL, **ANCHORS}, "retinanet_resnet50_fpn_v2": {**SMALL, **ANCHORS},
    "fcos_resnet50_fpn": {**SMALL, **ANCHORS},
    "ssd300_vgg16": ANCHORS, "ssdlite320_mobilenet_v3_large": ANCHORS,
}


def cases(full: bool) -> list[Case]:
    return [Case("detection", name, "scripted", cost=60) for name in NAMES] if full else []


def make(case: Case) -> Made:
    import torch
    import torchvision

    _kernels()
    torch.manual_seed(0)
    module = getattr(torchvision.models.detection, case.subject)(weights=None, weights_backbone=None, num_classes=6,
                                                                **NAMES[case.subject])
    settle(module)
    # Other exporters take a trace of one image.
    images = [torch.rand(*shape) for shape in (IMAGES[:1] if case.form == "traced" else IMAGES)]
    if case.subject.startswith("ssdlite"):
        _measure(module, [torch.rand(*shape) for shape in IMAGES])
    _spread(module, images)
    return Made(module, (images,), plain=False)


def _measure(module, images) -> None:
    """Takes the statistics of the batch norms from the images: with others, each place of a deep network of
    small weights is like the next one."""
    import torch

    norms = [p for p in module.modules() if isinstance(p, torch.nn.BatchNorm2d)]
    for p in norms:
        p.train().momentum = 1.0
    with torch.no_grad():
        module.backbone(module.transform(images)[0].tensors)
    module.eval()


def _spread(module, images) -> None:
    """Scales each layer of the heads so that what it gives has a deviation of 1."""
    import torch

    layers = {n: p for n, p in module.named_modules() if isinstance(p, (torch.nn.Conv2d, torch.nn.Linear))
              and any(part in n for part in ("rpn.head", "roi_heads", "head."))}
    for p in layers.values():
        torch.nn.init.normal_(p.weight, std=2 / p.weight[0].numel() ** 0.5)
        if p.bias is not None:
            torch.nn.init.uniform_(p.bias, -0.5, 0.5)
    deviations = {}

    def measured(name):
        def hook(_module, _inputs, out):  # runs for each size of feature maps
            each = out.transpose(0, 1).flatten(1)  # channel by channel: from place to place, or from box to box
            deviations[name] = max(deviations.get(name, 0.0), float(each.std(1).mean()) if each.size(1) > 1 else 0.0)
        return hook

    for _ in range(3):  # what is scaled changes what comes behind it
        deviations.clear()
        hooks = [p.register_forward_hook(measured(n)) for n, p in layers.items()]
        with torch.no_grad():
            module(images)
        for hook in hooks:
            hook.remove()
        for n, deviation in deviations.items():
            if deviation > 0:
                layers[n].weight.data /= deviation


_held = []


def _kernels() -> None:
    """The two operators of torchvision's compiled library that detectors run, in plain PyTorch, for LibTorch in Python."""
    if _held:
        return
    import torch
    import torchvision.extension

    def _has_ops() -> bool:  # asked by the code that is scripted
        return True

    for name in ("extension", "ops.roi_align"):
        sys.modules[f"torchvision.{name}"]._has_ops = _has_ops
    library = torch.library.Library("torchvision", "IMPL")
    library.impl("nms", nms, "CPU")
    library.impl("roi_align", roi_align, "CPU")
    _held.append(library)


def nms(boxes, scores, threshold):
    import torch

    kept = []
    dead = torch.zeros(len(boxes), dtype=torch.bool)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in scores.sort(stable=True, descending=True)[1].tolist():
        if dead[i]:
            continue
        kept.append(i)
        low, high = torch.maximum(boxes[i, :2], boxes[:, :2]), torch.minimum(boxes[i, 2:], boxes[:, 2:])
        common = (high - low).clamp(min=0).prod(1)
        dead |= common / (area[i] + area - common) > threshold
    return torch.tensor(kept, dtype=torch.long)


def roi_align(x, rois, scale, height, width, sampling, aligned):
    """Each bin is the mean of sampling x sampling points between four pixels each."""
    import torch

    assert sampling > 0
    half = 0.5 if aligned else 0.0

    def places(low, high, bins, length):
        size = (high - low) if aligned else (high - low).clamp(min=1)
        steps = (torch.arange(bins * sampling, dtype=x.dtype) + 0.5) / sampling
        at = low.unsqueeze(1) + steps * (size / bins).unsqueeze(1)
        inside = (at >= -1) & (at <= length)
        at = at.clamp(min=0)
        first = at.floor().clamp(max=length - 1)
        at = torch.where(at.floor() >= length - 1, first, at)
        return first.long(), (first + 1).clamp(max=length - 1).long(), at - first, inside

    box = rois[:, 1:] * scale - half
    y0, y1, fy, in_y = places(box[:, 1], box[:, 3], height, x.size(2))
    x0, x1, fx, in_x = places(box[:, 0], box[:, 2], width, x.size(3))
    image = x[rois[:, 0].long()]  # one plane a region
    region = torch.arange(len(rois)).view(-1, 1, 1)

    def corner(y, x_):
        return image[region, :, y.unsqueeze(2), x_.unsqueeze(1)]  # [regions, y, x, channels]

    fy, fx = fy.unsqueeze(2).unsqueeze(3), fx.unsqueeze(1).unsqueeze(3)
    value = (corner(y0, x0) * (1 - fy) * (1 - fx) + corner(y0, x1) * (1 - fy) * fx + corner(y1, x0) * fy * (1 - fx)
             + corner(y1, x1) * fy * fx)
    value = torch.where((in_y.unsqueeze(2) & in_x.unsqueeze(1)).unsqueeze(3), value, 0)
    value = value.view(len(rois), height, sampling, width, sampling, x.size(1)).mean((2, 4))
    return value.permute(0, 3, 1, 2).contiguous()
