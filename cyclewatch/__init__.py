# SPDX-License-Identifier: Apache-2.0
"""Find reference cycles that keep device memory alive, and the reference to cut.

Call :func:`warn_tensor_cycles` once, at the start of the program. When a garbage collection frees
tensors, cyclewatch reports the reference cycles that kept the tensors alive, the retained size of
each cycle, and the reference to cut. Without that reference, the tensors are freed as soon as they
are no longer used.

:func:`watch` collects findings silently, :func:`observe_tensor_cycles` passes them to a callback,
and :class:`assert_no_tensor_cycles` checks a block of code in a test.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.api import *
    from cyclewatch.api import __all__ as __all__
    from cyclewatch.api import __version__ as __version__
else:
    # Loads `api` on first use: pytest imports this package in every run, for the plugin.
    def __getattr__(name: str) -> object:
        import importlib

        if name in ("__all__", "__version__") or not name.startswith("_"):
            api = importlib.import_module("cyclewatch.api")
            if name == "__all__" or name in api.__all__:
                return getattr(api, name)
        raise AttributeError(f"module 'cyclewatch' has no attribute {name!r}")

    def load_ipython_extension(shell: object) -> None:
        """Register the magic ``%%cyclewatch``: ``%load_ext cyclewatch`` calls this."""
        from cyclewatch import notebook

        notebook.load_ipython_extension(shell)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
