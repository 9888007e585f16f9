"""What other tools make of our files, beside what they make of the reference exporter's.

    friends.py --build build/release [--jobs N] [--filter REGEX] [--report FILE] [--write-table]

25 models of tests/foreign are converted at opset 17 with a dynamic batch, by the tool and by torch.onnx.export with
dynamo=False. Each file goes through the tools that people run on an ONNX file next. A tool that works with the
reference's file has to work with ours; KNOWN names where it does not, and says why. --write-table writes
docs/friends.md.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import sys
import textwrap
import warnings

import compare  # beside this file

environment = compare.environment
compare.OPSET = 17
PACKAGES = compare.ROOT / ".deps/friends/packages"
WANTED = ["openvino==2026.4.1", "openvino-telemetry==2025.2.0", "onnx2torch==1.5.15", "onnxconverter-common==1.16.0"]
MODELS = {
    "vision": ["squeezenet1_1", "mobilenet_v3_small", "shufflenet_v2_x0_5", "efficientnet_b0", "densenet121", "resnet18",
               "convnext_tiny", "swin_t", "lraspp_mobilenet_v3_large", "mnasnet0_5"],
    "timm_models": ["edgenext_xx_small", "ghostnet_050", "mixer_s32_224", "vit_tiny_patch16_224", "xcit_nano_12_p16_224",
                    "levit_128s"],
    "transformer_models": ["BertModel", "GPT2LMHeadModel", "LlamaForCausalLM", "T5Model", "BartForConditionalGeneration",
                           "ViTModel", "SegformerModel", "Wav2Vec2Model", "MambaModel"],
}
KNOWN: dict = {}
HEAD = """# Other tools

Written by `tests/graphs/friends.py --write-table`: {models} models of other people's packages,
converted at opset {opset} with a dynamic batch, and what the tools that people run next make of our
file and of the file of `torch.onnx.export(dynamo=False)`. A tool works where it ends without an
error and, where its result runs, ONNX Runtime or the tool itself gives LibTorch's result (for
quantized and float16 files: finite numbers of the right shapes).

{names}.

"""


# --- the tools; each returns why it does not work, or nothing

def shape_inference(path, files):
    import onnx

    onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)


def symbolic_shape_infer(path, files):
    import onnx
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    SymbolicShapeInference.infer_shapes(onnx.load(path), int_max=2**31 - 1, auto_merge=True, guess_output_rank=False,
                                        verbose=0)


def runs(path, files, exact=False):
    """Why ONNX Runtime does not run the file."""
    import numpy
    import onnxruntime

    if exact:
        return compare.agrees(path, files.runs)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs, expected = files.runs[0]
    outputs = session.run(None, {i.name: v for i, v in zip(session.get_inputs(), inputs)})
    for a, b in zip(outputs, expected):
        if a.shape != b.shape:
            return f"an output of {a.shape} instead of {b.shape}"
        if not numpy.isfinite(a[numpy.isfinite(b)]).all():
            return "numbers that are not finite"
    return None


def quantize_dynamic(path, files):
    from onnxruntime.quantization import quantize_dynamic

    out = path.with_suffix(".dynamic.onnx")
    quantize_dynamic(path, out)
    return runs(out, files)


def quantize_static(path, files):
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    names = [i.name for i in onnxruntime.InferenceSession(str(path)).get_inputs()]

    class Reader(CalibrationDataReader):
        left = [dict(zip(names, files.runs[0][0]))]

        def get_next(self):
            return self.left.pop() if self.left else None

    out = path.with_suffix(".static.onnx")
    quantize_static(str(path), str(out), Reader())
    return runs(out, files)


def version_converter(path, files):
    import onnx
    from onnx import version_converter

    out = path.with_suffix(".version.onnx")
    onnx.save(version_converter.convert_version(onnx.load(path), 21), out)
    return runs(out, files, exact=True)


def float16(path, files):
    import onnx
    from onnxconverter_common import float16

    out = path.with_suffix(".half.onnx")
    onnx.save(float16.convert_float_to_float16(onnx.load(path), keep_io_types=True), out)
    return runs(out, files)


def openvino(path, files):
    import numpy
    import openvino as ov

    compiled = ov.Core().compile_model(ov.Core().read_model(str(path)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    inputs, expected = files.runs[0]
    outputs = compiled(list(inputs))
    for i, b in enumerate(expected):
        if not numpy.allclose(outputs[i], b, rtol=0, atol=1e-3 * max(1.0, float(numpy.abs(b).max(initial=0)))):
            return "differs from LibTorch"
    return None


def onnx2torch(path, files):
    import onnx2torch
    import torch

    module = onnx2torch.convert(str(path)).eval()
    inputs, expected = files.runs[0]
    with torch.no_grad():
        outputs = module(*[torch.from_numpy(v) for v in inputs])
    for a, b in zip([outputs] if isinstance(outputs, torch.Tensor) else outputs, expected):
        limit = 1e-3 * max(1.0, float(abs(b).max(initial=0)))
        if not torch.allclose(a, torch.from_numpy(b), rtol=0, atol=limit):
            return "differs from LibTorch"
    return None


TOOLS = {"onnx.shape_inference": shape_inference, "symbolic_shape_infer": symbolic_shape_infer,
         "quantize_dynamic": quantize_dynamic, "quantize_static": quantize_static,
         "version converter to 21": version_converter, "float16 converter": float16, "OpenVINO": openvino,
         "onnx2torch": onnx2torch}


# --- one model, in a process of its own

def one(tool: str, family: str, subject: str, folder: pathlib.Path) -> dict:
    warnings.simplefilter("ignore")
    files = compare.Files(tool, family, subject, folder, ["reference"])
    if "ours" not in files.paths:
        return {"failed": files.said["ours"]}
    result = {}
    for who, path in files.paths.items():
        result[who] = {}
        for name, run in TOOLS.items():
            try:
                result[who][name] = run(path, files) or ""
            except (Exception, SystemExit) as e:
                said = str(e).strip().splitlines()
                result[who][name] = f"{type(e).__name__}: {said[0][:160] if said else ''}"
    return result


# --- all of them

def judged(subject: str, result: dict) -> list[str]:
    if "failed" in result:
        return [f"{subject}: {result['failed']}"]
    mine, theirs = result["ours"], result.get("reference", {})
    wrong = []
    for name in TOOLS:
        worse = mine[name] and not theirs.get(name, "no file")
        known = KNOWN.get((subject, name))
        if mine[name] or theirs.get(name, ""):
            print(f"{subject}: {name}: ours: {mine[name] or 'works'}; reference: "
                  f"{theirs.get(name, 'no file') or 'works'}", flush=True)
        if worse and not known:
            wrong.append(f"{subject}: {name}: {mine[name]}")
        if known and not worse:
            wrong.append(f"{subject}: {name} is listed in KNOWN and is no worse now")
    return wrong


def head(subjects: list[str]) -> str:
    names = textwrap.fill("The models: " + ", ".join(subjects), 99)
    return HEAD.format(models=len(subjects), opset=compare.OPSET, names=names)


def table(results: dict) -> str:
    text = ["| tool | ours | reference |", "|---|---|---|"]
    for name in TOOLS:
        counts = [sum(not r.get(who, {}).get(name, "no file") for r in results.values()) for who in ("ours", "reference")]
        text.append(f"| {name} | {counts[0]} | {counts[1]} |")
    lines = [f"- {subject}, {name}: {why}" for (subject, name), why in KNOWN.items()]
    return "\n".join(text + (["", "Where it works with the reference's file only:", "", *lines] if lines else []))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=compare.ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--filter", default="")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--write-table", action="store_true")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--tool")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    compare.enter()
    problem = environment.install(WANTED, PACKAGES, PACKAGES.parent / "stamp")
    if problem:
        raise SystemExit(problem)
    sys.path.append(str(PACKAGES))
    if options.one:
        print(json.dumps(one(options.tool, *options.one, options.folder)))
        return 0
    subjects = [(f, s) for f, every in MODELS.items() for s in every if re.search(options.filter, s)]
    tool = str(options.build.resolve() / "onnx-export")
    results, wrong = {}, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (_, subject), result in zip(subjects, pool.map(lambda s: compare.in_own_process(__file__, tool, *s), subjects)):
            results[subject] = result
            wrong += judged(subject, result)
    print(table(results))
    if options.report:
        options.report.write_text(json.dumps(results, indent=1))
    if options.write_table:
        text = head(list(results)) + table(results) + "\n"
        (compare.ROOT / "docs/friends.md").write_text(text)
    for line in wrong:
        print(f"FAIL {line}")
    print(f"{len(subjects) - len({w.split(':')[0] for w in wrong})} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
