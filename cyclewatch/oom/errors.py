# SPDX-License-Identifier: Apache-2.0
"""Recognizes out-of-memory errors, and lists the exceptions that an exception refers to.

Uses torch only if the program has imported it.
"""

from __future__ import annotations

import math
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# The error code of a failed allocation: cudaErrorMemoryAllocation or hipErrorOutOfMemory.
_DEVICE_OUT_OF_MEMORY = 2
# torch's CPU allocator raises a plain RuntimeError, so its text has to be matched.
_CPU_ALLOCATOR = "DefaultCPUAllocator: "
_WORKER_TRACEBACK = "\nOriginal Traceback (most recent call last):"
_REQUESTED = r"ried to allocate (\d+(?:\.\d+)?) (bytes|KiB|MiB|GiB)"
_DEVICE_NUMBER = r"\b(?:GPU|device) (\d+)\b"
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def exception_chain(*exceptions: BaseException, handled: int = 0) -> Iterator[BaseException]:
    """Yield `exceptions`, their causes and contexts, and members of exception groups, each once.

    Args:
        exceptions: The exceptions to start from.
        handled: The id() of an exception to skip, because it was already being handled.
    """
    seen = {handled}
    pending: list[BaseException | None] = [*exceptions]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        pending += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            pending += each.exceptions


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` is an out-of-memory error raised by Python or torch, for any device.

    Matched by type: MemoryError, torch.OutOfMemoryError, and torch.AcceleratorError with the
    ``error_code`` of a failed allocation. The error of torch's CPU allocator is a plain
    RuntimeError and is matched by its message.
    """
    if isinstance(error, (MemoryError, _torch_type("OutOfMemoryError"))):
        return True
    if isinstance(error, _torch_type("AcceleratorError")):
        return getattr(error, "error_code", None) == _DEVICE_OUT_OF_MEMORY
    return type(error) is RuntimeError and _CPU_ALLOCATOR in _text(error)


def is_of_another_process(error: BaseException) -> bool:
    """Whether `error` was raised in a worker process and then re-raised in this process.

    The worker's traceback is then in the text of the error's cause (multiprocessing,
    concurrent.futures) or in the error's message (torch's DataLoader).
    """
    return type(error.__cause__).__name__ in (
        "RemoteTraceback",
        "_RemoteTraceback",
    ) or _WORKER_TRACEBACK in _text(error)


def is_device_error(error: BaseException) -> bool:
    """Whether `error` was raised by torch for an accelerator."""
    types = (_torch_type("OutOfMemoryError"), _torch_type("AcceleratorError"))
    return isinstance(error, types)


def requested_bytes(error: BaseException) -> int | None:
    """The size of the failed allocation according to the message of `error`; None if unknown.

    The size is exact for torch's CPU allocator, and for NumPy, whose error contains the shape and
    the type of the array. For accelerators, the message contains the size in KiB, MiB or GiB,
    rounded to two decimal places.
    """
    if isinstance(error, MemoryError) and len(error.args) == 2:
        return _bytes_of_array(*error.args)
    import re  # late: `import cyclewatch` must be fast

    match = re.search(_REQUESTED, _text(error))
    return round(float(match[1]) * _UNITS[match[2]]) if match else None


def _bytes_of_array(shape: object, dtype: object) -> int | None:
    is_numpy = type(dtype).__module__.partition(".")[0] == "numpy"
    size = getattr(dtype, "itemsize", None) if is_numpy else None
    if type(shape) is not tuple or type(size) is not int:
        return None
    return math.prod(shape, start=size) if all(type(each) is int for each in shape) else None


def torch_module() -> Any:
    """The torch module if the program has imported it, else None."""
    return sys.modules.get("torch")


def _torch_type(name: str) -> type | tuple[()]:
    # `()` makes isinstance() false. torch may be partially imported or too old for the type.
    found = getattr(torch_module(), name, ())
    return found if isinstance(found, type) else ()


def _text(error: BaseException) -> str:
    # str(error) could run code of a subclass.
    first = error.args[0] if error.args else ""
    return first if isinstance(first, str) else ""


def device_of(error: BaseException) -> str:
    """The name of the device on which an allocation failed with `error`."""
    cuda = getattr(torch_module(), "cuda", None)
    if not is_device_error(error) or cuda is None or not cuda.is_initialized():
        return "cpu"
    import re  # late: `import cyclewatch` must be fast

    match = re.search(_DEVICE_NUMBER, str(error))
    return f"cuda:{match[1] if match else cuda.current_device()}"
