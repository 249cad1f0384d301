# SPDX-License-Identifier: Apache-2.0
"""Passes the metrics to the event handlers of ``torch.monitor``."""

from __future__ import annotations

import datetime

from torch.monitor import Aggregation, Stat

from cyclewatch.export.metric_table import metrics


class Statistics:
    """One ``torch.monitor.Stat`` for each name of :func:`cyclewatch.metrics`.

    torch passes the maximum of each window, named ``cyclewatch/dead_bytes.max``, to its event
    handlers, such as ``torch.monitor.TensorboardEventHandler``.

    Args:
        window: Duration of a window, as a timedelta or in seconds.
    """

    def __init__(self, window: datetime.timedelta | float = 60) -> None:
        """Create the statistics."""
        if not isinstance(window, datetime.timedelta):
            window = datetime.timedelta(seconds=window)
        self._window = window
        self._stats: dict[str, Stat] = {}

    def record(self) -> None:
        """Add the current metrics, if a watch is active. Call this at the end of a step."""
        for name, value in metrics().items():
            if name not in self._stats:
                # torch 2.13 passes no value for Aggregation.VALUE.
                self._stats[name] = Stat(
                    name,
                    [Aggregation.MAX],
                    self._window,  # type: ignore[arg-type]
                )
            self._stats[name].add(value)
