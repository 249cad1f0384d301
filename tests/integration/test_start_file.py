# SPDX-License-Identifier: Apache-2.0
"""The entry point in cyclewatch-autostart.start, which Python 3.15 and later call at startup."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINE = (ROOT / "cyclewatch" / "cyclewatch-autostart.start").read_text().strip()

# As site.py does (PEP 829): resolve the line in the file, and call the result without arguments.
PROGRAM = """
import pkgutil, sys
pkgutil.resolve_name(sys.argv[1])()
print("cyclewatch.process_watch" in sys.modules)
"""


@pytest.mark.parametrize(("value", "started"), [("1", "True"), ("0", "False"), (None, "False")])
def test_entry_point_starts_a_watch_only_on_request(tmp_path, value, started):
    environment = {name: v for name, v in os.environ.items() if not name.startswith("CYCLEWATCH")}
    environment["PYTHONPATH"] = str(ROOT)
    if value is not None:
        environment["CYCLEWATCH"] = value
    outcome = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, LINE],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout.strip() == started
