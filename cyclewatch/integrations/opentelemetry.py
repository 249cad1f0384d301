# SPDX-License-Identifier: Apache-2.0
"""Provides the metrics, and the statistics of CPython's collector, to OpenTelemetry."""

from __future__ import annotations

import gc

from cyclewatch.export.metric_table import CENSUS_METRICS, METRICS, metrics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

# The names of the semantic conventions for CPython, and the keys of gc.get_stats().
_COUNTERS = {
    "cpython.gc.collections": ("collections", "{collection}", "Collections of a generation."),
    "cpython.gc.collected_objects": ("collected", "{object}", "Objects that were freed."),
    "cpython.gc.uncollectable_objects": (
        "uncollectable",
        "{object}",
        "Objects that could not be freed.",
    ),
}
_UNITS = {"bytes": "By", "seconds": "s", "findings": "{finding}"}


class Instruments:
    """Gauges for :func:`cyclewatch.metrics`, and counters for ``gc.get_stats()``.

    The gauges are named as the metrics, with a period instead of the slash. The counters count
    from the creation of this object, and have the attribute ``cpython.gc.generation``.

    Args:
        meter: Creates the instruments.
    """

    def __init__(self, meter: Meter) -> None:
        """Create the instruments."""
        self._gauges = {
            name: meter.create_gauge(name.replace("/", "."), _UNITS[unit], meaning)
            for name, (unit, meaning) in {**METRICS, **CENSUS_METRICS}.items()
        }
        self._counters = {
            key: meter.create_counter(name, unit, meaning)
            for name, (key, unit, meaning) in _COUNTERS.items()
        }
        self._last = gc.get_stats()

    def record(self) -> None:
        """Record the current values. Call this at the end of a step.

        The metrics of cyclewatch are recorded only if a watch is active.
        """
        for name, value in metrics().items():
            self._gauges[name].set(value)
        now = gc.get_stats()
        for generation, (new, old) in enumerate(zip(now, self._last, strict=True)):
            for key, counter in self._counters.items():
                if new[key] > old[key]:
                    counter.add(new[key] - old[key], {"cpython.gc.generation": generation})
        self._last = now
