# SPDX-License-Identifier: Apache-2.0
"""Decides which findings a test has to answer for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cyclewatch.pytest_plugin.loops import ALLOWED, EXPECTED, KNOWN, NEW, Loop, loop_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cyclewatch import Finding
    from cyclewatch.pytest_plugin.baseline import Baseline, Entry
    from cyclewatch.pytest_plugin.marks import Allowance


_EXPECTED_REASON = "assert_no_tensor_cycles() raised for it, and the test went on"


class TensorCycle(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """Fails a phase with the cards for its text. Not for users: it never leaves pytest."""

    # The name is printed in front of the one line that stands in the list of failures.
    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        """`text` is all that is shown; a traceback would only lead into the plugin."""
        super().__init__(text, pytrace=False)


class Judge:
    """Knows the baseline and where the project is."""

    def __init__(self, baseline: Baseline | None, root: Path) -> None:
        """`root` is what paths are told relative to."""
        self._baseline = baseline
        self._root = root

    def _entry_of(self, finding: Finding) -> Entry | None:
        """The first entry of the baseline that has one of the finding's signatures."""
        entries = self._baseline.entries if self._baseline is not None else {}
        return next((entries[each] for each in finding.signatures if each in entries), None)

    def judge(
        self,
        findings: Sequence[Finding],
        allowances: Sequence[Allowance],
        item: pytest.Item | None,
        when: str,
        is_expected: Callable[[Finding], bool] = lambda _: False,
    ) -> tuple[list[Finding], list[Loop]]:
        """Those of `findings` that are new, and a record of each.

        `is_expected` says of a finding whether the test knows of it by itself.
        """
        verdicts: dict[str, tuple[str, str]] = {}
        open_to_marks: list[Finding] = []
        for finding in findings:
            if finding.standing != NEW:
                verdicts[finding.signature] = (finding.standing, finding.standing_reason)
            elif entry := self._entry_of(finding):
                verdicts[finding.signature] = (KNOWN, entry.reason)
            elif is_expected(finding):
                verdicts[finding.signature] = (EXPECTED, _EXPECTED_REASON)
            else:
                open_to_marks.append(finding)
        for allowance in allowances:
            for finding in allowance.allowed(open_to_marks):
                verdicts.setdefault(finding.signature, (ALLOWED, allowance.reason))
        new = [finding for finding in open_to_marks if finding.signature not in verdicts]
        loops = [
            loop_of(
                finding,
                *verdicts.get(finding.signature, (NEW, "")),
                item=item,
                when=when,
                root=self._root,
            )
            for finding in findings
        ]
        return new, loops
