# SPDX-License-Identifier: Apache-2.0
"""Finds the cycles that a test created and that no collection frees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclewatch import _native
from cyclewatch.code.source_lines import excerpts
from cyclewatch.proofs.torch_layout import require_gil, torch_layout

if TYPE_CHECKING:
    from cyclewatch import Finding
    from cyclewatch.pytest_plugin.options import Settings


class NeverFreedSearch:
    """Searches for cycles that no collection frees. Reports the memory of each only once."""

    def __init__(self, settings: Settings) -> None:
        """Create a search with the options of the run."""
        self._settings = settings
        self._known = _native.Storages()
        self._is_complete = False

    def begin(self, enabled: bool) -> None:
        """Call this before a test: leaves out the cycles of tests that were not examined.

        Raises RuntimeError on a free-threaded build.
        """
        if not enabled:
            self._is_complete = False
        elif not self._is_complete:
            require_gil()
            self.find()

    def find(self) -> list[Finding]:
        """The cycles that have become unreachable since the last call."""
        report = _native.never_freed(
            list(self._settings.devices),
            None if self._settings.no_source else excerpts,
            torch_layout(),
            0,
            self._known,
        )
        self._is_complete = True
        least = self._settings.min_bytes
        return [each for each in report.findings if each.attributed_bytes >= least]
