"""What python/make_wheel.py found out about the binaries: build.json, beside this file."""
import json
import pathlib

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel

BUILD = json.loads((pathlib.Path(__file__).parent / "build.json").read_text())


class Distribution(setuptools.Distribution):
    """Into the folder for binaries, where torch is."""

    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """Executables for one platform, and no extension module: any Python 3."""

    def get_tag(self):
        return "py3", "none", BUILD["platform"]


setuptools.setup(version=BUILD["version"], install_requires=BUILD["requires"], distclass=Distribution,
                 cmdclass={"bdist_wheel": Wheel})
