# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: fails tests whose reference cycles keep tensors alive.

Every pytest run loads this file if cyclewatch is installed. It imports the rest of the plugin only
when an option, a mark or a fixture needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cyclewatch.pytest_plugin.options import Settings, add_options, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch import Watch

# The attribute of a test report that contains the records of the phase. xdist serializes it.
REPORT_ATTRIBUTE = "cyclewatch_records"

MARKS = (
    "no_tensor_cycles(never_freed=False): fail this test if it creates reference cycles that keep "
    "tensors alive, even with --cyclewatch=off. never_freed=True: also find cycles that no "
    "collection frees.",
    "allow_tensor_cycles(reason, max_bytes=None, pattern=None): in this test, accept "
    "reference cycles that keep tensors alive. Arguments such as pattern='closure-*' and "
    "max_bytes='1 MB' (per phase) limit which cycles are accepted.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and set up the plugin if it is enabled."""
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    settings = read_settings(config)
    # With --cyclewatch=off, only xdist's workers know whether a test is marked, but invalid options
    # must be reported before the workers start.
    if settings.mode != "off" or (is_controller(config) and settings.can_be_wrong):
        _set_up(config, settings)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set up the plugin if a test is marked, and add the fixture for --cyclewatch-live."""
    if read_settings(config).live:
        from cyclewatch.pytest_plugin.live_check import add_fixture

        for item in items:
            add_fixture(item)
    if any("tensors_released" in getattr(item, "fixturenames", ()) for item in items):
        from cyclewatch.pytest_plugin.live_check import observe_fixtures

        observe_fixtures(config)
    if any(item.get_closest_marker("no_tensor_cycles") for item in items):
        _set_up(config, read_settings(config))


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(config: pytest.Config, data: dict[str, Any]) -> None:
    """Set up the summary in the xdist controller when a worker reports a checked test."""
    if REPORT_ATTRIBUTE in data:
        _set_up(config, read_settings(config))


@pytest.fixture
def tensor_cycles(pytestconfig: pytest.Config) -> Iterator[Watch]:
    """A running :class:`cyclewatch.Watch`; call ``gc.collect()`` before reading its findings."""
    import cyclewatch
    from cyclewatch.heap.collecting import collect

    settings = read_settings(pytestconfig)
    collect()  # older garbage does not belong to this test
    with cyclewatch.watch(
        devices=settings.devices, min_bytes=settings.min_bytes, budget=1.0
    ) as watch:
        yield watch


@pytest.fixture
def tensors_released(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves more tensor memory reachable than before.

    The message shows what keeps this memory alive.
    """
    from cyclewatch.pytest_plugin.live_check import check_live_tensors

    yield from check_live_tensors(request, read_settings(request.config))


def is_controller(config: pytest.Config) -> bool:
    """Whether this process only distributes tests to xdist workers."""
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workeroutput")


def _set_up(config: pytest.Config, settings: Settings) -> None:
    from cyclewatch.pytest_plugin.setup import set_up

    set_up(config, settings)
