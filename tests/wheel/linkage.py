# SPDX-License-Identifier: Apache-2.0
"""Checks what the extension modules in wheels link; arguments: wheels. Exits with 1 if one fails.

An extension needs only libraries that the manylinux policy expects on the target machine: neither
Graphviz nor CUDA. It exports only its initialization function, so that a Graphviz or a C++ library
elsewhere in the process cannot interfere. Needs readelf and nm (binutils).
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Of the manylinux policy; see PEP 600.
ALLOWED = re.compile(
    r"(lib(c|dl|gcc_s|m|pthread|rt|stdc\+\+|z)|ld-linux-(x86-64|aarch64))\.so\.\d+"
)
NEWEST_GLIBC = (2, 28)


def output(*command):
    """The standard output of a command."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems_of(extension):
    """Describe what a compiled extension should not link or export."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", extension))
    for library in needed:
        if not ALLOWED.fullmatch(library):
            yield f"needs {library}"
    symbols = output("nm", "--dynamic", "--defined-only", "--format=just-symbols", extension)
    exported = [name.split("@")[0] for name in symbols.split()]
    if exported != ["PyInit__native"]:
        yield f"exports {', '.join(exported) or 'nothing'}"
    imported = output("nm", "--dynamic", "--undefined-only", extension)
    for symbol, major, minor in re.findall(r"(\S+)@GLIBC_(\d+)\.(\d+)", imported):
        if (int(major), int(minor)) > NEWEST_GLIBC:
            yield f"needs {symbol} of glibc {major}.{minor}"
    for symbol in re.findall(r"\b(?:ag|gv|cuda|cu[A-Z])\w+", imported):
        yield f"expects another library to define {symbol}"


def check(wheel):
    """Return the problems of one wheel."""
    problems = []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        extensions = [name for name in names if ".so" in Path(name).name]
        if len(extensions) != 1:
            problems.append(f"contains {len(extensions)} shared libraries instead of one")
        for name in extensions:
            extracted = archive.extract(name, folder)
            problems += [f"{name} {problem}" for problem in problems_of(extracted)]
        if not any(name.endswith("graphviz-EPL-1.0.txt") for name in names):
            problems.append("lacks the license of Graphviz")
    return problems


if __name__ == "__main__":
    failed = False
    for wheel in sys.argv[1:]:
        problems = check(wheel)
        for problem in problems:
            print(f"{Path(wheel).name}: {problem}", file=sys.stderr)
        failed = failed or bool(problems)
        if not problems:
            print(f"{Path(wheel).name}: {Path(wheel).stat().st_size:,} bytes, linkage ok")
    sys.exit(failed)
