# SPDX-License-Identifier: Apache-2.0
"""Shows the reports of all ranks on the debug server of torch.distributed.

The debug server asks a small web server in each rank, which calls :func:`_answer` from a thread of
its own. Imports torch's debug server, so it is imported only on request.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import socket
import stat
import sys
import time
from types import FunctionType

from torch._C._distributed_c10d import _register_handler
from torch.distributed.debug._frontend import (
    DebugHandler,
    NavLink,
    Route,
    fetch_all,
    format_fetch_summary,
)

from cyclewatch.watching.watches import active_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "cyclewatch"
# torch copies its reference to a handler without the GIL, so the reference count may become wrong
# by a few, and releases it after the end of the interpreter. A handler must never be deleted.
_SPARE_REFERENCES = 1 << 16
# The module whose functions torch registers as handlers when its debug server is imported.
_HANDLERS_OF_TORCH = "torch.distributed.debug._handlers"

_TURN, _LONGEST_WAIT = 0.1, 2.0  # seconds, at exit

_is_registered = False
_answers = 0  # begun or given


class CycleWatchHandler(DebugHandler):
    """The page ``/cyclewatch`` of the debug server, and the dump ``cyclewatch``."""

    def routes(self) -> list[Route]:
        """Return the pages."""
        return [Route("/cyclewatch", self._page)]

    def nav_links(self) -> list[NavLink]:
        """Return the links in the navigation."""
        return [NavLink("/cyclewatch", "Reference cycles (cyclewatch)")]

    def dump(self) -> str:
        """Return the reports of all ranks as text."""
        addresses, answers = fetch_all(_NAME, timeout=self.fetch_timeout)
        summary = format_fetch_summary(addresses, answers)
        parts = [] if summary is None else [summary]
        for rank, answer in enumerate(answers):
            parts += [f"=== Rank {rank} ===", answer.text]
        return "\n".join(parts)

    def dump_filename(self) -> str:
        """Return the name of the dump, for ``enabled_dumps``."""
        return _NAME

    def _page(self, request: Any) -> bytes:
        addresses, answers = fetch_all(_NAME, timeout=self.fetch_timeout)
        page: bytes = request.frontend.render_template(
            "raw_resp.html", title="Reference cycles", addrs=addresses, resps=answers
        )
        return page


def register() -> None:
    """Let the worker server of this process answer for cyclewatch. Idempotent."""
    global _is_registered
    if _is_registered:
        return
    _is_registered = True
    own = vars(sys.modules.get(_HANDLERS_OF_TORCH, object)).values()
    for handler in (_answer, *(each for each in own if isinstance(each, FunctionType))):
        for _ in range(_SPARE_REFERENCES):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))
    _register_handler(_NAME, _answer)
    atexit.register(_stop_worker_server)


def _answer(request: Any, response: Any) -> None:
    """Send the current report. Called with the GIL held."""
    global _answers
    _answers += 1
    try:
        status, text, kind = _report(request.get_param("format"))
    except Exception as error:  # an exception must not reach the thread, which is not ours
        status, text, kind = 500, f"{type(error).__name__}: {error}", "text/plain"
    response.set_status(status)
    response.set_content(text, kind)


def _report(form: str) -> tuple[int, str, str]:
    """The status, the content and its type."""
    watch = active_watch()
    if watch is None:
        return 404, "No watch of cyclewatch is active on this rank.", "text/plain"
    if watch._captures_values:
        text = "The watch records values of the program (capture_values=True), which are not shown."
        return 403, text, "text/plain"
    report = watch.report()
    if form == "json":
        return 200, report.to_json(), "application/json"
    return 200, report.to_text(), "text/plain; charset=utf-8"


def _stop_worker_server() -> None:
    """Stop torch's server thread: a request after the end of the interpreter would abort it.

    shutdown() waits for the requests that are being answered, with the GIL held, but they need the
    GIL. So first accept no more connections, and wait until no
    request is left.
    """
    server = getattr(sys.modules.get("torch.distributed.debug"), "_WORKER_SERVER", None)
    if server is None:
        return
    _refuse_connections(server.port)
    deadline = time.monotonic() + _LONGEST_WAIT
    answers = -1
    while answers != _answers and time.monotonic() < deadline:
        answers = _answers
        time.sleep(_TURN)
    server.shutdown()


def _refuse_connections(port: int) -> None:
    """Replace the listening socket of the server by one that nobody knows.

    If it were closed, torch would end the process.
    """
    for name in os.listdir("/proc/self/fd"):
        try:
            number = int(name)
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as old:
                is_listening = old.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if not is_listening or old.getsockname()[1] != port:
                    continue
                with socket.create_server(("127.0.0.1", 0)) as unknown:
                    os.dup2(unknown.fileno(), number, inheritable=False)
                # The server may wait in accept() on the old socket.
                with socket.create_connection(("127.0.0.1", port), _LONGEST_WAIT):
                    pass
        except (OSError, IndexError):
            continue  # closed by another thread, or a socket without a port
