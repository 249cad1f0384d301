# SPDX-License-Identifier: Apache-2.0
"""Prints what CMake must know of the interpreter that runs this, one NAME=value a line."""

import os
import sys
import sysconfig


def library():
    """Path of a libpython to embed, or nothing."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    names = [sysconfig.get_config_var(key) for key in ("LDLIBRARY", "LIBRARY")]
    # An interpreter that was moved as a whole tells where it was built for.
    moved = os.path.join(sys.base_prefix, "lib")
    folders = [folder, os.path.join(folder, multiarch), sysconfig.get_config_var("LIBPL") or ""]
    if not os.path.abspath(folder).startswith(sys.base_prefix):
        folders = [moved, os.path.join(moved, multiarch)]
    for name in names:
        for place in folders:
            path = os.path.join(place, name or "")
            if name and os.path.isfile(path):
                return path
    return ""


print("VERSION=%d.%d%s" % (*sys.version_info[:2], getattr(sys, "abiflags", "")))
print("INCLUDE_DIR=" + sysconfig.get_path("include"))
print("EXT_SUFFIX=" + sysconfig.get_config_var("EXT_SUFFIX"))
print("LIBRARY=" + library())
print("LIBRARY_FLAGS=" + " ".join((sysconfig.get_config_var("LIBS") or "", "-lm", "-ldl")))
