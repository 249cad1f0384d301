# SPDX-License-Identifier: Apache-2.0
"""Make the modules of this folder importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
