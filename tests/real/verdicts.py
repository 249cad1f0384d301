# SPDX-License-Identifier: Apache-2.0
"""Compares the findings of a case with the accepted answers in cases.toml."""

import re

VERDICTS = ("first", "next", "wrong", "alarming", "failed")


def matches(pattern, references):
    """Return, for each "label of holder" in `references`, whether `pattern` matches its start.

    A pattern for an attribute also matches a slot, because the code to change is the same.
    """
    return [
        any(re.match(pattern, text) for text in (one, re.sub("^slot:", ".", one)))
        for one in references
    ]


def is_library_code(finding):
    """Whether the status follows from the locations of the references, not from a pattern."""
    return finding["status"] == "library" and not finding["reason"].startswith("known leak of")


def verdict(case, findings):
    """Return one of VERDICTS for the first finding that no pattern of a library explains, or for
    the first finding if there is none.

    first: all references to cut are accepted. alarming: removing one of them breaks the library or
    discards the user's data. next: only a part of the cut, or an alternative, is accepted.
    failed: nothing was found.
    """
    # The code of a case is library code, if the case is installed like a library.
    unexplained = (one for one in findings if one["status"] == "new" or is_library_code(one))
    finding = next(unexplained, (findings or [None])[0])
    if finding is None:
        return "failed"
    accepted = matches(case["first"], finding["cut"])
    if accepted and all(accepted):
        return "first"
    if "alarming" in case and any(matches(case["alarming"], finding["cut"])):
        return "alarming"
    if any(accepted) or any(matches(case["first"], finding["alternatives"])):
        return "next"
    return "wrong"
