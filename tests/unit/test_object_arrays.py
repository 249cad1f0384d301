# SPDX-License-Identifier: Apache-2.0
"""References that NumPy arrays store, which the collector does not see."""

import gc
import subprocess
import sys
import sysconfig
import weakref

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.proofs import numpy_layout

numpy = pytest.importorskip("numpy", reason="tests of NumPy arrays")

pytestmark = [
    pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection"),
    pytest.mark.skipif(
        sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
        reason="NumPy arrays are not followed on free-threaded builds",
    ),
]


class Grid:
    """An object whose `cells` lead back to it."""

    def __init__(self, make):
        self.field = Buffer(1000)
        self.cells = make(self)


class Cell:
    def __init__(self, grid):
        self.grid = grid


class Table(numpy.ndarray):
    pass


def filled(shape, *values, order="C", kind=numpy.ndarray):
    array = kind(shape, dtype=object, order=order)
    for index, value in enumerate(values):
        array[numpy.unravel_index(index, array.shape)] = value
    return array


def structured(grid):
    array = numpy.zeros(3, dtype=[("number", "i4"), ("cell", object)])
    array["cell"][1] = Cell(grid)
    return array


def nested_fields(grid):
    array = numpy.zeros((2, 2), dtype=[("a", [("b", "i2"), ("c", object, (2,))])])
    array["a"]["c"][1, 0, 1] = Cell(grid)
    return array


# The label of the reference from the array to the cell.
SHAPES = {
    "vector": (lambda grid: filled(3, None, "text", Cell(grid)), "[2]"),
    "matrix": (lambda grid: filled((2, 3), 0, 1, 2, 3, Cell(grid)), ".flat[4]"),
    "fortran": (lambda grid: filled((2, 3), 0, 1, 2, 3, Cell(grid), order="F"), ".flat[4]"),
    "scalar": (lambda grid: filled((), Cell(grid)), ".flat[0]"),
    "structured": (structured, "['cell'][1]"),
    "nested fields": (nested_fields, "['a']['c'].flat[2]"),
    "subclass": (lambda grid: filled(2, Cell(grid), kind=Table), "[0]"),
    "view": (lambda grid: filled((2, 2), Cell(grid), 1, 2, 3)[:1].T, ".flat[0]"),
    "array in array": (lambda grid: filled(1, filled(2, 0, Cell(grid))), "[1]"),
    "in a tuple": (lambda grid: (1, (filled(1, Cell(grid)), "text")), "[0]"),
}


def make(shape):
    return weakref.ref(Grid(SHAPES[shape][0]))


def cut(reference):
    """Removes the suggested references, `Cell.grid`."""
    for each in gc.get_objects():
        if type(each) is Cell and each.grid is reference():
            each.grid = None
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("shape", SHAPES)
def test_cycle_through_an_array_is_found_by_a_scan_only(shape):
    with cyclewatch.watch(devices="cpu") as watch:
        grid = make(shape)
        gc.collect()
    assert watch.report().findings == []
    assert grid() is not None, "a collection frees it"
    (finding,) = cyclewatch.scan(devices="cpu").findings
    assert finding.collected == "uncollectable"
    assert finding.retained_bytes == 1000
    assert "no collection will free this" in finding.to_text()
    assert SHAPES[shape][1] in [reference.label for reference in finding.cycle]
    assert finding.cut.label == ".grid"
    assert cyclewatch.dead_bytes() == {"cpu": 1000}
    cut(grid)
    assert cyclewatch.scan(devices="cpu").findings == []


@pytest.mark.parametrize("shape", SHAPES)
def test_path_leads_through_an_array(shape):
    kept = Grid(SHAPES[shape][0])
    cell = next(each for each in gc.get_objects() if type(each) is Cell and each.grid is kept)
    del kept
    reference = weakref.ref(cell)
    holder = cell.grid
    cell.grid = None
    del cell
    (path,) = cyclewatch.why_alive(reference, paths=1)
    assert str(path).startswith("test_path_leads_through_an_array() local holder -> holder.cells")
    assert str(path).endswith(SHAPES[shape][1])
    assert cyclewatch.scan(devices="cpu").findings == []
    del holder


@pytest.mark.parametrize("shape", SHAPES)
def test_message_says_that_no_collection_frees_the_cycle(shape):
    grid = make(shape)
    assert cyclewatch.why_alive(grid) == []
    with pytest.raises(AssertionError, match="no collection will free it, because they lead"):
        cyclewatch.assert_released(grid)
    cut(grid)


def test_cycle_with_a_living_array_is_not_reported():
    grid = make("matrix")
    cells = grid().cells
    assert cyclewatch.scan(devices="cpu").findings == []
    view = cells[:1]
    del cells
    assert cyclewatch.scan(devices="cpu").findings == []
    del view
    assert len(cyclewatch.scan(devices="cpu").findings) == 1
    cut(grid)


def test_array_that_only_garbage_refers_to_is_collected():
    grid = Grid(lambda grid: filled(2, Buffer(50)))
    grid.me = grid
    del grid
    (finding,) = cyclewatch.scan(devices="cpu").findings
    assert finding.collected == "not yet"
    gc.collect()
    assert cyclewatch.scan(devices="cpu").findings == []


def test_young_scan_does_not_look_at_arrays():
    grid = make("vector")
    assert cyclewatch.scan(generation=0, devices="cpu").findings == []
    assert cyclewatch.dead_bytes(generation=1) == {}
    assert cyclewatch.scan(frozen=False, devices="cpu").findings == []
    cut(grid)


def test_array_that_contains_itself():
    grid = Grid(lambda grid: filled(2, Cell(grid)))
    grid.cells[1] = grid.cells
    cells = weakref.ref(grid.cells)
    grid = weakref.ref(grid)
    (finding,) = cyclewatch.scan(devices="cpu").findings
    assert finding.retained_bytes == 1000
    cells()[:] = None
    gc.collect()
    assert grid() is None


def test_types_with_other_references_are_not_read():
    if not hasattr(numpy.dtypes, "StringDType"):
        pytest.skip("this NumPy has no StringDType")
    text = numpy.array(["a", "b" * 100], dtype=numpy.dtypes.StringDType())
    assert text.dtype.hasobject
    grid = Grid(lambda grid: [text, Cell(grid)])
    reference = weakref.ref(grid)
    del grid
    (finding,) = cyclewatch.scan(devices="cpu").findings
    assert finding.collected == "not yet"
    gc.collect()
    assert reference() is None


def test_live_tensors_in_an_array_are_listed_with_their_path():
    batches = numpy.empty(100, dtype=object)
    for i in range(100):
        batches[i] = Buffer(10_000)
    (owner,) = cyclewatch.live_owners(min_bytes=100_000)
    assert (owner.count, owner.nbytes) == (100, 1_000_000)
    assert str(owner.held_by[0]).endswith("local batches -> batches[0]")


def test_linked_arrays_need_no_recursion():
    grid = Grid(lambda grid: filled(1, Cell(grid)))
    for _ in range(10_000):
        grid.cells = filled(1, grid.cells)
    inner = grid.cells
    reference = weakref.ref(grid)
    del grid
    assert cyclewatch.scan(devices="cpu").findings == []
    outer = inner
    del inner
    while outer is not None:  # NumPy frees nested arrays recursively
        following = outer[0] if isinstance(outer[0], numpy.ndarray) else None
        outer[0] = None
        outer = following
    assert reference() is None


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


def test_numpy_is_not_imported():
    result = run(
        "import cyclewatch, sys; cyclewatch.scan(); cyclewatch.why_alive([]);"
        "print('numpy' in sys.modules, 'cyclewatch.proofs.numpy_layout' in sys.modules)"
    )
    assert (result.returncode, result.stdout) == (0, "False False\n"), result.stderr


# Each changes what the experiments read, as another layout would.
FAKED = {
    "moved fields": "words = Memory.words;"
    "Memory.words = lambda self, at, n: words(self, at + 8, n)",
    "no memory": "def fail(self): raise UnverifiedError('the process cannot read its own memory');"
    "Memory.__init__ = fail",
    "no references": "sys.getrefcount = lambda value: 1",
    "other elements": "word = Memory.word;Memory.word = lambda self, at: word(self, at) + 8",
}


@pytest.mark.parametrize("layout", FAKED)
def test_unknown_layout_disables_the_search_with_one_sentence(layout):
    result = run(
        f"""
import gc, sys, weakref
import numpy
import cyclewatch
from cyclewatch.proofs.process_memory import Memory, UnverifiedError

{FAKED[layout].replace("; ", chr(10)).replace(";", chr(10))}

class Grid: pass
grid = Grid()
grid.cells = numpy.full(4, grid)
reference = weakref.ref(grid)
del grid
report = cyclewatch.scan()
cyclewatch.scan()
notes = [note for note in report.notes if "NumPy" in note]
print(len(report.findings), len(notes), notes[0])
print(cyclewatch.why_alive(reference)[0].root.kind)
"""
    )
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first.startswith("0 1 cyclewatch could not verify how NumPy")
    assert "so cycles through NumPy arrays are not found" in first
    assert second == "C code"


def test_proof_names_the_fields_of_this_numpy():
    array_type, *offsets = numpy_layout.array_layout()
    assert array_type is numpy.ndarray
    assert len(set(offsets)) == 6
    assert all(0 < offset < numpy.ndarray.__basicsize__ for offset in offsets)
