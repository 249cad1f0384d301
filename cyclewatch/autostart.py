# SPDX-License-Identifier: Apache-2.0
"""Starts the watch for ``cyclewatch run`` or CYCLEWATCH=1 during interpreter startup.

``cyclewatch-autostart.pth`` calls :func:`start` if CYCLEWATCH=1 is set, or if ``cyclewatch run``
started this interpreter. If the watch cannot be started, ``cyclewatch run`` exits with an error;
with CYCLEWATCH=1, the program runs without a watch.
"""

from __future__ import annotations

import os
import sys

from cyclewatch.settings.kinds import SWITCH
from cyclewatch.watching.workers import starts_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.settings.kinds import Kind

RUN_VARIABLE = "CYCLEWATCH_RUN"  # the process id and settings of ``cyclewatch run``, as JSON

_tried = False


def start_if_requested() -> None:
    """Entry point of ``cyclewatch-autostart.start`` (PEP 829, Python 3.15 and later)."""
    sys._cyclewatch_autostart = True  # type: ignore[attr-defined]
    if os.environ.get("CYCLEWATCH", "0") not in ("", "0") or RUN_VARIABLE in os.environ:
        start()


def start() -> None:
    """Watch this process. On failure, prints one line to stderr."""
    global _tried
    if _tried:
        return  # in a virtual environment, .pth files are processed twice
    _tried = True
    # Children must not inherit the settings of `run`, except those that it watches.
    run = _settings_of_run(os.environ.pop(RUN_VARIABLE, None))
    try:
        _start_watch(run)
    except Exception as error:
        if isinstance(error, ImportError) and "subinterpreters" in str(error):
            return  # the watch of the main interpreter covers the process
        if run is None:
            _print_error(f"cyclewatch: not watching: {error}")
            return
        _print_error(f"cyclewatch: {error}")
        os._exit(2)


def _settings_of_run(text: str | None) -> dict[str, object] | None:
    """The settings that ``cyclewatch run`` passed to this process; None if there are none.

    A variable that is left over in the environment names another process.
    """
    if text is None:
        return None
    import json

    settings: dict[str, object]
    try:
        process, settings = json.loads(text)
        follow = settings["follow_fork"] is True
    except (KeyError, TypeError, ValueError):
        process, follow = None, False
    if follow:
        os.environ[RUN_VARIABLE] = text  # for workers
    # `run` replaces its process, so the process id stays the same.
    if process == os.getpid() or (follow and starts_worker(sys.orig_argv)):
        return settings
    if not follow:
        _print_error(f"cyclewatch: {RUN_VARIABLE} is ignored; it is set only by `cyclewatch run`")
    return None


def _start_watch(run: dict[str, object] | None) -> None:
    script = script_name(sys.argv[0] if sys.argv else "", sys.orig_argv)
    settings = run
    if settings is None:
        if script == "cyclewatch" or not _value("CYCLEWATCH", SWITCH, False):
            return  # do not watch our own command
        settings = _settings()

    from cyclewatch.process_watch import ProcessWatch

    try:
        ProcessWatch(settings, script.removesuffix(".py"), run is not None)
    except ValueError as error:
        raise ValueError(str(error) if run is not None else f"{error} ({_variables()})") from None


def _variables() -> str:
    """The CYCLEWATCH_* environment variables, formatted for error messages."""
    names = sorted(name for name in os.environ if name.startswith("CYCLEWATCH_"))
    return ", ".join(f"{name}={os.environ[name]!r}" for name in names)


def _print_error(sentence: str) -> None:
    # A write error on stderr must not stop the program. print() could leave text in the buffer of
    # sys.stderr; if the flush at exit failed, the exit status would change.
    if sys.stderr is not None:
        try:
            os.write(sys.stderr.fileno(), f"{sentence}\n".encode(errors="backslashreplace"))
        except (OSError, ValueError):
            return


def _settings() -> dict[str, object]:
    from cyclewatch.settings.table import PYTEST, RUN, setting_of, settings_of

    rows = settings_of(RUN)
    _complain_about_typos([row.variable for row in (*rows, setting_of("libraries", PYTEST))])
    return {row.name: _value(row.variable, row.kind(RUN), row.default) for row in rows}


def _value(variable: str, kind: Kind, default: object) -> object:
    word = os.environ.get(variable, "")
    try:
        return kind.read(word) if word else default
    except ValueError as error:
        raise ValueError(f"{variable} {error}") from None


def _complain_about_typos(known: list[str]) -> None:
    for name in os.environ:
        if name.startswith("CYCLEWATCH_") and name not in known:
            import difflib

            # All names have the same prefix, which would make any two of them similar.
            words = {each.removeprefix("CYCLEWATCH_"): each for each in known}
            near = difflib.get_close_matches(name.removeprefix("CYCLEWATCH_"), words, n=1)
            if near:
                right = words[near[0]]
                _print_error(f"cyclewatch: {name} is not a setting; did you mean {right}?")


def script_name(first: str, words: list[str]) -> str:
    """Return the name of the program for use in the file name of its report.

    Args:
        first: ``sys.argv[0]`` at startup: a path, "-m", "-c", "-" or "".
        words: The command line, including the module after -m.
    """
    if first == "-m":
        at, word = next((at, word) for at, word in enumerate(words) if _ends_options(word))
        option = word[word.index("m") + 1 :]
        return (option or words[at + 1]).removesuffix(".__main__")
    return "python" if first in ("", "-", "-c") else os.path.basename(first.rstrip("/"))


def _ends_options(word: str) -> bool:
    """Whether `word` contains the option -m, which may follow other letters: -m, -um, -Immodule."""
    letters = word.partition("m")[0]
    return word[:1] == "-" and word[1:2] != "-" and "m" in word and not set(letters) & set("WXc")
