# SPDX-License-Identifier: Apache-2.0
"""Fails a test after which more tensor memory is reachable than before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import cyclewatch
from cyclewatch._native import clean_text, format_bytes
from cyclewatch.collecting import collect
from cyclewatch.live_census import kind_of
from cyclewatch.pytest_plugin.hooks import forget_last_exception

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch import LiveOwner
    from cyclewatch.pytest_plugin.options import Settings

_MAX_GROUPS = 10  # in a message
_ALL_GROUPS = 1 << 30

# Type, device, shape, dtype and path of a group.
Kind = tuple[str, str, object, str | None, str]


def check_live_tensors(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    """Body of the fixture. Does nothing after a failed test, whose traceback holds its tensors."""
    failed = request.session.testsfailed
    forget_last_exception()
    before = _bytes_by_kind(settings)
    yield
    if request.session.testsfailed > failed:
        return
    # The values of fixtures that are torn down; pytest drops them later.
    request.node.funcargs.clear()
    owners = _live(settings)
    after = sum(owner.nbytes for owner in owners)
    if after > sum(before.values()) and after - sum(before.values()) >= settings.min_bytes:
        pytest.fail(_failure_text(before, owners), pytrace=False)


def _live(settings: Settings) -> list[LiveOwner]:
    collect()
    owners = cyclewatch.live_owners(_ALL_GROUPS, min_bytes=0)
    if {"auto", "all"} & set(settings.devices):
        return owners
    return [owner for owner in owners if _is_on(owner.device, settings.devices)]


def _is_on(device: str, names: tuple[str, ...]) -> bool:
    return any(device == name or device.startswith(f"{name}:") for name in names)


def _bytes_by_kind(settings: Settings) -> Counter[Kind]:
    kinds: Counter[Kind] = Counter()
    for owner in _live(settings):
        kinds[kind_of(owner)] += owner.nbytes
    return kinds


def _failure_text(before: Counter[Kind], owners: list[LiveOwner]) -> str:
    grown = [owner for owner in owners if owner.nbytes > before[kind_of(owner)]]
    grown.sort(key=lambda owner: owner.nbytes - before[kind_of(owner)], reverse=True)
    after = sum(owner.nbytes for owner in owners)
    total = sum(before.values())
    lines = [
        f"the test left {format_bytes(after - total)} of tensors reachable "
        f"({format_bytes(total)} before, {format_bytes(after)} after it)"
    ]
    for owner in grown[:_MAX_GROUPS]:
        lines += _lines(owner, owner.nbytes - before[kind_of(owner)])
    if len(grown) > _MAX_GROUPS:
        lines.append(f"  and {len(grown) - _MAX_GROUPS} more groups")
    return "\n".join(lines)


def _lines(owner: LiveOwner, nbytes: int) -> list[str]:
    shape = "" if owner.shape is None else f" {list(owner.shape)}"
    kind = clean_text(f"{owner.type}{shape} {owner.dtype or ''}".rstrip())
    lines = [f"  {format_bytes(nbytes):>9}  {kind} on {owner.device}"]
    lines += [f"             held by {path}" for path in owner.held_by]
    return lines
