# SPDX-License-Identifier: Apache-2.0
"""The description on a package index is current and has no link that breaks there."""

import importlib.util
import os
import re
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SWITCH = "CYCLEWATCH_UPDATE_PAGES"
TARGET = re.compile(r"\]\(([^)]*)\)|(?:href|src)=[\"']([^\"']*)")


def script():
    spec = importlib.util.spec_from_file_location("index_readme", ROOT / "scripts/index_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative_links(text):
    targets = [found[1] or found[2] for found in TARGET.finditer(text)]
    return [target for target in targets if not target.startswith(("https://", "http://", "#"))]


def test_relative_links_are_removed():
    text = (
        "a [b\nc](docs/x.md#y), [d](https://e), [f](#g)\n\n![h](i.png)\n\nj ([guide](docs/k.md))."
    )
    assert script().without_relative_links(text) == "a b\nc, [d](https://e), [f](#g)\n\nj."
    assert relative_links(text) == ["docs/x.md#y", "i.png", "docs/k.md"]


def test_package_readme_is_current():
    module = script()
    if os.environ.get(SWITCH) == "1":
        module.RESULT.write_text(module.expected(), encoding="utf-8")
    assert module.RESULT.read_text(encoding="utf-8") == module.expected(), (
        f"run this test again with {SWITCH}=1"
    )


def test_metadata_of_the_wheel_has_no_relative_link(tmp_path, monkeypatch):
    build = pytest.importorskip("scikit_build_core.build", reason="builds the metadata")
    monkeypatch.chdir(ROOT)
    folder = build.prepare_metadata_for_build_wheel(str(tmp_path))
    metadata = Parser().parsestr((tmp_path / folder / "METADATA").read_text(encoding="utf-8"))
    description = metadata.get_payload()
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert "the one reference to cut" in description
    assert relative_links(description) == []
