# SPDX-License-Identifier: Apache-2.0
"""why_alive() and assert_released(): the references that lead to an object."""

import asyncio
import atexit
import codecs
import collections
import contextlib
import contextvars
import ctypes
import functools
import gc
import inspect
import queue
import re
import signal
import sys
import threading
import traceback
import types
import weakref

import pytest

import cyclewatch


class Thing:
    """Can be referenced weakly."""


class Registry:
    """Has a class attribute."""

    entries = {}


shared = []


@pytest.fixture(autouse=True)
def nothing_shared():
    yield
    shared.clear()
    Registry.entries.clear()


def texts(target, paths=1):
    return [str(path) for path in cyclewatch.why_alive(target, paths)]


def follow(remedy, **names):
    """Run the code in the remedy: a call, or an assignment of None."""
    code = remedy.split("`")[1]
    exec(code if code.endswith(")") else f"{code} = None", names)


def dropped():
    """Add a new object to `shared`, and return a weak reference to the object."""
    thing = Thing()
    shared.append(thing)
    return weakref.ref(thing)


def test_item_of_a_module_global():
    reference = dropped()
    (path,) = cyclewatch.why_alive(reference)
    assert str(path) == f"module global {__name__}.shared -> shared[0]"
    assert (path.root.kind, path.root.location) == ("module global", None)
    assert [(r.holder, r.label, r.target) for r in path.references] == [
        (f"module {__name__}", ".shared", "list"),
        ("list", "[0]", f"{__name__}.Thing"),
    ]
    assert (path.cut.label, path.cut_frees) == ("[0]", True)
    assert path.cut.reason == "every path to the object contains this reference"
    assert repr(path) == f"<Path {str(path)!r}>"
    del shared[0]
    assert reference() is None


def test_local_variable_of_an_outer_function():
    def inner(reference):
        return cyclewatch.why_alive(reference)[0]

    def outer():
        model = Thing()
        model.part = Thing()
        return inner(weakref.ref(model.part))

    path = outer()
    assert str(path) == "outer() local model -> model.part"
    assert path.root.kind == "local variable"
    line = outer.__code__.co_firstlineno + 3
    assert path.root.location == f"{__file__}:{line}"
    # Deleting the variable would free the object too, but also everything else in the model.
    assert (path.cut.label, path.cut_frees) == (".part", True)
    assert repr(path.cut) == f"<Reference model.part -> {__name__}.Thing>"
    stored = f"(test_retention.py:{line - 1})"
    assert path.remedy.removesuffix(
        ", or delete the variable `model`, which its function does not read again"
    ) in (
        "set `model.part` to None once it is no longer used",
        f"set `model.part` to None {stored} once it is no longer used",
    )


def last_use(model):
    return weakref.ref(model.part)


def assigned_after():
    model = Registry()
    model.part = Thing()
    (path,) = cyclewatch.why_alive(last_use(model))
    model = None
    return path, model


def read_after():
    model = Registry()
    model.part = Thing()
    (path,) = cyclewatch.why_alive(last_use(model))
    return path, model


def read_in_the_next_step():
    model, paths = Registry(), []
    model.part = Thing()
    for _ in range(2):
        paths += cyclewatch.why_alive(last_use(model))
    return paths[0], None


def assigned_in_the_next_step():
    paths = []
    for _ in range(2):
        model = Registry()
        model.part = Thing()
        paths += cyclewatch.why_alive(last_use(model))
    return paths[0], None


def read_if_it_fails():
    model = Registry()
    model.part = Thing()
    try:
        (path,) = cyclewatch.why_alive(last_use(model))
    except ValueError:
        return model, None
    return path, None


def captured_before():
    model = Registry()
    model.part = Thing()
    [model for _ in range(1)]
    reference = last_use(model)
    (lambda: model)()
    return cyclewatch.why_alive(reference)[0], None


def captured():
    model = Registry()
    model.part = Thing()
    shared.append(lambda: model)
    return cyclewatch.why_alive(last_use(model))[0], None


@pytest.mark.parametrize(
    "function, is_read_again",
    [
        (assigned_after, False),
        (read_after, True),
        (read_in_the_next_step, True),
        (assigned_in_the_next_step, False),
        (read_if_it_fails, True),
        (captured_before, False),
        (captured, True),
    ],
)
def test_a_variable_that_is_not_read_again_may_be_deleted(function, is_read_again):
    path, _ = function()
    assert str(path).endswith("model.part")
    alternative = ", or delete the variable `model`, which its function does not read again"
    assert path.remedy.endswith(alternative) != is_read_again


def remember(thing, value):
    thing.remembered = value


def test_an_attribute_that_other_code_added_is_the_cut():
    """Hooks leave such attributes behind on modules that the program needs."""
    shared.append(collections.UserDict())
    remember(shared[0], Registry())
    (path,) = cyclewatch.why_alive(weakref.ref(shared[0].remembered))
    line = remember.__code__.co_firstlineno + 1
    assert path.cut.location == f"{__file__}:{line}"
    assert path.remedy == (
        f"set `shared[0].remembered` to None (test_retention.py:{line}) once it is no longer used"
    )


class World:
    def __init__(self):
        self.agents = [Thing()]

    @functools.lru_cache  # noqa: B019 - the mistake
    def size(self):
        return 1


def test_the_cache_is_cleared_rather_than_what_its_keys_contain():
    def agent_of_a_finished_run():
        world = World()
        world.size()
        return weakref.ref(world.agents[0])

    (path,) = cyclewatch.why_alive(agent_of_a_finished_run())
    World.size.cache_clear()
    assert str(path).endswith("World.size -> cached call[0].agents[0]")
    assert path.cut.label == ".size"
    assert path.remedy.startswith("call `cache_clear()` on the cached function")


def test_a_view_is_copied_rather_than_removed():
    numpy = pytest.importorskip("numpy")
    shared.append(numpy.zeros((4, 1000))[-1])
    (path,) = cyclewatch.why_alive(shared[0].base)
    assert str(path).endswith("shared[0].base")
    assert path.remedy == (
        "store `.copy()` of the view `shared[0]`, because a view keeps the whole array alive"
    )


def test_a_view_of_the_whole_array_is_not_copied():
    numpy = pytest.importorskip("numpy")
    shared.append(numpy.zeros((4, 1000)).reshape(1000, 4))
    (path,) = cyclewatch.why_alive(shared[0].base)
    assert path.remedy == "remove `shared[0]` once it is no longer needed"


@pytest.mark.parametrize("rows", [1, 4])
def test_a_tensor_is_cloned_if_it_shows_a_part(rows):
    torch = pytest.importorskip("torch")
    shared.append(torch.ones(4, 1000)[:rows])
    (path,) = cyclewatch.why_alive(shared[0]._base)
    assert str(path).endswith("shared[0]._base")
    assert path.remedy.startswith("store `.clone()` of" if rows == 1 else "remove `shared[0]`")


def test_all_hooks_are_removed_rather_than_the_module():
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())

    class Recorder:
        def __init__(self):
            self.handles = [
                layer.register_forward_hook(lambda *_: self.seen()) for layer in network
            ]

        def seen(self):
            pass

    def experiment():
        recorder = Recorder()
        handles = recorder.__dict__.pop("handles")
        return weakref.ref(recorder), handles

    recorder, handles = experiment()
    path = cyclewatch.why_alive(recorder)[0]
    assert path.cut.label == "forward hook" and path.cut_frees
    assert path.remedy.endswith(
        "call `handle.remove()` of all of them once the hooks are no longer needed"
    )
    for handle in handles:
        handle.remove()
    assert recorder() is None
    assert len(network) == 2


def test_a_thread_that_fills_a_queue_is_ended():
    class Loader:
        def __init__(self):
            self.batches = queue.Queue(maxsize=1)
            self.is_closed = False
            self.worker = threading.Thread(target=self.fill, name="loader", daemon=True)
            self.worker.start()

        def fill(self):
            while not self.is_closed:
                self.batches.put(Thing())

        def close(self):
            self.is_closed = True
            while self.worker.is_alive():
                with contextlib.suppress(queue.Empty):
                    self.batches.get(timeout=0.01)

    def first_batch():
        loader = Loader()
        while not (loader.batches.full() and loader.batches.not_full._waiters):
            pass
        return weakref.ref(loader), weakref.ref(loader.batches.queue[0])

    loader, batch = first_batch()
    remedies = {path.remedy for path in cyclewatch.why_alive(batch, paths=2)}
    loader().close()
    assert all("end thread `loader`" in remedy for remedy in remedies)
    assert all("with `Loader.close()`" in remedy for remedy in remedies)
    assert batch() is None


def test_an_event_loop_is_run_or_closed():
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        thing = Thing()
        loop.call_soon(print, thing)
        reference = weakref.ref(thing)
        del thing
        path, *_ = cyclewatch.why_alive(reference)
        assert path.remedy == (
            "run the event loop `loop` until its callbacks have been called, or call `loop.close()`"
        )
        follow(path.remedy.split(" or call ")[1], loop=loop)
        assert reference() is None


@pytest.mark.parametrize("container", [set, list])
def test_a_waiting_task_is_cancelled(container):
    """Its coroutine cannot be closed, and without the reference the task would never end."""

    async def main():
        answer = asyncio.get_running_loop().create_future()

        async def ask():
            thing = Thing()
            references.append(weakref.ref(thing))
            await answer

        references = []
        task = asyncio.create_task(ask())
        waiting = container([task])
        await asyncio.sleep(0)
        del task, ask
        paths = cyclewatch.why_alive(references[0], paths=2)
        assert paths
        for path in paths:
            assert ".cancel()` if nobody needs its result" in path.remedy
            assert "close()" not in path.remedy
        task = waiting.pop()
        task.cancel()
        await asyncio.wait([task])
        del task
        assert references[0]() is None

    asyncio.run(main())


def test_the_owner_of_what_prepare_returned_is_told_to_free_it():
    class Accelerator:
        """Keeps objects in the same attributes as the class of the library."""

        def __init__(self):
            self._models = []
            self._optimizers = []

        def free_memory(self):
            self.__init__()

    Accelerator.__module__ = "accelerate.accelerator"
    Accelerator.__qualname__ = "Accelerator"
    accelerator = Accelerator()

    def training():
        model = Thing()
        accelerator._models.append(model)
        accelerator._optimizers.append(model)
        return weakref.ref(model)

    model = training()
    path = cyclewatch.why_alive(model)[0]
    assert path.remedy.startswith("call `accelerator.free_memory()`")
    assert path.cut_frees
    follow(path.remedy, accelerator=accelerator)
    assert model() is None


def test_a_hook_is_removed_rather_than_what_it_uses():
    torch = pytest.importorskip("torch")
    shared.append(torch.nn.Identity())

    def experiment():
        config = {"mask": torch.ones(3)}
        shared[0].register_forward_hook(lambda *_: config["mask"])
        return weakref.ref(config["mask"])

    (path,) = cyclewatch.why_alive(experiment())
    assert path.cut.label == "forward hook"
    assert path.remedy == (
        "keep the handle that the registration of the forward hook returns, and call "
        "`handle.remove()` once the hook is no longer needed"
    )


def test_variable_of_the_caller_is_no_answer():
    thing = Thing()
    answers = [cyclewatch.why_alive(thing)]
    answers.append(cyclewatch.why_alive(*[thing]))
    answers.append(cyclewatch.why_alive(*(thing,), **{}))
    answers.append(cyclewatch.why_alive(**{"obj_or_weakref": thing}))
    answers.append(functools.partial(cyclewatch.why_alive, thing)())
    assert answers == [[]] * 5
    cyclewatch.assert_released(thing)
    cyclewatch.assert_released(*[thing])
    answer = texts(weakref.ref(thing))
    assert answer == ["test_variable_of_the_caller_is_no_answer() local thing"]


def test_captured_variable_of_the_caller_is_no_answer():
    thing = Thing()

    def capture():
        return thing

    del capture
    assert cyclewatch.why_alive(thing) == []


def test_another_variable_of_the_caller_is_an_answer():
    things = [Thing()]
    (path,) = cyclewatch.why_alive(things[0], 1)
    name = "test_another_variable_of_the_caller_is_an_answer()"
    assert str(path) == f"{name} local things -> things[0]"


def test_module_that_holds_an_object_twice():
    reference = dropped()
    sys.modules[__name__].second = reference()
    try:
        assert texts(reference, 3) == [
            f"module global {__name__}.second",
            f"module global {__name__}.shared -> shared[0]",
        ]
    finally:
        del sys.modules[__name__].second


def test_variable_of_executed_code():
    namespace = {"Thing": Thing, "check": texts}
    exec("thing = Thing()\nanswer = check(thing)", namespace)
    assert namespace["answer"] == ["<module> local thing"]


def test_two_paths_share_no_object():
    reference = dropped()
    Registry.entries["thing"] = reference()
    held = [shared]
    paths = cyclewatch.why_alive(reference, 5)
    assert [str(path) for path in paths] == [
        f"module global {__name__}.shared -> shared[0]",
        f"class attribute {__name__}.Registry.entries -> Registry.entries['thing']",
        # All others lead through one of these two objects.
        "test_two_paths_share_no_object() local held -> held[0][0]",
    ]
    assert not any(path.cut_frees for path in paths)
    assert paths[0].cut.reason == "the object also has other holders"
    assert held


def test_dict_keys_are_shown_as_they_are():
    for key, text in [("0.weight", "['0.weight']"), (3, "[3]"), ("name", "['name']")]:
        shared[:] = [{key: Thing()}]
        reference = weakref.ref(shared[0][key])
        assert texts(reference) == [f"module global {__name__}.shared -> shared[0]{text}"]


def test_cut_is_not_an_item_of_a_tuple():
    thing = Thing()
    reference = weakref.ref(thing)
    shared.append((thing, 1))
    del thing
    (path,) = cyclewatch.why_alive(reference)
    assert str(path) == f"module global {__name__}.shared -> shared[0][0]"
    assert (path.cut.holder, path.cut.target, path.cut_frees) == ("list", "tuple", True)


def test_handled_exception():
    def fail(value):
        raise ValueError

    thing = Thing()
    reference = weakref.ref(thing)
    try:
        fail(thing)
    except ValueError:
        del thing
        assert texts(reference) == [
            "handled exception ValueError -> ValueError.__traceback__ -> fail() local value"
        ]
    assert reference() is None


def test_one_of_two_references_to_a_traceback_is_not_a_cut():
    references = []

    def fail():
        thing = Thing()
        references.append(weakref.ref(thing))
        raise ValueError

    try:
        fail()
    except ValueError as error:
        shared.append(error.__traceback__)
        Registry.entries["error"] = error
    path = cyclewatch.why_alive(references[0])[0]
    assert str(path).endswith(" -> fail() local thing")
    assert (path.cut.label, path.cut_frees) == ("local:thing", True)
    follow(path.remedy, shared=shared, traceback=traceback, Registry=Registry)
    assert references[0]() is None


def keep_frames(handle):
    """Call `handle` in an except block, and return a weak reference to a variable of a frame."""
    references = []

    def fail():
        thing = Thing()
        references.append(weakref.ref(thing))
        raise ValueError

    def work():
        try:
            fail()
        except ValueError as error:
            handle(error, references[0])

    work()
    return references[0]


def test_the_except_block_that_handles_an_exception_is_named():
    seen = []

    def handle(error, reference):
        path = cyclewatch.why_alive(reference)[0]
        seen.append(path.remedy)
        follow(path.remedy.split(", or ")[1], error=error)
        assert reference() is None

    keep_frames(handle)
    assert re.fullmatch(
        r"leave the `except` block of `work\(\)` \(test_retention.py:[0-9]+\), which still handles "
        r"ValueError, or set `\w+.__traceback__` to None in it",
        seen[0],
    )


def test_an_exception_without_a_name_is_found_by_the_interpreter():
    references = []

    def fail():
        thing = Thing()
        references.append(weakref.ref(thing))
        raise ValueError

    try:
        fail()
    except ValueError:
        path = cyclewatch.why_alive(references[0])[0]
        follow(path.remedy.split(", or ")[1], sys=sys)
        assert references[0]() is None


def test_the_except_block_of_another_thread_is_named():
    started, ends = threading.Event(), threading.Event()
    references = []

    def handle(_, reference):
        references.append(reference)
        started.set()
        ends.wait()

    thread = threading.Thread(target=keep_frames, args=(handle,), name="loader")
    thread.start()
    started.wait()
    try:
        path = cyclewatch.why_alive(references[0])[0]
    finally:
        ends.set()
        thread.join()
    assert path.remedy.startswith("let thread `loader` leave the `except` block of `work()`")
    assert references[0]() is None


def test_a_generator_with_two_holders_is_closed():
    references = []

    def batches():
        thing = Thing()
        references.append(weakref.ref(thing))
        yield

    shared.append(batches())
    next(shared[0])
    Registry.entries["batches"] = shared[0]
    path = cyclewatch.why_alive(references[0])[0]
    assert path.cut_frees
    follow(path.remedy, shared=shared, Registry=Registry)
    assert references[0]() is None


def test_a_bounded_deque_names_its_limit():
    shared.append(collections.deque([Thing()], maxlen=3000))
    path = cyclewatch.why_alive(weakref.ref(shared[0][0]))[0]
    assert path.remedy == (
        "lower `maxlen` of the deque `shared[0]` if fewer than its 3,000 items are needed; it "
        "keeps no more than these"
    )
    shared[0] = collections.deque([Thing()])
    path = cyclewatch.why_alive(weakref.ref(shared[0][0]))[0]
    assert path.remedy == "remove `shared[0][0]` once it is no longer needed"


def test_an_item_of_a_queue_is_taken():
    def abandoned():
        shared.append(queue.Queue())
        shared[0].put(Thing())
        return weakref.ref(shared[0].queue[0])

    reference = abandoned()
    (path,) = cyclewatch.why_alive(reference)
    assert path.remedy == (
        "take the items with `shared[0].get()` once nobody waits for them, or give the queue a "
        "`maxsize`"
    )
    follow(path.remedy, shared=shared)
    assert reference() is None


setting = contextvars.ContextVar("setting")


def test_a_variable_of_a_context_is_set_in_it():
    def keep():
        thing = Thing()
        shared.append(contextvars.Context())
        shared[0].run(setting.set, thing)
        return weakref.ref(thing)

    reference = keep()
    (path,) = cyclewatch.why_alive(reference)
    assert path.remedy == "call `shared[0].run(setting.set, None)`"
    follow(path.remedy, shared=shared, setting=setting)
    assert reference() is None


def test_the_context_of_a_timer_can_be_empty():
    def start(loop):
        thing = Thing()
        context = contextvars.Context()
        context.run(setting.set, thing)
        shared.append(loop.call_later(60, print, context=context))
        return weakref.ref(thing)

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        reference = start(loop)
        (path, *_) = cyclewatch.why_alive(reference)
        assert path.remedy == (
            "call `shared[0]._context.run(setting.set, None)`, or pass "
            "`context=contextvars.Context()` to the call that creates the TimerHandle"
        )
        follow(path.remedy, shared=shared, setting=setting)
        assert reference() is None


def test_a_variable_of_the_current_context_is_reset():
    def configure():
        thing = Thing()
        shared.append(setting.set(thing))
        return weakref.ref(thing)

    reference = configure()
    (path, *_) = cyclewatch.why_alive(reference)  # the token also refers to the context
    assert path.remedy == (
        "reset the context variable with the token that `setting.set()` returned, or call "
        "`setting.set(None)`"
    )
    setting.reset(shared.pop())
    assert reference() is None


def test_an_array_in_a_tuple_that_the_collector_has_stopped_tracking():
    numpy = pytest.importorskip("numpy")
    shared.append((1, (2, numpy.ones(10))))
    reference = weakref.ref(shared[0][1][1])
    gc.collect()
    gc.collect()  # the inner tuple was still tracked
    assert not gc.is_tracked(shared[0])
    (path,) = cyclewatch.why_alive(reference)
    assert str(path).endswith("shared -> shared[0][1][1]")
    assert path.remedy == "remove `shared[0]` once it is no longer needed"
    del shared[0]
    assert reference() is None


def hide_cache():
    cached = functools.lru_cache(Thing)

    def wrapper():
        return [cached()]

    return wrapper


def test_a_cached_function_that_a_wrapper_hides_is_cleared():
    wrapper = hide_cache()
    shared.append(wrapper)
    reference = weakref.ref(wrapper()[0])
    path = cyclewatch.why_alive(reference)[0]
    assert not hasattr(wrapper, "cache_clear")
    follow(path.remedy, shared=shared, wrapper=wrapper, inspect=inspect)
    assert reference() is None


def test_second_path_begins_with_another_attribute_of_the_module():
    shared.append([Thing()])
    globals()["alias"] = shared[0]
    reference = weakref.ref(shared[0][0])
    try:
        assert texts(reference, 2) == [
            f"module global {__name__}.alias -> alias[0]",
            f"module global {__name__}.shared -> shared[0][0]",
        ]
    finally:
        del globals()["alias"]


def test_variable_of_another_thread():
    started, ends = threading.Event(), threading.Event()
    references = []

    def work():
        thing = Thing()
        references.append(weakref.ref(thing))
        started.set()
        ends.wait()

    thread = threading.Thread(target=work, name="gpu-0")
    thread.start()
    started.wait()
    try:
        assert texts(references[0]) == ["thread gpu-0: work() local thing"]
    finally:
        ends.set()
        thread.join()


def test_iterator_on_the_stack_of_a_function():
    def inner(reference):
        return texts(reference)

    def outer():
        answers = []
        for thing in [Thing()]:
            reference = weakref.ref(thing)
            del thing
            answers += inner(reference)
        return answers

    (text,) = outer()
    assert text.startswith("outer() temporary value -> ")


def test_module_and_class_do_not_hold_themselves():
    module = types.ModuleType("temporary_module")
    exec("class Inner:\n    pass", module.__dict__)
    sys.modules["temporary_module"] = module
    reference = weakref.ref(module.Inner)
    assert texts(reference, 3) == ["module global temporary_module.Inner"]
    del sys.modules["temporary_module"]
    del module
    assert texts(reference) == []


def test_main_module_counts_once(main_interpreter):
    program = """
        import sys, weakref, cyclewatch
        sys.modules["__mp_main__"] = sys.modules["__main__"]
        class Thing: pass
        thing = Thing()
        print(*cyclewatch.why_alive(weakref.ref(thing), 3), sep="|")
    """
    outcome = main_interpreter.run(program)
    assert outcome.stdout == "module global __main__.thing\n"


def test_cycle_is_not_alive_but_not_released():
    thing = Thing()
    thing.me = thing
    reference = weakref.ref(thing)
    del thing
    assert cyclewatch.why_alive(reference) == []
    with pytest.raises(AssertionError, match=r"Thing is alive: only reference cycles refer to it"):
        cyclewatch.assert_released(reference)
    gc.collect()
    cyclewatch.assert_released(reference)


def test_assert_released_names_the_holders():
    reference = dropped()
    with pytest.raises(AssertionError) as raised:
        cyclewatch.assert_released(reference, "the epoch is over")
    assert str(raised.value) == (
        f"the epoch is over: {__name__}.Thing is alive: "
        f"module global {__name__}.shared -> shared[0]"
    )
    shared.clear()
    cyclewatch.assert_released(reference)


def test_dead_reference():
    reference = weakref.ref(Thing())
    assert cyclewatch.why_alive(reference) == []


def test_object_that_the_collector_does_not_track():
    shared.append(bytearray(b"data"))
    answer = texts(shared[0])
    assert answer == [f"module global {__name__}.shared -> shared[0]"]


def test_untracked_object_in_a_field_of_another():
    numpy = pytest.importorskip("numpy")
    shared.append(numpy.zeros(100)[3:])
    (path,) = cyclewatch.why_alive(shared[0].base)
    assert str(path) == f"module global {__name__}.shared -> shared[0].base"
    assert (path.cut.label, path.cut_frees) == ("[0]", True)

    def outer():
        array = numpy.zeros(100)[3:]
        return [str(path) for path in cyclewatch.why_alive(array.base)]

    assert outer() == ["outer() local array -> array.base"]


def test_tensor_in_an_array():
    torch = pytest.importorskip("torch")
    array = torch.zeros(3).numpy()
    (path,) = cyclewatch.why_alive(weakref.ref(array.base))
    assert str(path) == "test_tensor_in_an_array() local array -> array.base"


def test_array_whose_memory_a_tensor_uses():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(1000)
    reference = weakref.ref(array)
    whole = torch.from_numpy(array)
    parts = [torch.from_numpy(array[10:])]
    del array
    name = "test_array_whose_memory_a_tensor_uses()"
    assert [str(path) for path in cyclewatch.why_alive(reference)] == [
        f"{name} local whole -> shared memory",
        f"{name} local parts -> parts[0] -> shared memory",
    ]
    assert whole.data_ptr() + 80 == parts[0].data_ptr()
    del whole
    (path,) = cyclewatch.why_alive(reference)
    assert path.cut.label == "[0]"
    parts.clear()
    assert texts(reference) == []


def test_array_of_the_memory_of_a_tensor_is_not_held_by_it():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(1000)
    array = tensor.numpy()
    reference = weakref.ref(array)
    holder = torch.from_numpy(array)
    del array
    assert [path.root.kind for path in cyclewatch.why_alive(reference)] == ["C code"]
    assert tensor.data_ptr() == holder.data_ptr()


def test_gradient_and_base_of_a_tensor():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    model(torch.zeros(1, 2)).sum().backward()
    gradient = weakref.ref(model.weight.grad)
    (path,) = cyclewatch.why_alive(gradient)
    name = "test_gradient_and_base_of_a_tensor()"
    assert str(path) == f"{name} local model -> model.weight.grad"
    assert (path.references[-1].label, path.cut_frees) == (".grad", True)
    base = torch.zeros(10)
    reference = weakref.ref(base)
    view = base[2:]
    del base
    (path,) = cyclewatch.why_alive(reference)
    assert (str(path), path.cut_frees) == (f"{name} local view -> view._base", True)
    other = view[1:]
    assert not any(path.cut_frees for path in cyclewatch.why_alive(reference))
    shared.append(torch.nn.ParameterList([torch.nn.Parameter(other)]))  # without a base
    del other, view, path
    assert reference() is None


def test_autograd_graph_of_a_loss():
    torch = pytest.importorskip("torch")

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            ctx.save_for_backward(values)
            ctx.note = Thing()
            shared.append(weakref.ref(ctx.note))
            return values * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    inputs = torch.zeros(5, 2)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: [tensor.detach()],  # otherwise a cycle that no collection frees
        lambda packed: 1 / 0,
    ):
        loss = Scale.apply(model(inputs * 2).sum())
    references = [weakref.ref(each) for each in (model[0].weight, model[2].bias)] + shared
    shared.clear()
    del model
    gc.collect()
    name = "test_autograd_graph_of_a_loss()"
    expected = [f"{name} local loss -> loss.grad_fn"] * 2 + [
        f"{name} local loss -> ScaleBackward.note"
    ]
    assert [str(cyclewatch.why_alive(each)[0]) for each in references] == expected
    del loss
    assert references[2]() is None


def test_path_continues_after_a_gradient():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    model(torch.zeros(1, 2)).sum().backward()
    model.weight.grad.note = Thing()
    (path,) = cyclewatch.why_alive(weakref.ref(model.weight.grad.note))
    name = "test_path_continues_after_a_gradient()"
    assert str(path) == f"{name} local model -> model.weight.grad.note"
    assert path.cut.label != "._base"
    model.weight.grad = None


def test_public_name_of_a_module_global_is_preferred():
    module = types.ModuleType("history")
    module._oh = module.Out = {2: Thing()}
    sys.modules["history"] = module
    try:
        assert texts(weakref.ref(module.Out[2]))[0] == "module global history.Out -> Out[2]"
    finally:
        del sys.modules["history"]


def test_call_in_a_finalizer_during_a_collection():
    answers = []

    class Asks:
        def __del__(self):
            answers.append(cyclewatch.why_alive(self))
            answers.append(cyclewatch.why_alive(self.other))

    asks = Asks()
    asks.me = asks
    asks.other = Thing()
    asks.other.back = asks
    del asks
    gc.collect()
    assert answers == [[], []]


def test_object_with_a_long_chain_of_holders():
    thing = Thing()
    chain = thing
    for _ in range(200_000):
        chain = [chain]
    shared.append(chain)
    reference = weakref.ref(thing)
    del thing, chain
    (path,) = cyclewatch.why_alive(reference, 3)
    assert len(path.references) == 200_002
    assert "-> ... -> list[0]" in str(path)
    assert path.cut_frees
    while shared:  # not recursively
        shared[:] = shared[0] if isinstance(shared[0], list) else []


def test_signal_handler():
    thing = Thing()
    reference = weakref.ref(thing)
    previous = signal.signal(signal.SIGUSR1, lambda number, frame, thing=thing: None)
    del thing
    try:
        (path,) = cyclewatch.why_alive(reference)
        assert path.root.kind == "interpreter"
        assert str(path) == f"handler of signal {signal.SIGUSR1:d} -> <lambda> default thing"
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert reference() is None


@pytest.fixture
def has_gil(main_interpreter):
    """Skips the test on free-threaded builds, where paths show some registries as "C code"."""
    if main_interpreter.free_threaded:
        pytest.skip("free-threaded builds show these registries as C code")


@pytest.fixture
def unregister():
    """Registers functions to call at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield stack.callback


@pytest.mark.usefixtures("has_gil")
def test_function_registered_with_atexit(unregister):
    def registered(thing):
        def end():
            return thing

        atexit.register(end)
        unregister(atexit.unregister, end)
        return weakref.ref(thing)

    (path,) = cyclewatch.why_alive(registered(Thing()), 1)
    assert (path.root.kind, path.root.text) == ("interpreter", "atexit callbacks")
    assert str(path).endswith("end() closure thing")


@pytest.mark.usefixtures("has_gil")
def test_argument_of_a_function_registered_with_atexit(unregister):
    def registered(thing):
        atexit.register(print, thing)
        unregister(atexit.unregister, print)
        return weakref.ref(thing)

    reference = registered(Thing())
    (path,) = cyclewatch.why_alive(reference, 1)
    assert path.root.text == "atexit callbacks"
    assert path.remedy.startswith(
        "call `atexit.unregister()` with the function that has this argument once it is no longer "
    )
    atexit.unregister(print)
    assert reference() is None


class Server:
    def close(self):
        """Called at exit."""


@pytest.mark.usefixtures("has_gil")
def test_method_registered_with_atexit(unregister):
    def start():
        server = Server()
        atexit.register(server.close)
        shared.append(weakref.WeakMethod(server.close))
        return weakref.ref(server)

    reference = start()
    unregister(lambda: atexit.unregister(shared[0]()))
    (path,) = cyclewatch.why_alive(reference)
    assert (path.cut_frees, path.remedy) == (
        True,
        "call `atexit.unregister()` with the bound method "
        f"{__name__}.Server.close once it is no longer needed, or register a function that does "
        "not refer to the object",
    )
    atexit.unregister(shared[0]())
    assert reference() is None


@pytest.mark.usefixtures("has_gil")
def test_codec_search_function(unregister):
    def registered(thing):
        def search(name):
            return thing and None

        codecs.register(search)
        unregister(codecs.unregister, search)
        return weakref.ref(thing)

    (path,) = cyclewatch.why_alive(registered(Thing()), 1)
    assert path.root.text == "codec registry"
    assert str(path).startswith("codec registry -> search_functions[")
    assert str(path).endswith("] -> search() closure thing")


@pytest.mark.usefixtures("has_gil")
def test_function_called_at_fork(main_interpreter):
    program = """
import os, weakref
import cyclewatch

class Thing:
    pass

def registered(thing):
    os.register_at_fork(after_in_child=lambda: thing)
    return weakref.ref(thing)

reference = registered(Thing())
print(*cyclewatch.why_alive(reference))
"""
    (line,) = main_interpreter.run(program).stdout.splitlines()
    assert line.startswith("os.register_at_fork() -> after_in_child[")
    assert line.endswith("] -> <lambda> closure thing")


def test_c_code_is_named_only_without_other_paths():
    def reference_of(thing):
        return weakref.ref(thing)

    thing = Thing()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    reference = reference_of(thing)
    try:
        assert texts(reference) == ["test_c_code_is_named_only_without_other_paths() local thing"]
        assert cyclewatch.why_alive(reference, 3)[0].cut_frees is False
        del thing
        (path,) = cyclewatch.why_alive(reference)
        assert path.root.kind == "C code"
    finally:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(reference()))
    assert reference() is None


def test_c_code_is_named_by_the_object_next_to_it(unregister):
    torch = pytest.importorskip("torch")

    def held(make):
        tensor = torch.ones(1)
        holder = make(tensor)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(holder))
        unregister(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p(id(holder)))
        return weakref.ref(tensor)

    def hook_of(tensor):
        def hook():
            return tensor

        return hook

    assert texts(held(hook_of)) == ["C code -> hook() closure tensor"]
    (path,) = texts(held(lambda tensor: [hook_of(tensor), hook_of(tensor)]))
    assert re.fullmatch(r"C code -> list\[[01]\] -> hook\(\) closure tensor", path)
    assert texts(held(lambda tensor: [tensor])) == ["C code of torch -> list[0]"]
    reference = held(hook_of)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(reference()))
    unregister(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p(id(reference())))
    assert texts(reference) == ["C code -> hook() closure tensor"]


def test_nothing_remains():
    reference = dropped()
    cyclewatch.why_alive(reference)
    gc.collect()

    def growth():
        objects, count = len(gc.get_objects()), gc.get_count()[0]
        cyclewatch.why_alive(reference)
        return len(gc.get_objects()) - objects, gc.get_count()[0] - count

    growth()
    assert growth() == (0, 0)
    assert reference() is shared[0]


@pytest.mark.parametrize("value", [None, 1, "text", True, 1.5, b"data"])
def test_plain_values_are_rejected(value):
    with pytest.raises(TypeError, match="not a value of type"):
        cyclewatch.why_alive(value)
    with pytest.raises(TypeError):
        cyclewatch.assert_released(value)


def test_wrong_arguments():
    thing = Thing()
    with pytest.raises(ValueError, match="paths must be an integer from 1 to 100, not 0"):
        cyclewatch.why_alive(thing, 0)
    with pytest.raises(ValueError, match="not 1000000"):
        cyclewatch.why_alive(thing, 1_000_000)
    with pytest.raises(TypeError, match="paths must be an integer from 1 to 100, not '"):
        cyclewatch.why_alive(thing, "2")
    with pytest.raises(TypeError, match="paths must be an integer from 1 to 100, not True"):
        cyclewatch.why_alive(thing, True)
    with pytest.raises(TypeError, match="not a weak proxy"):
        cyclewatch.why_alive(weakref.proxy(thing))
    with pytest.raises(TypeError, match="supports weak references, not list"):
        cyclewatch.assert_released([])
    dead = weakref.ref(Thing())
    with pytest.raises(TypeError, match="reason must be a str or None, not 3"):
        cyclewatch.assert_released(dead, 3)


def run_in_thread(name, work, *args):
    """Run `work(started, ends, *args)` in a thread, until `ends` is set."""
    started, ends = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(started, ends, *args), name=name)
    thread.start()
    started.wait()
    return thread, ends


def test_the_end_of_a_call_in_a_thread_frees_what_only_the_thread_holds():
    def work(started, ends, things):
        for thing in things:
            kept = thing
            started.set()
            ends.wait()
            del kept

    things = [Thing()]
    reference = weakref.ref(things[0])
    thread, ends = run_in_thread("loader", work, things)
    del things
    path = cyclewatch.why_alive(reference)[0]
    ends.set()
    thread.join()
    assert path.cut_frees
    assert re.fullmatch(
        r"end the call of `.*work\(\)` in thread `loader` \(test_retention.py:[0-9]+\) "
        "if it is no longer needed",
        path.remedy,
    )
    assert reference() is None


def test_a_thread_clears_the_exception_that_it_has_handled():
    things = [Thing()]

    def fail():
        thing = things.pop()
        raise ValueError(weakref.ref(thing))

    def work(started, ends):
        failed = None
        try:
            fail()
        except ValueError as error:
            failed = error
        things.append(failed.args[0])
        started.set()
        ends.wait()

    thread, ends = run_in_thread("loader", work)
    try:
        [path] = cyclewatch.why_alive(things[0])
    finally:
        ends.set()
        thread.join()
    assert re.match(
        r"set the variable `failed` of `.*work\(\)` in thread `loader` "
        r"\(test_retention.py:[0-9]+\) to None",
        path.remedy,
    )


def test_the_end_of_a_call_in_a_thread_does_not_free_what_others_hold():
    def work(started, ends, thing):
        started.set()
        ends.wait()

    shared.append(Thing())
    reference = weakref.ref(shared[0])
    thread, ends = run_in_thread("loader", work, shared[0])
    frees = [path.cut_frees for path in cyclewatch.why_alive(reference, 5)]
    ends.set()
    thread.join()
    assert frees
    assert not any(frees)


PROMPT = """
import sys, weakref, cyclewatch

class Thing:
    pass

def fail():
    global reference
    thing = Thing()
    reference = weakref.ref(thing)
    raise ValueError

try:
    fail()
except ValueError as error:  # as sys.excepthook's caller does
    sys.last_value = error
    sys.last_traceback = error.__traceback__
path = cyclewatch.why_alive(reference)[0]
print(path.cut_frees, path.remedy)
exec(path.remedy.split("`")[1].removeprefix("run "))
print(reference())
"""


def test_the_last_exception_of_a_prompt_is_deleted_from_all_its_variables(main_interpreter):
    lines = main_interpreter.run(PROMPT).stdout.splitlines()
    assert lines[0].startswith("True run `del sys.last_value, sys.last_traceback`, because ")
    assert lines[1] == "None"


CELLS = '''
import builtins, gc, weakref, cyclewatch
from IPython.core.interactiveshell import InteractiveShell

class Thing:
    pass

references = builtins.references = []
builtins.weakref = weakref
builtins.Thing = Thing
shell = InteractiveShell.instance(history_file=":memory:")
FAIL = """
def fail():
    y = Thing()
    references.append(weakref.ref(y))
    raise ValueError
fail()
"""
for cell in ("x = Thing(); references.append(weakref.ref(x)); x", "del x", FAIL):
    shell.run_cell(cell, store_history=True)
for reference in references:
    path = cyclewatch.why_alive(reference)[0]
    print("SAYS", path.cut_frees, path.remedy)
    shell.run_cell(path.remedy.split("`")[1])
    gc.collect()
    print("SAYS", reference())
'''


def test_an_output_and_the_last_exception_of_ipython_are_freed_by_one_command(main_interpreter):
    pytest.importorskip("IPython")
    output = main_interpreter.run(CELLS).stdout
    says = [line.removeprefix("SAYS ") for line in output.splitlines() if line.startswith("SAYS ")]
    assert says[0].startswith("True run `%xdel _1` in a cell, because IPython keeps an output in ")
    assert says[2].startswith("True run `1/0` in a cell, because IPython keeps the last exception")
    assert says[1] == says[3] == "None"
