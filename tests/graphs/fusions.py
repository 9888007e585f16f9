"""Counts what ONNX Runtime fuses in our files and in those of the reference exporter: its transformers optimizer, and
what it does itself when it loads a file.

    fusions.py --build build/release [--jobs N] [--filter REGEX]

Each model is small, with random parameters, traced, converted at opset 17 with dynamic axes, by the tool and by
torch.onnx.export with dynamo=False. Of each kind of fused operator our file must give at least as many; KNOWN names
where it does not, and says why. ONNX Runtime still gives LibTorch's results with the optimized file. When ONNX Runtime
loads our file of opset 11, it fuses as much as in that of opset 17.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import compare  # beside this file, as is files
import files

OPSET, OLD_OPSET = 17, 11
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99)
# class of transformers: model type of the optimizer, configuration, kind of input
MODELS = {
    "BertModel": ("bert", SMALL, "masked"),
    "AlbertModel": ("bert", dict(SMALL, embedding_size=32), "masked"),
    "DistilBertModel": ("bert", dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=99), "masked"),
    "RobertaModel": ("bert", SMALL, "masked"),
    "GPT2Model": ("gpt2", dict(n_embd=32, n_layer=2, n_head=4, vocab_size=99), "text"),
    "LlamaModel": ("gpt2", dict(SMALL, num_key_value_heads=4), "text"),
    "GemmaModel": ("gpt2", dict(SMALL, num_key_value_heads=4, head_dim=8), "text"),
    "T5EncoderModel": ("t5", dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99), "text"),
    "ViTModel": ("vit", dict({k: v for k, v in SMALL.items() if k != "vocab_size"}, image_size=32, patch_size=8), "image"),
    "BartEncoder": ("bart", dict(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64,
                                 vocab_size=99), "masked"),
    "WhisperEncoder": ("bart", dict(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64,
                                    max_source_positions=16, num_mel_bins=8), "sound"),
    # Of diffusers, as tests/foreign/others.py makes it. The fusions of type "unet" end with a TypeError in the
    # reference's file.
    "UNet2DConditionModel": ("vae", {}, "latents"),
}
ATTENTION = ["eager", "sdpa", "additive"]  # the last one with a mask that is added
# Fused operators of which the reference's file gives more: the model and the operator, and why.
KNOWN = {
    ("BertModel eager", "EmbedLayerNormalization"): "token types of zeros are gathered from a buffer",
    ("UNet2DConditionModel eager", "BiasSplitGelu"):
        "it looks for two Slice with computed bounds, which are one Split here",
    ("UNet2DConditionModel eager", "BiasAdd"): "it follows BiasSplitGelu",
}


def made(name: str, attention: str):
    import torch
    import transformers

    torch.manual_seed(0)
    if name == "UNet2DConditionModel":
        import cases
        import others

        subject = "diffusion: " + name
        key = next(c.key for c in others.cases(True) if c.subject == subject)
        unet, arguments = cases.only_tensors(others.make(cases.Case("others", subject, "traced", key)))
        files.as_if_trained(unet)

        class Sample(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.unet = unet

            def forward(self, x, timestep, states):
                return self.unet(x, timestep, states)[0]

        return Sample(), arguments, {"x": {2: "height", 3: "width"}, "timestep": {}, "states": {}}
    _, values, kind = MODELS[name]
    values = dict(values, attn_implementation="eager" if attention == "additive" else attention)
    if name.endswith("Encoder"):
        family = name.removesuffix("Encoder")
        module = getattr(transformers.models, family.lower())
        config = getattr(transformers, family + "Config")(**values)
        made_of = importlib_of(module, family.lower(), name)
    else:
        made_of = getattr(transformers, name)
        config = made_of.config_class(**values)
    model = made_of(config).eval()
    with torch.no_grad():
        for p in model.parameters():  # a bias of zeros or a scale of ones would be no node
            p.add_(torch.randn_like(p) * 0.02)
    ids = torch.randint(1, 99, (2, 7))
    arguments = {"text": (ids,), "masked": (ids, torch.ones_like(ids)), "image": (torch.randn(2, 3, 32, 32),),
                 "sound": (torch.randn(2, 8, 32),)}[kind]

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, mask=None):
            if mask is not None and attention == "additive":  # as transformers had it up to version 4
                mask = (1.0 - mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
            more = {} if mask is None else {"attention_mask": mask}
            return self.model(x, **more)[0]

    axes = {n: ({0: "batch", 1: "tokens"} if kind in ("text", "masked") else {0: "batch"})
            for n in ["x", "mask"][:len(arguments)]}
    return First(), arguments, axes


def importlib_of(module, family: str, name: str):
    import importlib

    return getattr(importlib.import_module(f"{module.__name__}.modeling_{family}"), name)


def fused(path: pathlib.Path, model_type: str, runs: list) -> dict:
    """How many of each operator of ONNX Runtime's own domain the optimizer makes."""
    import onnx
    from onnxruntime.transformers import optimizer

    heads = {} if model_type == "vae" else {"num_heads": 4, "hidden_size": 32}
    result = optimizer.optimize_model(str(path), model_type=model_type, opt_level=0, **heads)
    optimized = path.with_suffix(".optimized.onnx")
    result.save_model_to_file(str(optimized))
    # ONNX Runtime has kernels of the fused operators of images for GPUs only.
    if model_type != "vae" and (problem := compare.agrees(optimized, runs)):
        return {"wrong": f"the optimized file {problem}"}
    before = {n.op_type for n in onnx.load(path).graph.node}
    after = collections.Counter(n.op_type for n in result.model.graph.node)
    return {op: count for op, count in after.items() if op not in before} | {"nodes": sum(after.values())}


# What ONNX Runtime makes of a norm or a GELU when it loads a file, with what it joins to it.
LOADED = {"LayerNormalization": "layer norm", "SkipLayerNormalization": "layer norm", "Gelu": "GELU", "BiasGelu": "GELU",
          "SimplifiedLayerNormalization": "RMS norm", "SkipSimplifiedLayerNormalization": "RMS norm",
          "FastGelu": "GELU", "QuickGelu": "SiLU"}


def loaded(path: pathlib.Path) -> dict:
    """How many of each kind of LOADED ONNX Runtime has after its own optimizations."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path.with_suffix(".loaded.onnx"))
    options.log_severity_level = 3  # a file that is optimized for this machine only is a warning
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(options.optimized_model_filepath).graph
    return collections.Counter(LOADED[n.op_type] for n in graph.node if n.op_type in LOADED)


def one(tool: str, name: str, attention: str, folder: pathlib.Path) -> dict:
    import warnings

    import torch

    warnings.simplefilter("ignore")
    model, arguments, axes = made(name, attention)
    with torch.no_grad():
        torch.jit.trace(model, arguments, check_trace=False).save(folder / "m.pt")
        runs = [([a.numpy() for a in arguments], [model(*arguments).numpy()])]
    torch.save(arguments, folder / "inputs.pt")
    words = [w for n, a in axes.items() if a
             for w in ("--dynamic-axes", f"{n}:" + ",".join(f"{k}={v}" for k, v in a.items()))]
    for opset, out in ((OPSET, "ours.onnx"), (OLD_OPSET, "old.onnx")):
        run = subprocess.run([tool, str(folder / "m.pt"), "--inputs", str(folder / "inputs.pt"), "--opset", str(opset),
                              "-o", str(folder / out), "--verify", *words], capture_output=True, text=True)
        if run.returncode:
            return {"failed": run.stderr.strip()[:300]}
    torch.onnx.export(model, arguments, str(folder / "reference.onnx"), dynamo=False, opset_version=OPSET,
                      input_names=list(axes), dynamic_axes=axes)
    return {who: fused(folder / f"{who}.onnx", MODELS[name][0], runs) for who in ("ours", "reference")} | {
        "loaded": {who: loaded(folder / f"{who}.onnx") for who in ("ours", "old", "reference")}}


def judged(name: str, attention: str, result: dict) -> list[str]:
    """What is wrong; prints the counts."""
    subject = f"{name} {attention}"
    if "failed" in result:
        return [f"{subject}: {result['failed']}"]
    mine, theirs = result["ours"], result["reference"]
    if "wrong" in mine:
        return [f"{subject}: {mine['wrong']}"]
    kinds = [k for k in sorted(mine | theirs) if k not in ("nodes", "wrong") and (mine.get(k) or theirs.get(k)) and k[0].isupper()]
    print(f"{subject}: nodes {mine['nodes']}/{theirs.get('nodes', '-')}; "
          + ", ".join(f"{k} {mine.get(k, 0)}/{theirs.get(k, 0)}" for k in kinds), flush=True)
    wrong = []
    counts = result["loaded"]
    for kind in dict.fromkeys(LOADED.values()):
        at_least = max(counts["ours"].get(kind, 0), counts["reference"].get(kind, 0))
        wrong += [f"{subject}: on load {counts[who].get(kind, 0)} {kind} from {who}.onnx, not {at_least}"
                  for who in ("ours", "old") if counts[who].get(kind, 0) < at_least]
    for k in FUSED:
        fewer = mine.get(k, 0) < theirs.get(k, 0)
        known = KNOWN.get((subject, k))
        if fewer and not known:
            wrong.append(f"{subject}: {k} {mine.get(k, 0)}, the reference's file gives {theirs.get(k, 0)}")
        if known and not fewer:
            wrong.append(f"{subject}: {k} is listed in KNOWN and is not fewer now")
    return wrong


FUSED = ["Attention", "MultiHeadAttention", "BiasAdd", "BiasSplitGelu", "GroupNorm", "SkipGroupNorm", "BiasGelu",
         "EmbedLayerNormalization", "FastGelu", "Gelu", "QuickGelu", "RotaryEmbedding",
         "SimplifiedLayerNormalization", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=compare.ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--filter", default="")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--tool")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    compare.enter()
    if options.one:
        print(json.dumps(one(options.tool, *options.one, options.folder)))
        return 0
    tool = str(options.build.resolve() / "onnx-export")
    subjects = [(n, a) for n in MODELS for a in ATTENTION
                if (a != "additive" or MODELS[n][2] == "masked") and (a != "sdpa" or MODELS[n][2] != "latents")
                and re.search(options.filter, f"{n} {a}")]
    wrong, passed = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (name, attention), result in zip(subjects, pool.map(lambda s: compare.in_own_process(__file__, tool, list(s)), subjects)):
            found = judged(name, attention, result)
            passed += not found
            wrong += found
    for w in wrong:
        print(f"FAIL {w}")
    print(f"{passed} passed, {len(subjects) - passed} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
