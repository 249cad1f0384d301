# SPDX-License-Identifier: Apache-2.0
"""Prints build settings of the interpreter that runs this script, one NAME=value per line."""

import os
import sys
import sysconfig


def library():
    """Return the path of a libpython to embed, or an empty string."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    names = [sysconfig.get_config_var(key) for key in ("LDLIBRARY", "LIBRARY")]
    # A relocated interpreter reports the directories of its build.
    moved = os.path.join(sys.base_prefix, "lib")
    folders = [folder, os.path.join(folder, multiarch), sysconfig.get_config_var("LIBPL") or ""]
    if not os.path.abspath(folder).startswith(sys.base_prefix):
        folders = [moved, os.path.join(moved, multiarch)]
    for name in names:
        for folder in folders:
            path = os.path.join(folder, name or "")
            if name and os.path.isfile(path):
                return path
    return ""


print("VERSION=%d.%d%s" % (*sys.version_info[:2], getattr(sys, "abiflags", "")))
print("INCLUDE_DIR=" + sysconfig.get_path("include"))
print("EXT_SUFFIX=" + sysconfig.get_config_var("EXT_SUFFIX"))
print("LIBRARY=" + library())
print("LIBRARY_FLAGS=" + " ".join((sysconfig.get_config_var("LIBS") or "", "-lm", "-ldl")))
