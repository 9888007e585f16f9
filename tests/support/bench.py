"""Time and memory of whole processes: this tool beside torch.onnx.export(dynamo=False).

    bench.py --tool build/release/onnx-export --work DIR [--runs 5] [--only NAME,...]

Both read the same .pt and write opset 17 with a dynamic batch. Runs alternate; medians are printed.
"""
import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
OPSET = 17
LIMIT_S = 900  # a run that takes longer is reported as such and not repeated

REFERENCE = """
import sys, warnings
import torch
warnings.simplefilter("ignore")
source, target, *shape = sys.argv[1:]
model = torch.jit.load(source)
x = torch.randn([int(n) for n in shape])
torch.onnx.export(model, (x,), target, dynamo=False, opset_version=%d, input_names=["x"],
                  dynamic_axes={"x": {0: "batch"}})
""" % OPSET


def make(name: str, path: pathlib.Path) -> None:
    import torch
    from torch import nn

    import language
    import vision

    class Chain(nn.Module):
        """Nodes that no converter can merge or fold."""

        def __init__(self, nodes: int):
            super().__init__()
            self.nodes = nodes

        def forward(self, x):
            for i in range(self.nodes // 2):
                x = torch.sin(x)
                x = torch.cos(x)
            return x

    torch.manual_seed(0)
    if name == "resnet50":
        module, shape = vision.ResNet((3, 4, 6, 3), True), SHAPES[name]
    elif name.startswith("chain"):
        module, shape = Chain(10 ** int(name[-1])), SHAPES[name]
    elif name == "weights_1GiB":
        module = nn.Sequential(*[nn.Linear(4096, 4096, bias=False) for _ in range(16)])
        shape = SHAPES[name]
    else:
        module, shape = language.Encoder(512, 8, 6, 2048), SHAPES[name]
    traced = torch.jit.trace(module.eval(), torch.randn(shape), check_trace=False)
    torch.jit.save(traced, path)


SHAPES = {"resnet50": [1, 3, 224, 224], "chain_10^3": [2, 4], "chain_10^4": [2, 4],
          "chain_10^5": [2, 4], "weights_1GiB": [2, 4096], "encoder": [2, 32, 512]}


def measure(command: list[str]) -> tuple[float, float] | None:
    """Seconds and peak MiB of the largest process; None when it took too long."""
    # A process of its own waits for the command, so that children's peaks do not add up over runs.
    watcher = ("import resource, subprocess, sys, time\n"
               "start = time.perf_counter()\n"
               "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
               "print(code, time.perf_counter() - start,\n"
               "      resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)\n")
    run = subprocess.Popen([sys.executable, "-c", watcher, *command], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, errors = run.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return None
    code, seconds, mib = output.split()
    if code != "0":
        raise RuntimeError(errors.strip().splitlines()[-1] if errors.strip() else f"exit code {code}")
    return float(seconds), float(mib)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(SHAPES))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} cores, {options.runs} runs each, alternating, medians; opset {OPSET}\n")
    print("| model | ours | reference | ratio | ours, peak | reference, peak |")
    print("|---|---|---|---|---|---|")
    for name in options.only.split(","):
        source = options.work / f"{name}.pt"
        if not source.exists():
            make(name, source)
        shape = [str(n) for n in SHAPES[name]]
        target = options.work / f"{name}.onnx"
        ours = [options.tool, str(source), "-o", str(target), "--force", "--opset", str(OPSET),
                "--input", "batch=" + "x".join(shape)]
        theirs = [sys.executable, "-c", REFERENCE, str(source), str(target), *shape]
        times: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
        missing = ""  # why the reference has no figure
        for _ in range(options.runs):
            for who, command in (("ours", ours), ("theirs", theirs)):
                if who == "theirs" and missing:
                    continue
                try:
                    result = measure(command)
                except RuntimeError as e:
                    if who == "ours":
                        sys.exit(f"error: {name}: {e}")
                    missing = "refuses it"
                    continue
                if result is None and who == "ours":
                    sys.exit(f"error: {name} took more than {LIMIT_S} s")
                if result is None:
                    missing = f"over {LIMIT_S} s"
                else:
                    times[who].append(result)
                for left in options.work.glob(f"{name}.onnx*"):
                    left.unlink()
        seconds, peak = (statistics.median(c) for c in zip(*times["ours"]))
        if times["theirs"]:
            their_seconds, their_peak = (statistics.median(c) for c in zip(*times["theirs"]))
            print(f"| {name} | {seconds:.2f} s | {their_seconds:.2f} s | 1/{their_seconds / seconds:.1f} "
                  f"| {peak:.0f} MiB | {their_peak:.0f} MiB |", flush=True)
        else:
            print(f"| {name} | {seconds:.2f} s | {missing} | | {peak:.0f} MiB | |", flush=True)


if __name__ == "__main__":
    main()
