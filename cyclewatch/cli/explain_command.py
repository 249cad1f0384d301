# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch explain``: explains a pattern, or the pattern of a finding."""

from __future__ import annotations

import difflib
import json
import os
import re
import textwrap

import cyclewatch
from cyclewatch.cli import inputs, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_SIGNATURE = "cw1-"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")  # in the texts of a pattern
_FIELDS = ("id", "title", "shape", "explanation", "advice", "before", "after", "links", "tags")


def main(arguments: argparse.Namespace) -> int:
    """Print the pattern; return Status.NO if no finding has the signature."""
    subject = arguments.subject
    if not subject.startswith(_SIGNATURE):
        return _explain(_pattern(subject), None, arguments)
    finding, count = None, 0
    for each in inputs.each_of(arguments.files or [os.curdir]):
        finding = finding or _with_signature(each.report, subject)
        count += 1
    if finding is None:
        raise Failure(
            f"no finding has the signature {subject} in {inputs.count_of(count)}",
            Status.NO,
        )
    known = {pattern.id: pattern for pattern in cyclewatch.patterns()}
    return _explain(known.get(finding.pattern), finding, arguments)


def _with_signature(report: cyclewatch.Report, signature: str) -> cyclewatch.Finding | None:
    return next((each for each in report.findings if signature in each.signatures), None)


def _pattern(name: str) -> cyclewatch.Pattern:
    known = {pattern.id: pattern for pattern in cyclewatch.patterns()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else f"the patterns are {', '.join(known)}"
        )
        raise Failure(f"unknown pattern {name or repr(name)}; {hint}", Status.USAGE)
    return known[name]


def _explain(
    pattern: cyclewatch.Pattern | None,
    finding: cyclewatch.Finding | None,
    arguments: argparse.Namespace,
) -> int:
    columns = terminal.width(arguments.width)
    if arguments.json:
        data = {field: getattr(pattern, field) for field in _FIELDS} if pattern else None
        signature = finding.signature if finding else None
        terminal.raw(json.dumps({"signature": signature, "pattern": data}, indent=1) + "\n")
    else:
        parts = [finding.to_text(width=columns)] if finding else []
        if finding and len(finding.cuts) > 1:
            parts.append(_places(finding))
        if pattern:
            parts.append(_as_text(pattern, min(columns, 100)))
        terminal.show("\n\n".join(parts), arguments.color)
    if pattern is None:
        terminal.complain(
            "this cycle does not match a known pattern; its card names the reference to cut"
        )
        return Status.NO
    return Status.OK


def _places(finding: cyclewatch.Finding) -> str:
    """All code locations to change; the card may omit some of them."""
    locations: dict[tuple[str, str], list[cyclewatch.Reference]] = {}
    for number, cut in enumerate(finding.cuts):
        where = f"{cut.location} (class {cut.base_class})" if cut.base_class else cut.location
        locations.setdefault((cut.label, where or f"unknown location {number + 1}"), []).append(cut)
    lines = [f"all {len(locations) + finding.omitted_cuts} locations to change:"]
    for (label, where), cuts in locations.items():
        lines.append(f"    {label}  {where}")
        lines.extend(
            f"        of {cut.holder}"
            + (f" ({cut.references} references)" if cut.references > 1 else "")
            for cut in cuts
        )
    if finding.omitted_cuts:
        lines.append(f"    and {finding.omitted_cuts} more, which the report does not contain")
    return "\n".join(lines)


def _as_text(pattern: cyclewatch.Pattern, columns: int) -> str:
    parts = [f"{pattern.id}: {pattern.title}"]
    why = f"{pattern.explanation[:1].upper()}{pattern.explanation[1:]}. {pattern.advice}"
    shape = f"Shape: {pattern.shape}." if pattern.shape else ""
    for text in (shape, _PLACEHOLDER.sub(lambda match: match[1].upper(), why)):
        parts.append(textwrap.fill(text, columns))
    for heading, code in (("before", pattern.before), ("after", pattern.after)):
        if code:
            parts.append(f"{heading}:\n{textwrap.indent(code.rstrip(), '    ')}")
    if pattern.links:
        parts.append("\n".join(["see also:", *(f"    {link}" for link in pattern.links)]))
    return "\n\n".join(part for part in parts if part)
