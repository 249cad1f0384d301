# SPDX-License-Identifier: Apache-2.0
"""Examines a running process that need not use cyclewatch, for ``attach`` and ``memory``.

A script runs in the process (``sys.remote_exec``, CPython 3.14) and writes its result to a file.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from importlib.machinery import EXTENSION_SUFFIXES

from cyclewatch import _native
from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OLDEST = (3, 14)
_PAUSE = 0.02  # seconds between checks of the folder
_STARTED, _RESULT, _ERROR = "started", "result", "error"

# Runs on the main thread of the process, in a namespace that is dropped afterwards. Loads the
# extension without the package, so that nothing is added to sys.modules and no callback is
# registered. Defines no function, because a function and its globals form a reference cycle.
# `{examination}` uses `native` and the settings, and assigns `text`.
_SCRIPT = """\
__name__ = "cyclewatch.examination"  # so that these variables are not reported
import sys
import _imp
import posix
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader
try:
    open(folder + "/started", "xb").close()  # text mode needs an encoding
    try:
        # Loading the extension into a free-threaded or debug build could crash the process.
        if _imp.extension_suffixes()[0] != suffix:
            raise RuntimeError(f"it runs another build of CPython ({_imp.extension_suffixes()[0]})")
        native = sys.modules.get("cyclewatch._native")
        if native is None:
            loader = ExtensionFileLoader("cyclewatch._native", library)
            spec = ModuleSpec(loader.name, loader, origin=library)
            native = _imp.create_dynamic(spec)
            native.__spec__ = spec
            _imp.exec_dynamic(native)
        elif native.__version__ != version:
            raise RuntimeError(f"the process already uses cyclewatch {native.__version__}")
{examination}
        name = "result"
    except Exception as error:
        name, text = "error", f"{error}"
    with open(folder + "/unfinished", "x", encoding="utf-8", errors="replace") as file:
        file.write(text)
    posix.rename(folder + "/unfinished", folder + "/" + name)
except OSError:
    pass  # the cyclewatch command has ended
except KeyboardInterrupt:
    import _thread
    _thread.interrupt_main()  # the interrupt was meant for the program
"""


def examine(
    command: str, pid: int, timeout: float, examination: str, settings: Mapping[str, object]
) -> bytes:
    """Run Python code in a process, and return the text that the code assigns to `text`.

    Args:
        command: The name of the command, for messages.
        pid: The process.
        timeout: Maximum number of seconds to wait for the main thread of the process to run Python
            code.
        examination: The statements.
        settings: Their variables.

    Raises:
        Failure: The process cannot be examined.
    """
    _check_here(command)
    _check_process(pid, command)
    folder = tempfile.mkdtemp(prefix="cyclewatch-")
    try:
        _check_paths(pid, folder, command)
        script = os.path.join(folder, "script.py")
        variables = {
            "folder": folder,
            "library": _native.__file__,
            "version": _native.__version__,
            "suffix": EXTENSION_SUFFIXES[0],
            **settings,
        }
        statements = textwrap.indent(examination.rstrip(), " " * 8)
        with open(script, "x", encoding="utf-8") as file:
            file.writelines(f"{name} = {value!r}\n" for name, value in variables.items())
            file.write(_SCRIPT.replace("{examination}", statements))
        _start(pid, script)
        return _wait(pid, folder, timeout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_here(command: str) -> None:
    if not hasattr(sys, "remote_exec"):
        here = ".".join(map(str, sys.version_info[:2]))
        raise Failure(f"{command} needs CPython 3.14 or later, but this is Python {here}")


def _check_process(pid: int, command: str) -> None:
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        raise Failure(f"there is no process {pid}") from None
    state = _state(pid)
    if state in ("Z", "X", ""):
        raise Failure(f"process {pid} has ended")
    if owner != os.geteuid():
        raise Failure(f"process {pid} belongs to another user (uid {owner}); attach as that user")
    if state in ("T", "t"):
        raise Failure(f"process {pid} is stopped; continue it first (kill -CONT {pid})")
    version = _version(pid)
    if version == "":
        raise Failure(f"process {pid} does not run CPython")
    if version is not None and version != ".".join(map(str, sys.version_info[:2])):
        older = tuple(map(int, version.split("."))) < _OLDEST
        raise Failure(
            f"process {pid} runs Python {version}"
            + (
                f", but {command} needs 3.14 or later"
                if older
                else "; run cyclewatch with that version"
            )
        )


def has_ended(pid: int) -> bool:
    """Whether the process has ended, even if its parent has not waited for it yet."""
    return _state(pid) in ("Z", "X", "")


def _state(pid: int) -> str:
    """The state letter of the process from /proc/PID/stat; "" if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _version(pid: int) -> str | None:
    """The Python version of the process, determined from the names of its mapped files.

    "" if no mapped file belongs to Python; None if the files cannot be listed.
    """
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            found = re.search(r"/(?:lib)?python(3\.\d+)[^/\s]*$", file.read(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else ""


def _check_paths(pid: int, folder: str, command: str) -> None:
    """Fail if one of the paths names a different file in the mount namespace of the process."""
    for path in (folder, os.path.abspath(_native.__file__)):
        try:
            is_same = os.path.samefile(f"/proc/{pid}/root{path}", path)
        except PermissionError:
            raise _not_permitted(pid) from None
        except OSError:
            is_same = False
        if not is_same:
            raise Failure(
                f"process {pid} cannot access {path}, because the process is in another mount "
                f"namespace; run cyclewatch {command} in its container"
            )


def _not_permitted(pid: int) -> Failure:
    return Failure(
        f"the system does not permit access to the memory of process {pid} "
        "(see /proc/sys/kernel/yama/ptrace_scope)"
    )


def _start(pid: int, script: str) -> None:
    try:
        sys.remote_exec(pid, script)  # type: ignore[attr-defined,unused-ignore]
    except PermissionError:
        raise _not_permitted(pid) from None
    except (OSError, RuntimeError) as error:
        if has_ended(pid):
            raise Failure(f"process {pid} has ended") from None
        hint = ""
        if "not enabled" in str(error):
            where = "process " + str(pid) if "remote process" in str(error) else "this process"
            hint = f" ({where} has PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug)"
        raise Failure(f"cannot attach to process {pid}: {error}{hint}") from None


def _wait(pid: int, folder: str, timeout: float) -> bytes:
    deadline = time.monotonic() + timeout
    while True:
        ended = has_ended(pid)  # checked first, so that no file is missed
        names = os.listdir(folder)
        if _RESULT in names:
            return _contents(folder, _RESULT)
        if _ERROR in names:
            text = _native.clean_text(_contents(folder, _ERROR).decode())
            raise Failure(f"process {pid} cannot be examined: {text}")
        if ended:
            raise Failure(f"process {pid} has ended")
        if _STARTED not in names and time.monotonic() > deadline:
            _withdraw(pid)
            raise Failure(
                f"the main thread of process {pid} has not run Python code for {timeout:g} "
                "seconds: it is stopped or running C code"
            )
        time.sleep(_PAUSE)


def _contents(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def _withdraw(pid: int) -> None:
    """Replace the pending script with an empty file.

    The process would print an error if it tried to run a script that no longer exists.
    """
    try:
        sys.remote_exec(pid, os.devnull)  # type: ignore[attr-defined,unused-ignore]
    except (OSError, RuntimeError):
        return  # the process has ended
