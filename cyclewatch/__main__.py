# SPDX-License-Identifier: Apache-2.0
"""``python -m cyclewatch``: the command ``cyclewatch``."""

import sys

from cyclewatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
