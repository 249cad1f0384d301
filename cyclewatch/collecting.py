# SPDX-License-Identifier: Apache-2.0
"""Collections that we ask for ourselves, whatever the program did to the collector."""

from __future__ import annotations

import gc

# Bound when this module is imported: a program may replace gc's functions, and tests do.
GC_COLLECT = gc.collect
_get_debug = gc.get_debug
_set_debug = gc.set_debug


def collect() -> None:
    """Run a full collection, also where automatic ones are switched off.

    The program's debug flags are set aside meanwhile and come back afterwards: with DEBUG_SAVEALL
    nothing would be freed, and what the others print is not the program's doing.
    """
    flags = _get_debug()
    if flags == 0:
        GC_COLLECT()
        return
    _set_debug(0)
    try:
        GC_COLLECT()
    finally:
        _set_debug(flags)
