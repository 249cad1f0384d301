# SPDX-License-Identifier: Apache-2.0
"""census() and Census.diff(): which reachable tensors grew."""

import pytest
from owners import Buffer

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


kept = []


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    kept.clear()


def test_growth_of_a_group():
    kept.append(Buffer(100))
    before = cyclewatch.census()
    kept.extend([Buffer(100), Buffer(100)])
    after = cyclewatch.census()
    assert after.nbytes - before.nbytes == 200
    (growth,) = after.diff(before)
    assert (growth.nbytes, growth.count, growth.owner.count) == (200, 2, 3)
    assert str(growth) == (
        f"+200 B  2 x owners.Buffer, held by module global {__name__}.kept -> kept[0]"
    )
    assert repr(growth) == f"<Growth {growth}>"
    assert before.diff(after) == []
    assert after.diff(after) == []


def test_new_groups_are_sorted_by_growth():
    before = cyclewatch.census()
    kept.extend([Buffer(100), [Buffer(300)]])
    assert [growth.nbytes for growth in cyclewatch.census().diff(before)] == [300, 100]


def test_census_does_not_keep_tensors_alive():
    kept.append(Buffer(100))
    before = cyclewatch.census()
    kept.clear()
    after = cyclewatch.census()
    assert before.nbytes - after.nbytes == 100
    assert "groups" in repr(after)


def test_device():
    kept.append(Buffer(100))
    assert cyclewatch.census(device="cuda:7").owners == []
    assert cyclewatch.census(device="cpu").nbytes >= 100


def test_wrong_argument():
    with pytest.raises(TypeError, match="diff\\(\\) expects a Census, not list"):
        cyclewatch.census().diff([])
