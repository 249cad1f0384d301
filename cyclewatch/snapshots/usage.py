# SPDX-License-Identifier: Apache-2.0
"""Adds up the blocks of a snapshot: by use, by pool, by size of segment, and by call stack."""

from __future__ import annotations

from dataclasses import dataclass, field

from cyclewatch._native import format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cyclewatch.snapshots.allocator_state import Block, Segment, Snapshot, Stack

# The key of live blocks: their call stack, or their size if the stack was not recorded.
Group = tuple[tuple[str, int, str], ...] | int


@dataclass
class Usage:
    """How the segments of one device or pool are used, in bytes.

    `allocated`, `pending`, `cached`, `private`, `fragmented` and `unlisted` add up to `reserved`.

    Attributes:
        reserved: The total size of the segments.
        allocated: Blocks in use, including what was added to round their sizes.
        rounding: The part of `allocated` that the program has not requested.
        pending: Blocks that the program has freed, but another stream may still use.
        cached: Segments without a block in use; torch.cuda.empty_cache() returns them.
        private: Segments of private pools without a block in use. Nothing returns them as long as
            the pool exists, for example for a CUDA graph.
        fragmented: Free blocks in segments that are in use.
        unlisted: The part of the segments that no block describes; 0 in valid snapshots.
        largest_free: The largest free block.
        segments: The number of segments.
        damaged: The number of segments of which the blocks do not add up to the size of the
            segment; 0 in valid snapshots.
        blocks: The number of blocks in use.
    """

    reserved: int = 0
    allocated: int = 0
    rounding: int = 0
    pending: int = 0
    cached: int = 0
    private: int = 0
    fragmented: int = 0
    unlisted: int = 0
    largest_free: int = 0
    segments: int = 0
    damaged: int = 0
    blocks: int = 0

    def add(self, segment: Segment) -> None:
        """Count a segment and its blocks."""
        self.reserved += segment.size
        unlisted = segment.size - sum(block.size for block in segment.blocks)
        self.unlisted += unlisted
        self.damaged += unlisted != 0
        self.segments += 1
        in_use = segment.is_in_use
        for block in segment.blocks:
            if block.state == "allocated":
                self.blocks += 1
                self.allocated += block.size
                self.rounding += block.size - block.requested
            elif block.state == "pending":
                self.pending += block.size
            else:
                self.largest_free = max(self.largest_free, block.size)
                if in_use:
                    self.fragmented += block.size
                elif segment.is_private:
                    self.private += block.size
                else:
                    self.cached += block.size

    @property
    def free(self) -> int:
        """Bytes that are reserved, but not in use."""
        return self.cached + self.private + self.fragmented


def usage_of(segments: Iterable[Segment]) -> Usage:
    """Add up `segments`."""
    usage = Usage()
    for segment in segments:
        usage.add(segment)
    return usage


def on_device(snapshot: Snapshot, device: int) -> list[Segment]:
    """The segments of one device."""
    return [segment for segment in snapshot.segments if segment.device == device]


def by_pool(segments: Iterable[Segment]) -> dict[str, Usage]:
    """The use of each pool, largest first."""
    return _by(segments, lambda segment: segment.pool)


def by_segment_size(segments: Iterable[Segment]) -> dict[str, Usage]:
    """The use of the segments of each size, largest first."""
    return _by(
        segments,
        lambda segment: "expandable" if segment.is_expandable else format_bytes(segment.size),
    )


def _by(segments: Iterable[Segment], key: Callable[[Segment], str]) -> dict[str, Usage]:
    usages: dict[str, Usage] = {}
    for segment in segments:
        usages.setdefault(key(segment), Usage()).add(segment)
    return dict(sorted(usages.items(), key=lambda item: -item[1].reserved))


@dataclass
class Allocations:
    """Live blocks that one call stack allocated."""

    stack: Stack | None
    nbytes: int = 0
    blocks: list[Block] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    @property
    def largest(self) -> int:
        """The size of the largest block."""
        return max((block.size for block in self.blocks), default=0)


def blocks_of(segments: Iterable[Segment]) -> Iterator[Block]:
    """All blocks of `segments`."""
    return (block for segment in segments for block in segment.blocks)


def by_stack(segments: Iterable[Segment]) -> dict[Group, Allocations]:
    """The live blocks grouped by call stack, largest group first."""
    groups: dict[Group, Allocations] = {}
    for block in blocks_of(segments):
        if block.state == "allocated":
            group = groups.setdefault(_group(block), Allocations(block.stack))
            group.nbytes += block.size
            group.blocks.append(block)
    return dict(sorted(groups.items(), key=lambda item: -item[1].nbytes))


def _group(block: Block) -> Group:
    return block.size if block.stack is None else block.stack
