# SPDX-License-Identifier: Apache-2.0
"""Formats the report about an out-of-memory error."""

from __future__ import annotations

from cyclewatch._native import clean_text, format_bytes
from cyclewatch.account.memory_lines import (
    DEAD,
    FRAGMENTED_STEP,
    FROZEN,
    NEVER_FREED,
    NOTABLE,
    byte_table,
    bytes_of,
    dead_words,
    free_entries,
    frozen_words,
    held_words,
    key_of,
    largest_part,
    never_freed_words,
    process_entries,
    rest_entries,
    rest_words,
    unread_words,
)
from cyclewatch.wording import owner_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.account.measurement import Memory


def oom_headline(memory: Memory) -> str:
    """One line: the bytes requested, the bytes in use, and a breakdown of the latter.

    Names the reference to cut, and what holds the largest group of reachable tensors.
    """
    requested = "" if memory.requested is None else f"{format_bytes(memory.requested)} requested, "
    parts = [f"{format_bytes(memory.reachable)} reachable from Python{_largest_held(memory)}"]
    dead = (
        (DEAD, memory.dead, dead_words),
        (FROZEN, memory.frozen, frozen_words),
        (NEVER_FREED, memory.never_freed, never_freed_words),
    )
    for key, size, words in dead:
        if size:
            remedies = (each.remedy for each in memory.findings if key_of(each) == key)
            remedy = clean_text(next(remedies, ""))
            parts.append(f"{format_bytes(size)} {words(memory)}{remedy and f': {remedy}'}")
    if memory.device == "cpu":  # memory that malloc() keeps may be in pieces that did not fit
        least = NOTABLE * memory.in_use
        rest = [each for each in rest_entries(memory) if each[2] >= least]
        parts += [f"{format_bytes(size)} {words}" for _, words, size in rest]
    elif memory.rest > 0:
        parts.append(f"{format_bytes(memory.rest)} {rest_words(memory.device)}")
    limit = "" if memory.limit is None else f" of {format_bytes(memory.limit)}"
    in_use = f"{format_bytes(memory.in_use)}{limit} in use"
    unread = unread_words(memory)
    return (
        f"out of memory on {memory.device}: {requested}{in_use}, of which {'; '.join(parts)}"
        f"{_fragmentation(memory)}{unread and f'. {clean_text(unread)}'}"
    )


def _largest_held(memory: Memory) -> str:
    part = largest_part(each for each in memory.owners if each.held_by)
    if not part:
        return ""
    from cyclewatch.account.next_steps import step_of_group  # late: import must be fast

    is_notable = bytes_of(part) >= NOTABLE * memory.in_use
    step = step_of_group(part[0]) if is_notable else ""
    return clean_text(f" ({held_words(part)}{step and f': {step}'})")


def _fragmentation(memory: Memory) -> str:
    """Why the allocation failed, if torch had enough memory for it."""
    free = 0 if memory.torch is None else memory.torch.fragmented + memory.torch.cached
    if memory.requested is None or free < memory.requested:
        return ""
    largest = memory.torch.largest_free if memory.torch is not None else None
    pieces = "in pieces that did not fit"
    if largest is not None and largest < memory.requested:
        pieces = f"but the largest block, {format_bytes(largest)}, is smaller than requested"
    return (
        f"; {format_bytes(free)} more are reserved but free, {pieces} "
        f"(fragmentation: {FRAGMENTED_STEP})"
    )


def oom_report(memory: Memory) -> str:
    """The report: the headline, exact numbers, the cards of the cycles and the largest owners."""
    rows = [
        *((size, label) for _, label, size in process_entries(memory)),
        (memory.in_use, f"in use ({memory.source})"),
        *((size, label) for _, label, size in free_entries(memory.torch)),
    ]
    if memory.requested is not None:
        rows.append((memory.requested, "requested"))
    if memory.limit is not None:
        rows.append((memory.limit, "limit"))
    parts = [
        oom_headline(memory),
        byte_table(rows),
    ]
    parts += [each.to_text(rank).rstrip() for rank, each in enumerate(memory.findings, start=1)]
    if memory.owners:
        parts.append("\n".join(["Largest reachable tensors:", *owner_lines(memory.owners)]))
    return "\n\n".join(parts) + "\n"
