# SPDX-License-Identifier: Apache-2.0
"""The pictures in the documentation match the output of the scripts."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_canary_picture_is_current():
    script = runpy.run_path(str(ROOT / "scripts" / "draw_canary.py"))
    committed = (ROOT / "docs" / "images" / "canary.svg").read_text(encoding="utf-8")
    assert committed == script["picture"](), "run scripts/draw_canary.py"


def test_every_picture_is_shown_by_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert f"images/{picture.name}" in text, picture
