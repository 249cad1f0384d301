# SPDX-License-Identifier: Apache-2.0
"""Provides the metrics as gauges of ``prometheus_client``."""

from __future__ import annotations

from prometheus_client import Gauge

from cyclewatch.export.metric_table import CENSUS_METRICS, METRICS, metrics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class Gauges:
    """One gauge for each name of :func:`cyclewatch.metrics`, such as ``cyclewatch_dead_bytes``.

    Args:
        registry: Contains the gauges.

    Raises:
        ValueError: `registry` already contains these gauges.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register the gauges."""
        self._registry = registry
        self._gauges = {name: self._gauge(name) for name in METRICS}

    def record(self) -> None:
        """Store the current metrics, if a watch is active. Call this at the end of a step.

        A scrape, which runs on another thread, only reads the stored values.
        """
        for name, value in metrics().items():
            if name not in self._gauges:  # of a census; a gauge without a value would show 0
                self._gauges[name] = self._gauge(name)
            self._gauges[name].set(value)

    def _gauge(self, name: str) -> Gauge:
        _, meaning = {**METRICS, **CENSUS_METRICS}[name]
        return Gauge(name.replace("/", "_"), meaning, registry=self._registry)
