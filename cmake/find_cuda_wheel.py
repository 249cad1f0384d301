# SPDX-License-Identifier: Apache-2.0
"""Prints the header directory of the installed nvidia-cuda-runtime wheel, if there is one."""

import importlib.metadata

try:
    files = importlib.metadata.files("nvidia-cuda-runtime") or []
except importlib.metadata.PackageNotFoundError:
    files = []
for file in files:
    if file.name == "cuda_runtime_api.h":
        print(file.locate().parent)
        break
