# SPDX-License-Identifier: Apache-2.0
"""Finds the supported interpreters on this machine for which C extensions can be built.

Prints one path for each version, oldest version first. The version of the running interpreter is
omitted, because the build always includes it.
"""

import glob
import os
import shutil
import subprocess
import sys

SUPPORTED = ((3, 11), (3, 12), (3, 13))

QUESTION = """
import os, sys, sysconfig
usable = (
    sys.implementation.name == "cpython"
    and not sys.abiflags
    and os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h"))
)
print(int(usable), sys.executable)
"""


def candidates(version):
    """Yield the paths at which an interpreter of `version` may be found."""
    name = f"python{version[0]}.{version[1]}"
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    folder = os.path.join(pyenv, "versions", f"{version[0]}.{version[1]}.*", "bin", name)
    yield from sorted(glob.glob(folder), reverse=True)
    on_path = shutil.which(name)
    if on_path:
        yield on_path


def usable_path(candidate):
    """Return the path of the interpreter that `candidate` starts, or None if it is unusable."""
    try:
        answer = subprocess.run(
            [candidate, "-c", QUESTION], capture_output=True, text=True, timeout=30, check=True
        ).stdout.split(maxsplit=1)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer[1].strip() if answer[0] == "1" else None


def main():
    """Print the interpreters."""
    for version in SUPPORTED:
        if version == sys.version_info[:2]:
            continue
        found = next(filter(None, map(usable_path, candidates(version))), None)
        if found:
            print(found)


if __name__ == "__main__":
    main()
