"""Packages of other people's models in .deps/foreign, made on demand beside the environment of the tests.

`prepare()` installs what is missing (a stamp makes repeating it free) and `enter()` puts the folder behind the packages
that are there already, so that nothing in it can replace torch or numpy. All is pinned and installed without
dependencies: torchvision's wheel would pull a CUDA build of torch, of which its Python models need nothing.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".deps/foreign"
PACKAGES = FOLDER / "packages"
MORE = FOLDER / "models"
STAMP = FOLDER / "stamp"

WANTED = [
    "torchvision==0.28.0", "timm==1.0.31", "transformers==5.23.0", "silero-vad==6.2.3",
    "expecttest==0.3.0",  # torch.testing's databases import it
    # what timm and transformers import
    "pillow==13.0.0", "huggingface_hub==2.4.0", "tokenizers==0.23.3", "safetensors==0.8.0", "regex==2026.11.15",
    "pyyaml==6.0.3", "tqdm==4.70.1", "typer==0.29.2", "annotated-doc==0.0.7", "annotated-types==0.8.0", "anyio==4.16.0",
    "click==8.5.1", "h11==0.16.0", "hf-xet==1.8.0", "httpcore2==2.16.2", "httpx2==2.16.2", "idna==3.20",
    "pydantic==2.14.3", "pydantic_core==2.50.4", "truststore==0.10.5", "typing-inspection==0.4.5",
    "shellingham==1.5.4", "rich==15.0.0",
]

# For docs/models.md only (run.py --models). torchaudio's compiled part wants CUDA; its models are Python.
FOR_MODELS = [
    "torchaudio==2.11.0", "conformer==0.3.2", "demucs==4.1.0", "julius==0.2.8", "deepctr-torch==0.3.0",
    "torch_geometric==2.8.1", "diffusers==0.42.1", "segmentation-models-pytorch==0.6.0", "monai==1.6.1",
    "vit-pytorch==1.26.11", "kornia==0.9.0",
    # what they import
    "einops==0.8.2", "hyper-connections==0.4.11", "loguru==0.7.3", "kornia_rs==0.2.0", "requests==2.34.2",
    "urllib3==2.8.0", "certifi==2026.10.18", "charset_normalizer==3.5.2", "xxhash==4.1.0", "psutil==7.2.2",
    "aiohttp==3.14.5", "multidict==7.2.1", "yarl==1.25.1", "attrs==26.1.0", "aiosignal==1.4.0", "frozenlist==1.8.0",
    "propcache==0.5.4", "aiohappyeyeballs==2.7.1",
]

# torchvision's compiled operators are not there (its wheels are linked against CUDA). It asks for these when it is
# imported; of those that models call (detection.py) the schemas are the real ones.
OPERATORS = ["nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
             "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
             "int sampling_ratio, bool aligned) -> Tensor",
             "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor"]
OPERATORS += [f"{name}(Tensor x) -> Tensor" for name in [
    "qnms", "_roi_align_backward", "qroi_align", "ps_roi_align", "_ps_roi_align_backward", "roi_pool",
    "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward", "deform_conv2d", "_deform_conv2d_backward"]]


def prepare(models: bool = False) -> str:
    """Installs the packages; says why that was not possible, or nothing."""
    return install(WANTED, PACKAGES, STAMP) or (install(FOR_MODELS, MORE, FOLDER / "stamp_models") if models else "")


def install(wanted: list[str], packages: pathlib.Path, stamp: pathlib.Path, sources: bool = False) -> str:
    """`sources`: some have no wheel and are built."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:  # test groups run beside each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install_locked(wanted, packages, stamp, sources)


def install_locked(wanted: list[str], packages: pathlib.Path, stamp: pathlib.Path, sources: bool) -> str:
    wants = "\n".join([sys.version, *sorted(wanted)])
    if stamp.is_file() and stamp.read_text() == wants:
        return ""
    part = FOLDER / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    print(f"installing {len(wanted)} packages into {packages.parent.relative_to(ROOT)}", flush=True)
    run = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                          "--no-compile", *([] if sources else ["--only-binary", ":all:"]), "--target", str(part),
                          *wanted],
                         capture_output=True, text=True)
    if run.returncode:
        shutil.rmtree(part)
        return (run.stderr.strip().splitlines() or ["no reason given"])[-1]
    packages.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(packages, ignore_errors=True)
    part.rename(packages)
    stamp.write_text(wants)
    return ""


def stand_in(*names: str) -> None:
    """Empty modules for what a package imports and its models do not need."""
    import importlib.machinery
    import types

    class Empty(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return _nothing

    for name in names:
        sys.modules[name] = Empty(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name].__path__ = []


class _Absent(type):
    def __bool__(cls):
        return False


class _nothing(metaclass=_Absent):
    """A class, a decorator, or a flag that says no."""

    def __new__(cls, function=None, *args, **kwargs):
        return function if callable(function) else super().__new__(cls)

    def __init_subclass__(cls, **kwargs):
        pass


def enter() -> None:
    """Makes the packages importable in this process."""
    import warnings

    warnings.simplefilter("ignore")
    os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
    if str(PACKAGES) not in sys.path:  # a process that another one started has its path
        sys.path += [str(PACKAGES), str(MORE)]
    if not _held:
        stand_in("torchaudio._extension", "torchaudio._extension.utils")  # linked against CUDA
        import torch

        torch.set_num_threads(1)
        library = torch.library.Library("torchvision", "DEF")
        for schema in OPERATORS:
            library.define(schema)
        _held.append(library)


_held = []  # operators live as long as their library
