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
    settings = read_settings(config)
    if settings.mode != "off":
        _switch_on(config)
    elif _gives_tests_to_workers(config):
        if settings.devices != ("auto",):
            from cyclewatch.pytest_plugin.switch import check_devices

            check_devices(settings)  # a worker could only break over them
        config.pluginmanager.register(_Latecomer(config), "cyclewatch-latecomer")


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


def _gives_tests_to_workers(config: pytest.Config) -> bool:
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workeroutput")


class _Latecomer:
    """Switches the plugin on where the tests, and the mark of one of them, are with the workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first report of a checked test tells."""
        if not hasattr(report, "cyclewatch_loops"):
            return
        plugins = self._config.pluginmanager
        plugins.unregister(self)
        try:
            _switch_on(self._config)
        except pytest.UsageError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
        summary = plugins.get_plugin("cyclewatch-summary")
        assert summary is not None
        summary.pytest_runtest_logreport(report)  # the others it hears of by itself


def _switch_on(config: pytest.Config) -> None:
    from cyclewatch.pytest_plugin.switch import switch_on

    switch_on(config, read_settings(config))
