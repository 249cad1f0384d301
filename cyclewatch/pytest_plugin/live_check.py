# SPDX-License-Identifier: Apache-2.0
"""Fails a test that leaves more tensor memory reachable than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cyclewatch import _native
from cyclewatch._native import format_bytes
from cyclewatch.heap.collecting import collect
from cyclewatch.pytest_plugin.hooks import forget_last_exception
from cyclewatch.wording import owner_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch.pytest_plugin.options import Settings

_FIXTURES = "cyclewatch-fixtures"


def add_fixture(item: pytest.Item) -> None:
    """Make a test use the fixture `tensors_released`.

    The fixture is set up after all shared fixtures, and before the test's own fixtures. If the
    scopes of the fixtures are unknown, it is set up last.
    """
    names = getattr(item, "fixturenames", None)  # only functions and doctests have it
    if names is None or "tensors_released" in names:
        return
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    scopes = [definitions[name][-1].scope if name in definitions else None for name in names]
    at = scopes.index("function") if "function" in scopes else len(names)
    names.insert(at, "tensors_released")


class ActiveFixtures:
    """A plugin that records the fixtures that are set up."""

    def __init__(self) -> None:
        """Create a plugin. It does not know fixtures that were set up before its registration."""
        self.definitions: set[pytest.FixtureDef[object]] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> None:
        """Add a fixture, even if its setup fails."""
        self.definitions.add(fixturedef)

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[object]) -> None:
        """Remove a fixture that was torn down."""
        self.definitions.discard(fixturedef)


def observe_fixtures(config: pytest.Config) -> ActiveFixtures:
    """Return the registered ActiveFixtures; register one if there is none."""
    plugin = config.pluginmanager.get_plugin(_FIXTURES)
    if plugin is None:
        plugin = ActiveFixtures()
        config.pluginmanager.register(plugin, _FIXTURES)
    assert isinstance(plugin, ActiveFixtures)
    return plugin


def check_live_tensors(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    """Body of the fixture. Ignores failed tests, because their tracebacks keep tensors alive."""
    failed = request.session.testsfailed
    forget_last_exception()
    collect()
    known = _native.live_storages(list(settings.devices))
    before = sum(known.sizes.values())
    shared = {each for each in _definitions(request) if each.scope != "function"}
    yield
    if request.session.testsfailed > failed:
        return
    collect()
    known.forget_freed()
    text = _failure(request, settings, shared, known, before)
    if text is not None:
        pytest.fail(text, pytrace=False)  # the traceback must not refer to the fixtures' values


def _failure(
    request: pytest.FixtureRequest,
    settings: Settings,
    shared: set[pytest.FixtureDef[object]],
    known: _native.Storages,
    before: int,
) -> str | None:
    # These are ignored, because pytest drops the test's instance and fixtures only later.
    ignored = [request.node, *(_definitions(request) - shared)]
    results = [(each.argname, each.cached_result) for each in shared if each.cached_result]
    # Paths begin at the fixtures themselves, not at pytest's records of their values.
    ignored += [result for _, result in results]
    fixtures = [(name, result[0]) for name, result in results]
    owners, _ = _native.live_owners(
        list(settings.devices), known=known, ignored=ignored, fixtures=fixtures
    )
    grown = sum(owner.nbytes for owner in owners) + sum(known.sizes.values()) - before
    if grown > 0 and grown >= settings.min_bytes:
        first = (
            f"the test left {format_bytes(grown)} of tensors reachable "
            f"({format_bytes(before)} before, {format_bytes(before + grown)} after it)"
        )
        return "\n".join([first, *owner_lines(owners)])
    return None


def _definitions(request: pytest.FixtureRequest) -> set[pytest.FixtureDef[object]]:
    """The fixtures that currently have a cached value."""
    return {each for each in observe_fixtures(request.config).definitions if each.cached_result}
