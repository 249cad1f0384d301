# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch diff`` of two reports that say what the memory is used for."""

import json

import pytest

import cyclewatch

MIB = 1 << 20


@pytest.fixture
def write(tmp_path):
    """Writes a report with accounts of the lines given, in MiB."""
    with cyclewatch.watch(devices="cpu") as watch:
        cyclewatch.memory("cpu")
    data = json.loads(watch.report().to_json())
    [template] = data["memory"]

    def account(lines, peak=0, **fields):
        listed = [
            {"kind": kind, "use": f"{kind} in {size} pieces", "bytes": size * MIB}
            for kind, size in lines.items()
        ]
        in_use = sum(lines.values()) * MIB
        return {
            **template,
            "device": "cuda:0",
            "lines": listed,
            "in_use": in_use,
            "peak": peak * MIB,
            **fields,
        }

    def write(name, *accounts, processes=1):
        data["memory"] = [account(lines, **fields) for lines, fields in accounts]
        data["processes"] = data["processes"][:1] * processes
        path = tmp_path / name
        path.write_text(json.dumps(data))
        return path

    return write


def test_lines_that_changed_are_listed(command, write):
    before = write("before.json", ({"parameter": 600, "fragmented": 400}, {"peak": 900}))
    after = write("after.json", ({"parameter": 605, "dead": 20}, {"peak": 700}))
    shown = command("diff", before, after).out
    assert shown.endswith(
        "\n\nMemory in use (cuda:0, on request): -375 MiB (1000 MiB -> 625 MiB)\n"
        "  -400 MiB (400 MiB -> 0 B)  fragmented in 400 pieces\n"
        "  -200 MiB (900 MiB -> 700 MiB)  peak\n"
        "  +20.0 MiB (0 B -> 20.0 MiB)  dead in 20 pieces\n"  # not the parameters: below 1 %
    )
    [account] = json.loads(command("diff", "--json", before, after).out)["memory"]
    assert (account["before"], account["after"]) == (1000 * MIB, 625 * MIB)
    assert account["rows"][0] == {
        "use": "fragmented in 400 pieces",
        "before": 400 * MIB,
        "after": 0,
    }


def test_only_equal_devices_and_occasions_are_compared(command, write):
    before = write("before.json", ({"dead": 9}, {"occasion": "end"}), ({"dead": 5}, {}))
    after = write("after.json", ({"dead": 3}, {"occasion": "end"}), ({}, {"device": "cuda:1"}))
    shown = command("diff", before, after).out
    assert "Memory in use (cuda:0, at the end): -6.0 MiB" in shown
    assert shown.count("Memory") == 1
    assert "Memory" not in command("diff", before, before).out


def test_processes_without_rank_cannot_be_told_apart(command, write):
    before = write("before.json", ({"dead": 9}, {}), processes=2)
    after = write("after.json", ({"dead": 3}, {}), processes=2)
    assert "Memory" not in command("diff", before, after).out


def test_an_unknown_peak_is_not_a_change(command, write):
    before = write("before.json", ({"dead": 9}, {}))
    after = write("after.json", ({"dead": 9}, {"peak": 9}))
    assert "peak" not in command("diff", before, after).out


def test_memory_that_is_not_resident(command, write):
    before = write("before.json", ({"other": 9, "rest": -2}, {}))
    after = write("after.json", ({"other": 9, "rest": 1}, {}))
    assert "+3.0 MiB (-2.0 MiB -> 1.0 MiB)  rest" in command("diff", before, after).out
