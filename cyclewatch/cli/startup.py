# SPDX-License-Identifier: Apache-2.0
"""Which modules were there before this command imported any; to be imported first of all."""

import itertools
import sys

_modules = list(sys.modules)  # in the order in which their import was done

# `python -m` imports runpy, and what that needs, for us alone. What the start of the interpreter
# imports, for whatever program, ends with `site`.
MODULES_AT_START = frozenset(
    itertools.takewhile(lambda name: name != "site", _modules) if "runpy" in _modules else _modules
)
