# SPDX-License-Identifier: Apache-2.0
"""Supports `python setup.py ...`; pip reads only pyproject.toml. Both run CMake."""

from setuptools import find_packages, setup

setup(
    cmake_source_dir=".",
    packages=find_packages(include=["cyclewatch", "cyclewatch.*"]),
    package_data={"cyclewatch": ["py.typed", "*.pyi"]},
)
