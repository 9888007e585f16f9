"""Models of packages for sound, recommendation, points, graphs, diffusion and medicine: small, with random weights,
by turns traced and scripted."""
from cases import Case, Made, forms, settle


def ids(torch, *shape, below=20):
    return torch.randint(0, below, shape)


def edges(torch):
    """A graph of 7 nodes with 12 edges."""
    return torch.stack([torch.arange(12) % 7, (torch.arange(12) * 3 + 1) % 7])


# subject: kind, package, class, constructor's arguments, inputs
def rows(torch) -> dict:
    image, small = torch.rand(2, 3, 64, 64), torch.rand(1, 4, 16, 16)
    volume, wave = torch.rand(1, 1, 32, 32, 32), 0.1 * torch.randn(2, 1, 1600)
    x7 = torch.randn(7, 8)
    graph = (x7, edges(torch))
    table = {}

    def add(kind, package, name, arguments=None, inputs=None, **more):
        known = name if kind == "vit_pytorch" else name.rsplit(".", 1)[-1]
        table[f"{kind}: {known}{more.pop('suffix', '')}"] = (package, name, arguments or {}, inputs, more)

    # --- sound
    add("audio", "torchaudio.models", "Conformer",
        dict(input_dim=16, num_heads=4, ffn_dim=32, num_layers=2, depthwise_conv_kernel_size=7),
        (torch.randn(2, 20, 16), torch.tensor([20, 15])))
    add("audio", "torchaudio.models", "ConvTasNet", dict(enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16,
        msk_num_layers=2, msk_num_stacks=2), (wave,))
    add("audio", "torchaudio.models", "DeepSpeech", dict(n_feature=13, n_hidden=32), (torch.randn(2, 1, 20, 13),))
    add("audio", "torchaudio.models", "Emformer", dict(input_dim=16, num_heads=4, ffn_dim=32, num_layers=2,
        segment_length=4, right_context_length=1), (torch.randn(2, 21, 16), torch.tensor([20, 15])))
    add("audio", "torchaudio.models", "HDemucs", dict(sources=["a", "b"], audio_channels=2, channels=4),
        (0.1 * torch.randn(1, 2, 22050),))
    add("audio", "torchaudio.models", "Wav2Letter", dict(num_classes=20, input_type="waveform", num_features=1),
        (torch.randn(2, 1, 3200),))
    add("audio", "torchaudio.models", "WaveRNN", dict(upsample_scales=[2, 2, 3], n_classes=16, hop_length=12,
        n_res_block=2, n_rnn=16, n_fc=16, n_freq=16, n_hidden=16, n_output=16), (torch.randn(2, 1, 96), torch.randn(2, 1, 16, 12)))
    add("audio", "torchaudio.models", "Tacotron2", dict(n_symbol=20, symbol_embedding_dim=32, encoder_embedding_dim=32,
        n_mels=16, encoder_n_convolution=2, attention_rnn_dim=32, attention_hidden_dim=16, decoder_rnn_dim=32,
        prenet_dim=16, postnet_embedding_dim=32, attention_location_n_filter=4, decoder_max_step=20,
        attention_dropout=0.0, decoder_dropout=0.0), (ids(torch, 2, 9), torch.tensor([9, 7]), torch.randn(2, 16, 12), torch.tensor([12, 9])))
    add("audio", "torchaudio.models", "squim_objective_base", {}, (0.1 * torch.randn(1, 3200),))
    add("audio", "torchaudio.models", "wav2vec2_base", dict(aux_num_out=20), (0.1 * torch.randn(1, 3200),))
    add("audio", "torchaudio.models", "emformer_rnnt_base", dict(num_symbols=20),
        (torch.randn(1, 20, 80), torch.tensor([20]), ids(torch, 1, 4).int(), torch.tensor([4], dtype=torch.int32)))
    add("audio", "conformer", "Conformer", dict(dim=16, depth=2, dim_head=8, heads=2, conv_kernel_size=5),
        (torch.randn(2, 20, 16),), suffix=" (conformer)")
    add("audio", "demucs.demucs", "Demucs", dict(sources=["a", "b"], audio_channels=1, channels=4, depth=3,
        lstm_layers=1, resample=False), (torch.randn(1, 1, 5460),))
    add("audio", "demucs.hdemucs", "HDemucs", dict(sources=["a", "b"], audio_channels=1, channels=4),
        (torch.randn(1, 1, 22050),), suffix=" (demucs)")
    add("audio", "transformers", "SpeechT5HifiGan", "config", (torch.randn(2, 12, 80),))
    add("audio", "transformers", "UnivNetModel", "config", (torch.randn(1, 12, 100), torch.randn(1, 12, 64)))

    # --- recommendation: one row of numbers, of which the first 4 are indices
    ctr = (torch.cat([ids(torch, 3, 4, below=6).float(), torch.rand(3, 2)], 1),)
    for name in ["AFM", "AFN", "AutoInt", "CCPM", "DCN", "DCNMix", "DeepFM", "DIFM", "FiBiNET", "IFM", "MLR", "NFM",
                 "ONN", "WDL", "xDeepFM", "ESMM", "MMOE", "PLE", "SharedBottom"]:
        add("recommender", "deepctr_torch.models", name, "deepctr", ctr)
    add("recommender", "deepctr_torch.models", "PNN", "deepctr", ctr)

    # --- graphs and points
    for name in ["GCNConv", "SAGEConv", "GraphConv", "GATConv", "GATv2Conv", "TransformerConv", "TAGConv", "SGConv",
                 "ClusterGCNConv", "LEConv", "ResGatedGraphConv", "SuperGATConv", "FeaStConv", "GENConv", "MFConv", "ARMAConv"]:
        add("graph", "torch_geometric.nn", name, dict(in_channels=8, out_channels=5), graph)
    add("graph", "torch_geometric.nn", "ChebConv", dict(in_channels=8, out_channels=5, K=3), graph)
    add("graph", "torch_geometric.nn", "APPNP", dict(K=3, alpha=0.1), graph)
    add("graph", "torch_geometric.nn", "GatedGraphConv", dict(out_channels=8, num_layers=2), graph)
    for name in ["GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"]:
        more = {}
        if name == "PNA":
            more = dict(aggregators=["mean", "max"], scalers=["identity"], deg=torch.tensor([0, 7, 5]))
        add("graph", "torch_geometric.nn.models", name, dict(in_channels=8, hidden_channels=6, num_layers=2,
            out_channels=5, **more), graph)
    add("points", "torch_geometric.nn", "PointNetConv", {}, (x7, torch.randn(7, 3), edges(torch)))
    add("points", "torch_geometric.nn.models", "SchNet", dict(hidden_channels=8, num_filters=8, num_interactions=2,
        num_gaussians=6), (torch.tensor([6, 1, 8, 1, 6, 7, 1]), torch.randn(7, 3)))

    # --- diffusion
    blocks = dict(sample_size=16, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4)
    add("diffusion", "diffusers", "UNet2DModel", dict(**blocks, in_channels=4, out_channels=4, attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")),
        (small, torch.tensor([3])))
    add("diffusion", "diffusers", "UNet2DConditionModel", dict(**blocks, in_channels=4, out_channels=4, cross_attention_dim=8,
        attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")), (small, torch.tensor([3]), torch.randn(1, 5, 8)))
    add("diffusion", "diffusers", "AutoencoderKL", dict(block_out_channels=(8, 16), norm_num_groups=4, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), (torch.rand(1, 3, 32, 32),))
    add("diffusion", "diffusers", "VQModel", dict(block_out_channels=(8, 16), norm_num_groups=4, latent_channels=3,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=16),
        (torch.rand(1, 3, 32, 32),))
    add("diffusion", "diffusers", "UNet1DModel", dict(sample_size=32, in_channels=2, out_channels=2, extra_in_channels=16,
        block_out_channels=(8, 8, 16)), (torch.randn(1, 2, 32), torch.tensor([3])))
    add("diffusion", "diffusers", "DiTTransformer2DModel", dict(num_attention_heads=2, attention_head_dim=8, in_channels=4,
        num_layers=2, sample_size=16, num_embeds_ada_norm=10, norm_num_groups=4), (small, torch.tensor([3]), torch.tensor([1])),
        named=["hidden_states", "timestep", "class_labels"])
    add("diffusion", "diffusers", "AutoencoderTiny", dict(encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)), (torch.rand(1, 3, 32, 32),))

    # --- segmentation, medicine, other images
    for name in ["Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus", "UPerNet", "Segformer"]:
        add("segmentation", "segmentation_models_pytorch", name, dict(encoder_name="resnet18", encoder_weights=None),
            (torch.rand(2, 3, 96, 96),))
    add("medical", "monai.networks.nets", "UNet", dict(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16),
        strides=(2, 2), num_res_units=1), (volume,), suffix=" (monai)")
    add("medical", "monai.networks.nets", "SegResNet", dict(spatial_dims=3, init_filters=8), (volume,))
    add("medical", "monai.networks.nets", "DynUNet", dict(spatial_dims=3, in_channels=1, out_channels=2, kernel_size=[3, 3, 3],
        strides=[1, 2, 2], upsample_kernel_size=[2, 2]), (volume,))
    add("medical", "monai.networks.nets", "UNETR", dict(in_channels=1, out_channels=2, img_size=(32, 32, 32), feature_size=4,
        hidden_size=24, mlp_dim=32, num_heads=4), (volume,))
    add("medical", "monai.networks.nets", "VNet", dict(in_channels=1, out_channels=2), (volume,))
    add("medical", "monai.networks.nets", "HighResNet", dict(in_channels=1, out_channels=2), (volume,))
    add("medical", "monai.networks.nets", "AttentionUnet", dict(spatial_dims=2, in_channels=3, out_channels=2, channels=(4, 8, 16),
        strides=(2, 2)), (image,))
    add("medical", "monai.networks.nets", "DenseNet121", dict(spatial_dims=3, in_channels=1, out_channels=2, init_features=8,
        growth_rate=4), (torch.rand(1, 1, 64, 64, 64),))
    for name, arguments in VIT.items():
        add("vit_pytorch", "vit_pytorch", name, arguments, (torch.rand(2, 3, 64, 64),))
    for name, inputs in {
            "filters.GaussianBlur2d": (image,), "filters.Sobel": (image,), "filters.Canny": (image,), "filters.Laplacian": (image,),
            "filters.BoxBlur": (image,), "filters.MedianBlur": (image,), "filters.UnsharpMask": (image,),
            "enhance.Normalize": (image,), "enhance.AdjustHue": (image,), "enhance.AdjustGamma": (image,),
            "color.RgbToHsv": (image,), "color.RgbToLab": (image,), "color.RgbToYuv": (image,), "color.RgbToGrayscale": (image,),
            "geometry.Rotate": (image,), "geometry.PyrDown": (image,), "geometry.Resize": (image,),
            "feature.CornerHarris": (image[:, :1],), "feature.SIFTDescriptor": (torch.rand(2, 1, 41, 41),),
            "feature.HardNet": (torch.rand(2, 1, 32, 32),)}.items():
        add("vision", "kornia", name, KORNIA.get(name, {}), inputs)
    return table


KORNIA = {
    "feature.HardNet": dict(pretrained=False),
    "filters.GaussianBlur2d": dict(kernel_size=(3, 5), sigma=(1.5, 1.0)), "filters.Laplacian": dict(kernel_size=5),
    "filters.BoxBlur": dict(kernel_size=(3, 3)), "filters.MedianBlur": dict(kernel_size=(3, 3)),
    "filters.UnsharpMask": dict(kernel_size=(3, 3), sigma=(1.5, 1.5)), "enhance.Normalize": dict(mean=0.4, std=0.3),
    "enhance.AdjustHue": dict(hue_factor=0.3), "enhance.AdjustGamma": dict(gamma=1.7), "geometry.Rotate": "rotate",
    "geometry.Resize": dict(size=(40, 50)), "feature.CornerHarris": dict(k=0.04),
}
_OF_64 = dict(image_size=64, num_classes=10)
_PLAIN = dict(**_OF_64, dim=32, depth=2, heads=2, mlp_dim=32, patch_size=16)
_STAGES = dict(num_classes=10, depth=(1, 1, 1, 1))
VIT = {
    "vit.ViT": _PLAIN, "simple_vit.SimpleViT": _PLAIN, "deepvit.DeepViT": _PLAIN, "local_vit.LocalViT": _PLAIN,
    "parallel_vit.ViT": _PLAIN, "cait.CaiT": dict(_PLAIN, cls_depth=1), "xcit.XCiT": dict(_PLAIN, cls_depth=1),
    "pit.PiT": dict(_PLAIN, depth=(1, 1)), "rvt.RvT": _PLAIN, "vit_for_small_dataset.ViT": _PLAIN,
    "t2t.T2TViT": dict(**_OF_64, dim=32, depth=2, heads=2, mlp_dim=32, t2t_layers=((7, 4), (3, 2))),
    "cct.CCT": dict(img_size=64, num_classes=10, embedding_dim=32, n_conv_layers=2, kernel_size=7, stride=2, padding=3,
                    pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2, mlp_ratio=2.),
    "cross_vit.CrossViT": dict(**_OF_64, sm_dim=16, lg_dim=32, depth=2, sm_patch_size=8, lg_patch_size=16),
    "levit.LeViT": dict(**_OF_64, dim=32, depth=1, heads=2, stages=2, mlp_mult=2),
    "cvt.CvT": dict(num_classes=10), "twins_svt.TwinsSVT": dict(num_classes=10),
    "regionvit.RegionViT": dict(_STAGES, dim=(16, 32, 32, 32), window_size=2),
    "crossformer.CrossFormer": dict(_STAGES, dim=(16, 32, 32, 32), global_window_size=(4, 2, 2, 1), local_window_size=2),
    "scalable_vit.ScalableViT": dict(_STAGES, dim=16, heads=(2, 2, 2, 2), ssa_dim_key=8, reduction_factor=(4, 2, 2, 1),
                                     window_size=(4, 4, 2, 2)),
    "sep_vit.SepViT": dict(_STAGES, dim=16, dim_head=8, heads=(1, 2, 2, 2), window_size=2),
    "max_vit.MaxViT": dict(num_classes=10, dim=16, depth=(1, 1), dim_head=8, window_size=4, mbconv_expansion_rate=2),
    "nest.NesT": dict(**_OF_64, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), patch_size=8),
    "mobile_vit.MobileViT": dict(image_size=(64, 64), num_classes=10, dims=[16, 24, 32],
                                 channels=[8, 8, 16, 16, 16, 16, 16, 16, 24, 24, 32]),
}
# What a package imports that its models do without.
STAND_INS = {
    "deepctr_torch": ["sklearn", "sklearn.metrics", "tensorflow", "tensorflow.python", "tensorflow.python.keras",
                      "tensorflow.python.keras.callbacks", "pandas"],
}


def cases(full: bool) -> list[Case]:
    import torch

    torch.manual_seed(0)
    return [Case("others", name, form, cost=5) for turn, name in enumerate(rows(torch))
            for form in forms(False, turn)] if full else []


def make(case: Case) -> Made:
    import importlib

    import torch

    import environment

    torch.manual_seed(0)
    package, name, arguments, inputs, more = rows(torch)[case.subject]
    environment.stand_in(*STAND_INS.get(package.split(".")[0], []))
    home, _, name = f"{package}.{name}".rpartition(".")
    of = getattr(importlib.import_module(home), name)
    if arguments == "config":
        module = of(of.config_class())
    elif arguments == "deepctr":
        module = _recommender(of, name)
    elif arguments == "rotate":
        module = of(torch.tensor([30.0]))
    else:
        module = of(**arguments)
    if "named" in more:
        return Made(settle(module), (), dict(zip(more["named"], inputs)), plain=False)
    return Made(settle(module), inputs, plain=False)


def _recommender(of, name: str):
    from deepctr_torch.inputs import DenseFeat, SparseFeat

    columns = [SparseFeat(f"s{i}", 6, embedding_dim=4) for i in range(4)] + [DenseFeat(f"d{i}", 1) for i in range(2)]
    tasks = dict(task_names=["a", "b"], task_types=["binary", "binary"])
    if name in ("ESMM", "MMOE", "PLE", "SharedBottom"):
        return of(columns, **tasks)
    if name in ("MLR", "PNN"):
        return of(columns)
    if name in ("AFM", "CCPM"):
        return of(columns, columns[:4])
    return of(columns, columns)
