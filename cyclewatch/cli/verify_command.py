# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch verify``: checks that a fix worked."""

from __future__ import annotations

import json

from cyclewatch import _native
from cyclewatch.cli import comparison, inputs, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(arguments: argparse.Namespace) -> int:
    """Return Status.OK if all expected findings are gone and cycles retain less memory."""
    before, after = inputs.load_pair(arguments.before, arguments.after)
    comparison.require_examined(after, arguments.after)
    kinds = comparison.kinds_by_signature(before, after)
    gone = {signature: kinds.get(signature, "absent") for signature in arguments.expect}
    retained = (comparison.retained_by_cycles(before), comparison.retained_by_cycles(after))
    remaining = comparison.remaining_variants(before, after)
    variants = {each: remaining[each] for each in gone if each in remaining}
    verified = set(gone.values()) == {"gone"} and not variants and retained[1] < retained[0]
    if arguments.json:
        data = {
            "verified": verified,
            "signatures": gone,
            "remaining_variants": variants,
            "bytes_before": retained[0],
            "bytes_after": retained[1],
        }
        terminal.raw(json.dumps(data, indent=1) + "\n")
    else:
        terminal.show(_sentences(gone, variants, retained, verified))
    return Status.OK if verified else Status.NO


def _sentences(
    gone: dict[str, str],
    variants: dict[str, list[str]],
    retained: tuple[int, int],
    verified: bool,
) -> str:
    lines = []
    for signature, kind in gone.items():
        if signature in variants:
            others = ", ".join(variants[signature])
            lines.append(f"{signature}: gone, but other cycles of the finding remain: {others}")
        elif kind == "gone":
            lines.append(f"{signature}: gone")
        elif kind in ("absent", "new"):
            lines.append(f"{signature}: not found before, so the fix cannot be verified")
        else:
            lines.append(f"{signature}: still present ({kind})")
    change = "decreased" if retained[1] < retained[0] else "did not decrease"
    before, after = (_native.format_bytes(each) for each in retained)
    lines.append(f"bytes retained by cycles {change}: {before} before, {after} after")
    lines.append("verified" if verified else "not verified")
    return "\n".join(lines)
