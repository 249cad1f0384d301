# SPDX-License-Identifier: Apache-2.0
"""Which modules were there before this command imported any; to be imported first of all."""

import itertools
import sys

_modules = list(sys.modules)  # in the order in which their import was done


def _is_starting() -> bool:
    """Whether the interpreter is still importing `site`, which is what CYCLEWATCH=1 is read by."""
    spec = getattr(sys.modules.get("site"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


# What the start of the interpreter imports, for whatever program, ends with `site`. After that
# `python -m` imports runpy, and the script that installers write for this command imports `re`,
# both with what they need and for us alone.
MODULES_AT_START = frozenset(
    _modules if _is_starting() else itertools.takewhile(lambda name: name != "site", _modules)
)
