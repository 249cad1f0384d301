# SPDX-License-Identifier: Apache-2.0
"""Remedies of why_alive() for references that a program cannot or should not simply delete."""

import queue
import re
import sys
import threading
import traceback
import weakref

import pytest

import cyclewatch

areas = {}
rows = []


class Grid:
    """Can be referenced weakly, and is hashable."""


@pytest.fixture(autouse=True)
def nothing_stored():
    yield
    areas.clear()
    rows.clear()


def codes(remedy):
    """The code in the remedy."""
    return re.findall("`([^`]+)`", remedy)


def stored_under_keys(*units):
    grid = Grid()
    for unit in units:
        areas[grid, unit] = 4.0
    return weakref.ref(grid)


def test_several_keys_of_a_dict_are_removed_without_the_dict():
    reference = stored_under_keys("m", "km")
    remedy = cyclewatch.why_alive(reference)[0].remedy
    assert remedy == "remove the entries of `areas` that refer to it, or call `areas.clear()`"
    exec(codes(remedy)[-1])
    assert reference() is None


def test_a_key_of_a_dict_is_removed_with_its_entry():
    reference = stored_under_keys("m")
    (path,) = cyclewatch.why_alive(reference)
    assert path.cut_frees
    assert path.remedy == "remove the entry of `areas` whose key refers to it"
    (key,) = areas
    del areas[key], key
    assert reference() is None


def test_several_items_of_a_list_are_removed_without_the_list():
    grid = Grid()
    rows.extend([(grid, 0), (grid, 1)])
    reference = weakref.ref(grid)
    del grid
    remedy = cyclewatch.why_alive(reference)[0].remedy
    assert remedy == "remove the items of `rows` that refer to it, or call `rows.clear()`"
    exec(codes(remedy)[-1])
    assert reference() is None


class Printer:
    """Serves a queue in a thread; `forgets`: clears its variables before it waits."""

    def __init__(self, forgets):
        self.jobs = queue.Queue()
        self.forgets = forgets
        self.printed = []
        self.thread = threading.Thread(target=self.serve, name="printer")
        self.thread.start()

    def serve(self):
        while True:
            job = self.jobs.get()
            if job is None:
                break
            (page,) = job
            self.printed.append(type(page))
            self.jobs.task_done()
            if self.forgets:
                del job, page


def wait_for_get(thread):
    """Wait until the thread waits in Queue.get()."""
    while sys._current_frames()[thread.ident].f_code is not threading.Condition.wait.__code__:
        pass


@pytest.mark.parametrize("forgets", [False, True])
def test_a_worker_that_waits_clears_the_variables_of_its_last_job(forgets):
    printer = Printer(forgets)
    try:
        page = Grid()
        reference = weakref.ref(page)
        printer.jobs.put((page,))
        del page
        printer.jobs.join()
        wait_for_get(printer.thread)
        remedies = [path.remedy for path in cyclewatch.why_alive(reference)] if reference() else []
    finally:
        printer.jobs.put(None)
        printer.thread.join()
    if forgets:
        assert reference() is None
        return
    assert remedies
    for remedy in remedies:
        assert re.fullmatch(
            r"set the variables `job` and `page` of `Printer.serve\(\)` in thread `printer` "
            r"\(test_remedies.py:[0-9]+\) to None after their last use, "
            r"or end this call if the thread is no longer needed",
            remedy,
        )


def test_variables_that_f_locals_has_copied_are_freed_with_the_traceback():
    references = []

    def fail():
        grid = Grid()
        references.append(weakref.ref(grid))
        raise ValueError

    failed = None
    try:
        fail()
    except ValueError as error:
        failed = error
    [names] = [
        sorted(frame.f_locals)
        for frame, _ in traceback.walk_tb(failed.__traceback__)
        if frame.f_code is fail.__code__
    ]
    assert "grid" in names
    traceback.clear_frames(failed.__traceback__)
    if references[0]() is None:  # f_locals copies nothing
        return
    path = cyclewatch.why_alive(references[0])[0]
    expression = str(path).rsplit(" -> ", 1)[1]
    assert expression == "failed.__traceback__.tb_next.tb_frame.f_locals['grid']"
    assert path.remedy == "set `failed.__traceback__` to None"
    failed.__traceback__ = None
    assert references[0]() is None


def test_a_finalizer_is_detached():
    grid = Grid()
    closer = weakref.finalize(grid, lambda opened: None, grid)
    reference = weakref.ref(grid)
    del grid
    (path,) = cyclewatch.why_alive(reference)
    assert path.remedy == (
        "call `detach()` of the `weakref.finalize` object, or pass it a function and arguments "
        "that do not refer to the object"
    )
    assert path.cut_frees
    closer.detach()
    assert reference() is None
