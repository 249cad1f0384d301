# SPDX-License-Identifier: Apache-2.0
"""Registers types whose instances own device memory."""

from __future__ import annotations

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# Types passed to register_owner(); _native holds the readers.
_registered_types: set[type] = set()


def register_owner(owner_type: type, reader: Callable[[Any], Mapping[str, object] | None]) -> None:
    """Register a type whose instances own device memory, for all watches.

    Args:
        owner_type: The type; subclasses are included.
        reader: ``reader(obj)`` returns ``{"device": "cuda:0", "nbytes": int, "data_ptr": int}``,
            optionally with ``"shape"`` and ``"dtype"``, or None if `obj` owns no memory. Owners
            with equal ``device`` and ``data_ptr`` share their memory, which is counted once.

    The reader is called during a collection, on the collecting thread, with an object that is
    about to be freed. It must be fast and must not keep a reference to the object. If the reader
    raises an Exception or returns an invalid result, such as more than 2**48 bytes, the object is
    skipped and counted; the reader's first exception, or a TypeError that describes the result, is
    passed to ``sys.unraisablehook``. Other exceptions, such as KeyboardInterrupt, are raised on the
    main thread after the collection.
    Only the first 64 dimensions of a shape and the first 1,000 characters of a string are read.

    Registering a type again replaces its reader.

    Raises:
        TypeError: `owner_type` is not a type, or `reader` is not callable.

    Examples:
        >>> def read(page):
        ...     return {"device": "cpu", "nbytes": len(page), "data_ptr": id(page)}
        >>> class Page(bytearray):
        ...     pass
        >>> cyclewatch.register_owner(Page, read)
        >>> with cyclewatch.watch(devices="cpu") as watch:
        ...     page = Page(512)
        ...     page.itself = page
        ...     del page
        ...     _ = gc.collect()
        >>> watch.report().findings[0].owners
        [<Owner __main__.Page 512 B on cpu at 'Page'>]
    """
    if not isinstance(owner_type, type):
        raise TypeError(f"register_owner() expects a type, not {owner_type!r}")
    if not callable(reader):
        raise TypeError(f"the reader must be callable, not {type(reader).__name__}")
    _native.register_owner(owner_type, reader)
    _registered_types.add(owner_type)


def unregister_owner(owner_type: type) -> None:
    """Undo :func:`register_owner`.

    Raises:
        TypeError: `owner_type` is not a type.
        KeyError: `owner_type` is not registered.

    Examples:
        >>> cyclewatch.unregister_owner(Buffer)
        >>> with cyclewatch.watch(devices="cpu") as watch:
        ...     train()
        >>> watch.report().findings
        []
    """
    if not isinstance(owner_type, type):
        raise TypeError(f"unregister_owner() expects a type, not {owner_type!r}")
    if not _native.unregister_owner(owner_type):
        raise KeyError(f"{owner_type.__name__} is not registered")
    _registered_types.discard(owner_type)


def registered_types() -> frozenset[type]:
    """The types that are currently registered with :func:`register_owner`."""
    return frozenset(_registered_types)
