# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of `from cyclewatch import warn_tensor_cycles` at interpreter startup."""

from __future__ import annotations

import subprocess
import sys

from measure import Figure, main, seconds_of


def _start(statement: str) -> float:
    return seconds_of(lambda: subprocess.run([sys.executable, "-c", statement], check=True))


def measure(quick: bool) -> list[Figure]:
    statement = "from cyclewatch import warn_tensor_cycles"
    _start(statement)
    milliseconds = [1000 * (_start(statement) - _start("pass")) for _ in range(3 if quick else 41)]
    what = "import of warn_tensor_cycles, added to interpreter startup"
    return [Figure(what, "ms", milliseconds, 30)]


if __name__ == "__main__":
    main(measure)
