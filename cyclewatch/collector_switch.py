# SPDX-License-Identifier: Apache-2.0
"""Finds the source line that switched automatic garbage collection off.

Searches the source code of the loaded user modules. Nothing is replaced or traced, so the program
is not affected. If there are several candidates, the location is unknown.
"""

from __future__ import annotations

import os
import sys

from cyclewatch import _native
from cyclewatch.source_lines import read_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from types import FrameType

# The functions that switch collection off or freeze objects, by module.
_DISABLE = {"gc": {"disable", "set_threshold"}, "cyclewatch": {"collect_at"}}
_FREEZE = {"gc": {"freeze"}}


def location(frozen: bool) -> str:
    """The call that disabled collection or froze objects, such as "train.py:12 (gc.disable())".

    Empty unless user code contains exactly one such call.
    """
    try:
        switches = _FREEZE if frozen else _DISABLE
        found = [call for path in _user_files() for call in _calls_in(path, switches)]
    except Exception:
        return ""  # best effort: the source may contain anything
    return found[0] if len(found) == 1 else ""


def _user_files() -> list[str]:
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    if sys.argv and os.path.isfile(sys.argv[0]):
        paths.append(os.path.abspath(sys.argv[0]))  # __main__ has no __file__ at exit
    # Code that does not belong to a module, such as a notebook cell.
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        paths.append(os.path.abspath(frame.f_code.co_filename))
        frame = frame.f_back
    own = os.path.dirname(__file__) + os.sep
    return [
        path
        for path in dict.fromkeys(paths)
        if isinstance(path, str) and not path.startswith(own) and _native.is_user_code(path)
    ]


def _calls_in(path: str, switches: dict[str, set[str]]) -> Iterator[str]:
    lines = read_source(path) or []
    text = "\n".join(lines)
    words = {word for names in switches.values() for word in names}
    if not any(word in text for word in words):
        return
    import ast

    tree = ast.parse(text)
    names = _imported_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for module, functions in switches.items():
            name = _called(node.func, names, module)
            if name in functions and not (name == "set_threshold" and not _is_zero(node)):
                arguments = "0" if name == "set_threshold" else ""
                yield f"{_shown(path)}:{node.lineno} ({module}.{name}({arguments}))"


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Map each imported name to its full name: {"collector": "gc", "off": "gc.disable"}."""
    import ast

    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _called(function: ast.expr, names: dict[str, str], module: str) -> str:
    """The function of `module` that the expression refers to; "" if none."""
    import ast

    full = ""
    if isinstance(function, ast.Name):
        full = names.get(function.id, "")
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        full = f"{names.get(function.value.id, '')}.{function.attr}"
    return full.removeprefix(f"{module}.") if full.startswith(f"{module}.") else ""


def _is_zero(call: ast.Call) -> bool:
    import ast

    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and first.value == 0


def _shown(path: str) -> str:
    return path.removeprefix(os.getcwd() + os.sep)
