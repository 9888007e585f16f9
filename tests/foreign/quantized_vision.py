"""torchvision.models.quantization: images, quantized by its authors' recipe with random weights."""
from cases import Case, Made, settle

NAMES = ["quantized_googlenet", "quantized_inception_v3", "quantized_mobilenet_v2", "quantized_mobilenet_v3_large",
         "quantized_resnet18", "quantized_resnet50", "quantized_resnext101_32x8d", "quantized_resnext101_64x4d",
         "quantized_shufflenet_v2_x0_5", "quantized_shufflenet_v2_x1_0", "quantized_shufflenet_v2_x1_5",
         "quantized_shufflenet_v2_x2_0"]


def cases(full: bool) -> list[Case]:
    return [Case("quantized_vision", name, form, cost=20) for name in NAMES for form in ("traced", "scripted")] if full else []


def make(case: Case) -> Made:
    import torch
    import torchvision

    torch.manual_seed(0)
    more = {"init_weights": False} if "net_v3" in case.subject and "ception" in case.subject or "googlenet" in case.subject else {}
    module = torchvision.models.get_model(case.subject, weights=None, quantize=False, num_classes=10, **more)
    module = settle(module)
    side = 96 if "inception" in case.subject else 64
    module.fuse_model(is_qat=False)
    backend = "qnnpack" if "mobilenet_v3" in case.subject else "fbgemm"
    torch.backends.quantized.engine = backend
    module.qconfig = torch.ao.quantization.get_default_qconfig(backend)
    torch.ao.quantization.prepare(module, inplace=True)
    for _ in range(3):
        module(torch.rand(2, 3, side, side))
    torch.ao.quantization.convert(module, inplace=True)
    return Made(module, (torch.rand(2, 3, side, side),), plain=False)
