# SPDX-License-Identifier: Apache-2.0
"""Starts the process-wide watch while the interpreter starts.

``cyclewatch-autostart.pth`` calls :func:`start` if CYCLEWATCH=1 is set, or if ``cyclewatch run``
has replaced its process by this one. Under CYCLEWATCH=1 the program starts whatever goes wrong
here; ``run`` refuses to start it unwatched.
"""

from __future__ import annotations

import os
import sys

RUN_VARIABLE = "CYCLEWATCH_RUN"  # the settings of ``cyclewatch run``, as JSON

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")

_tried = False


def start_if_requested() -> None:
    """Entry point of ``cyclewatch-autostart.start`` (PEP 829, Python 3.15 and later)."""
    sys._cyclewatch_autostart = True  # type: ignore[attr-defined]
    if os.environ.get("CYCLEWATCH", "0") not in ("", "0") or RUN_VARIABLE in os.environ:
        start()


def start() -> None:
    """Watch this process; one line on stderr if that fails."""
    global _tried
    # The settings of `run` are for this process alone: its children do not inherit them.
    run = os.environ.pop(RUN_VARIABLE, None)
    if _tried:
        return  # in a virtual environment the interpreter reads every .pth file twice
    _tried = True
    try:
        _start_watch(run)
    except Exception as error:
        if isinstance(error, ImportError) and "subinterpreters" in str(error):
            return  # the watch of the main interpreter covers the process
        if run is None:
            _complain(f"cyclewatch: the watch is off: {error}")
            return
        _complain(f"cyclewatch: {error}")
        os._exit(2)


def _start_watch(run: str | None) -> None:
    script = script_name(sys.argv[0] if sys.argv else "", sys.orig_argv)
    if run is not None:
        import json

        settings = json.loads(run)
    elif script == "cyclewatch" or not _truth("CYCLEWATCH", os.environ["CYCLEWATCH"]):
        return  # our own command has nothing to watch
    else:
        settings = _settings()

    from cyclewatch.process_watch import ProcessWatch

    try:
        ProcessWatch(settings, script.removesuffix(".py"))
    except ValueError as error:
        raise ValueError(str(error) if run else f"{error} ({_variables()})") from None


def _variables() -> str:
    """The variables that configure the watch, for a message."""
    names = sorted(name for name in os.environ if name.startswith("CYCLEWATCH_"))
    return ", ".join(f"{name}={os.environ[name]!r}" for name in names)


def _complain(sentence: str) -> None:
    # Without stderr print() would write to stdout. A stderr that fails must not stop the program.
    if sys.stderr is not None:
        try:
            print(sentence, file=sys.stderr, flush=True)
        except (OSError, ValueError):
            return


def _settings() -> dict[str, object]:
    from cyclewatch.cli.options import WATCH_SETTINGS, variable

    settings: dict[str, object] = {}
    for name, (convert, default) in WATCH_SETTINGS.items():
        word = os.environ.get(variable(name), "")
        if convert is None:
            settings[name] = _truth(variable(name), word)
            continue
        try:
            settings[name] = convert(word) if word else default
        except ValueError as error:
            raise ValueError(f"{variable(name)} expects {error}") from None
    return settings


def _truth(name: str, word: str) -> bool:
    if word.lower() not in _YES + _NO:
        raise ValueError(f"{name} is 1 or 0, not {word!r}")
    return word.lower() in _YES


def script_name(first: str, words: list[str]) -> str:
    """What to call a program in the name of its report.

    Args:
        first: ``sys.argv[0]`` before the program begins: a path, "-m", "-c", "-" or "".
        words: The command line, which names the module of -m.
    """
    if first == "-m":
        at, option = next((at, word[2:]) for at, word in enumerate(words) if word.startswith("-m"))
        return (option or words[at + 1]).removesuffix(".__main__")
    return "python" if first in ("", "-", "-c") else os.path.basename(first.rstrip("/"))
