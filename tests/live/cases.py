# SPDX-License-Identifier: Apache-2.0
"""Small programs that keep an object alive by mistake, each with the expected path to the object.

Each function returns a weak reference to the object. The arguments of case() are the expected first
path and the expected cut. The cut is the container entry that a maintainer would remove. If no
container keeps the object alive, the cut is the last attribute that the program sets.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import contextvars
import dataclasses
import functools
import gc
import logging
import sys
import threading
import types
import warnings
import weakref

CASES = {}


def case(expected, cut, needs_torch=False):
    """Register a program with its expected path (`{}` is this module's name) and expected cut."""

    def register(function):
        CASES[function.__name__] = (function, expected, cut, needs_torch)
        return function

    return register


class Model:
    """A stand-in for the object that should have been freed."""

    def step(self):
        """Return nothing."""


losses = []


@case("module global {}.losses -> losses[0]", "[0] -> cases.Model")
def losses_append():
    """A list collects the loss tensors instead of their values."""
    loss = Model()
    losses.append(loss)
    return weakref.ref(loss)


best = {}


@case("module global {}.best -> best['model']", "['model'] -> cases.Model")
def best_model_in_dict():
    """A dict keeps the best model so far."""
    best["model"] = Model()
    return weakref.ref(best["model"])


class Tokenizer(Model):
    """Has a cached method."""

    @functools.lru_cache(maxsize=16)  # noqa: B019 - the mistake
    def encode(self, text):
        """Return the text."""
        return text


@case(
    "class attribute {}.Tokenizer.encode -> cached call[0]",
    ".encode -> functools._lru_cache_wrapper",
)
def lru_cache_on_method():
    """The key of a cached call contains self."""
    tokenizer = Tokenizer()
    tokenizer.encode("a")
    return weakref.ref(tokenizer)


@functools.lru_cache(maxsize=None)  # noqa: UP033 - as programs write it
def load(name):
    """Return a new model."""
    return Model()


@case("module global {}.load -> cached result", ".load -> functools._lru_cache_wrapper")
def lru_cache_of_results():
    """A function's cache keeps the model that the function returned."""
    return weakref.ref(load("large"))


class MemoryHandler(logging.Handler):
    """Keeps records, as caplog and the memory handlers do."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        """Keep the record."""
        self.records.append(record)


memory_handler = MemoryHandler()


@case(
    "module global {}.memory_handler -> memory_handler.records[0].args[0]",
    "[0] -> logging.LogRecord",
)
def argument_of_log_record():
    """A handler keeps a record whose argument is the model."""
    model = Model()
    record = logging.LogRecord("train", 20, __file__, 1, "%s", (model,), None)
    memory_handler.handle(record)
    return weakref.ref(model)


executor_futures = []


@case(
    "module global {}.executor_futures -> executor_futures[0]._result",
    "[0] -> concurrent.futures._base.Future",
)
def result_of_future():
    """A finished future keeps its result."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor_futures.append(executor.submit(Model))
    return weakref.ref(executor_futures[0].result())


failed_futures = []


@case(
    "module global {}.failed_futures -> failed_futures[0]._exception.__traceback__"
    " -> fail() local model",
    "[0] -> concurrent.futures._base.Future",
)
def exception_of_future():
    """A failed future keeps the frames of its exception."""
    references = []

    def fail():
        model = Model()
        references.append(weakref.ref(model))
        raise ValueError

    future = concurrent.futures.Future()
    try:
        fail()
    except ValueError as error:
        future.set_exception(error.with_traceback(error.__traceback__.tb_next))
    failed_futures.append(future)
    return references[0]


tasks = set()


@case(
    "module global {}.tasks -> element._coro -> wait_forever() local model",
    "element -> _asyncio.Task",
)
def asyncio_task():
    """A waiting task keeps the variables of its coroutine."""

    async def wait_forever(model, event):
        await event.wait()

    async def main():
        model = Model()
        reference = weakref.ref(model)
        tasks.add(asyncio.ensure_future(wait_forever(model, asyncio.Event())))
        del model
        await asyncio.sleep(0)
        return reference

    loop = asyncio.new_event_loop()
    return loop.run_until_complete(main())


context_storage = threading.local()


@case("module global {}.context_storage -> context_storage.model", ".model -> cases.Model")
def thread_local():
    """A thread-local variable keeps the last model that the thread used."""
    context_storage.model = Model()
    return weakref.ref(context_storage.model)


current_model = contextvars.ContextVar("current_model")


@case("context variable current_model", "[current_model] -> cases.Model")
def context_variable():
    """A context variable is set but never reset."""
    current_model.set(Model())
    return weakref.ref(current_model.get())


hooks = []


@case(
    "module global {}.hooks -> hooks[0] -> hook() closure model",
    "[0] -> function cases.hook_captures.<locals>.hook",
)
def hook_captures():
    """A hook captures the model."""
    model = Model()

    def hook():
        return model

    hooks.append(hook)
    return weakref.ref(model)


callbacks = []


@case("module global {}.callbacks -> callbacks[0].__self__", "[0] -> bound method cases.Model.step")
def bound_method_as_callback():
    """A registered callback is a method of the model."""
    model = Model()
    callbacks.append(model.step)
    return weakref.ref(model)


partials = {}


@case("module global {}.partials -> partials['step'].args[0]", "['step'] -> functools.partial")
def partial_in_registry():
    """A registered `functools.partial` has the model as an argument."""
    model = Model()
    partials["step"] = functools.partial(Model.step, model)
    return weakref.ref(model)


class Registry:
    """Keeps its instances."""

    instances = []

    def __init__(self):
        Registry.instances.append(self)


@case("class attribute {}.Registry.instances -> Registry.instances[0]", "[0] -> cases.Registry")
def instances_of_class():
    """A class lists its instances."""
    return weakref.ref(Registry())


class Singleton:
    """Has one instance."""

    instance = None


@case("class attribute {}.Singleton.instance -> Singleton.instance.model", ".model -> cases.Model")
def singleton():
    """A singleton keeps the model."""
    Singleton.instance = Singleton()
    Singleton.instance.model = Model()
    return weakref.ref(Singleton.instance.model)


@case(
    "module global sys.last_traceback -> crash() local model",
    ".last_traceback -> frame of cases.last_traceback.<locals>.crash",
)
def last_traceback():
    """The interactive interpreter keeps the traceback of the last error."""
    references = []

    def crash():
        model = Model()
        references.append(weakref.ref(model))
        raise ValueError

    try:
        crash()
    except ValueError as error:
        sys.last_traceback = error.__traceback__.tb_next
    return references[0]


saved_errors = []


@case(
    "module global {}.saved_errors -> saved_errors[0].__traceback__ -> train_step() local batch",
    "__traceback__ -> frame of cases.saved_exception.<locals>.train_step",
)
def saved_exception():
    """A list of errors keeps the frames of a failed step."""
    references = []

    def train_step():
        batch = Model()
        references.append(weakref.ref(batch))
        raise ValueError

    try:
        train_step()
    except ValueError as error:
        saved_errors.append(error.with_traceback(error.__traceback__.tb_next))
    return references[0]


def default_argument(model=Model()):  # noqa: B008 - the mistake
    """Return the default."""
    return model


@case(
    "module global {}.default_argument -> default_argument() default model",
    ".default_argument -> function cases.default_argument",
)
def default_of_parameter():
    """The default value of a parameter lives as long as its function."""
    return weakref.ref(default_argument())


loaders = []


@case(
    "module global {}.loaders -> loaders[0] -> batches() local model",
    "[0] -> generator cases.suspended_generator.<locals>.batches",
)
def suspended_generator():
    """A generator that was not exhausted keeps its variables."""

    def batches(model):
        yield weakref.ref(model)
        yield None

    loaders.append(batches(Model()))
    return next(loaders[0])


history = collections.deque(maxlen=10)


@case("module global {}.history -> history[0].model", "[0] -> types.SimpleNamespace")
def deque_of_records():
    """A bounded history keeps its most recent entries."""
    history.append(types.SimpleNamespace(model=Model()))
    return weakref.ref(history[0].model)


pools = collections.defaultdict(list)


@case("module global {}.pools -> pools[3][0]", "[0] -> cases.Model")
def pool_by_size():
    """A pool keeps buffers, grouped by size."""
    pools[3].append(Model())
    return weakref.ref(pools[3][0])


@dataclasses.dataclass
class Checkpoint:
    """An object that the manager keeps alive."""

    model: object


class Manager:
    """Keeps checkpoints."""

    def __init__(self):
        self.checkpoints = {"latest": Checkpoint(Model())}


manager = Manager()


@case(
    "module global {}.manager -> manager.checkpoints['latest'].model",
    "['latest'] -> cases.Checkpoint",
)
def checkpoint_of_manager():
    """A manager keeps the last checkpoint."""
    return weakref.ref(manager.checkpoints["latest"].model)


class Engine:
    """Stores its parts in slots."""

    __slots__ = ("model",)


engine = Engine()


@case("module global {}.engine -> engine.model", "slot:model -> cases.Model")
def slot():
    """A slot keeps the model."""
    engine.model = Model()
    return weakref.ref(engine.model)


stack = contextlib.ExitStack()


@case(
    "module global {}.stack -> stack._exit_callbacks[0][1] -> _exit_wrapper() closure args[0]",
    "[0] -> tuple",
)
def exit_stack():
    """An exit stack that was not closed keeps the arguments of its callbacks."""
    model = Model()
    stack.callback(repr, model)
    return weakref.ref(model)


finalizers = []


@case(
    "class attribute weakref.finalize._registry -> finalize._registry[<weakref.finalize>].args[0]",
    "[<weakref.finalize>] -> weakref.finalize._Info",
)
def weakref_finalize():
    """The arguments of weakref.finalize() contain the model."""
    model = Model()
    finalizers.append(Model())
    weakref.finalize(finalizers[0], repr, model)
    return weakref.ref(model)


@case(
    "module global warnings.showwarning -> <lambda> default model",
    ".showwarning -> function cases.replaced_function.<locals>.<lambda>",
)
def replaced_function():
    """A patched library function keeps the model alive."""
    model = Model()
    warnings.showwarning = lambda *arguments, model=model: None
    return weakref.ref(model)


threads = []


@case("module global {}.threads -> threads[0]._args[0]", "[0] -> threading.Thread")
def thread_that_did_not_start():
    """A thread that was never started keeps its arguments."""
    model = Model()
    threads.append(threading.Thread(target=print, args=(model,)))
    return weakref.ref(model)


proxy_cache = weakref.WeakKeyDictionary()
proxy_keys = []


@case(
    "module global {}.proxy_cache -> proxy_cache.data[<weakref.ReferenceType>]",
    "[<weakref.ReferenceType>] -> cases.Model",
)
def weak_key_dictionary():
    """A WeakKeyDictionary keeps each value alive for as long as its key lives."""
    proxy_keys.append(Model())
    proxy_cache[proxy_keys[0]] = Model()
    return weakref.ref(proxy_cache[proxy_keys[0]])


views = []


@case("module global {}.views -> views[0].mapping['model']", "[0] -> dict_items")
def view_of_dict():
    """A view keeps its dict."""
    views.append({"model": Model()}.items())
    return weakref.ref(next(iter(views[0]))[1])


@case(
    "module global gc.callbacks -> callbacks[0] -> on_collection() closure model",
    "[0] -> function cases.gc_callback.<locals>.on_collection",
)
def gc_callback():
    """A function in gc.callbacks captures the model."""
    model = Model()

    def on_collection(phase, info):
        del phase, info
        return model

    gc.callbacks.insert(0, on_collection)
    return weakref.ref(model)


class Patched(Model):
    """Gets a wrapped method."""


@case(
    "class attribute {}.Patched.step -> step() closure original.__self__",
    ".step -> function cases.monkey_patch.<locals>.step",
)
def monkey_patch():
    """A patched method captures the original bound method."""
    model = Model()
    original = model.step

    def step(self):
        del self
        return original()

    Patched.step = step
    return weakref.ref(model)


networks = []


@case(
    "module global {}.networks -> networks[0][0].weight",
    "[0] -> torch.nn.modules.container.Sequential",
    needs_torch=True,
)
def parameter_of_kept_model():
    """A list keeps a model and therefore its parameters."""
    import torch

    networks.append(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    return weakref.ref(networks[0][0].weight)


optimizers = []


@case(
    "module global {}.optimizers -> optimizers[0].param_groups[0]['params'][0]",
    "[0] -> torch.nn.parameter.Parameter",
    needs_torch=True,
)
def replaced_parameter():
    """The optimizer keeps a parameter that the model no longer has."""
    import torch

    model = torch.nn.Linear(2, 2, bias=False)
    optimizers.append(torch.optim.SGD(model.parameters(), lr=0.1))
    reference = weakref.ref(model.weight)
    model.weight = torch.nn.Parameter(torch.zeros(2, 2))
    return reference


hooked = []


@case(
    "module global {}.hooked -> hooked[0] -> forward hook -> hook() closure activations[0]",
    "[0] -> torch.Tensor",
    needs_torch=True,
)
def forward_hook():
    """A forward hook collects outputs."""
    import torch

    activations = []

    def hook(module, arguments, output):
        del module, arguments
        activations.append(output)

    hooked.append(torch.nn.Linear(2, 2))
    hooked[0].register_forward_hook(hook)
    hooked[0](torch.zeros(1, 2))
    return weakref.ref(activations[0])


kept_losses = []


@case("module global {}.kept_losses -> kept_losses[0]", "[0] -> torch.Tensor", needs_torch=True)
def loss_with_graph():
    """A list keeps a loss with its autograd graph."""
    import torch

    loss = torch.nn.Linear(2, 2)(torch.zeros(1, 2)).sum()
    kept_losses.append(loss)
    return weakref.ref(loss)
