# SPDX-License-Identifier: Apache-2.0
"""What a test has been told by assertions of its own, so that it need not be told again."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cyclewatch import TensorCycleError
from cyclewatch.assertions import listeners
from cyclewatch.pytest_plugin.loops import occurrences_by_signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from cyclewatch import Finding


class Told:
    """The loops that ``assert_no_tensor_cycles()`` raised for in one phase."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._loops: Counter[str] = Counter()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Meanwhile every error that an assertion raises is noted, on whatever thread."""
        listeners.append(self._note)
        try:
            yield
        finally:
            listeners.remove(self._note)

    def covers(self, finding: Finding) -> bool:
        """Whether assertions told of all the loops that are this finding."""
        counts = occurrences_by_signature(finding)
        return all(self._loops[signature] >= count for signature, count in counts.items())

    def _note(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self._loops.update(occurrences_by_signature(finding))


def is_failed_assertion(error: BaseException | None, item: pytest.Item) -> bool:
    """Whether an assertion's error, and not that of anything else, is what failed the phase.

    `error` is what the phase raised. A ``unittest.TestCase`` raises nothing: pytest keeps its
    errors with the item until the report is made.
    """
    kept = getattr(item, "_excinfo", None) or ()
    return any(isinstance(each, TensorCycleError) for each in (error, *(one.value for one in kept)))
