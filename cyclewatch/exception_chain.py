# SPDX-License-Identifier: Apache-2.0
"""Finds the exceptions that an exception refers to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def exception_chain(*exceptions: BaseException, handled: int = 0) -> Iterator[BaseException]:
    """Yield `exceptions`, their causes and contexts, and members of exception groups, each once.

    Args:
        exceptions: The exceptions to start from.
        handled: The id() of an exception to skip, because it was already being handled.
    """
    seen = {handled}
    pending: list[BaseException | None] = [*exceptions]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        pending += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            pending += each.exceptions
