# SPDX-License-Identifier: Apache-2.0
"""How a command ends: the exit statuses, and the error that carries one of them."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Exit statuses of every command but ``run``, which ends as the program it ran ended."""

    OK = 0
    NO = 1
    USAGE = 2
    FILE = 3


class Failure(Exception):  # noqa: N818 -- not every failure is an error of anybody's
    """Ends the command with one sentence for the user."""

    def __init__(self, sentence: str, status: Status = Status.FILE) -> None:
        """The sentence names the thing and the remedy."""
        super().__init__(sentence)
        self.status = status
