# SPDX-License-Identifier: Apache-2.0
"""The metrics that training loggers and monitoring systems receive."""

from __future__ import annotations

from cyclewatch.watching.watches import active_watch

# Unit and meaning by name. The values count from the start of the watch.
METRICS = {
    "cyclewatch/dead_bytes": (
        "bytes",
        "Unreachable tensors that scans have found and that have not been freed yet.",
    ),
    "cyclewatch/freed_bytes": ("bytes", "Tensors that collections have freed."),
    "cyclewatch/gc_seconds": (
        "seconds",
        "Duration of all collections, without the time spent in the watch.",
    ),
    "cyclewatch/findings": ("findings", "Distinct reference cycles that kept tensors alive."),
}
# By category of the tensors; missing before the first census (`census_every` of a watch).
CENSUS_METRICS = {
    "cyclewatch/parameter_bytes": ("bytes", "Parameters in the last census."),
    "cyclewatch/gradient_bytes": ("bytes", "Gradients in the last census."),
    "cyclewatch/optimizer_state_bytes": ("bytes", "Optimizer state in the last census."),
    "cyclewatch/saved_for_backward_bytes": (
        "bytes",
        "Tensors saved for the backward pass in the last census.",
    ),
    "cyclewatch/activation_bytes": ("bytes", "Activations in the last census."),
    "cyclewatch/other_bytes": (
        "bytes",
        "All other reachable tensors in the last census, including those that only C++ code holds.",
    ),
}


def metrics() -> dict[str, float]:
    """Return the metrics of the active watch, for the logger of a training loop.

    If several watches are active, the metrics are those of the watch that was started last. Call
    this at the end of a step, not from a gc callback. Delivers pending notifications first::

        wandb.log(cyclewatch.metrics(), step=step)

    Returns:
        The values by name, or an empty dict if no watch is active. :meth:`Watch.metrics` also
        returns them after the watch has stopped. ``cyclewatch/dead_bytes`` is the size of the
        unreachable tensors that scans have found and that have not been freed yet. It is 0 while
        nothing scans: :meth:`Watch.step` scans while automatic collection is off.
        ``cyclewatch/freed_bytes`` is the size of the tensors that collections have freed,
        ``cyclewatch/gc_seconds`` the duration of all collections without the time spent in the
        watch, and ``cyclewatch/findings`` the number of findings. If the watch takes censuses
        (`census_every` of :func:`watch`), ``cyclewatch/parameter_bytes``, ``gradient_bytes``,
        ``optimizer_state_bytes``, ``saved_for_backward_bytes``, ``activation_bytes`` and
        ``other_bytes`` are the sizes of the reachable tensors in the last census.

    Examples:
        >>> with cyclewatch.watch(devices="cpu"):
        ...     train()
        ...     cyclewatch.metrics()["cyclewatch/freed_bytes"]
        4096
        >>> cyclewatch.metrics()
        {}
    """
    watch = active_watch()
    return {} if watch is None else watch.metrics()
