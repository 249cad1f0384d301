# SPDX-License-Identifier: Apache-2.0
"""Programs with a module of their own that is called like one of the standard library.

Python looks in the program's folder first, then in those of PYTHONPATH, so ``import typing`` in a
program that has a typing.py there gives that one. Where we were first, as under ``cyclewatch run``,
the standard one has been imported by then, and would be handed on.
"""

from __future__ import annotations

import itertools
import os
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder, SourceFileLoader

from cyclewatch.cli.startup import MODULES_AT_START

# Part of the interpreter, which finds them before the program's folder is on the path.
_KEPT = frozenset({"encodings"})


def let_go_of_shadowed(path: list[str]) -> None:
    """Forget what we imported of the standard library, if a folder before it has the like.

    All of it, as the modules refer to each other: what they find is up to the program now. `path`
    is where the program looks for its modules.
    """
    library = os.path.dirname(os.__file__)
    folders = list(itertools.takewhile(lambda folder: folder != library, path))
    brought = {name for name in sys.modules if _was_brought(name)}
    if len(folders) < len(path) and any(_are_in(folders, name) for name in brought):
        for name in list(sys.modules):
            if name.partition(".")[0] in brought:
                del sys.modules[name]


def _was_brought(name: str) -> bool:
    if name in MODULES_AT_START or name in _KEPT or name not in sys.stdlib_module_names:
        return False
    if BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name):
        return False  # found before any folder is looked at
    spec = getattr(sys.modules[name], "__spec__", None)
    return isinstance(getattr(spec, "loader", None), SourceFileLoader)


def _are_in(folders: list[str], name: str) -> bool:
    spec = PathFinder.find_spec(name, folders)
    return spec is not None and spec.origin is not None  # a folder alone hides nothing
