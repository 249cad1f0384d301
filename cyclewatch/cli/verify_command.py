# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch verify``: did the fix work?"""

from __future__ import annotations

import json

from cyclewatch import _native
from cyclewatch.cli import comparison, inputs, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(arguments: argparse.Namespace) -> int:
    """OK only if every expected signature is gone and fewer bytes are held in cycles."""
    if not arguments.expect:
        raise Failure("--expect SIGNATURE says what has to be gone", Status.USAGE)
    before, after = inputs.load_pair(arguments.before, arguments.after)
    kinds = comparison.kinds_by_signature(before, after)
    gone = {signature: kinds.get(signature, "absent") for signature in arguments.expect}
    held = (comparison.held_in_cycles(before), comparison.held_in_cycles(after))
    verified = set(gone.values()) == {"gone"} and held[1] < held[0]
    if arguments.json:
        data = {
            "verified": verified,
            "signatures": gone,
            "bytes_before": held[0],
            "bytes_after": held[1],
        }
        terminal.raw(json.dumps(data, indent=1) + "\n")
    else:
        terminal.show(_sentences(gone, held, verified))
    return Status.OK if verified else Status.NO


def _sentences(gone: dict[str, str], held: tuple[int, int], verified: bool) -> str:
    lines = []
    for signature, kind in gone.items():
        if kind == "gone":
            lines.append(f"{signature}: gone")
        elif kind in ("absent", "new"):
            lines.append(f"{signature}: was not found before, so nothing shows that it was fixed")
        else:
            lines.append(f"{signature}: still there ({kind})")
    fell = "fell" if held[1] < held[0] else "did not fall"
    before, after = (_native.format_bytes(each) for each in held)
    lines.append(f"bytes retained by cycles {fell}: {before} before, {after} after")
    lines.append("verified" if verified else "not verified")
    return "\n".join(lines)
