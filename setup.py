# SPDX-License-Identifier: Apache-2.0
"""Drives CMake; pyproject.toml holds everything else."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

AUTOSTART = Path("cyclewatch/cyclewatch-autostart.pth")


class BuildWithAutostart(build_py):
    """Also puts what starts the watch for CYCLEWATCH=1 where the interpreter looks for it."""

    def run(self):
        super().run()
        self.copy_file(str(AUTOSTART), self._target())

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), self._target()]

    def _target(self):
        # The top of site-packages, beside the package.
        return str(Path(self.build_lib) / AUTOSTART.name)


setup(cmake_source_dir=".", cmdclass={"build_py": BuildWithAutostart})
