# SPDX-License-Identifier: Apache-2.0
"""Describes snapshots as text. The first line of each device says what its memory is used for."""

from __future__ import annotations

from cyclewatch._native import format_bytes
from cyclewatch.account.memory_lines import rounded
from cyclewatch.snapshots import comparison
from cyclewatch.snapshots.allocator_state import frame_text, location
from cyclewatch.snapshots.history import History, reason
from cyclewatch.snapshots.owners import DEAD, FROZEN, by_owner
from cyclewatch.snapshots.usage import (
    Usage,
    blocks_of,
    by_pool,
    by_segment_size,
    by_stack,
    on_device,
    usage_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cyclewatch.snapshots.allocator_state import Snapshot, Stack
    from cyclewatch.snapshots.comparison import Change, Divergence
    from cyclewatch.snapshots.owners import OwnedBlocks
    from cyclewatch.snapshots.usage import Allocations

_MAX_CALLERS = 3
_MAX_OWNERS = 2  # of the allocations of one call stack
_MAX_ROWS = 12  # of a table
_INDENT = " " * 13
FREED_TITLE = "Unreachable storages that were freed"
_COLUMNS = (
    *("segments", "reserved", "allocated", "pending", "cached", "private"),
    *("fragmented", "unlisted"),
    "largest_free",
)


def describe_all(snapshots: Sequence[Snapshot], top: int, compares_ranks: bool) -> str:
    """The last snapshot, after the growth since the first; or the differences between ranks."""
    damage = [text for each in snapshots if (text := damage_text(each))]
    if compares_ranks:
        return "\n\n".join([*damage, describe_ranks(snapshots, top)])
    last = describe(snapshots[-1], top)
    if len(snapshots) == 1:
        return "\n\n".join([*damage, last])
    return "\n\n".join([*damage, describe_growth(snapshots[0], snapshots[1], top), last])


def damage_text(snapshot: Snapshot) -> str:
    """A sentence about segments whose blocks do not add up to their size; "" if there are none."""
    usage = usage_of(snapshot.segments)
    if not usage.damaged:
        return ""
    return (
        f"{snapshot.name} is incomplete or damaged: in {usage.damaged:,} of {usage.segments:,} "
        f"segment{'s' * (usage.segments != 1)}, the blocks do not add up to the size of the "
        "segment, so that sizes may be wrong."
    )


def describe(snapshot: Snapshot, top: int) -> str:
    """All devices of one snapshot, with the `top` largest groups of live blocks of each."""
    devices = snapshot.devices
    if not devices:
        return f"{snapshot.name}: torch had reserved no device memory"
    return "\n\n".join(_device(snapshot, device, top) for device in devices)


def _device(snapshot: Snapshot, device: int, top: int) -> str:
    segments = on_device(snapshot, device)
    usage, history = usage_of(segments), History(snapshot, device)
    unowned = snapshot.unowned
    owners = by_owner(blocks_of(segments), unowned) if snapshot.has_owners else []
    freed = by_owner(snapshot.freed(device), unowned, "freed")
    parts = [headline(usage, device, owners), table([("total", usage)], totals=True)]
    pools = by_pool(segments)
    if len(pools) > 1:
        parts.append("Pools:\n" + table(pools.items()))
    if usage.free:
        parts.append("Segments by size:\n" + table(by_segment_size(segments).items()))
    parts += [failure_text(history, usage, snapshot.settings)] if history.failures else []
    if history.points:
        parts.append(history_text(history))
    if owners:
        parts.append("\n".join(["Owners of the live allocations:", *_owner_lines(owners, top)]))
    if freed:
        parts.append("\n".join([FREED_TITLE + ":", *_owner_lines(freed, top, "was ")]))
    groups = list(by_stack(segments).values())
    if groups:
        lines = _group_lines(groups, top, unowned if snapshot.has_owners else None)
        parts.append("\n".join(["Largest live allocations:", *lines]))
    return "\n\n".join(parts)


def headline(usage: Usage, device: int, owners: Sequence[OwnedBlocks] = ()) -> str:
    """One line: what the reserved memory is used for."""
    dead = sum(each.nbytes for each in owners if each.state in (DEAD, FROZEN))
    cycles = f", of which {format_bytes(dead)} in dead cycles" if dead else ""
    words = [f"{format_bytes(usage.allocated)} allocated{cycles}"]
    if usage.pending:
        words.append(f"{format_bytes(usage.pending)} waiting for another stream")
    if usage.fragmented:
        fragments = f"{format_bytes(usage.fragmented)} free in partly used segments"
        if not (usage.cached or usage.private):  # otherwise, the largest may be one of these
            fragments += f" (largest free block {format_bytes(usage.largest_free)})"
        words.append(fragments)
    if usage.cached:
        words.append(f"{format_bytes(usage.cached)} cached (empty_cache() returns it)")
    if usage.private:
        words.append(
            f"{format_bytes(usage.private)} free in private pools (empty_cache() does not return "
            "it while the CUDA graph or torch.cuda.MemPool exists)"
        )
    return f"cuda:{device}: {format_bytes(usage.reserved)} reserved by torch: " + ", ".join(words)


def table(rows: Iterable[tuple[str, Usage]], *, totals: bool = False) -> str:
    """A table of exact sizes in bytes; the columns from "allocated" on add up to "reserved"."""
    rows = list(rows)
    rare = ("private", "unlisted")
    columns = [
        each for each in _COLUMNS if each not in rare or any(getattr(u, each) for _, u in rows)
    ]
    lines = [["bytes" if totals else "", *(each.replace("_", " ") for each in columns)]]
    for name, usage in rows[:_MAX_ROWS]:
        lines.append([name, *(f"{getattr(usage, each):,}" for each in columns)])
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    texts = [
        f"  {name:<{first}}" + "".join(f"{c:>{w + 2}}" for c, w in zip(cells, widths, strict=True))
        for name, *cells in lines
    ]
    more = len(rows) - _MAX_ROWS
    return "\n".join(texts + ([f"  and {more:,} more"] if more > 0 else []))


def failure_text(history: History, usage: Usage, settings: dict[str, object]) -> str:
    """The last allocation that did not fit, and why."""
    failure = history.failures[-1]
    event = failure.event
    count = len(history.failures)
    why, remedy = reason(failure, usage, settings)
    lines = [
        f"Out of memory{f' {count} times; the last time' if count > 1 else ''}: "
        f"{format_bytes(event.size)} requested, {format_bytes(event.free)} free on the device, "
        f"{format_bytes(usage.free)} free in torch's segments, largest free block "
        f"{format_bytes(usage.largest_free)}",
        f"  {why}{f': {remedy}' if remedy else ''}",
        *(f"  {line}" for line in _stack_lines(event.stack)),
    ]
    return "\n".join(lines)


def history_text(history: History) -> str:
    """One line about the recorded events."""
    at, peak = history.peak
    moment = f"{at:.3f} s" if history.is_timed else f"event {at:,.0f}"
    duration = f" in {history.points[-1][0]:.3f} s" if history.is_timed else ""
    return (
        f"History: {history.events:,} events{duration}; requested memory in use peaked at "
        f"{format_bytes(peak)} after {moment}"
    )


def _owner_lines(owners: Sequence[OwnedBlocks], top: int, verb: str = "") -> list[str]:
    lines = [f"  {_amount(each)}  {verb}{each.text}" for each in owners[:top]]
    if len(owners) > top:
        rest = sum(each.nbytes for each in owners[top:])
        lines.append(f"  {format_bytes(rest):>9}  of {len(owners) - top:,} more owners")
    return lines


def _amount(group: OwnedBlocks | Allocations) -> str:
    is_equal = group.largest * group.count == group.nbytes
    sizes = f"{' x' if is_equal else ', largest'} {format_bytes(group.largest)}"
    return f"{format_bytes(group.nbytes):>9}  {f'{group.count:,}{sizes}':<21}"


def _group_lines(
    groups: Sequence[Allocations], top: int, unowned: tuple[str, str] | None
) -> list[str]:
    lines = []
    for group in groups[:top]:
        first, *callers = _stack_lines(group.stack)
        lines.append(f"  {_amount(group)}  {first}")
        lines += [_INDENT + caller for caller in callers]
        owners = by_owner(group.blocks, unowned) if unowned is not None else []
        lines += [_INDENT + f"owner: {owner.text}" for owner in owners[:_MAX_OWNERS]]
        if len(owners) > _MAX_OWNERS:
            lines.append(_INDENT + f"and {len(owners) - _MAX_OWNERS:,} more owners")
    if len(groups) > top:
        rest = sum(group.nbytes for group in groups[top:])
        lines.append(f"  {format_bytes(rest):>9}  in {len(groups) - top:,} more groups")
    return lines


def _stack_lines(stack: Stack | None) -> list[str]:
    """The line of the user's code, then the innermost frame and the callers of the line."""
    chosen = location(stack)
    lines = [chosen]
    texts = [frame_text(frame) for frame in stack or ()]
    if chosen not in texts:
        return lines
    at = texts.index(chosen)
    if at > 0:
        lines.append(f"through {texts[0]}")
    lines += [f"called from {text}" for text in texts[at + 1 : at + 1 + _MAX_CALLERS]]
    return lines


def describe_growth(before: Snapshot, after: Snapshot, top: int) -> str:
    """What grew between two snapshots, grouped by call stack."""
    found = comparison.changes(before, after)
    parts = [growth_headline(before, after)]
    for title, rows in (
        ("Grown", [each for each in found if each.growth > 0]),
        ("Shrunk", [each for each in found if each.growth < 0]),
    ):
        if rows:
            parts.append("\n".join([f"{title}, by call stack:", *_change_lines(rows, top)]))
    if not found:
        parts.append("No call stack has more or fewer live bytes.")
    return "\n\n".join(parts)


def growth_headline(before: Snapshot, after: Snapshot) -> str:
    """One line: how the use of the memory changed."""
    old, new = usage_of(before.segments), usage_of(after.segments)
    line = (
        f"{before.name} -> {after.name}: allocated {difference(old.allocated, new.allocated)}, "
        f"reserved {difference(old.reserved, new.reserved)}"
    )
    if old.fragmented or new.fragmented:
        line += (
            f", free in partly used segments {difference(old.fragmented, new.fragmented)}; "
            f"largest free block {format_bytes(old.largest_free)} -> "
            f"{format_bytes(new.largest_free)}"
        )
    return line


def difference(before: int, after: int) -> str:
    """How a size in bytes changed, and the sizes before and after."""
    return f"{signed(after - before)} ({rounded(before)} -> {rounded(after)})"


def signed(size: int) -> str:
    """A difference in bytes with its sign."""
    return f"{'-' if size < 0 else '+'}{format_bytes(abs(size))}"


def _change_lines(rows: Sequence[Change], top: int) -> list[str]:
    lines = []
    for row in rows[:top]:
        blocks = f"{row.count_before:,} -> {row.count_after:,} blocks"
        first, *callers = _stack_lines(row.stack)
        lines.append(f"  {signed(row.growth):>10}  {blocks:<20}  {first}")
        lines += [_INDENT + caller for caller in callers]
    if len(rows) > top:
        rest = sum(row.growth for row in rows[top:])
        lines.append(f"  {signed(rest):>10}  in {len(rows) - top:,} more groups")
    return lines


def describe_ranks(snapshots: Sequence[Snapshot], top: int) -> str:
    """The ranks, most different first, and the call stacks that differ."""
    found = comparison.divergences(snapshots)
    most, *others = found
    names = f"{most.rank} and {others[0].rank}" if len(found) == 2 else f"All {len(found)} ranks"
    if most.distance == 0:
        return f"{names} have the same live bytes for each call stack."
    size = format_bytes(most.distance)
    if len(found) == 2:
        reference, first = others[0].rank, f"{most.rank} differs from {others[0].rank} by {size}"
    else:
        reference = "median"
        first = f"{most.rank} differs most from the median of {len(found)} ranks, by {size}"
    width = max(len(each.rank) for each in found)
    lines = [
        f"  {each.rank:<{width}}  {format_bytes(each.nbytes):>9} allocated"
        + (f", {format_bytes(each.distance)} from the median" if len(found) > 2 else "")
        for each in found
    ]
    return "\n\n".join(
        [
            f"{first}: {_largest(most)}",
            "\n".join(["Ranks:", *lines]),
            "\n".join(
                [f"Call stacks of {most.rank} that differ:", *_rank_lines(most, reference, top)]
            ),
        ]
    )


def _largest(divergence: Divergence) -> str:
    stack, mine, other = divergence.stacks[0]
    return f"{signed(mine - other)} at {location(stack)}"


def _rank_lines(divergence: Divergence, reference: str, top: int) -> list[str]:
    lines = []
    for stack, mine, other in divergence.stacks[:top]:
        first, *callers = _stack_lines(stack)
        amounts = f"{format_bytes(mine)}, {reference} {format_bytes(other)}"
        lines.append(f"  {signed(mine - other):>10}  {amounts}  {first}")
        lines += [_INDENT + caller for caller in callers]
    if len(divergence.stacks) > top:
        lines.append(f"  and {len(divergence.stacks) - top:,} more")
    return lines
