"""torchvision.models, built from their constructors with random weights."""
from cases import Case, Made, forms, settle

# name: (constructor's arguments, shapes of the inputs); the first ones run in every test run, for their operators.
IMAGE = [(2, 3, 64, 64)]
SAMPLED = {
    "squeezenet1_1": ({}, IMAGE), "mobilenet_v2": ({}, IMAGE), "mobilenet_v3_small": ({}, IMAGE),
    "shufflenet_v2_x0_5": ({}, IMAGE), "mnasnet0_5": ({}, IMAGE), "efficientnet_b0": ({}, IMAGE),
    "densenet121": ({}, IMAGE), "googlenet": ({"init_weights": False}, IMAGE),
    "inception_v3": ({"init_weights": False}, [(2, 3, 96, 96)]), "resnet18": ({}, IMAGE),
    "regnet_y_400mf": ({}, IMAGE), "convnext_tiny": ({}, IMAGE), "swin_t": ({}, IMAGE), "swin_v2_t": ({}, IMAGE),
    "lraspp_mobilenet_v3_large": ({"weights_backbone": None}, IMAGE),
    "deeplabv3_mobilenet_v3_large": ({"weights_backbone": None}, IMAGE),
    "regnet_x_400mf": ({}, IMAGE), "mnasnet1_3": ({}, IMAGE),
    "mc3_18": ({}, [(1, 3, 8, 32, 32)]), "resnext50_32x4d": ({}, IMAGE),
}
MORE = {
    **{name: ({}, IMAGE) for name in [
        "alexnet", "squeezenet1_0", "mobilenet_v3_large", "shufflenet_v2_x1_0", "efficientnet_b3",
        "efficientnet_v2_s", "densenet169", "resnet50", "wide_resnet50_2",
        "regnet_y_1_6gf", "convnext_small", "swin_s", "swin_v2_s", "vgg11_bn"]},
    "maxvit_t": ({}, [(1, 3, 224, 224)]), "vit_b_32": ({}, [(1, 3, 224, 224)]),
    "fcn_resnet50": ({"weights_backbone": None}, IMAGE), "deeplabv3_resnet50": ({"weights_backbone": None}, IMAGE),
    "r3d_18": ({}, [(1, 3, 8, 32, 32)]), "r2plus1d_18": ({}, [(1, 3, 8, 32, 32)]),
    "mvit_v2_s": ({}, [(1, 3, 16, 224, 224)]), "swin3d_t": ({}, [(1, 3, 8, 64, 64)]),
    "s3d": ({}, [(1, 3, 16, 224, 224)]), "raft_small": (None, [(1, 3, 128, 128), (1, 3, 128, 128)]),
    "raft_large": (None, [(1, 3, 128, 128), (1, 3, 128, 128)]),
}


def cases(full: bool) -> list[Case]:
    chosen = {**SAMPLED, **MORE} if full else SAMPLED
    return [Case("vision", name, form, cost=10) for turn, name in enumerate(chosen) for form in forms(full, turn)]


def make(case: Case) -> Made:
    import torch
    import torchvision

    arguments, shapes = {**SAMPLED, **MORE}[case.subject]
    torch.manual_seed(0)
    few = {} if arguments is None else {"num_classes": 10, **arguments}
    module = settle(torchvision.models.get_model(case.subject, weights=None, **few))
    return Made(module, tuple(torch.rand(*s) for s in shapes), plain=False)
