"""Conversions on a real GPU. No other test needs one, so nothing runs this by itself.

    run.py --build build/release [--torch DIR] [--ort-lib LIB] [--only NAME,...] [--jobs N]

Each test model is traced or scripted on the CPU and converted with --device cpu and --device cuda: both
files must have the same bytes and verify. The model is then moved to the GPU, saved there, and converted
on both devices. --ort-lib names the library of the onnxruntime-gpu package: the results are then also
compared with ONNX Runtime on the GPU.
"""
import concurrent.futures
import json
import pathlib
import sys
import tempfile
import threading
import time
import warnings

import torch

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("safety", "models")]
import catalogue  # noqa: E402
import harness  # noqa: E402
import make_models  # noqa: E402

LIMIT_S = 300


class Tool:
    """Runs onnx-export, and keeps the seconds of its conversions by device."""

    def __init__(self, s: harness.Suite, torch_folder: pathlib.Path, ort_lib: str):
        self.program, self.torch, self.ort_lib = s.tool, torch_folder, ort_lib
        self.seconds: dict[str, float] = {"cpu": 0.0, "cuda": 0.0}

    def run(self, words: list, folder: pathlib.Path) -> harness.Result:
        environment = harness.environment(ONNX_EXPORT_TORCH=str(self.torch))
        return harness.run([self.program, *words], folder, timeout=LIMIT_S, env=environment)

    def convert(self, model: catalogue.Model, source: pathlib.Path, target: pathlib.Path, device: str,
                *more: str) -> bytes:
        """The file's bytes. Its name is the source's in each folder, because state files name it."""
        words = [source, "-o", target, "--device", device, "--verify", "--verify-runs", "1", "-q", "--no-metadata", *more]
        for i in model.inputs:
            words += ["--input", i.spec(model.sizes)]
        start = time.monotonic()
        done = self.run(words, target.parent)
        self.seconds[device] += time.monotonic() - start
        assert done.code == 0, f"--device {device} {' '.join(more)}: exit code {done.code}\n{done.err[-1500:]}"
        return target.read_bytes()


class Tests:
    def __init__(self, s: harness.Suite, tool: Tool, work: pathlib.Path):
        self.s, self.tool, self.work, self.lock = s, tool, work, threading.Lock()

    def case(self, name: str, check) -> None:
        problem = None
        try:
            check()
        except Exception as e:  # the suite prints it
            problem = e

        def outcome() -> None:
            if problem is not None:
                raise problem

        with self.lock:
            self.s.case(name, outcome)

    def model(self, model: catalogue.Model, form: str) -> None:
        folder = self.work / f"{model.name}.{form}"
        for name in ("cpu", "cuda", "provider", "saved_cpu", "saved_cuda"):
            (folder / name).mkdir(parents=True)
        source = folder / "model.pt"
        try:
            with self.lock:  # the seed and the default device are the process's
                make_models.make(model, form, source)
        except RuntimeError:
            return  # this version of PyTorch does not make it: the models' own test is about that
        label = f"{model.name} {form}"

        def same() -> None:
            cpu = self.tool.convert(model, source, folder / "cpu/model.onnx", "cpu")
            cuda = self.tool.convert(model, source, folder / "cuda/model.onnx", "cuda")
            assert cpu == cuda, f"{len(cpu)} bytes from the CPU, {len(cuda)} other ones from the GPU"

        def saved() -> None:
            on_gpu = folder / "saved.pt"
            with self.lock:
                torch.jit.save(torch.jit.load(source).cuda(), on_gpu)
            for device in ("cpu", "cuda"):
                self.tool.convert(model, on_gpu, folder / f"saved_{device}/model.onnx", device)

        def provider() -> None:
            self.tool.convert(model, source, folder / "provider/model.onnx", "cuda", "--provider", "cuda",
                              "--ort-lib", self.tool.ort_lib)

        self.case(f"{label}: the same bytes", same)
        self.case(f"{label}: saved on the GPU", saved)
        if self.tool.ort_lib:
            self.case(f"{label}: ONNX Runtime on the GPU", provider)

    def traced_on_gpu(self) -> None:
        """A trace that was made on the GPU has its device in the code, and constants there."""
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(8, 8)

            def forward(self, x):
                mask = torch.arange(x.shape[1], device=x.device) > 2
                return self.line(x) * mask + torch.ones(8, device="cuda") * torch.tensor(2.0).cuda()

        files = {}
        x = torch.ones(2, 8, device="cuda")
        half = Net().cuda().half()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files["float32"] = torch.jit.trace(Net().cuda(), x)
            files["float16"] = torch.jit.trace(half, x.half())
            with torch.autocast("cuda"):
                files["autocast"] = torch.jit.trace(Net().cuda(), x, check_trace=False)
        for name, file in files.items():
            folder = self.work / f"traced_{name}"
            folder.mkdir()
            file.save(folder / "model.pt")

            def check(folder=folder, name=name) -> None:
                spec = "x:2x8@f16" if name == "float16" else "x:2x8"
                for device in ("cuda", "cpu"):
                    done = self.tool.run(["model.pt", "--input", spec, "--device", device, "--verify", "--force"],
                                         folder)
                    assert done.code == 0 and "verified" in done.err, f"{device}: {done.code} {done.err}"

            self.case(f"traced on the GPU, {name}", check)

    def messages(self) -> None:
        folder = self.work / "messages"
        folder.mkdir()
        torch.jit.script(torch.nn.Linear(4, 3)).save(folder / "model.pt")

        def run(*words: str) -> harness.Result:
            return self.tool.run(["model.pt", "--input", "2x4", "--force", *words], folder)

        def doctor() -> None:
            done = self.tool.run(["doctor", "--json"], folder)
            found = json.loads(done.out)["libtorch"]
            assert found["cuda"] and found["cuda_devices"] == torch.cuda.device_count(), found
            assert not found["cuda_missing"], found

        def too_high() -> None:
            done = run("--device", f"cuda:{torch.cuda.device_count()}")
            assert done.code == 10 and "[OE0612]" in done.err, f"{done.code} {done.err}"

        def confined() -> None:
            done = run("--device", "cuda", "--verify", "--json")
            report = json.loads(done.out)
            print("sandbox of a conversion on the GPU:", json.dumps(report.get("sandbox")), flush=True)
            assert done.code == 0, done.err
            for mode in ("require", "off"):
                done = run("--device", "cuda", "--verify", "--sandbox", mode)
                assert done.code in ({0, 10} if mode == "require" else {0}), f"{mode}: {done.code} {done.err}"

        def no_kernels() -> None:
            done = run("--verify", "--provider", "cuda")
            assert done.code == 10 and "[OE0613]" in done.err, f"{done.code} {done.err}"

        for check in (doctor, too_high, confined, *(() if self.tool.ort_lib else (no_kernels,))):
            self.case(check.__name__, check)


def main() -> int:
    s = harness.Suite(__doc__.splitlines()[0], "tests/cuda/run.py")
    s.parser.add_argument("--torch", type=pathlib.Path, default=pathlib.Path(torch.__file__).parent)
    s.parser.add_argument("--ort-lib", default="")
    s.parser.add_argument("--only", default="")
    options = s.start()
    if not torch.cuda.is_available():
        sys.exit("error: there is no GPU, or this PyTorch is a build for CPUs")
    tool = Tool(s, options.torch, options.ort_lib)
    only = set(filter(None, options.only.split(",")))
    models = [(m, form) for m in catalogue.true() + catalogue.small() for form in ("traced", "scripted")
              if getattr(m, form) and (not only or m.name in only)]
    with tempfile.TemporaryDirectory(prefix="cuda-") as root, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tests = Tests(s, tool, pathlib.Path(root).resolve())
        tests.messages()
        tests.traced_on_gpu()
        for done in [pool.submit(tests.model, *m) for m in models]:
            done.result()
    print(f"conversions took {tool.seconds['cpu']:.0f} s on the CPU, {tool.seconds['cuda']:.0f} s on the GPU")
    return s.end()


if __name__ == "__main__":
    sys.exit(main())
