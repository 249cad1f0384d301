# SPDX-License-Identifier: Apache-2.0
"""The interface of ``torch.utils.viz._cycles``, implemented by cyclewatch.

A program that uses torch's detector needs only another import::

    from cyclewatch.compat.torch_cycles import observe_tensor_cycles, warn_tensor_cycles

The names, signatures and return values are those of torch. Differences:

- The observers of tensor cycles do not change the collector's debug flags, do not set a profile
  function and do not run additional collections. The page opens without a network connection.
- References of ordinary instances have names. Torch loses these references on CPython 3.11 and
  later.
- Tensors of other devices are included if the argument ``devices`` or the environment variable
  CYCLEWATCH_DEVICES selects them, for example ``devices="cpu"``. By default, only ``cuda`` tensors
  are.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import cyclewatch
from cyclewatch import _native
from cyclewatch.compat.garbage_observer import observe
from cyclewatch.settings.arguments import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "Node",
    "annotated_references",
    "create_graph",
    "cuda_allocation_context",
    "escape",
    "is_cuda_tensor",
    "object_annotation",
    "observe_garbage",
    "observe_tensor_cycles",
    "to_dot",
    "to_html",
    "warn_tensor_cycles",
]

_BASIC_TYPES = (int, float, complex, type(None), str, bytes)
_LONGEST_FILE_NAME = 32
_MOST_ITEMS = 8
_HISTORY = 100_000  # events


class Node(NamedTuple):
    """An object of a graph that :func:`create_graph` returns."""

    label: str  # describes the object, see object_annotation()
    context: str | None  # the call stack that allocated the object, if known
    root: bool  # the filter of create_graph() accepted the object
    referrents: list[tuple[str, int]]  # names of references, and the index of the node referred to


def observe_garbage(observer: Callable[[list[Any]], object]) -> Callable[[], None]:
    """Call ``observer(garbage)`` with the objects of each collection that are about to be freed.

    As with torch's function, passing these objects to Python delays the collector: the collection
    saves them (``gc.DEBUG_SAVEALL``), a full collection follows so that the list is complete, and
    another one frees them. Use :func:`observe_tensor_cycles` unless you need the objects.

    The observer runs on the main thread, soon after the collection. If it raises an Exception, the
    exception is passed to ``sys.unraisablehook``. The debug flags, the profile function and the
    program's own entries in ``gc.garbage`` are preserved.

    Args:
        observer: Must not keep a reference to the list's objects; otherwise they are not freed.

    Returns:
        A function that ends the observation.
    """
    return observe(observer)


def observe_tensor_cycles(
    callback: Callable[[str], object], *, devices: str | Iterable[str] | None = None
) -> Callable[[], None]:
    """Call ``callback(html)`` after each collection that freed tensors.

    ``html`` is a report page that needs no other files, and shows the call stacks that allocated
    the tensors: as in torch's module, the memory history of the GPUs is recorded. The callback runs
    on the main thread, soon after the collection.

    Args:
        callback: Receives the page as a str.
        devices: As in :func:`cyclewatch.warn_tensor_cycles`; defaults to CYCLEWATCH_DEVICES or, if
            that is not set, to "cuda".

    Returns:
        A function that ends the observation.
    """
    if not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")
    watch = cyclewatch.observe_tensor_cycles(
        lambda report: callback(report.to_html()),
        devices=_devices(devices),
        record_history=_history(devices),
    )
    return watch.stop


def warn_tensor_cycles(*, devices: str | Iterable[str] | None = None) -> Callable[[], None]:
    """Warn about reference cycles that keep tensors alive, and write a report page.

    See :func:`cyclewatch.warn_tensor_cycles`, which has more settings.

    Args:
        devices: As in :func:`observe_tensor_cycles`.

    Returns:
        A function that ends the warnings.
    """
    return cyclewatch.warn_tensor_cycles(
        devices=_devices(devices), record_history=_history(devices)
    ).stop


def _devices(devices: str | Iterable[str] | None = None) -> str | Iterable[str]:
    if devices is not None:
        return devices
    return os.environ.get("CYCLEWATCH_DEVICES", "").replace(",", " ").split() or "cuda"


def _history(devices: str | Iterable[str] | None) -> int:
    # Recording CPU tensors, too, would slow down the program.
    names = names_in(_devices(devices), "devices")
    return 0 if {"cpu", "auto", "all"}.intersection(names) else _HISTORY


def is_cuda_tensor(obj: Any) -> bool:
    """True for a tensor on a CUDA device, or on a device that CYCLEWATCH_DEVICES selects.

    False for fake tensors, which own no memory. Does not import torch, and does not run code of
    tensor subclasses.
    """
    torch = sys.modules.get("torch")
    if torch is None or not issubclass(type(obj), torch.Tensor):
        return False
    fakes = sys.modules.get("torch._subclasses.fake_tensor")
    if fakes is not None and issubclass(type(obj), fakes.FakeTensor):
        return False
    with torch._C.DisableTorchFunctionSubclass():
        device = str(torch.Tensor.device.__get__(obj))
    return _native.selects_device(
        names_in(_devices(), "devices"), device, torch.cuda.is_available()
    )


def annotated_references(obj: Any) -> dict[int, list[str]]:
    """Map the id of each object that `obj` refers to to the names of the references.

    Runs no code of the program, except that the keys of a dict are shown by their ``repr()``. Does
    not create a ``__dict__`` for an instance that has none: its attributes are named ``.name``.
    """
    names: dict[int, list[str]] = {}
    for name, referent in _references(obj):
        known = names.setdefault(id(referent), [])
        if name not in known:
            known.append(name)
    return names


def _references(obj: Any) -> list[tuple[str, Any]]:
    """The named references of `obj`; torch's names for the types that torch knows."""
    items = _items(obj)
    native = _native.named_references(obj)
    if items:
        known = {id(item) for _, item in items}
        native = [(name, value) for name, value in native if id(value) not in known]
    elif isinstance(obj, types.FrameType):
        native = [(name.replace("local:", "local ", 1), value) for name, value in native]
    elif type(obj) is weakref.ref:
        native = [("__callback__", value) for _, value in native]
    return [*items, *native, ("__class__", type(obj))]


def _items(obj: Any) -> list[tuple[str, Any]]:
    kind = type(obj)
    if issubclass(kind, tuple):
        return [(f"[{at}]", item) for at, item in enumerate(tuple.__iter__(obj))]
    if issubclass(kind, list):
        return [(f"[{at}]", item) for at, item in enumerate(list.__iter__(obj))]
    if issubclass(kind, (set, frozenset)):
        base = set if issubclass(kind, set) else frozenset
        return [("element", item) for item in base.__iter__(obj)]
    if issubclass(kind, dict):
        items: list[tuple[str, Any]] = []
        for key, value in list(dict.items(obj)):
            items += [("key", key), (f"[{_shown(key)}]", value)]
        return items
    return []


def _shown(key: object) -> str:
    try:
        return repr(key)
    except Exception:
        return f"<{type(key).__name__}>"


def object_annotation(obj: Any) -> str:
    """Describe an object briefly, for a box of a diagram."""
    kind = type(obj)
    if issubclass(kind, _BASIC_TYPES):
        return repr(obj)
    if kind is types.FunctionType:
        return f"function\n{obj.__name__}"
    if kind is types.MethodType:
        return f"instancemethod\n{getattr(obj.__func__, '__qualname__', '<anonymous>')}"
    if issubclass(kind, list):
        return f"[{_shown_items(obj)}]"
    if issubclass(kind, tuple):
        return f"({_shown_items(obj)})"
    if issubclass(kind, dict):
        return f"dict[{dict.__len__(obj)}]"
    if issubclass(kind, types.ModuleType):
        return f"module\n{obj.__name__}"
    if issubclass(kind, type):
        return f"type\n{obj.__name__}"
    if issubclass(kind, weakref.ref):
        referent = obj()
        dead = referent is None
        return "weakref (dead referent)" if dead else f"weakref to id 0x{id(referent):x}"
    if kind is types.FrameType:
        name = obj.f_code.co_filename
        if len(name) > _LONGEST_FILE_NAME:
            name = "..." + name[3 - _LONGEST_FILE_NAME :]
        return f"frame\n{name}:{obj.f_lineno}"
    text = f"object\n{kind.__module__}.{kind.__name__}"
    return f"{text} ({obj.shape})" if is_cuda_tensor(obj) else text


def _shown_items(items: Any) -> str:
    shown = [
        repr(item) if issubclass(type(item), _BASIC_TYPES) else type(item).__name__
        for item in items[:_MOST_ITEMS]
    ]
    text = ",".join(shown)
    return text if len(items) <= _MOST_ITEMS else f"{text}, ...{len(items) - _MOST_ITEMS}"


def create_graph(
    objects: Iterable[Any],
    *,
    context: Callable[[Any], str | None] | None = None,
    filter: Callable[[Any], bool] | None = None,
) -> list[Node]:
    """Return the objects from which an accepted object can be reached, with their references.

    Args:
        objects: For example, the list that :func:`observe_garbage` passes to its observer.
        context: Returns where an object was allocated; by default :func:`cuda_allocation_context`.
        filter: Accepts an object; by default :func:`is_cuda_tensor`.
    """
    context = cuda_allocation_context() if context is None else context
    filter = is_cuda_tensor if filter is None else filter
    listed = [each for each in objects if not issubclass(type(each), weakref.ProxyTypes)]
    nodes = [Node(object_annotation(each), context(each), filter(each), []) for each in listed]
    positions = {id(each): at for at, each in enumerate(listed)}
    holders: list[list[int]] = [[] for _ in nodes]
    for at, each in enumerate(listed):
        names = None
        for referent in dict.fromkeys(map(id, gc.get_referents(each))):
            target = positions.get(referent)
            if target is None:
                continue
            if names is None:
                names = annotated_references(each)
            nodes[at].referrents.extend((name, target) for name in names.get(referent, ["?"]))
            holders[target].append(at)
    return _with_access_to_roots(nodes, holders)


def _with_access_to_roots(nodes: list[Node], holders: list[list[int]]) -> list[Node]:
    waiting = [at for at, node in enumerate(nodes) if node.root]
    kept: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at not in kept:
            kept.add(at)
            waiting += holders[at]
    numbers = {old: new for new, old in enumerate(sorted(kept))}
    for old in numbers:
        nodes[old].referrents[:] = [
            (name, numbers[target]) for name, target in nodes[old].referrents if target in numbers
        ]
    return [nodes[old] for old in numbers]


def cuda_allocation_context() -> Callable[[Any], str | None]:
    """Return a function that returns the call stack that allocated a tensor, one frame per line.

    Uses torch's memory history or, for other devices, ``tracemalloc``, if the program records them.
    The result is None for other objects and for unknown call stacks. Reading torch's history takes
    up to several seconds.
    """
    from cyclewatch.compat.allocations import allocation_context

    return allocation_context(is_cuda_tensor)


def escape(n: object) -> str:
    """Quote a label for DOT or JavaScript."""
    return json.dumps(n)


def to_dot(nodes: list[Node]) -> str:
    """Return the graph in the DOT language of Graphviz; the accepted objects are red."""
    lines = ["digraph GraphName {", "node [shape=rect];", "rankdir=LR;"]
    for at, node in enumerate(nodes):
        color = "red" if node.root else "black"
        lines.append(f"{at} [label={escape(node.label)}, color={color}];")
    for at, node in enumerate(nodes):
        lines += [f"{at} -> {to} [label = {escape(name)}]" for name, to in node.referrents]
    return "\n".join([*lines, "}\n"])


def to_html(nodes: list[Node]) -> str:
    """Return a page with one diagram for each group of connected objects; it opens offline.

    Equal groups are drawn once. Mouse over an object to see where it was allocated.
    """
    from cyclewatch.compat.graph_page import page

    return page(nodes)
