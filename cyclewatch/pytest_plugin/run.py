# SPDX-License-Identifier: Apache-2.0
"""One run of one test, from its setup until pytest has let go of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cyclewatch.pytest_plugin.told import Told

if TYPE_CHECKING:
    import pytest

    from cyclewatch.pytest_plugin.loops import Loop
    from cyclewatch.pytest_plugin.marks import Allowance


@dataclass
class Run:
    """What is known of the run so far."""

    item: pytest.Item
    # Whether a new loop fails the test, or is only warned about.
    fails: bool
    allowances: list[Allowance] = field(default_factory=list)
    # What is wrong with its marks; it fails the setup.
    complaint: str | None = None
    # A process that a test forked must not speak for this one.
    pid: int = field(default_factory=os.getpid)
    # Something other than our own complaint was raised; it may keep the test's variables alive.
    raised: bool = False
    # Only those whose frames are to be emptied.
    exceptions: list[BaseException] = field(default_factory=list)
    # By the assertions of the phase that runs, or was the last to run.
    told: Told = field(default_factory=Told)
    # By phase, until the phase's report takes them: what was found, and the text of it.
    loops: dict[str, list[Loop]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        """False in a child process that a test forked and that came back into pytest."""
        return self.pid == os.getpid()
