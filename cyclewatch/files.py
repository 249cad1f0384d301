# SPDX-License-Identifier: Apache-2.0
"""How a report gets into a file."""

from __future__ import annotations

import contextlib
import os


def write_atomically(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], data: bytes
) -> None:
    """Write `data` to `path` such that a reader sees the old file or the new one, never half.

    The bytes go to a new file in the same folder, which then takes the place of `path`.
    Raises OSError if that fails; the old file is then as it was.
    """
    target = os.fsdecode(path)
    partial = f"{target}.{os.getpid()}.partial"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
