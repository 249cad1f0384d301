# SPDX-License-Identifier: Apache-2.0
"""What goes into pytest's own reports of a phase."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest

from cyclewatch.pytest_plugin.loops import CARRIER, NEW, Loop
from cyclewatch.pytest_plugin.verdicts import TensorCycle

if TYPE_CHECKING:
    from collections.abc import Sequence


def add_properties(item: pytest.Item, loops: Sequence[Loop]) -> None:
    """Name `loops` among the properties of the test, where JUnit XML and others show them."""
    for loop in loops:
        value = f"{loop['signature']} {loop['held_bytes']} bytes: {loop['title']}"
        item.user_properties.append((f"cyclewatch.{loop['verdict']}", value))


def point_at_loop(report: pytest.TestReport, loops: Sequence[Loop], config: pytest.Config) -> None:
    """Make the one line that stands for a failure speak of the loop, not of this plugin."""
    crash = getattr(report.longrepr, "reprcrash", None)
    new = [loop for loop in loops if loop["verdict"] == NEW]
    if crash is None or not new:
        return
    # The first line only: in CI, and with -vv, pytest's list of failures shows the whole message.
    crash.message = first_line(crash.message.partition(": ")[2])
    heaviest = max(new, key=lambda loop: loop["held_bytes"])
    # As pytest itself has it: a path from the root of the tests leads nowhere in a folder below.
    crash.path = os.path.normpath(config.rootpath / heaviest["path"])
    crash.lineno = heaviest["line"]
    if shows_one_line(config) and report.when != "call":
        _shorten(report, str(crash))


def shows_one_line(config: pytest.Config) -> bool:
    """Whether --tb=line was given. pytest itself obeys it for the failures of calls alone."""
    return bool(config.getoption("tbstyle", None) == "line")


def first_line(text: str) -> str:
    """That of a failure's text, which stands alone."""
    return text.partition("\n")[0]


def _shorten(report: pytest.TestReport, line: str) -> None:
    traceback = getattr(report.longrepr, "reprtraceback", None)
    for entry in getattr(traceback, "reprentries", [])[-1:]:
        entry.lines = [line]


def report_again(item: pytest.Item, text: str, loops: Sequence[Loop]) -> None:
    """Fail a test that has been reported already: with one more report, of its teardown."""

    def complain() -> NoReturn:
        raise TensorCycle(text)

    call = pytest.CallInfo.from_call(complain, when="teardown")
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    setattr(report, CARRIER, loops)
    point_at_loop(report, loops, item.config)
    item.ihook.pytest_runtest_logreport(report=report)
