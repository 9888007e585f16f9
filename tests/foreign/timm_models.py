"""timm: image models with random weights; a full run takes a small one of every family (file) of theirs, by turns traced
and scripted, and the sampled ones in both forms."""
import re

from cases import Case, Made, forms, settle

SAMPLED = ["botnet26t_256", "cait_xxs24_224", "coatnet_nano_rw_224", "convmixer_768_32", "convnextv2_atto",
           "edgenext_xx_small", "efficientformerv2_s0", "fastvit_t8", "ghostnet_050", "hrnet_w18_small", "levit_128s",
           "mixer_s32_224", "mobilevitv2_050", "nfnet_l0", "pvt_v2_b0", "repvgg_a0", "resnest14d", "tnt_s_legacy_patch16_224",
           "vit_tiny_patch16_224", "xcit_nano_12_p16_224"]
SMALL = ["atto", "femto", "pico", "nano", "xxs", "xx_small", "xxsmall", "tiny", "_t0", "_t_", "_t1", "xs", "x_small", "_s0",
         "050", "035", "b0", "_a0", "w18_small", "10", "14", "small", "_s", "18", "26", "_0"]


def family_names() -> list[str]:
    """The name that sounds smallest of each of timm's files."""
    import timm

    def size(name: str):
        image = [int(n) for n in re.findall(r"(?:_|r)(\d{3})\b", name)]
        return (next((i for i, word in enumerate(SMALL) if word in name), len(SMALL)), max(image, default=0), name)

    return [min(timm.list_models(module=m), key=size) for m in timm.list_modules() if timm.list_models(module=m)]


def cases(full: bool) -> list[Case]:
    names = sorted({*SAMPLED, *family_names()}) if full else SAMPLED
    return [Case("timm_models", name, form, cost=8) for turn, name in enumerate(names)
            for form in forms(full and name in SAMPLED, turn)]


def make(case: Case) -> Made:
    import timm
    import torch

    torch.manual_seed(0)
    scriptable = {"scriptable": True} if case.form == "scripted" else {}
    try:
        module, side = timm.create_model(case.subject, num_classes=10, img_size=96, **scriptable), 96
    except Exception:  # no such argument, or none that small
        module = timm.create_model(case.subject, num_classes=10, **scriptable)
        side = module.default_cfg["input_size"][-1] if module.default_cfg.get("fixed_input_size") else 96
    return Made(settle(module), (torch.rand(1, 3, side, side),))
