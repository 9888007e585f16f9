"""--to: weights and arithmetic in 16 bits, run by ONNX Runtime and compared with PyTorch in float64.

    precision.py --build build/release [--only NAME]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import half_models  # noqa: E402

OPSETS = (11, 13, 18)
# Largest error as a part of the largest element: measured are 0.3 % at most, and one wrong type, norm or cast costs more.
ALLOWED = 0.01
INPUTS = {
    "images": lambda: [torch.randn(3, 3, 16, 16)],
    "words": lambda: [torch.randint(0, 40, (7, 3))],
    "attention": lambda: [torch.randn(2, 6, 32), torch.arange(6).expand(2, 6) < torch.tensor([[4], [6]])],
    "flow": lambda: [torch.randn(5, 8), torch.tensor(6)],
    "beyond": lambda: [torch.randn(3, 4)],
    "shared": lambda: [torch.randint(0, 20, (3, 4))],
}


def converted(tool: pathlib.Path, folder: pathlib.Path, name: str, *words: str) -> tuple[pathlib.Path, dict]:
    target = folder / f"{name}.onnx"
    inputs = [w for spec in half_models.MODELS[name][1] for w in ("--input", spec)]
    run = subprocess.run([str(tool), str(folder / f"{name}.pt"), *inputs, "-o", str(target), "--force", "--json", *words],
                         capture_output=True, text=True)
    assert run.returncode == 0, f"{' '.join(words)}: exit code {run.returncode}\n{run.stdout}{run.stderr}"
    return target, json.loads(run.stdout)


def exact(folder: pathlib.Path, name: str, inputs: list[torch.Tensor]) -> list[numpy.ndarray]:
    module = torch.jit.load(str(folder / f"{name}.pt")).double()
    given = [int(x) if x.dim() == 0 else x.double() if x.is_floating_point() else x for x in inputs]
    # What the model makes in float32 by name would not meet float64.
    try:
        with torch.no_grad():
            results = module(*given)
    except RuntimeError:
        module = module.float()
        results = module(*[x.float() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in given])
    return [r.detach().numpy() for r in (results if isinstance(results, tuple) else [results])]


def compare(session, inputs: list[torch.Tensor], expected: list[numpy.ndarray]) -> float:
    types = {"tensor(float16)": numpy.float16, "tensor(float)": numpy.float32}
    given = {i.name: x.numpy().astype(types[i.type]) if i.type in types else x.numpy()
             for i, x in zip(session.get_inputs(), inputs)}
    worst = 0.0
    for actual, e in zip(session.run(None, given), expected, strict=True):
        assert actual.shape == e.shape, f"shape {actual.shape}, expected {e.shape}"
        if not numpy.issubdtype(actual.dtype, numpy.floating):
            assert (actual == e).mean() > 0.8, "indices differ by more than ties"
            continue
        assert numpy.isfinite(actual).all(), "not finite"
        worst = max(worst, float(numpy.abs(actual - e).max() / max(numpy.abs(e).max(), 1e-30)))
    return worst


def check_float16(tool: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    for opset in OPSETS:
        for io in ("float32", "half"):
            target, report = converted(tool, folder, name, "--opset", str(opset), "--to", f"fp16:io={io}")
            session = onnxruntime.InferenceSession(str(target))
            floats = {v.type for v in session.get_inputs() + session.get_outputs() if "float" in v.type}
            assert floats == {"tensor(float16)" if io == "half" else "tensor(float)"}, (opset, io, floats)
            for seed in range(3):
                torch.manual_seed(seed)
                inputs = INPUTS[name]()
                if io == "half":
                    inputs = [x.half().float() if x.is_floating_point() else x for x in inputs]
                worst = compare(session, inputs, exact(folder, name, inputs))
                assert worst <= ALLOWED, f"opset {opset}, io {io}: off by {100 * worst:.2f} % of the largest element"
            assert report["precision"]["nodes"] > 0, report["precision"]


def check_bfloat16(tool: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    """ONNX Runtime cannot run it; the tool's own verification does, and ends with 11 where ties are left."""
    for opset in (13, 18, 22):
        _, report = converted(tool, folder, name, "--opset", str(opset), "--to", "bf16", "--verify")
        assert "verified" in report["verification"]["text"], report["verification"]


def check_size(tool: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    """The weights that are not kept are half as large, and none of them is cast when the model runs."""
    _, before = converted(tool, folder, name)
    _, after = converted(tool, folder, name, "--to", "fp16")
    assert after["parameter_bytes"] < 0.56 * before["parameter_bytes"], (before["parameter_bytes"], after["parameter_bytes"])


def check_no_cast_of_weights(tool: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    text = subprocess.run([str(tool), str(folder / f"{name}.pt"), "--to", "fp16", "-v", "--dry-run",
                           *[w for s in half_models.MODELS[name][1] for w in ("--input", s)]],
                          capture_output=True, text=True, check=True).stdout
    state = torch.jit.load(str(folder / f"{name}.pt")).state_dict()
    casts = re.findall(r"= Cast <[^>]*> \(\"?([^\")]+)", text)
    assert casts and not set(casts) & set(state), casts
    # A value has one cast to a type, and none of a cast.
    pairs = re.findall(r"= Cast <to = (\d+)> \(\"?([^\")]+)", text)
    assert len(pairs) == len(set(pairs)), pairs


CASES = ([(check_float16, n) for n in half_models.MODELS] +
         [(check_bfloat16, n) for n in half_models.MODELS if n != "shared"] +
         [(check_size, n) for n in ("images", "words", "attention")] +
         [(check_no_cast_of_weights, n) for n in ("words", "attention", "flow")])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    tool = options.build.resolve() / "onnx-export"
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="precision_") as top:
        folder = pathlib.Path(top)
        half_models.make(folder)
        for check, name in CASES:
            label = f"{check.__name__[6:]} {name}"
            if options.only not in label:
                continue
            try:
                check(tool, folder, name)
                passed += 1
            except Exception as e:
                failed += 1
                print(f"FAIL {label}: {type(e).__name__}: {e}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
