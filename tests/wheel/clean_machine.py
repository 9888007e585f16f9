#!/usr/bin/env python3
"""The wheel, the Debian package and the tarball, each on a Debian 12 without compiler and sources.

    clean_machine.py --dist dist --folder DIR [--bind DIR] [pip|pipx|deb|tarball...]

Each is installed in a chroot of its own with the commands of docs/packages.md, and converts. Needs root, debootstrap
and the network, and installs torch each time, so it is a step of a release and no test group. --bind is that of
dockerfile.py, which compiles what this script does not.
"""
import argparse
import os
import pathlib
import re
import shutil

from cases import MODEL
from chroot import USER, Chroot, try_tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = "/home/somebody"
INSTALL = "apt-get update -qq && apt-get install -y -qq --no-install-recommends "


def commands(first: str) -> list[str]:
    """The lines of the example of docs/packages.md that begins with `first`, without comments."""
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "docs/packages.md").read_text(), re.M | re.S)
    (block,) = (b for b in blocks if b.startswith(first))
    return [re.sub(r"\s+#.*", "", line) for line in block.splitlines()]


class Machine:
    def __init__(self, name: str, options: argparse.Namespace):
        place = options.folder / name
        shutil.rmtree(place, ignore_errors=True)
        self.root = Chroot(place, options.folder / "base")
        for path in options.bind:
            self.root.bind(path, str(path))
        (self.root.path("etc/apt/apt.conf.d") / "yes").write_text('APT::Get::Assume-Yes "true";\n')
        self.home = self.root.path(HOME)
        shutil.copytree(options.dist, self.home / "dist")
        (self.home / "make.py").write_text(MODEL)
        self.sh("useradd somebody && chown -R somebody: .", root=True)

    def how(self, root: bool) -> dict[str, str]:
        return {} if root else {"user": f"{USER}:{USER}", "HOME": HOME}

    def sh(self, command: str, root: bool = False) -> str:
        print(f"{'#' if root else '$'} {command}", flush=True)
        return self.root.run(["/bin/sh", "-c", command], HOME, **self.how(root))

    def use(self, *tool: str) -> None:
        try_tool(self.root, list(tool), HOME, **self.how(False))
        self.root.require_no_compiler()


def pip(m: Machine) -> None:
    m.sh(INSTALL + "ca-certificates python3-venv", root=True)
    install, convert = commands("pip install dist")
    m.sh("python3 -m venv venv")
    m.sh(f". venv/bin/activate && {install} && python3 make.py && {convert}")
    m.use("venv/bin/onnx-export")


def pipx(m: Machine) -> None:
    m.sh(INSTALL + "ca-certificates pipx", root=True)
    for command in commands("pipx install"):
        m.sh(command)
    m.sh(".local/pipx/venvs/onnx-export/bin/python3 make.py")
    m.use(".local/bin/onnx-export")


def deb(m: Machine) -> None:
    m.sh(INSTALL + "ca-certificates python3-pip", root=True)
    for command in commands("apt install ./dist"):
        m.sh(command, root=True)
    m.sh("PYTHONPATH=/usr/lib/onnx-export python3 make.py")
    m.use("onnx-export")
    if not m.root.path("usr/share/man/man1/onnx-export.1.gz").exists():
        m.sh("test -f /usr/share/man/man1/onnx-export.1")
    m.sh("apt-get remove onnx-export && ! command -v onnx-export", root=True)


def tarball(m: Machine) -> None:
    m.sh(INSTALL + "ca-certificates python3-venv", root=True)
    m.sh("python3 -m venv venv && venv/bin/pip install 'torch==2.13.*' onnxruntime && venv/bin/python3 make.py")
    m.sh("mv dist/*.tar.gz .")
    for command in commands("tar xzf"):
        m.sh(command)
    (place,) = m.home.glob("onnx-export-*/bin/onnx-export")
    m.use("env", "ONNX_EXPORT_TORCH=venv", str(place.relative_to(m.home)))


def main() -> None:
    ways = {f.__name__: f for f in (pip, pipx, deb, tarball)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--bind", action="append", default=[], type=pathlib.Path, metavar="DIR")
    parser.add_argument("ways", nargs="*", choices=[*ways, []], metavar="WAY")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    for name in options.ways or ways:
        print(f"=== {name}", flush=True)
        ways[name](Machine(name, options))
    print(f"{', '.join(options.ways or ways)}: installed, and converts")


if __name__ == "__main__":
    main()
