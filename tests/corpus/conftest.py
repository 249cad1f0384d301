# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the corpus import the modules in this directory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
