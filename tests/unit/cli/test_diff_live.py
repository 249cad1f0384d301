# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch diff`` of two reports that list live tensors."""

import json

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch import _native

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")

kept = []


@pytest.fixture
def recorded(tmp_path):
    """Writes a report that lists the live buffers."""

    def write(name, groups=100):
        path = tmp_path / name
        path.write_text(_native.scan(2, True, ["cpu"], None, groups).to_json())
        return path

    yield write
    kept.clear()


def test_live_tensors_that_have_grown_are_listed(command, recorded):
    kept.append(Buffer(1000))
    before = recorded("before.json")
    kept.extend([Buffer(1000), Buffer(1000)])
    after = recorded("after.json")
    lines = command("diff", before, after).out.splitlines()
    assert lines[0] == "Live tensors: +2.0 KiB in 1 group; no findings in either report."
    at = lines.index("Live tensors that have grown:")
    assert lines[at + 1].startswith("  +2.0 KiB  2 x owners.Buffer, held by module global ")
    [growth] = json.loads(command("diff", "--json", before, after).out)["live"]
    assert (growth["bytes"], growth["count"], growth["device"]) == (2000, 2, "cpu")
    assert growth["held_by"][0].endswith("kept[0]")
    assert command("diff", after, before).out.startswith(
        "No live tensors have grown; no findings in either report."
    )
    assert command("diff", "--fail", before, before).status in (0, 3)


def test_reports_without_live_tensors(command, recorded, report):
    kept.append(Buffer(1000))
    with_live = recorded("live.json")
    without = recorded("none.json", 0)
    assert command("diff", without, with_live).out.startswith("No findings in either report.")
    assert json.loads(command("diff", "--json", without, with_live).out)["live"] == []


def test_two_saved_censuses(command, tmp_path):
    kept.append(Buffer(1000))
    cyclewatch.census().save(tmp_path / "before.json")
    kept.append(Buffer(1000))
    cyclewatch.census().save(tmp_path / "after.json")
    try:
        outcome = command("diff", tmp_path / "before.json", tmp_path / "after.json")
    finally:
        kept.clear()
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Live tensors: +1000 B in 1 group; ")
    at = lines.index("Live tensors that have grown:")
    assert lines[at + 1].startswith("  +1000 B  1 x owners.Buffer, held by module global ")
    assert outcome.status == 0


def test_growth_from_a_census_without_tensors(command, tmp_path):
    cyclewatch.Census([]).save(tmp_path / "before.json")
    kept.append(Buffer(1 << 40))  # listed first, before what other tests have left
    cyclewatch.census().save(tmp_path / "after.json")
    kept.clear()
    outcome = command("diff", tmp_path / "before.json", tmp_path / "after.json")
    assert "  +1.0 TiB  1 x owners.Buffer, held by module global " in outcome.out


def test_findings_are_counted_if_there_are_any(command, recorded):
    kept.append(Buffer(1000))
    before = recorded("before.json")
    kept.append(Buffer(1000))
    cycle = Buffer(500)
    cycle.me = cycle
    del cycle
    after = recorded("after.json")
    lines = command("diff", before, after).out.splitlines()
    assert lines[0] == "1 new, 0 grown, 0 shrunk, 0 gone, 0 same"
    assert "Live tensors that have grown:" in lines
