# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch``, and ``python -m cyclewatch``, which is the same."""

from __future__ import annotations

import os
import sys


def main() -> int | None:
    """Do what the command line says; see :func:`cyclewatch.cli.main`."""
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of the script that calls this
    return _command()


def _command() -> int | None:
    # A program may have modules that are called like those which this command imports, in the
    # current folder or in one of PYTHONPATH. `run` has the program find its own.
    sys.path.insert(0, os.path.dirname(os.__file__))

    from cyclewatch.cli import main

    return main()


def _leave_current_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        return  # python -m could not put it on the search path
    del sys.path[0]


if __name__ == "__main__":
    if not sys.flags.safe_path:
        _leave_current_folder()
    status = _command()
    if status is not None:
        sys.exit(status)
