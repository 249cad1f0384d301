# SPDX-License-Identifier: Apache-2.0
"""The arguments of the public functions."""

import pytest

import cyclewatch


@pytest.mark.parametrize("start", [cyclewatch.warn_tensor_cycles, cyclewatch.watch])
def test_unknown_device_lists_the_valid_ones(start):
    with pytest.raises(ValueError, match="toaster") as error:
        start(devices=("cpu", "toaster"))
    assert "cuda" in str(error.value)
    assert "auto" in str(error.value)


def test_unknown_format_lists_the_valid_ones(tmp_path):
    with pytest.raises(ValueError, match="'pdf'; valid formats: text, json, dot, svg, html"):
        cyclewatch.warn_tensor_cycles(formats=("html", "pdf"), report_dir=tmp_path)


@pytest.mark.parametrize("budget", [0, -0.1, 1.01, float("nan")])
def test_invalid_budget_is_rejected(budget):
    with pytest.raises(ValueError, match="budget"):
        cyclewatch.watch(budget=budget)


def test_negative_min_bytes_is_rejected():
    with pytest.raises(ValueError, match="min_bytes"):
        cyclewatch.watch(min_bytes=-1)


@pytest.mark.parametrize("value", ["yes", None, 1])
def test_capture_values_must_be_a_boolean(value):
    with pytest.raises(ValueError, match="capture_values must be True or False, not"):
        cyclewatch.watch(capture_values=value)


def test_invalid_report_dir_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="report_dir must not contain a null character"):
        cyclewatch.warn_tensor_cycles(report_dir=f"{tmp_path}/a\0b")


def test_callback_must_be_callable():
    with pytest.raises(TypeError, match="callback must be callable, not str"):
        cyclewatch.observe_tensor_cycles("print")


def test_watch_is_active_until_stopped_and_may_be_stopped_again():
    watch = cyclewatch.watch(devices="cpu")
    assert watch.active
    watch()
    assert not watch.active
    watch.stop()
    assert not watch.active


def test_leaving_the_with_block_stops_the_watch_and_keeps_its_report():
    with cyclewatch.watch(devices=("cpu",)) as watch:
        pass
    assert not watch.active
    assert watch.report().findings == []
    assert watch.report().retained_bytes == 0


def test_stats_are_attributes_and_items():
    with cyclewatch.watch(devices=("cpu",)) as watch:
        stats = watch.stats
    assert stats["collections"] == stats.collections
    assert dict(stats).keys() == set(stats)
    with pytest.raises(KeyError, match="no_such_key"):
        stats["no_such_key"]


class Buffer:
    """An owner of device memory."""


def test_owner_reader_must_be_callable_and_its_type_a_type():
    with pytest.raises(TypeError, match="expects a type"):
        cyclewatch.register_owner("Buffer", lambda _: None)
    with pytest.raises(TypeError, match="must be callable"):
        cyclewatch.register_owner(Buffer, {})


def test_unregister_owner_requires_a_registered_type():
    with pytest.raises(KeyError, match="Buffer is not registered"):
        cyclewatch.unregister_owner(Buffer)
    with pytest.raises(TypeError, match="expects a type, not 'Buffer'"):
        cyclewatch.unregister_owner("Buffer")


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (3, "expects a list of reports, not int"),
        ([3], "expects reports, not int"),
        ("abc", "expects reports, not str"),
        ([None], "expects reports, not None"),
    ],
)
def test_merge_rejects_other_objects(reports, message):
    with pytest.raises(TypeError) as failure:
        cyclewatch.Report.merge(reports)
    assert str(failure.value) == f"Report.merge() {message}"


@pytest.mark.parametrize("names", [b"cpu", 3, ["cpu", 3]])
def test_devices_are_names(names):
    with pytest.raises(TypeError, match=r"devices expects .*not (b'cpu'|3)"):
        cyclewatch.watch(devices=names)


def test_owner_can_be_unregistered_once():
    cyclewatch.register_owner(Buffer, lambda _: None)
    cyclewatch.unregister_owner(Buffer)
    with pytest.raises(KeyError):
        cyclewatch.unregister_owner(Buffer)
