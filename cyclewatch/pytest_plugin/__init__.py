# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a test that makes a tensor cycle fails, and says where.

Loaded by every pytest run in whose environment cyclewatch is installed, so this file does next to
nothing until ``--cyclewatch``, its ini key or a mark switches the plugin on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cyclewatch.pytest_plugin.options import add_options, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclewatch import Watch

MARKS = (
    "no_tensor_cycles: fail this test if it leaves loops that keep tensors alive, also in a run "
    "with --cyclewatch=off.",
    "allow_tensor_cycles(reason, max_bytes=None, pattern=None): let such loops of this test pass, "
    "those of the pattern ('closure-*') and up to max_bytes ('1 MB') in each phase together.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; switch the plugin on if the run asks for it."""
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    if read_settings(config).mode != "off":
        _switch_on(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Switch the plugin on if a test asks for it."""
    if any(item.get_closest_marker("no_tensor_cycles") for item in items):
        _switch_on(config)


@pytest.fixture
def tensor_cycles(pytestconfig: pytest.Config) -> Iterator[Watch]:
    """A :class:`cyclewatch.Watch` that is on during the test; ask it after ``gc.collect()``."""
    import cyclewatch
    from cyclewatch.collecting import collect

    settings = read_settings(pytestconfig)
    collect()  # older garbage is not this test's
    with cyclewatch.watch(
        devices=settings.devices, min_bytes=settings.min_bytes, budget=1.0
    ) as watch:
        yield watch


def _switch_on(config: pytest.Config) -> None:
    from cyclewatch.pytest_plugin.switch import switch_on

    switch_on(config, read_settings(config))
