# SPDX-License-Identifier: Apache-2.0
"""Checks the settings and registers the parts of the plugin that this process needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cyclewatch
from cyclewatch.code.code_roots import set_project
from cyclewatch.pytest_plugin import is_controller
from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError, BaselineUpdate
from cyclewatch.pytest_plugin.hooks import TestHooks
from cyclewatch.pytest_plugin.leak_check import REPORT_NAME
from cyclewatch.pytest_plugin.records import Classifier, ProcessResults
from cyclewatch.pytest_plugin.summary import Summary
from cyclewatch.writing import why_not

if TYPE_CHECKING:
    from cyclewatch.pytest_plugin.options import Settings

_NAMES = ("cyclewatch-hooks", "cyclewatch-summary")


def set_up(config: pytest.Config, settings: Settings) -> None:
    """Register the hooks and the summary. Idempotent. Raises pytest.UsageError."""
    plugins = config.pluginmanager
    if any(plugins.has_plugin(name) for name in _NAMES):
        return
    # Before the first watch starts.
    previous = set_project(config.rootpath)
    config.add_cleanup(lambda: restore_project(previous))
    _check_devices(settings)
    baseline = _read_baseline(settings)
    results = ProcessResults()
    if not is_controller(config):
        classifier = Classifier(settings, baseline, config.rootpath)
        tests = {entry.test for entry in baseline.entries.values()} if baseline else ()
        plugins.register(TestHooks(settings, classifier, results, tests), _NAMES[0])
    if not hasattr(config, "workeroutput"):
        _check_writable(settings)
        # If only marked tests are checked, the run cannot be compared with the baseline.
        update = BaselineUpdate(settings, baseline) if baseline and settings.mode != "off" else None
        plugins.register(Summary(settings, results, update), _NAMES[1])


def restore_project(previous: str | None) -> None:
    """Undo set_project()."""
    set_project(previous)


def _check_devices(settings: Settings) -> None:
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


def _check_writable(settings: Settings) -> None:
    wanted = {
        "--cyclewatch-report": settings.report and settings.report / REPORT_NAME,
        "--cyclewatch-sarif": settings.sarif,
        "--cyclewatch-gitlab": settings.gitlab,
        "--cyclewatch-baseline": settings.baseline if settings.update_baseline else None,
    }
    for flag, path in wanted.items():
        why = why_not(path) if path is not None else None
        if why is not None:
            raise pytest.UsageError(f"{flag}: {path} cannot be written: {why}")
