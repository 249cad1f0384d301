# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch``, and ``python -m cyclewatch``, which is the same."""

from __future__ import annotations

import os
import sys


def main() -> int | None:
    """Do what the command line says; see :func:`cyclewatch.cli.main`."""
    # A program may have modules that are called like those which this command imports, in the
    # current folder or in one of PYTHONPATH. `run` has the program find its own.
    standard_library = os.path.dirname(os.__file__)
    if sys.flags.safe_path:
        sys.path.insert(0, standard_library)
    else:
        sys.path[0] = standard_library  # the current folder's place, or that of our script's

    from cyclewatch.cli import main

    return main()


if __name__ == "__main__":
    status = main()
    if status is not None:
        sys.exit(status)
