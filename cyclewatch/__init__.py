# SPDX-License-Identifier: Apache-2.0
"""Names the reference that keeps device memory alive in garbage cycles.

Call :func:`warn_tensor_cycles` once, when the model is made. From then on every garbage
collection that frees tensors tells which reference cycle had kept them, how many bytes that were,
and which one reference to cut so that they are freed at once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.api import *
    from cyclewatch.api import __all__ as __all__
    from cyclewatch.api import __version__ as __version__
else:
    # Importing the package must cost nothing: pytest does in every run, for the plugin.
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
