"""Packages of other people's models in .deps/foreign, made on demand beside the environment of the tests.

`prepare()` installs what is missing (a stamp makes repeating it free) and `enter()` puts the folder behind the packages
that are there already, so that nothing in it can replace torch or numpy. All is pinned and installed without
dependencies: torchvision's wheel would pull a CUDA build of torch, of which its Python models need nothing.
"""
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

# torchvision's compiled operators are not there (its wheels are linked against CUDA); the schemas let it be imported,
# and detection models need these two to run.
SCHEMAS = [
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
]


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
    if str(PACKAGES) not in sys.path:  # a process that another one started has its path
        sys.path.append(str(PACKAGES))
    if not _held:
        import torch

        torch.set_num_threads(1)
        _torchvision_operators(torch)


_held = []  # operators live as long as their library


def _torchvision_operators(torch) -> None:
    library = torch.library.Library("torchvision", "DEF")
    _held.append(library)
    for schema in SCHEMAS:
        library.define(schema)
    for name in "qnms", "_roi_align_backward", "ps_roi_align", "_ps_roi_align_backward", "roi_pool", \
            "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward", "qroi_align", "deform_conv2d", \
            "_deform_conv2d_backward":
        library.define(f"{name}(Tensor x) -> Tensor")  # imported, never called
    library.impl("nms", _nms, "CPU")
    library.impl("roi_align", _roi_align, "CPU")


def _nms(boxes, scores, iou_threshold):
    import torch

    order = scores.argsort(descending=True, stable=True)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = []
    while order.numel():
        first, order = order[0], order[1:]
        kept.append(first)
        low = torch.maximum(boxes[first, :2], boxes[order, :2])
        high = torch.minimum(boxes[first, 2:], boxes[order, 2:])
        both = (high - low).clamp(min=0).prod(1)
        order = order[both / (area[first] + area[order] - both) <= iou_threshold]
    return torch.stack(kept) if kept else torch.zeros(0, dtype=torch.int64)


def _roi_align(x, rois, scale, height, width, sampling_ratio, aligned):
    from torchvision.ops.roi_align import _roi_align as in_python

    return in_python(x, rois, scale, height, width, sampling_ratio, aligned)
