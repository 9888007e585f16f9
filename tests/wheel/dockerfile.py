#!/usr/bin/env python3
"""The steps of the Dockerfile, one by one, each stage in a chroot of its own; then the image is used as a user would.

    dockerfile.py --folder DIR [--build-arg PIP_ARGS=...] [--bind DIR]

Needs root, debootstrap and the network, and compiles everything, so it is a step of a release and no test group.
DIR keeps the chroots: 3 GB with a CPU build of torch, 10 GB with that of PyPI. --bind shows a folder of this machine at
the same path inside of each stage, for packages that PIP_FIND_LINKS names.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

from cases import MODEL
from chroot import USER, Chroot, try_tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = "debian:12-slim"


@dataclasses.dataclass
class Stage:
    name: str
    root: Chroot
    work: str = "/"
    environment: dict[str, str] = dataclasses.field(default_factory=dict)  # ENV: of the image
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)  # ARG: of the steps that follow
    words: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # ENTRYPOINT and CMD


def instructions(text: str) -> list[tuple[str, str]]:
    """(name, rest), where a backslash continues a line and a comment is a line that begins with #."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", "")
    return [tuple(line.strip().split(None, 1)) for line in whole.splitlines() if line.strip()]


def assignment(text: str) -> tuple[str, str]:
    (word,) = shlex.split(text)
    name, _, value = word.partition("=")
    return name, value


def copy(stage: Stage, stages: list[Stage], rest: str, ignored: set[str]) -> None:
    source, *words = rest.split()
    if source.startswith("--from="):
        origin = next(s for s in stages if s.name == source.removeprefix("--from=")).root
        source, *words = words
        top = origin.path(source)
    else:
        top = ROOT / source
    (target,) = words
    into = stage.root.path(pathlib.PurePosixPath("/", stage.work, target))
    # Only names at the top are in .dockerignore.
    shutil.copytree(top, into, symlinks=True, dirs_exist_ok=True,
                    ignore=lambda folder, names: ignored & set(names) if pathlib.Path(folder) == ROOT else set())


def build(folder: pathlib.Path, given: dict[str, str], bound: list[pathlib.Path]) -> Stage:
    ignored = set((ROOT / ".dockerignore").read_text().split())
    stages: list[Stage] = []
    for name, rest in instructions((ROOT / "Dockerfile").read_text()):
        start = time.monotonic()
        if name == "FROM":
            image, *as_name = rest.split()
            if image != BASE:
                raise SystemExit(f"FAIL this script starts from {BASE}, not from {image}")
            stage_name = as_name[1] if as_name else str(len(stages))
            place = folder / f"stage-{stage_name}"
            shutil.rmtree(place, ignore_errors=True)
            stages.append(Stage(stage_name, Chroot(place, folder / "base")))
            for path in bound:
                stages[-1].root.bind(path, str(path))
        elif name == "ENV":
            stages[-1].environment.update([assignment(rest)])
        elif name == "ARG":
            argument, default = assignment(rest)
            stages[-1].arguments[argument] = given.get(argument, default)
        elif name == "WORKDIR":
            stages[-1].work = rest
            stages[-1].root.path(rest).mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            copy(stages[-1], stages, rest, ignored)
        elif name == "RUN":
            stage = stages[-1]
            stage.root.run(["/bin/sh", "-c", rest], stage.work, **stage.arguments, **stage.environment)
        elif name in ("ENTRYPOINT", "CMD"):
            stages[-1].words[name] = json.loads(rest)
        else:
            raise SystemExit(f"FAIL this script does not know {name}")
        print(f"{time.monotonic() - start:6.0f} s  {name} {re.sub(' +', ' ', rest)}", flush=True)
    return stages[-1]


def use(image: Stage, folder: pathlib.Path) -> None:
    """`docker run --rm -v "$PWD:/work" -u 1000:1000 onnx-export WORDS`."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "make.py").write_text(MODEL)
    os.chown(work, USER, USER)
    image.root.bind(work, "/work", writable=True)
    entry = image.words["ENTRYPOINT"]
    user = {"user": f"{USER}:{USER}", "HOME": "/"}
    if "usage: " not in image.root.run([*entry, *image.words["CMD"]], image.work, **user).lower():
        raise SystemExit("FAIL without words the image does not print its help")
    python = str(pathlib.PurePosixPath(entry[0]).with_name("python3"))
    image.root.run([python, "make.py"], image.work, **user)
    try_tool(image.root, entry, image.work, **user)
    image.root.require_no_compiler()
    if (work / "model.onnx").stat().st_uid != USER:
        raise SystemExit("FAIL the file does not belong to the user of -u")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--bind", action="append", default=[], type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    image = build(folder, dict(a.split("=", 1) for a in options.build_arg), options.bind)
    size = subprocess.run(["du", "-sh", image.root.folder], capture_output=True, text=True).stdout.split()[0]
    print(f"the image has {size}")
    use(image, folder)
    print("every step ended well, and the image converts")


if __name__ == "__main__":
    main()
