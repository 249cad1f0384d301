# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch run``: somebody's program in this process, as python itself would run it."""

from __future__ import annotations

import importlib.machinery
import os
import pkgutil
import sys
import types

from cyclewatch import _native, whole_program
from cyclewatch.cli import outputs
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.cli.shadowing import let_go_of_shadowed
from cyclewatch.cli.table import WATCH_OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.parser import Program


def main(arguments: argparse.Namespace) -> int | None:
    """Run the program, and end as python would.

    Returns an exit status if there is no such program, None if the interpreter's prompt follows it.
    """
    program: Program = arguments.program
    status = None
    if program.kind == "command":
        status = _why_no_text(program.name)
    elif program.kind == "script" and program.name != "-":
        status = _why_not(program.name)
    if status is not None:
        return status
    settings = {option.name: getattr(arguments, option.name) for option in WATCH_OPTIONS}
    script = _script_name(program)
    try:
        for path in whole_program.named_reports(settings, script).values():
            outputs.refuse_to_replace(path, arguments.force)
        if arguments.output:
            outputs.refuse_unwritable(whole_program.report_file(settings, script))
        _prepare_interpreter(program)
        whole_program.start(settings, script, replace=arguments.force, quiet=arguments.quiet)
    except ValueError as error:
        raise Failure(str(error), Status.USAGE) from None
    _open_search_path(program)
    _run(program)
    return None


def _why_no_text(source: str) -> int | None:
    """Say as python does that a command is no text; its exit status, None if it is."""
    try:
        source.encode()
    except UnicodeEncodeError as error:
        print("Unable to decode the command from the command line:", file=sys.stderr)
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return None


def _why_not(path: str) -> int | None:
    """Say as python does that there is no such script; its exit status, None if there is one."""
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            # What writes into a pipe would lose its reader. A folder with a __main__.py can be
            # run; runpy complains where there is none.
            return None
        with open(path, "rb"):
            return None
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {_absolute(path)!r}: "
            f"[Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return 2


def _prepare_interpreter(program: Program) -> None:
    """Leave the interpreter as python leaves it before the first line of the program."""
    first = {"script": program.name, "module": "-m", "command": "-c"}[program.kind]
    sys.argv[:] = [first, *program.words]
    main_module = types.ModuleType("__main__")
    main_module.__dict__["__loader__"] = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):  # later ones make it where it is asked for
        main_module.__dict__["__annotations__"] = {}
    main_module.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main_module


def _open_search_path(program: Program) -> None:
    """Have modules found where python would find them; no import of ours comes after this."""
    del sys.path[0]  # what was put there for us (__main__.py)
    folder = _search_folder(program)
    if folder is not None:
        sys.path.insert(0, folder)
    let_go_of_shadowed(sys.path)


def _search_folder(program: Program) -> str | None:
    """Where python looks first; None where it goes by the rest of the search path alone."""
    is_script = program.kind == "script" and program.name != "-"
    if is_script and _is_importable(program.name):
        return _absolute(program.name)  # where it is to be run from, safe or not
    if sys.flags.safe_path:
        return None
    if is_script:
        return os.path.dirname(os.path.realpath(program.name))
    return _current_folder() if program.kind == "module" else ""


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # it was removed


def _run(program: Program) -> None:
    if program.kind == "module":
        _native.run_module(program.name, set_argv=True)
    elif program.kind == "command":
        _register_source(program.name)
        _native.run_command(program.name.encode())
    elif program.name == "-":
        _native.run_standard_input()
    elif _is_importable(program.name):
        _native.run_module("__main__", set_argv=False)
    else:
        _native.run_file(os.fsencode(_absolute(program.name)))


def _register_source(source: str) -> None:
    # From 3.13 on tracebacks quote the source of -c; what tells them is no public function.
    if sys.version_info >= (3, 13):
        import linecache

        lines = [f"{line}\n" for line in source.splitlines()]
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")


def _is_importable(path: str) -> bool:
    """True for a folder or an archive, which python runs by its __main__ module."""
    return pkgutil.get_importer(_absolute(path)) is not None


def _absolute(path: str) -> str:
    # Not os.path.abspath(): python leaves "a/../b" in tracebacks and in __file__ as it is.
    folder = None if os.path.isabs(path) else _current_folder()
    return path if folder is None else f"{folder}/{path}"


def _script_name(program: Program) -> str:
    if program.kind == "command" or program.name == "-":
        return "python"
    if program.kind == "module":
        return program.name.removesuffix(".__main__")
    return os.path.basename(program.name.rstrip("/")).removesuffix(".py")
