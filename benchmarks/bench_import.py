# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of `from cyclewatch import warn_tensor_cycles` at interpreter startup.

The result is CPU time, measured with cached bytecode, as for an installed package.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from measure import Figure, main


def _start(statement: str, folder: str) -> float:
    """Return the CPU time of a new interpreter process that caches bytecode in `folder`."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-P", "-c", statement], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(quick: bool) -> list[Figure]:
    statement = "from cyclewatch import warn_tensor_cycles"
    with tempfile.TemporaryDirectory() as folder:
        _start(statement, folder)
        milliseconds = [
            1000 * (_start(statement, folder) - _start("pass", folder))
            for _ in range(3 if quick else 41)
        ]
    what = "import of warn_tensor_cycles, added to interpreter startup"
    return [Figure(what, "ms", milliseconds, 15)]


if __name__ == "__main__":
    main(measure)
