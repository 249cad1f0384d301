# SPDX-License-Identifier: Apache-2.0
"""What cyclewatch raises and warns, with the help that belongs to each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import Finding


class TensorCycleWarning(UserWarning):
    """Device memory waited for the cycle collector, because a reference cycle kept it.

    The message names the reference to cut; the warning stands at its file and line where that
    is known. One warning is issued per finding, however often the cycle is made.

    To silence one cycle, fix it or filter by message; to silence all of them, use
    ``warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)``. To make a test fail,
    use ``"error"`` in place of ``"ignore"``: the watch then logs the error, because an exception
    cannot be raised out of a collection.
    """


class ReportFormatError(ValueError):
    """A file is not a report that this version can read.

    The message says which file, what is wrong and where: not JSON (with the byte offset), JSON
    of another tool, a field that is missing or of the wrong type, or a schema newer than this
    version knows. In the last case install a newer cyclewatch; older schemas stay readable.
    """


class TensorCycleError(AssertionError):
    """A block or a test that was to make no tensor cycles made some.

    The message holds the cards of the cycles: for each the reference to cut, its file and line,
    and the bytes it kept. Cut that reference; or, if the cycle is meant to be, accept it:
    ``@pytest.mark.allow_tensor_cycles(reason=...)`` and the baseline file under pytest.

    Attributes:
        findings: The :class:`Finding` of each cycle, largest first.
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        """Keep `findings` beside the `message` that shows them."""
        super().__init__(message)
        self.findings = list(findings)
