# SPDX-License-Identifier: Apache-2.0
"""What goes into pytest's own reports of a phase."""

from __future__ import annotations

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


def point_at_loop(report: pytest.TestReport, loops: Sequence[Loop]) -> None:
    """Make the one line that stands for a failure speak of the loop, not of this plugin."""
    crash = getattr(report.longrepr, "reprcrash", None)
    new = [loop for loop in loops if loop["verdict"] == NEW]
    if crash is None or not new:
        return
    crash.message = crash.message.partition(": ")[2]
    heaviest = max(new, key=lambda loop: loop["held_bytes"])
    crash.path, crash.lineno = heaviest["path"], heaviest["line"]


def report_again(item: pytest.Item, text: str, loops: Sequence[Loop]) -> None:
    """Fail a test that has been reported already: with one more report, of its teardown."""

    def complain() -> NoReturn:
        raise TensorCycle(text)

    call = pytest.CallInfo.from_call(complain, when="teardown")
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    setattr(report, CARRIER, loops)
    point_at_loop(report, loops)
    item.ihook.pytest_runtest_logreport(report=report)
