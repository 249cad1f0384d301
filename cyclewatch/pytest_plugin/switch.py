# SPDX-License-Identifier: Apache-2.0
"""Puts the plugin together for the process that runs tests, and for the one that tells."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

import cyclewatch
from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError
from cyclewatch.pytest_plugin.checker import Checker
from cyclewatch.pytest_plugin.files import refuse_unwritable
from cyclewatch.pytest_plugin.ledger import Ledger
from cyclewatch.pytest_plugin.ratchet import Ratchet
from cyclewatch.pytest_plugin.summary import Summary
from cyclewatch.pytest_plugin.verdicts import Judge

if TYPE_CHECKING:
    from cyclewatch.pytest_plugin.options import Settings

_CHECKER = "cyclewatch-checker"


class _RollCall:
    """Notes which tests of the baseline are present, before any of them is deselected."""

    def __init__(self, baseline: Baseline, ledger: Ledger) -> None:
        self._tests = {entry.test for entry in baseline.entries.values()}
        self._ledger = ledger

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Under xdist this happens in each worker, and each finds the same."""
        self._ledger.present.update(self._tests & {item.nodeid for item in items})


class _Sender:
    """Hands an xdist worker's ledger to the process that tells of the run."""

    def __init__(self, ledger: Ledger, output: dict[str, Any]) -> None:
        self._ledger = ledger
        self._output = output

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Outside of the checker, which writes its last entries at the end of the loop."""
        try:
            return (yield)
        finally:
            self._output["cyclewatch"] = self._ledger.as_data()


def switch_on(config: pytest.Config, settings: Settings) -> None:
    """Register what this process needs. Again: does nothing."""
    plugins = config.pluginmanager
    if plugins.has_plugin(_CHECKER):
        return
    check_devices(settings)
    ledger = Ledger()
    baseline = _read_baseline(settings)
    plugins.register(Checker(settings, Judge(baseline, config.rootpath), ledger), _CHECKER)
    if baseline is not None:
        plugins.register(_RollCall(baseline, ledger), "cyclewatch-roll-call")
    output = getattr(config, "workeroutput", None)
    if output is not None:
        plugins.register(_Sender(ledger, output), "cyclewatch-sender")
        return
    refuse_unwritable(settings)
    ratchet = None
    # Where only marked tests are checked, nothing can be said of the baseline's loops.
    if settings.baseline is not None and baseline is not None and settings.mode != "off":
        ratchet = Ratchet(
            settings.baseline,
            baseline,
            update=settings.update_baseline,
            strict=settings.strict_baseline,
        )
    plugins.register(Summary(settings, ledger, ratchet), "cyclewatch-summary")


def check_devices(settings: Settings) -> None:
    """Raise pytest.UsageError if there can be no such devices."""
    try:
        cyclewatch.watch(devices=settings.devices).stop()
    except ValueError as error:
        raise pytest.UsageError(f"--cyclewatch-devices: {error}") from None


def _read_baseline(settings: Settings) -> Baseline | None:
    if settings.baseline is None:
        return None
    try:
        return Baseline.read(settings.baseline)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None
