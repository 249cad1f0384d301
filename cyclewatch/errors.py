# SPDX-License-Identifier: Apache-2.0
"""The exceptions and the warning of the public API."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import Finding


class TensorCycleWarning(UserWarning):
    """A reference cycle kept device memory alive until the cycle collector freed it.

    The message names the reference to cut. The warning is attributed to the file and line of that
    reference if they are known. Each finding causes one warning, no matter how often the cycle
    occurs.

    To silence one finding, use :func:`cyclewatch.ignore`; to silence all of them,
    ``warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)``. With the warning filter
    "error", the exception is logged, because it cannot propagate from a collection.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always", cyclewatch.TensorCycleWarning)
        ...     with cyclewatch.warn_tensor_cycles(devices="cpu"):
        ...         train()
        >>> print(caught[0].message)
        Trainer is part of a reference cycle that keeps 4.0 KiB of cpu memory alive: cut ...
    """


class ReportFormatError(ValueError):
    """The file is not a report that this version can read.

    The message contains the file name, the position and the problem: invalid JSON (with the byte
    offset), a document from another tool, a field that is missing or has the wrong type, or a
    schema newer than this version. Reports with older schemas remain readable.

    Examples:
        >>> with open("empty.json", "w") as file:
        ...     _ = file.write("{}")
        >>> cyclewatch.Report.load("empty.json")
        Traceback (most recent call last):
            ...
        cyclewatch.errors.ReportFormatError: empty.json: not a cyclewatch report: ...
    """


class TensorCycleError(AssertionError):
    """A test or a block of code created reference cycles that keep tensors alive.

    The message contains the card of each cycle: the reference to cut, its file and line, and the
    retained bytes. To accept a cycle under pytest, use
    ``@pytest.mark.allow_tensor_cycles(reason=...)`` or the baseline file.

    Attributes:
        findings: The :class:`Finding` of each cycle, largest first.

    Examples:
        >>> try:
        ...     with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        ...         train()
        ... except cyclewatch.TensorCycleError as error:
        ...     [each.title for each in error.findings]
        ['Trainer.hook -> run.__self__ -> Trainer']
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        """Create the error; `message` describes `findings`."""
        super().__init__(message)
        self.findings = list(findings)
