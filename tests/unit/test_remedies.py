# SPDX-License-Identifier: Apache-2.0
"""Remedies of why_alive() for references that a program cannot or should not simply delete."""

import asyncio
import collections
import contextvars
import functools
import gc
import itertools
import queue
import re
import sqlite3
import sys
import threading
import traceback
import weakref
from multiprocessing import util

import pytest
from owners import Buffer

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
    assert remedy == (
        "remove the entries of `areas` that refer to it once they are no longer needed, or call "
        "`areas.clear()` if none is"
    )
    exec(codes(remedy)[-1])
    assert reference() is None


def test_a_key_of_a_dict_is_removed_with_its_entry():
    reference = stored_under_keys("m")
    (path,) = cyclewatch.why_alive(reference)
    assert path.cut_frees
    assert path.remedy == (
        "remove the entry of `areas` whose key refers to it once it is no longer needed"
    )
    (key,) = areas
    del areas[key], key
    assert reference() is None


def test_several_items_of_a_list_are_removed_without_the_list():
    grid = Grid()
    rows.extend([(grid, 0), (grid, 1)])
    reference = weakref.ref(grid)
    del grid
    remedy = cyclewatch.why_alive(reference)[0].remedy
    assert remedy == (
        "remove the items of `rows` that refer to it once they are no longer needed, or call "
        "`rows.clear()` if none is"
    )
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
        "pass `weakref.finalize` a function and arguments that do not refer to the object, because "
        "otherwise it runs only at exit, or call `detach()` of it if it need not run"
    )
    assert path.cut_frees
    closer.detach()
    assert reference() is None


def test_a_multiprocessing_finalizer_is_called_or_cancelled():
    grid = Grid()
    closer = util.Finalize(None, lambda opened: None, args=(grid,), exitpriority=1)
    reference = weakref.ref(grid)
    del grid
    path = cyclewatch.why_alive(reference)[0]
    assert path.remedy.startswith("call the `multiprocessing.util.Finalize` object once")
    closer()
    assert reference() is None


def test_the_items_of_itertools_cycle_cannot_be_removed():
    """Only C code reaches the list in which it keeps them."""
    batches = itertools.cycle([Grid() for _ in range(3)])
    reference = weakref.ref(next(batches))
    next(batches)
    path = next(p for p in cyclewatch.why_alive(reference, 2) if "saved" in str(p))
    assert path.remedy.startswith("start a new iteration over the data")
    assert "`while True: yield from data`" in path.remedy


def test_an_item_that_only_c_code_reaches_is_not_removed():
    rows.append(iter([Grid()]))
    reference = weakref.ref(gc.get_referents(rows[0])[0][0])
    path = cyclewatch.why_alive(reference)[0]
    assert str(path).endswith("rows[0].iterable[0]")
    assert path.remedy == "remove `rows[0]` once it is no longer needed"
    del rows[0]
    assert reference() is None


def test_a_running_loop_is_not_asked_to_run():
    async def serve():
        grid = Grid()
        asyncio.get_running_loop().call_later(3600, print, grid)
        reference = weakref.ref(grid)
        del grid
        path = cyclewatch.why_alive(reference)[0]
        asyncio.get_running_loop()._scheduled[0].cancel()
        return path, reference

    path, reference = asyncio.run(serve())
    assert path.remedy.startswith("call `cancel()` of the handle that `call_later()`")
    assert reference() is None


def test_a_private_attribute_of_a_library_is_not_changed():
    """asyncio calls `*self._args`, so that None would raise TypeError."""
    loop = asyncio.new_event_loop()
    loop.close()
    timer = asyncio.TimerHandle(0, print, (Grid(),), loop)
    reference = weakref.ref(timer._args[0])
    (path,) = cyclewatch.why_alive(reference)
    assert str(path).endswith("timer._args[0]")
    assert path.remedy.startswith("delete the variable `timer`")
    rows.append(timer)
    areas["timer"] = timer
    del timer
    path = cyclewatch.why_alive(reference)[0]
    assert path.remedy == "call `rows[0].cancel()` once it is no longer needed"
    exec(codes(path.remedy)[0])
    assert reference() is None


class Engine:
    def __init__(self):
        self.cache = [Grid()]
        self.last = Grid()

    def reset(self):
        self.last = None
        self.cache.clear()


def test_the_method_of_the_holder_that_ends_the_use_is_named():
    engine = Engine()
    cached, last = (weakref.ref(each) for each in (engine.cache[0], engine.last))
    remedies = [cyclewatch.why_alive(each)[0].remedy for each in (cached, last)]
    assert all(", or call `engine.reset()`" in remedy for remedy in remedies)
    exec(codes(remedies[0])[1])
    assert (cached(), last()) == (None, None)


def test_a_timer_of_a_running_loop_gets_its_own_context():
    async def request():
        grid = Grid()
        current.set(grid)
        timers.append(asyncio.get_running_loop().call_later(3600, int))
        return weakref.ref(grid)

    async def serve():
        reference = await asyncio.create_task(request())
        path = cyclewatch.why_alive(reference)[0]
        timers.pop().cancel()
        return path

    timers = []
    current = contextvars.ContextVar("current")
    path = asyncio.run(serve())
    if "_scheduled" in str(path):
        assert path.remedy.startswith("pass `context=contextvars.Context()` to the call that")
    else:
        assert "context=contextvars.Context()" in path.remedy


def test_both_the_hook_and_what_it_collects_are_named():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Identity()

    def observe():
        outputs = []
        handle = layer.register_forward_hook(lambda *given: outputs.append(given[2]))
        return outputs, handle

    outputs, handle = observe()
    reference = weakref.ref(layer(torch.ones(3)))
    del outputs
    path = cyclewatch.why_alive(reference)[0]
    assert path.cut.label == "[0]"
    assert re.fullmatch(
        r"keep the handle that the registration of the forward hook returns, and call "
        r"`handle.remove\(\)` once the hook is no longer needed; while it is, remove "
        r"`outputs\[0\]` once it is no longer needed",
        path.remedy,
    )
    handle.remove()
    assert reference() is None


def test_the_attribute_that_stores_a_memoryview_is_the_cut(buffers_are_owners):
    """The field of the view that refers to the object is C code's."""

    class Message(bytearray):
        """Supports the buffer protocol and attributes."""

    def leak():
        message = Message(64)
        message.tensor = Buffer(1 << 20)
        message.view = memoryview(message)

    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak()
        gc.collect()
        [finding] = watch.report().findings
    assert finding.cut.label == ".view"
    assert ".obj" in finding.title and "C field" not in finding.title


def test_the_account_names_the_dict_whose_keys_hold_the_memory(buffers_are_owners):
    for number in range(4):
        areas[Buffer(1 << 40)] = number
    account = cyclewatch.memory("cpu")
    assert "remove the items of `areas` that are no longer needed" in account.verdict
    assert "(one of 4 such paths)" in account.verdict


class Kernel:
    """Stores why it failed, like Triton's compiled kernels (triton #8115)."""

    def __init__(self):
        self.run = None

    def launch(self, grid):
        try:
            raise MemoryError(grid.name)
        except MemoryError as error:
            self.run = functools.partial(print, error)


def launch_with_a_grid():
    grid = Grid()
    grid.name = "grid"
    areas["cpu"] = Kernel()
    areas["cpu"].launch(grid)
    return weakref.ref(grid)


def test_a_stored_exception_loses_its_traceback_and_stays():
    reference = launch_with_a_grid()
    [path] = cyclewatch.why_alive(reference)
    assert path.cut_frees
    exec(codes(path.remedy)[0] + " = None")
    assert reference() is None
    assert areas["cpu"].run.args[0].args == ("grid",)


class Channel:
    def __init__(self):
        self.callbacks = []
        self.connection_callbacks = []


class Monitor:
    def __init__(self, channel):
        channel.callbacks.append(self.on_value)
        channel.connection_callbacks.append(self.on_connection)

    def on_value(self):
        """Called for each value."""

    def on_connection(self):
        """Called for each connection."""


def monitored_twice():
    areas["TEST"] = Channel()
    rows.append(areas["TEST"])
    return weakref.ref(Monitor(areas["TEST"]))


def test_the_second_path_ends_in_another_reference_if_one_is_not_enough():
    """An object that two caches hold, and that holds the target twice (pyepics #10)."""
    reference = monitored_twice()
    paths = cyclewatch.why_alive(reference)
    assert not any(path.cut_frees for path in paths)
    for path in paths:
        exec("del " + codes(path.remedy)[0])
    assert reference() is None


def test_the_fix_names_each_variable_of_the_set(buffers_are_owners, no_automatic_collection):
    """A frame that keeps the exception of its call twice (pytorch #188907)."""

    class FitError(Exception):
        buffer = None

    def attempt():
        try:
            raise FitError
        except FitError as error:
            error.buffer = Buffer(1000)
            return error

    def configure():
        kept = None
        failure = attempt()
        kept = failure
        return kept is None

    configure()
    [finding] = cyclewatch.scan().findings
    assert "`failure`" in finding.advice
    assert "`local:kept` of `configure`" in finding.advice


class Index:
    def __init__(self, connection):
        connection.create_function("similarity", 1, self.similarity)

    def similarity(self, row):
        """Called by SQLite."""


def test_a_callback_that_only_c_code_holds_ends_with_what_it_was_given_to():
    """The program cannot reach the object to which the callback is bound (apsw #416)."""
    connection = sqlite3.connect(":memory:")
    reference = weakref.ref(Index(connection))
    [path] = cyclewatch.why_alive(reference)
    assert str(path) == "C code -> similarity.__self__"
    assert path.cut is None and path.cut_frees
    assert path.remedy.startswith(
        f"close what has been given the bound method {__name__}.Index.similarity, or unregister it"
    )
    connection.close()
    assert reference() is None


class Cache(collections.UserDict):
    """A collection with more than one reference to each key, like the caches of cachetools."""

    def __init__(self):
        super().__init__()
        self.order = []

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.order.append(key)

    def clear(self):
        super().clear()
        self.order.clear()


def cached(function):
    def wrapper(key):
        if key not in wrapper.cache:
            wrapper.cache[key] = function(key)
        return wrapper.cache[key]

    wrapper.cache = Cache()
    wrapper.cache_clear = wrapper.cache.clear
    return wrapper


class Scale:
    def __init__(self):
        self.known = Cache()


@cached
def area(grid):
    return 4.0


def stored_in(cache):
    grid = Grid()
    cache[grid] = 4.0
    return weakref.ref(grid)


def test_the_cache_of_a_function_is_cleared_and_can_be_used_again():
    """Without its cache, the function raises TypeError at the next call (cachetools #106)."""
    reference = stored_in(area.cache)
    [path] = cyclewatch.why_alive(reference)
    assert path.cut_frees and path.remedy == "call `area.cache_clear()`"
    area.cache_clear()
    assert reference() is None
    assert area(Grid()) == 4.0
    area.cache_clear()


scale = Scale()


def test_a_collection_is_cleared_rather_than_deleted():
    reference = stored_in(scale.known)
    [path] = cyclewatch.why_alive(reference)
    assert path.cut_frees and codes(path.remedy) == ["scale.known.clear()"]
    scale.known.clear()
    assert reference() is None


class Broker:
    """Stores the exceptions of its components and their texts (insights-core #4763)."""

    def __init__(self):
        self.errors = [Buffer(1000)]
        self.texts = {}

    def run(self):
        try:
            raise ValueError("bad content")
        except ValueError as error:
            self.errors.append(error)
            self.texts[error] = "bad content"


def test_the_traceback_of_a_stored_exception_is_enough_to_cut(
    buffers_are_owners, no_automatic_collection
):
    Broker().run()
    [finding] = cyclewatch.scan().findings
    assert "store `error.with_traceback(None)`" in finding.advice
    assert finding.cost == "the traceback is not available later"
