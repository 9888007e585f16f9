"""transformers: small configurations with random weights."""
from cases import Case, Made, settle

# Sizes under all the names that configurations have for them; each takes the ones it knows.
SMALL = {
    "vocab_size": 99, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32, "n_embed": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_decoder_layers": 2, "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "n_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
    "d_ff": 64, "d_kv": 8, "hidden_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "ffn_dim": 64, "d_inner": 64,
    "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "word_embed_proj_dim": 32, "image_size": 32,
    "patch_size": 8, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "d_head": 8,
    "use_cache": False, "ffn_hidden_size": 64, "attention_window": 4, "block_size": 4,
}
# Inputs: text, causal text, text to text, an image, sound.
SAMPLED = {
    "BertModel": ("text", {}), "AlbertModel": ("text", {}), "DebertaV2Model": ("text", {
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}),
    "GPT2LMHeadModel": ("text", {}), "BloomModel": ("text", {}), "LlamaForCausalLM": ("text", {}),
    "Gemma2Model": ("text", {}), "MixtralModel": ("text", {"num_local_experts": 4}), "T5Model": ("seq2seq", {}),
    "BartForConditionalGeneration": ("seq2seq", {}), "XLNetModel": ("text", {}), "ViTModel": ("image", {}),
    "SegformerModel": ("image", {"hidden_sizes": [16, 32], "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1],
                                 "num_attention_heads": [2, 4], "patch_sizes": [7, 3], "strides": [4, 2],
                                 "mlp_ratios": [2, 2], "hidden_size": None}),
    "Wav2Vec2Model": ("sound", {"conv_dim": (32, 32), "conv_stride": (5, 2), "conv_kernel": (10, 3),
                                "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16,
                                "num_conv_pos_embedding_groups": 2}),
    "MambaModel": ("text", {"state_size": 8}),
}
MORE = {
    **{name: ("text", {}) for name in [
        "DistilBertModel", "RobertaModel", "ElectraModel", "MPNetModel", "ConvBertModel", "SqueezeBertModel", "IBertModel",
        "RoFormerModel", "NystromformerModel", "YosoModel", "MegatronBertModel", "LongformerModel", "BigBirdModel",
        "CamembertForMaskedLM", "BertForQuestionAnswering", "RobertaForSequenceClassification", "FNetModel",
        "GPTNeoXModel", "GPTJModel", "OPTModel", "FalconModel", "MptModel", "CodeGenModel", "MistralModel", "Qwen2Model",
        "Qwen3Model", "Phi3Model", "PhiModel", "Gemma3TextModel", "OlmoModel", "Olmo2Model", "StableLmModel", "CohereModel",
        "Starcoder2Model", "GraniteModel", "RwkvModel", "XLMRobertaModel", "ModernBertModel", "DebertaModel",
        "FunnelModel", "LayoutLMModel", "NemotronModel", "SmolLM3Model", "Glm4Model", "EsmModel", "OpenAIGPTModel"]},
    **{name: ("seq2seq", {}) for name in ["MBartModel", "MarianModel", "PegasusModel", "BlenderbotModel", "MT5Model",
                                          "LongT5Model", "M2M100Model", "LEDModel", "ProphetNetModel"]},
    **{name: ("image", {}) for name in [
        "DeiTModel", "BeitModel", "ViTMAEModel", "YolosModel", "Dinov2Model", "ConvNextModel", "ConvNextV2Model",
        "MobileNetV2Model", "RegNetModel", "ResNetModel", "PoolFormerModel", "SwinModel", "ViTMSNModel",
        "SiglipVisionModel", "CLIPVisionModel", "IJepaModel", "FocalNetModel", "LevitModel", "PvtModel", "PvtV2Model",
        "MobileViTModel", "CvtModel", "HieraModel", "TextNetModel"]},
    "HubertModel": ("sound", SAMPLED["Wav2Vec2Model"][1]), "WavLMModel": ("sound", SAMPLED["Wav2Vec2Model"][1]),
    "UniSpeechModel": ("sound", SAMPLED["Wav2Vec2Model"][1]), "Data2VecAudioModel": ("sound", {
        **SAMPLED["Wav2Vec2Model"][1], "num_conv_pos_embeddings": 3}),
    "Swinv2Model": ("image", {"patch_size": 2, "window_size": 2}),
    "GPTNeoModel": ("text", {"attention_types": [[["global", "local"], 1]]}), "Mamba2Model": ("text", {"num_heads": 8}),
    "CLIPTextModel": ("text", {}), "SiglipTextModel": ("text", {}), "BertGenerationEncoder": ("text", {}),
}


def cases(full: bool) -> list[Case]:
    chosen = {**SAMPLED, **MORE} if full else SAMPLED
    return [Case("transformer_models", name, "traced", cost=5) for name in chosen]


def make(case: Case) -> Made:
    import torch
    import transformers

    kind, special = {**SAMPLED, **MORE}[case.subject]
    torch.manual_seed(0)
    of = getattr(transformers, case.subject)
    known = of.config_class()
    wanted = {k: v for k, v in SMALL.items() if k not in special and _takes(known, k)}
    wanted.update({k: v for k, v in special.items() if v is not None})
    module = settle(of(of.config_class(**wanted)))
    ids = torch.randint(3, 99, (2, 8))
    mask = torch.ones(2, 8, dtype=torch.int64)
    mask[1, 5:] = 0
    if kind == "text":
        return Made(module, (ids,), {"attention_mask": mask} if "Mamba" not in case.subject else {}, plain=False)
    if kind == "seq2seq":
        return Made(module, (ids,), {"attention_mask": mask, "decoder_input_ids": torch.randint(3, 99, (2, 5))},
                    plain=False)
    if kind == "sound":
        return Made(module, (torch.randn(2, 800),), plain=False)
    side = module.config.image_size if hasattr(module.config, "image_size") else 32
    side = side if isinstance(side, int) else side[0]
    return Made(module, (torch.rand(2, getattr(module.config, "num_channels", 3), side, side),), plain=False)


def _takes(config, name: str) -> bool:
    """Configurations take anything; a size that is a list in one (depths of stages) is left as it is."""
    return name in type(config).__dataclass_fields__ and isinstance(getattr(config, name, None), (int, type(None)))
