# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch convert --into``: adds reports to a trace of torch.profiler."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from cyclewatch.cli import inputs, outputs, terminal
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.export.chrome_trace import merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def main(arguments: argparse.Namespace) -> int:
    """Write the trace --into with the collections of the reports, and print the path."""
    path = arguments.into
    target = arguments.output or _beside(path)
    outputs.refuse_to_replace(target, arguments.force)
    report = inputs.load_merged(arguments.files)[0]
    trace = _read(path)
    try:
        added = merged(trace, report)
    except ValueError as error:
        raise Failure(f"{path} is not a trace of torch.profiler: {error}") from None
    if added == 0:
        pids = ", ".join(str(process.pid) for process in report.processes[:5])
        raise Failure(
            f"{path} is the trace of another run: it contains no process of the report ({pids})"
        )
    text = json.dumps(trace)
    outputs.write(target, _packed(text) if target.endswith(".gz") else text, arguments.force)
    terminal.written([target] if target != "-" else [], arguments.json)
    return Status.OK


def _beside(path: str) -> str:
    """'trace.json' -> 'trace.cyclewatch.json'; also for names that end in .gz."""
    packed = ".gz" if path.endswith(".gz") else ""
    return path.removesuffix(packed).removesuffix(".json") + f".cyclewatch.json{packed}"


def _packed(text: str) -> bytes:
    return gzip.compress(text.encode())


def _read(path: str) -> dict[str, Any]:
    try:
        data = Path(path).read_bytes()
        trace: dict[str, Any] = json.loads(gzip.decompress(data) if path.endswith(".gz") else data)
    except (OSError, EOFError) as error:
        raise Failure(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except ValueError as error:
        raise Failure(f"{path} is not a trace of torch.profiler: {error}") from None
    return trace
