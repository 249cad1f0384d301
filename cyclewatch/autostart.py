# SPDX-License-Identifier: Apache-2.0
"""Starts the watch in a program that knows nothing of it, when CYCLEWATCH=1 is set.

Run by ``cyclewatch-autostart.pth`` while the interpreter starts. Whatever goes wrong here, the
program must start.
"""

from __future__ import annotations

import os
import sys

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")

_tried = False


def start() -> None:
    """Watch this process, with CYCLEWATCH_* for options; one line on stderr if that fails."""
    global _tried
    script = _script_name()
    # In a virtual environment the interpreter reads every .pth file twice.
    if script is None or _tried:
        return
    _tried = True
    try:
        _start_watch(script)
    except Exception as error:
        if isinstance(error, ImportError) and "subinterpreters" in str(error):
            return  # the main interpreter's watch is not for this one, and that is no news
        _complain(f"cyclewatch: the watch is off: {error}")


def _start_watch(script: str) -> None:
    # First where the standard modules are: the program may have some that are called like those
    # which we import, in a folder of PYTHONPATH.
    path = list(sys.path)
    sys.path.insert(0, os.path.dirname(os.__file__))
    try:
        from cyclewatch.cli.shadowing import let_go_of_shadowed

        settings = _settings()
        if settings is not None:
            from cyclewatch import whole_program

            try:
                whole_program.start(settings, script)
            except ValueError as error:
                raise ValueError(f"{error} ({_variables()})") from None
    finally:
        sys.path[:] = path
    let_go_of_shadowed([*_program_folders(), *path])


def _program_folders() -> list[str]:
    """What the interpreter will put before the rest of the search path: one of these."""
    first = sys.argv[0] if sys.argv else ""
    if sys.flags.safe_path:
        return []
    if first in ("", "-", "-c", "-m"):
        return [""]
    try:
        # As python has it: what is looked for is remembered, in sys.path_importer_cache.
        return [os.path.abspath(first), os.path.dirname(os.path.realpath(first))]
    except OSError:
        return []  # the current folder was removed


def _variables() -> str:
    """What the environment says of the watch, for a message."""
    names = sorted(name for name in os.environ if name.startswith("CYCLEWATCH_"))
    return ", ".join(f"{name}={os.environ[name]!r}" for name in names)


def _complain(sentence: str) -> None:
    # With no stderr print() would take stdout; and one that cannot be written is no reason either.
    if sys.stderr is not None:
        try:
            print(sentence, file=sys.stderr, flush=True)
        except (OSError, ValueError):
            return


def _settings() -> dict[str, object] | None:
    from cyclewatch.cli.table import WATCH_OPTIONS

    if not _truth("CYCLEWATCH", os.environ["CYCLEWATCH"]):
        return None
    settings: dict[str, object] = {}
    for option in WATCH_OPTIONS:
        word = os.environ.get(option.environment)
        if not option.metavar:
            settings[option.name] = _truth(option.environment, word or "")
        elif not word:
            settings[option.name] = option.default
        else:
            try:
                settings[option.name] = option.convert(word)
            except ValueError as error:
                raise ValueError(f"{option.environment} expects {error}") from None
    return settings


def _truth(name: str, word: str) -> bool:
    if word.lower() not in _YES + _NO:
        raise ValueError(f"{name} is 1 or 0, not {word!r}")
    return word.lower() in _YES


def _script_name() -> str | None:
    """What to call the program; None for our own command, which has nothing to watch."""
    # sys.argv[0] is still "-m" for a module at this time.
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if sys.argv[:1] == ["-m"] and "-m" in words else ""
    name = module or os.path.basename(sys.argv[0] if sys.argv else "")
    return None if name == "cyclewatch" else name.removesuffix(".py") or "python"
