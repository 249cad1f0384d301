# SPDX-License-Identifier: Apache-2.0
"""``python -m cyclewatch``: the same as the command ``cyclewatch``."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current folder, where a program may have modules that are called like those which this
        # command imports. `run` puts the program's own folder there.
        sys.path[0] = os.path.dirname(os.__file__)

    from cyclewatch.cli import main

    status = main()
    if status is not None:
        sys.exit(status)
