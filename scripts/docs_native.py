# SPDX-License-Identifier: Apache-2.0
"""A Griffe extension that adds the native module's docstrings, which the stub file lacks."""

import importlib
import re
import sys
from pathlib import Path

import griffe

# pybind11 begins the docstring of a function with its signature, which the stub also contains.
SIGNATURE = re.compile(r"\w+\(.*\) -> .*\n\n")


class NativeDocstrings(griffe.Extension):
    """Adds the docstrings of cyclewatch._native; fails if a public member has no docstring."""

    def on_package(self, *, pkg, **_):
        """Add the docstrings once the package and the stub file have been loaded."""
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        native = importlib.import_module("cyclewatch._native")
        for described in pkg["_native"].classes.values():
            public = getattr(native, described.name)
            if public.__module__ != "cyclewatch":
                continue
            describe(described, public)
            for name, member in described.members.items():
                if not name.startswith("_"):
                    describe(member, getattr(public, name))


def describe(described, public):
    """Set the docstring of one object."""
    text = SIGNATURE.sub("", public.__doc__ or "", count=1)
    if not text:
        raise ValueError(f"{described.path} has no docstring")
    described.docstring = griffe.Docstring(text, parser="google", parent=described)
