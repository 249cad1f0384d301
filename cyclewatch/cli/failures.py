# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, and the exception that ends a command with one of them."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Exit statuses of all commands except ``run``, which exits with the status of its program."""

    OK = 0
    NO = 1
    USAGE = 2
    FILE = 3


class Failure(Exception):  # noqa: N818
    """Ends the command with a message for the user."""

    def __init__(self, sentence: str, status: Status = Status.FILE) -> None:
        """`sentence` describes the problem and the remedy."""
        super().__init__(sentence)
        self.status = status
