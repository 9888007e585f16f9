"""Packages of other people's models in .deps/foreign, made on demand beside the environment of the tests.

`prepare()` installs what is missing (a stamp makes repeating it free) and `enter()` puts the folder behind the packages
that are there already, so that nothing in it can replace torch or numpy. All is pinned and installed without
dependencies: torchvision's wheel would pull a CUDA build of torch, of which its Python models need nothing.
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".deps/foreign"
PACKAGES = FOLDER / "packages"
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

# torchvision's compiled operators are not there (its wheels are linked against CUDA). It asks for these when it is
# imported; the models that call them are not among the cases.
OPERATORS = ["nms", "qnms", "roi_align", "_roi_align_backward", "qroi_align", "ps_roi_align", "_ps_roi_align_backward",
             "roi_pool", "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward", "deform_conv2d",
             "_deform_conv2d_backward"]


def prepare() -> str:
    """Installs the packages; says why that was not possible, or nothing."""
    stamp = "\n".join([sys.version, *sorted(WANTED)])
    if STAMP.is_file() and STAMP.read_text() == stamp:
        return ""
    part = FOLDER / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    print(f"installing {len(WANTED)} packages into {FOLDER.relative_to(ROOT)}", flush=True)
    run = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                          "--no-compile", "--only-binary", ":all:", "--target", str(part), *WANTED],
                         capture_output=True, text=True)
    if run.returncode:
        shutil.rmtree(part)
        return (run.stderr.strip().splitlines() or ["no reason given"])[-1]
    shutil.rmtree(PACKAGES, ignore_errors=True)
    part.rename(PACKAGES)
    STAMP.write_text(stamp)
    return ""


def enter() -> None:
    """Makes the packages importable in this process."""
    import warnings

    warnings.simplefilter("ignore")
    os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
    if str(PACKAGES) not in sys.path:  # a process that another one started has its path
        sys.path.append(str(PACKAGES))
    if not _held:
        import torch

        torch.set_num_threads(1)
        library = torch.library.Library("torchvision", "DEF")
        for name in OPERATORS:
            library.define(f"{name}(Tensor x) -> Tensor")
        _held.append(library)


_held = []  # operators live as long as their library
