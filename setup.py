# SPDX-License-Identifier: Apache-2.0
"""Drives CMake; pyproject.toml holds everything else."""

from setuptools import setup

setup(cmake_source_dir=".")
