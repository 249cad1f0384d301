# SPDX-License-Identifier: Apache-2.0
"""Converts the SVG of a report to PNG with an installed converter."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import cyclewatch

# Each program and its arguments; {svg} and {png} are replaced by file names.
_CONVERTERS = (
    ("rsvg-convert", "--format=png", "--zoom=2", "--output={png}", "{svg}"),
    ("resvg", "--zoom", "2", "{svg}", "{png}"),
    ("inkscape", "--export-dpi=192", "--export-filename={png}", "{svg}"),
)


def render(report: cyclewatch.Report) -> bytes:
    """Return the image at twice its nominal size, for high-density screens."""
    converter = next((each for each in _CONVERTERS if shutil.which(each[0])), None)
    if converter is None:
        names = ", ".join(each[0] for each in _CONVERTERS)
        raise Failure(f"png needs one of {names} (on Debian: apt install librsvg2-bin)")
    with tempfile.TemporaryDirectory(prefix="cyclewatch-") as folder:
        files = {"svg": f"{folder}/report.svg", "png": f"{folder}/report.png"}
        Path(files["svg"]).write_text(report.to_svg(), encoding="utf-8")
        command = [word.format(**files) for word in converter]
        outcome = subprocess.run(command, capture_output=True, check=False)
        if outcome.returncode != 0:
            message = outcome.stderr.decode("utf-8", "replace").strip()
            raise Failure(f"{converter[0]} failed: {message}")
        return Path(files["png"]).read_bytes()
