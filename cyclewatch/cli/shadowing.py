# SPDX-License-Identifier: Apache-2.0
"""Programs with a module of their own that is called like one of the standard library.

Python looks in the program's folder first, so ``import typing`` in a program that has a typing.py
beside it gives that one. Under ``cyclewatch run`` the command has imported the standard one by
then, and would hand it on.
"""

from __future__ import annotations

import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder, SourceFileLoader

from cyclewatch.cli.startup import MODULES_AT_START

# Part of the interpreter, which finds them before the program's folder is on the path.
_KEPT = frozenset({"encodings"})


def let_go_of_shadowed(folder: str) -> None:
    """Forget what this command imported of the standard library, if `folder` has the like.

    All of it, as the modules refer to each other: what they find is up to the program now.
    """
    brought = {name for name in sys.modules if _was_brought(name)}
    if any(_is_in(folder, name) for name in brought):
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


def _is_in(folder: str, name: str) -> bool:
    spec = PathFinder.find_spec(name, [folder])
    return spec is not None and spec.origin is not None  # a folder alone hides nothing
