# SPDX-License-Identifier: Apache-2.0
"""Finds the references that keep an object alive."""

from __future__ import annotations

import sys
from _weakref import CallableProxyType, ProxyType, ReferenceType

from cyclewatch import _native
from cyclewatch.proofs.torch_layout import is_free_threaded, torch_layout
from cyclewatch.settings.arguments import integer_in, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cyclewatch._native import LiveOwner, Path

_MAX_PATHS = 100
_MAX_GROUPS = (1 << 63) - 1
_WARNING = 30  # logging.WARNING
# Equal values may be shared, so they have no specific holder.
_VALUES = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))


def why_alive(obj_or_weakref: object, paths: int = 2) -> list[Path]:
    """Return the shortest paths of references that keep an object alive.

    Each path leads from a root, such as a local variable of a running function or an attribute of a
    module, to the object. ``print()`` shows each path as one line::

        print(*cyclewatch.why_alive(loss), sep="\\n")

        module global train.losses -> losses[0]
        train() local best -> best.loss

    The variable that the caller passes is ignored; to include it, pass a weak reference instead.
    If no Python object holds the first reference of a path, the root is "C code". A path from
    "C code" is returned only if there is no other path.

    Does not free or change any object, and does not run any of the program's code. If only C code
    seems to hold the object, the references of torch's C++ objects are followed, too, for which
    torch creates Python objects for gradients, bases of views and autograd nodes; otherwise, no
    objects are created. Takes about as long as ``gc.collect()``. No other thread runs during the
    call.

    On a free-threaded build, the other threads are stopped during the call, and gradients and views
    are not followed. Free-threaded builds make modules, classes and functions immortal when the
    program starts a thread; these objects are then shown as held by "C code".

    Args:
        obj_or_weakref: The object, or a :class:`weakref.ref` to it.
        paths: Maximum number of paths. If possible, later paths share no object with earlier ones.

    Returns:
        The paths, shortest first. A path through a dict key is listed only if there is no other
        path. Paths of equal length are ordered by root: local variables first, then module globals,
        class attributes, other structures of the interpreter, and exceptions. Roots in the
        program's code precede roots in libraries. The list is empty if the weak reference is dead,
        or if only the caller or unreachable reference cycles hold the object. If no collection
        frees these cycles, a warning is logged that names the function that shows what to cut.

    Raises:
        TypeError: The object is a plain value such as an int, or `paths` is not an integer.
        ValueError: `paths` is less than 1 or greater than 100.
        RuntimeError: On a free-threaded build, every attempt failed because other threads
            created objects.
        MemoryError: There is not enough memory to record the references between all objects.

    Examples:
        >>> cache = {"last": [Trainer()]}
        >>> print(cyclewatch.why_alive(cache["last"][0])[0])
        module global __main__.cache -> cache['last'][0]
    """
    paths = integer_in("paths", paths, 1, _MAX_PATHS)
    found, _, never_freed = _search("why_alive()", obj_or_weakref, paths)
    if never_freed:
        from cyclewatch.watching.finding_warnings import log

        log(_WARNING, f"why_alive(): {_name(_target(obj_or_weakref))}: {never_freed}")
    return found


def assert_released(obj_or_weakref: object, reason: str | None = None) -> None:
    """Fail if an object is still alive, and show what holds it.

    Pass a weak reference that was created before the object was dropped::

        reference = weakref.ref(model)
        del model
        cyclewatch.assert_released(reference, "the trainer must not keep the model")

    If you pass the object itself, only variables of the caller may still refer to it. No collection
    is run, so an object that only a reference cycle keeps alive counts as alive.

    Args:
        obj_or_weakref: The object, or a :class:`weakref.ref` to it.
        reason: Added to the message.

    Raises:
        AssertionError: The object is alive. The text contains the paths.
        TypeError: The object does not support weak references, or `reason` is not a string.
        RuntimeError: On a free-threaded build, every attempt failed because other threads
            created objects.
        MemoryError: As in :func:`why_alive`.

    Examples:
        >>> reference = weakref.ref(Trainer())
        >>> _ = gc.collect()  # Trainer refers to itself
        >>> cyclewatch.assert_released(reference)
        >>> trainer = Trainer()
        >>> cyclewatch.assert_released(weakref.ref(trainer))
        Traceback (most recent call last):
        AssertionError: __main__.Trainer is alive: module global __main__.trainer
    """
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"reason must be a str or None, not {reason!r}")
    if not isinstance(obj_or_weakref, ReferenceType):
        _check("assert_released()", obj_or_weakref)
        if not type(obj_or_weakref).__weakrefoffset__:
            raise TypeError(
                "assert_released() expects an object that supports weak references, not "
                f"{_name(obj_or_weakref)}"
            )
    paths, in_cycle, never_freed = _search("assert_released()", obj_or_weakref, 2)
    if not paths and not in_cycle:
        return
    text = f"{_name(_target(obj_or_weakref))} is alive: {_holders(paths, never_freed)}"
    # The traceback of the error refers to this frame.
    del obj_or_weakref
    raise AssertionError(f"{reason}: {text}" if reason else text)


def _holders(paths: list[Path], never_freed: str) -> str:
    if never_freed:
        return never_freed
    if not paths:
        return "only reference cycles refer to it; gc.collect() would free it"
    lines = [str(path) for path in paths]
    if is_held_by_c_code(paths):
        lines.append(f"If nothing uses it anymore, {_owner_in_c_code('it')}.")
    return "\n    ".join(lines)


def live_owners(
    top: int = 10,
    *,
    devices: str | Iterable[str] = "all",
    min_bytes: int = 1 << 20,
    device: str | None = None,
) -> list[LiveOwner]:
    """Return the largest reachable tensors, and the paths that keep them alive.

    Tensors form a group if their types, devices, shapes, dtypes and paths are equal. The comparison
    of paths ignores indexes, and the keys of dicts with more than 64 keys. Tensors that a
    collection would free are omitted; :func:`scan` finds those tensors. A warning is logged if
    autograd graphs, and thus the tensors saved in them, were not examined::

        for owner in cyclewatch.live_owners():
            print(owner.nbytes, owner.count, owner.type, owner.category, owner.held_by[0])

    Takes about as long as two collections, plus about 10 microseconds per tensor.

    Args:
        top: Maximum number of groups.
        devices: Include only tensors on these devices, as in :func:`warn_tensor_cycles`.
        min_bytes: Leave out smaller groups. If this leaves out all groups, a warning is logged.
        device: The former name of `devices`.

    Returns:
        The groups, largest first. If sizes differ by at most 1 %, groups that begin at a variable
        which its function reads again come last.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `top` is less than 1, `min_bytes` is negative, or a device is unknown.
        MemoryError: There is not enough memory for the list of tensors.

    Examples:
        >>> trainers = [Trainer(), Trainer()]
        >>> [owner] = cyclewatch.live_owners(min_bytes=4096)
        >>> owner.nbytes, str(owner.held_by[0])
        (8192, 'module global __main__.trainers -> trainers[0].batch')
    """
    top = integer_in("top", top, 1)
    min_bytes = integer_in("min_bytes", min_bytes, 0)
    names = device_names(devices, device)
    owners, unread_graphs = _native.live_owners(names, min_bytes, top)
    if unread_graphs:
        from cyclewatch.watching.finding_warnings import log

        log(_WARNING, unread_graphs)
    if is_held_by_c_code(
        path for owner in owners for path in owner.held_by if path.remedy is None or path.cut
    ):
        from cyclewatch.watching.finding_warnings import log

        log(
            _WARNING,
            "live_owners(): C code holds some of the tensors. If nothing uses them anymore, "
            f"{_owner_in_c_code('them')}.",
        )
    if not owners and min_bytes > 0:
        _log_smaller(_native.live_owners(names, 0, _MAX_GROUPS)[0], min_bytes)
    return owners


def device_names(devices: str | Iterable[str], device: str | None) -> list[str]:
    """The names in `devices`, or the only one in `device`, the former name of the argument."""
    if device is not None and not isinstance(device, str):
        raise TypeError(f'device must be a name such as "cuda:0", or None, not {device!r}')
    return names_in(devices if device is None else device, "devices")


def _log_smaller(owners: list[LiveOwner], min_bytes: int) -> None:
    if not owners:
        return
    from cyclewatch.watching.finding_warnings import log

    total = _native.format_bytes(sum(owner.nbytes for owner in owners))
    groups = f"{len(owners)} group{'s' * (len(owners) > 1)}"
    log(
        _WARNING,
        f"live_owners() left out all tensors: {groups}, {total} in total, each smaller than "
        f"min_bytes={min_bytes}; pass min_bytes=0 to list them",
    )


def _owner_in_c_code(pronoun: str) -> str:
    from cyclewatch.heap import scanning

    if scanning.last_search_found_nothing:
        return (
            f"an object of a library may keep {pronoun}, such as a traced module, a session or a "
            "connection: the last never_freed() has found no cycle through C++ code of torch; "
            "cyclewatch.never_freed(settle=0) shows a cycle that was created since"
        )
    return (
        f"a cycle through C++ code of torch may keep {pronoun} alive: "
        "cyclewatch.never_freed(settle=0) shows the reference to cut"
    )


def is_held_by_c_code(paths: Iterable[Path]) -> bool:
    """Whether a path starts in C code, after torch, whose C++ code may be that, was imported."""
    return "torch" in sys.modules and starts_in_c_code(paths)


def starts_in_c_code(paths: Iterable[Path]) -> bool:
    """Whether only C code holds the first object of a path."""
    return any(path.root.kind == "C code" for path in paths)


def _search(caller: str, obj_or_weakref: object, paths: int) -> tuple[list[Path], bool, str]:
    """Return the paths, whether only cycles hold it, and a sentence if no collection frees them."""
    target = _target(obj_or_weakref)
    if target is None and isinstance(obj_or_weakref, ReferenceType):
        return [], False, ""
    _check(caller, target)
    counts = not isinstance(obj_or_weakref, ReferenceType)
    found, in_cycle, never_freed, incomplete = _native.why_alive([target], paths, counts)
    if incomplete and "torch" in sys.modules and not is_free_threaded():
        found, in_cycle, never_freed, _ = _native.why_alive([target], paths, counts, torch_layout())
        cause, remedy = "C++ objects of torch", "cyclewatch.never_freed(settle=0)"
    else:
        cause, remedy = "NumPy arrays", "cyclewatch.scan()"
    sentence = (
        "only reference cycles refer to it, and no collection will free it, because they lead "
        f"through {cause}; {remedy} shows the reference to cut"
    )
    return found, in_cycle, sentence if never_freed else ""


def _target(obj_or_weakref: object) -> object:
    if isinstance(obj_or_weakref, ReferenceType):
        return ReferenceType.__call__(obj_or_weakref)
    return obj_or_weakref


def _check(caller: str, target: object) -> None:
    if isinstance(target, (ProxyType, CallableProxyType)):
        raise TypeError(f"{caller} expects an object or a weakref.ref, not a weak proxy")
    if type(target) in _VALUES:
        raise TypeError(
            f"{caller} expects an object such as a tensor or a module, not a value of type "
            f"{type(target).__name__}"
        )


def _name(target: object) -> str:
    kind = type(target)
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
