# SPDX-License-Identifier: Apache-2.0
"""Finds the source line that switched automatic garbage collection off.

Searches the source code of the loaded user modules. No function is replaced or traced, so the
program is not affected. If several calls are found, the location is unknown. Calls through another
name, such as ``from gc import disable``, are not found.
"""

from __future__ import annotations

import os
import sys

from cyclewatch import _native
from cyclewatch.code.source_lines import read_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# The calls that switch collection off or freeze objects.
_DISABLE = ("gc.disable()", "gc.set_threshold(0)", "cyclewatch.collect_at()")
_FREEZE = ("gc.freeze()",)


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
    own = os.path.dirname(os.path.dirname(__file__)) + os.sep
    return [
        path
        for path in dict.fromkeys(paths)
        if isinstance(path, str) and not path.startswith(own) and _native.is_user_code(path)
    ]


def _calls_in(path: str, switches: tuple[str, ...]) -> Iterator[str]:
    lines = read_source(path) or []
    text = "\n".join(lines)
    if not any(switch.partition("(")[0] in text for switch in switches):
        return
    import ast

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            threshold = node.args[:1] if name == "gc.set_threshold" else []
            call = f"{name}({''.join(map(ast.unparse, threshold))})"
            if call in switches:
                yield f"{_shown(path)}:{node.lineno} ({call})"


def _shown(path: str) -> str:
    return path.removeprefix(os.getcwd() + os.sep)
