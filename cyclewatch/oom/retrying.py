# SPDX-License-Identifier: Apache-2.0
"""A decorator that retries a function if it runs out of memory."""

from __future__ import annotations

import sys

from cyclewatch.heap.collecting import collect
from cyclewatch.oom.errors import exception_chain, is_out_of_memory, torch_module
from cyclewatch.watching.finding_warnings import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

_WARNING = 30  # logging.WARNING
_DEVICE_MODULES = ("cuda", "xpu", "mtia", "npu")


def retry_on_oom(attempts: int = 1) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator that retries a function if it runs out of memory.

    ``gc.collect()`` inside an ``except`` block does not free the objects of the failed call: the
    exception refers to its traceback, and the traceback's frames refer to all local variables. This
    decorator leaves the ``except`` block first. It then clears the frames of the traceback,
    collects garbage, empties torch's device cache if the program has initialized a device, and
    calls the function again::

        @cyclewatch.retry_on_oom()
        def train_step(batch):
            return model(batch).sum().backward()

    The decorator handles MemoryError, torch.OutOfMemoryError, torch.AcceleratorError for a failed
    allocation, and the RuntimeError of torch's CPU allocator. This RuntimeError is recognized
    by its message. Each retry is logged as a warning. If the last attempt fails, its error
    propagates. If decorated functions call each other, each of them retries.

    The function runs again from its beginning, so it must be safe to repeat. If it uses collective
    operations and only one rank retries, the other ranks wait for that rank.

    Args:
        attempts: Maximum number of retries.

    Raises:
        TypeError: `attempts` is not an integer, or the function is a generator or coroutine
            function. Calling such a function does not run its body.
        ValueError: `attempts` is less than 1.

    Examples:
        >>> sizes = [1 << 62, 1 << 10]
        >>> @cyclewatch.retry_on_oom()
        ... def allocate():
        ...     return len(bytearray(sizes.pop(0)))
        >>> allocate()
        1024
    """
    if not isinstance(attempts, int):
        raise TypeError(
            f"attempts must be an integer, not {attempts!r}; use @retry_on_oom(), with parentheses"
        )
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, not {attempts}")

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        # Imported late: `import cyclewatch` must be fast.
        import functools
        import inspect

        suspends = (
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        )
        if any(each(function) for each in suspends):
            raise TypeError("retry_on_oom() cannot decorate a coroutine or generator function")
        name = getattr(function, "__qualname__", "function")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            outer = sys.exception()
            for attempt in range(1, attempts + 1):
                failures = []  # a list, so that clear() drops the last reference
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    if not is_out_of_memory(error):
                        raise
                    failures.append(error)
                kind = type(failures[0]).__name__
                log(_WARNING, f"{name}: {kind}; collecting, then retry {attempt} of {attempts}")
                clear_frames(failures[0], outer)
                failures.clear()
                collect()
                empty_device_caches()
            return function(*args, **kwargs)

        return call

    return decorate


def clear_frames(error: BaseException, outer: BaseException | None = None) -> None:
    """Clear the local variables of all finished frames that `error` and its causes refer to.

    The tracebacks keep their lines. Exceptions reachable only through `outer` are not changed.
    """
    import traceback

    for each in exception_chain(error, handled=id(outer)):
        traceback.clear_frames(each.__traceback__)


def empty_device_caches() -> None:
    """Release torch's unused cached device memory. Does not initialize a device."""
    torch = torch_module()
    for name in _DEVICE_MODULES:
        module: Any = getattr(torch, name, None)
        is_initialized = getattr(module, "is_initialized", None)
        if is_initialized is not None and is_initialized():
            module.empty_cache()
