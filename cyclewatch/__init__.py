# SPDX-License-Identifier: Apache-2.0
"""Names the reference that keeps device memory alive in garbage cycles.

Call :func:`warn_tensor_cycles` once, when the model is made. From then on every garbage
collection that frees tensors tells which reference loop had kept them, how many bytes that were,
and which one reference to cut so that they are freed at once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.api import *
    from cyclewatch.api import __all__ as __all__
    from cyclewatch.api import __version__ as __version__
else:

    def __getattr__(name: str) -> object:
        # Importing the package must cost nothing: pytest does in every run, for the plugin.
        if name.startswith("_") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module 'cyclewatch' has no attribute {name!r}")
        public = _public_names()
        globals().update(public)
        if name not in public:
            raise AttributeError(f"module 'cyclewatch' has no attribute {name!r}")
        return public[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *_public_names()})

    def _public_names() -> dict[str, object]:
        import sys

        # Not `import cyclewatch.api as api`, which asks this module for `api`: where a program took
        # the package alone out of sys.modules, that is asked here again, and for ever.
        from cyclewatch.api import __all__ as names

        api = sys.modules["cyclewatch.api"]
        return {"__all__": names, **{name: getattr(api, name) for name in names}}
