# SPDX-License-Identifier: Apache-2.0
"""For `python setup.py ...`: drives CMake as pip does, which goes by pyproject.toml alone."""

from setuptools import find_packages, setup

setup(
    cmake_source_dir=".",
    packages=find_packages(include=["cyclewatch", "cyclewatch.*"]),
    package_data={"cyclewatch": ["py.typed", "*.pyi"]},
)
