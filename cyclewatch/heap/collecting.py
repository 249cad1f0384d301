# SPDX-License-Identifier: Apache-2.0
"""Full collections that do not depend on the program's collector settings, and none at all."""

from __future__ import annotations

import gc

# Bound at import, because programs (and tests) may replace the functions of gc.
GC_COLLECT = gc.collect
_is_enabled, _enable, _disable = gc.isenabled, gc.enable, gc.disable
_get_debug = gc.get_debug
_set_debug = gc.set_debug


def collect() -> None:
    """Run a full collection, even if automatic collection is disabled.

    Debug flags are disabled during the collection: DEBUG_SAVEALL would keep objects alive, and the
    other flags would print output that the program did not cause.
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


class Pause:
    """Context manager during which no automatic collection starts, in any thread."""

    def __enter__(self) -> None:
        self._was_enabled = _is_enabled()
        _disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            _enable()
