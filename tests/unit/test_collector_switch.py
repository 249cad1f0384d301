# SPDX-License-Identifier: Apache-2.0
"""The search for the line of code that disabled automatic garbage collection."""

import importlib
import math
import sys

import pytest

from cyclewatch.code import collector_switch, source_lines


@pytest.fixture
def location(tmp_path, monkeypatch):
    """Import a module for each source, and search only these modules for calls that disable gc."""
    monkeypatch.setattr(source_lines, "_process_start", math.inf)  # the files are older
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def find(*sources, frozen=False):
        modules = {}
        for number, source in enumerate(sources):
            name = f"switching_{number}"
            (tmp_path / f"{name}.py").write_text(source)
            monkeypatch.delitem(sys.modules, name, raising=False)
            importlib.invalidate_caches()
            modules[name] = importlib.import_module(name)
        everything = {name: module for name, module in sys.modules.items() if name in modules}
        with monkeypatch.context() as patch:
            patch.setattr(collector_switch.sys, "modules", everything)
            return collector_switch.location(frozen)

    return find


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import gc\ndef main():\n    gc.disable()\n", "switching_0.py:3 (gc.disable())"),
        (
            "import gc\nclass A:\n    def f(self):\n        gc.set_threshold(0, 5)\n",
            "switching_0.py:4 (gc.set_threshold(0))",
        ),
        (
            "import cyclewatch\ndef f():\n    cyclewatch.collect_at(every=5)\n",
            "switching_0.py:3 (cyclewatch.collect_at())",
        ),
        ("import gc\ndef f():\n    gc.set_threshold(700)\n    gc.freeze()\n", ""),
        ("import gc\ndef f(other):\n    other.disable()\n", ""),
        ("import gc\ndef f():\n    gc.disable()\ndef g():\n    gc.disable()\n", ""),
    ],
)
def test_the_only_call_is_found(location, source, expected):
    assert location(source) == expected


def test_calls_in_several_modules_are_ambiguous(location):
    source = "import gc\ndef f():\n    gc.disable()\n"
    assert location("", source) == "switching_1.py:3 (gc.disable())"
    assert location(source, source) == ""


def test_freezing_is_found_separately(location):
    source = "import gc\ndef f():\n    gc.disable()\n    gc.freeze()\n"
    assert location(source, frozen=True) == "switching_0.py:4 (gc.freeze())"
    assert location(source) == "switching_0.py:3 (gc.disable())"


def test_source_that_is_not_python_is_ignored(location, tmp_path):
    assert location("import gc\ndef f():\n    gc.disable()\n")
    (tmp_path / "switching_0.py").write_text("gc.disable(\n")
    assert collector_switch.location(False) == ""
