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

    @property
    def meaning(self) -> str:
        """What it says, for the manual."""
        return _MEANINGS[self]


_MEANINGS = {
    Status.OK: "what was asked for was done, and the answer, if there is one, is yes",
    Status.NO: "the answer is no: the fix is not verified, something new was found with --fail, "
    "or nothing has the signature asked for",
    Status.USAGE: "the command line makes no sense; the message says what does",
    Status.FILE: "a file could not be read or written, is no report, or stands in the way",
}


class Failure(Exception):  # noqa: N818 -- not every failure is an error of anybody's
    """Ends the command with one sentence for the user."""

    def __init__(self, sentence: str, status: Status = Status.FILE) -> None:
        """The sentence names the thing and the remedy."""
        super().__init__(sentence)
        self.status = status
