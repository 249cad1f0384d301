# SPDX-License-Identifier: Apache-2.0
"""What cyclewatch raises and warns, with the help that belongs to each."""


class TensorCycleWarning(UserWarning):
    """Device memory waited for the cycle collector, because a reference loop kept it.

    The message names the reference to cut; the warning stands at its file and line where that
    is known. One warning is issued per finding, however often the loop is made.

    To silence one loop, fix it or filter by message; to silence all of them, use
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
