# SPDX-License-Identifier: Apache-2.0
"""Arguments and lifecycle of watches, registered owners and Report.merge()."""

import pytest

import cyclewatch


class Buffer:
    """An owner type."""


INVALID_OPTIONS = [
    ({"devices": ("cpu", "toaster")}, ValueError, "toaster.*auto.*cuda|toaster.*cuda.*auto"),
    ({"devices": ("cpu", 3)}, TypeError, "devices.* 3"),
    ({"devices": b"cpu"}, TypeError, "devices.*b'cpu'"),
    ({"devices": 3}, TypeError, "devices.* 3"),
    ({"budget": 0}, ValueError, "budget"),
    ({"budget": 1.01}, ValueError, "budget"),
    ({"budget": float("nan")}, ValueError, "budget"),
    ({"min_bytes": -1}, ValueError, "min_bytes"),
    ({"capture_values": "yes"}, ValueError, "capture_values"),
    ({"capture_values": None}, ValueError, "capture_values"),
    ({"source_lines": "no"}, ValueError, "source_lines.*'no'"),
]


@pytest.mark.parametrize("start", [cyclewatch.warn_tensor_cycles, cyclewatch.watch])
@pytest.mark.parametrize(("options", "error", "message"), INVALID_OPTIONS)
def test_invalid_options_of_a_watch(start, options, error, message):
    with pytest.raises(error, match=message):
        start(**options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: cyclewatch.warn_tensor_cycles(formats=("html", "pdf")),
            ValueError,
            "'pdf'.* text, json, dot, svg, html",
        ),
        (lambda: cyclewatch.warn_tensor_cycles(report_dir="a\0b"), ValueError, "report_dir"),
        (lambda: cyclewatch.observe_tensor_cycles("print"), TypeError, "callback.*callable.*str"),
        (lambda: cyclewatch.register_owner("Buffer", len), TypeError, "type"),
        (lambda: cyclewatch.register_owner(Buffer, {}), TypeError, "callable"),
        (lambda: cyclewatch.unregister_owner(Buffer), KeyError, "Buffer"),
        (lambda: cyclewatch.unregister_owner("Buffer"), TypeError, "type.*'Buffer'"),
        (lambda: cyclewatch.Report.merge(3), TypeError, r"Report\.merge\(\).*int"),
        (lambda: cyclewatch.Report.merge([3]), TypeError, r"Report\.merge\(\).*int"),
        (lambda: cyclewatch.Report.merge("abc"), TypeError, r"Report\.merge\(\).*str"),
        (lambda: cyclewatch.Report.merge([None]), TypeError, r"Report\.merge\(\).*None"),
        (lambda: cyclewatch.Report.merge([]), ValueError, "merge"),
        (lambda: cyclewatch.Report.load(0), TypeError, None),  # not a file descriptor
    ],
)
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_stop_is_idempotent():
    watch = cyclewatch.watch(budget=1, devices="cpu")
    assert watch.active
    watch()
    assert not watch.active
    watch.stop()
    assert not watch.active


def test_with_block_stops_the_watch_and_keeps_its_report():
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        pass
    assert not watch.active
    assert watch.report().findings == []
    assert watch.report().retained_bytes == 0


def test_stats_are_attributes_and_a_mapping():
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        stats = watch.stats
    assert stats["collections"] == stats.collections
    assert dict(stats).keys() == set(stats)
    with pytest.raises(KeyError, match="unknown_name"):
        stats["unknown_name"]


def test_owner_can_be_unregistered_once():
    cyclewatch.register_owner(Buffer, lambda _: None)
    cyclewatch.unregister_owner(Buffer)
    with pytest.raises(KeyError):
        cyclewatch.unregister_owner(Buffer)
