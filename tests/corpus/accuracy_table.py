# SPDX-License-Identifier: Apache-2.0
"""Writes docs/accuracy.md from the findings of the corpus on each interpreter.

CYCLEWATCH_UPDATE_ACCURACY=1 in the environment rewrites the file; otherwise it is compared.
"""

import os
from pathlib import Path

import pytest

from cyclewatch import source_diff

SWITCH = "CYCLEWATCH_UPDATE_ACCURACY"

HEAD = """\
# Does it name the right reference?

Written by `{switch}=1 pytest tests/corpus`; do not edit. Each row is a program in
`tests/corpus/cases/`. Names that begin with a letter and a number are miniatures of cycles that
public projects had and removed. The *accepted* answers are the references that the projects removed
or that their discussions recommend. Programs whose names begin with `own` were written for this
project and cover other shapes of cycles. Most rows were written together with the ranking, so the
numbers guard against regressions and do not predict the result for another program.

References are written *holder label*, as in the report; `+` joins references that must be cut
together. Python {versions} agree unless a cell says otherwise. *Rank* is the position of the first
accepted answer among the suggestions.

"""

# The rest of the file is written by tests/live.
LIVE_SECTION = "\n## What holds a live object\n"

REAL = Path(__file__).parents[1] / "real"
LIBRARIES = """\

## Published libraries

Leaks in published versions of libraries (`make real`; `tests/real/README.md` explains the
verdicts). The rules for references that lead back to one parent were derived from these {seen}
cases: {seen_counts}. Two accepted answers (`pypsa_network`, `openpyxl_workbook`) were
extended when findings began to list all references that lead back; with the earlier answers these
two would be *next*. Cutting only the references of the earlier answers leaves 353 of 360 data
frames and blocks of pypsa, and 2 of 3 objects of openpyxl, in cycles; with the extended answers,
none is left. The
answer for `sentence_transformers_trainer` is not enough either: without the references to the
trainer, the model is still in a cycle with its card. The libraries are in directories named
`site-packages`, so that their code counts as library code; elsewhere, the verdicts are the same.

{seen_table}
No rule was derived from these {unseen}, and the answers were written down before the first run:
{unseen_counts}.

{unseen_table}"""

TRIALS = """\

## Trial programs

Of the {count} programs in `tests/corpus/trials/`, those in `shape_trials.py` have the shapes for
which rules were added. Those in `ecosystem_trials.py` were written with knowledge of the rules, but
their accepted answers were fixed before the first run, in which 17 of 17 were first. The 12 in
`blind_trials.py` were written after the ranking was finished; later only the penalty for library
code was removed, which does not apply to them. In the first run 11 of them were first and 1 was
alarming (`recent_cache`); a rule was derived from it afterwards. The others and their accepted
answers were written by people who had not seen cyclewatch. Of these 130, 118 were first before
general rules were derived from the remaining 12. Rules that no program, no case above and no
published library needs were removed (see below).
An *alarming* suggestion would break the program or drop the user's data. {counts}. The programs
that are not *first*:

| Program | Verdict | First suggestion |
|---|---|---|
{rows}
"""

DIFFS = """\

## Proposed changes

`cyclewatch explain --diff` can propose a change to the source for {patterns} patterns. Each diff
was applied to a copy of its program, and the program ran again. *Removed* means that the program
ended as before, with the same output, and left no tensor for the collector. Half of the trial
programs, drawn by a checksum of their names, were not inspected while the changes were written.
In the first run on that half, 18 of 18 diffs removed the finding. Further rules that refuse a diff
were added after that run. Because of a published library, no diff is proposed for a function in a
public attribute. Because of other programs that a diff broke, none is proposed for code that
compares or inspects the function, stores values that do not support weak references in the
attribute, or uses a part of an object after the object is freed. The unseen half was inspected for
the last of these rules, so its current figures are no longer blind.

| Programs with such a pattern | Number | Diff proposed | Removed | No diff |
|---|---|---|---|---|
{groups}

{failures}{alarming}Without a diff:

| Program | Pattern | Reason |
|---|---|---|
{rows}
"""

GROUPS = {
    "case": "cases",
    "trial": "trial programs, first half",
    "unseen trial": "trial programs, unseen half",
}

TAIL = """\

## Without names

If every class, function, attribute and variable of a case is renamed, the accepted answer keeps its
position. The two answers of a tie, with and without the names, may change places: {either}. Handles
that were passed to a caller are recognised by their names (cursor, lease, view), so
`own_cursors_of_connection` and `own_iterator_of_loader` are not compared.

Additional tensors, unrelated objects in every frame and instance, and another hash seed change no
answer and no signature. An additional tensor on every instance changes no answer either, but may
swap the two answers of a tie.

## Not a finding

{controls}

A tensor that a live object also refers to is not freed with the cycle, so a cycle that leads only
to such tensors is not reported.

Most cycles that run through autograd's C++ objects are invisible to the collector: it never frees
them, and cyclewatch does not report them (`tests/corpus/test_autograd.py`).
"""


def rank_of(case):
    """1 for the first suggestion; None if no suggestion is accepted."""
    for finding in case["leaky"]["findings"][:1]:
        for rank, answer in enumerate(finding["answers"], start=1):
            if answer in case["expected"]:
                return rank
    return None


def is_tie(case):
    return case["leaky"]["findings"][0]["tie"]


def best_of(case):
    """The first suggestion, or both suggestions of a tie."""
    return set(case["leaky"]["findings"][0]["answers"][: 1 + is_tie(case)])


def place_of(case):
    """rank_of(), but both suggestions of a tie have rank 1."""
    rank = rank_of(case)
    return 1 if rank == 2 and is_tie(case) else rank


def ranks_of(outcome, variant="plain"):
    return {name: rank_of(case) for name, case in outcome["cases"][variant].items()}


def agreed(values, versions):
    """One value if all interpreters agree, otherwise each value with its version."""
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"{value} ({version})" for value, version in zip(values, versions))


def row(name, cases, versions):
    def cell(read):
        return agreed([read(case) for case in cases], versions)

    expected = " or ".join(f"`{answer}`" for answer in cases[0]["expected"])
    first = cell(lambda case: f"`{case['leaky']['findings'][0]['answers'][0]}`")
    rank = cell(lambda case: str(rank_of(case) or "none"))
    pattern = cell(lambda case: case["leaky"]["findings"][0]["pattern"])
    return f"| `{name}` | {cases[0]['summary']} | {expected} | {first} | {rank} | {pattern} |"


def score_lines(outcomes):
    for outcome in outcomes:
        ranks = list(ranks_of(outcome).values())
        within = sum(rank is not None and rank <= 3 for rank in ranks)
        yield (
            f"| {outcome['version']} | {len(ranks)} | {ranks.count(1)} "
            f"({ranks.count(1) / len(ranks):.0%}) | {within} ({within / len(ranks):.0%}) |"
        )


def libraries():
    """The tables that tests/real/run.py --write wrote, and the number of each verdict."""
    fields = {}
    for name, folder in (("seen", REAL), ("unseen", REAL / "unseen")):
        table = (folder / "table.md").read_text()
        verdicts = [line.rsplit("|", 2)[1].strip() for line in table.splitlines()[2:]]
        counts = [f"{verdicts.count(one)} {one}" for one in sorted(set(verdicts))]
        fields[name] = len(verdicts)
        fields[f"{name}_counts"] = ", ".join(counts)
        fields[f"{name}_table"] = table
    return LIBRARIES.format(**fields)


def trials_text(trials):
    verdicts = [trial["verdict"] for trial in trials.values()]
    counts = [
        f"{verdicts.count(one)} {one} ({verdicts.count(one) / len(verdicts):.0%})"
        for one in sorted(set(verdicts), key=lambda one: (-verdicts.count(one), one))
    ]
    rows = [
        f"| `{name}` | {trial['verdict']} | `{trial['answers'][0]}` |"
        for name, trial in trials.items()
        if trial["verdict"] != "first"
    ]
    return TRIALS.format(count=len(trials), counts=", ".join(counts), rows="\n".join(rows))


def diffs_text(diffs, trials):
    diffs = {name: one for name, one in diffs.items() if one["pattern"] in source_diff.PATTERNS}
    groups = []
    for group, title in GROUPS.items():
        verdicts = [one["verdict"] for one in diffs.values() if one["group"] == group]
        proposed = len(verdicts) - verdicts.count("")
        removed = verdicts.count("removed")
        groups.append(
            f"| {title} | {len(verdicts)} | {proposed} | {removed} ({removed / proposed:.0%}) "
            f"| {verdicts.count('')} |"
        )
    failures = "".join(
        f"- `{name}` ({one['pattern']}): {one['verdict']}\n"
        for name, one in diffs.items()
        if one["verdict"] not in ("", "removed")
    )
    alarming = [
        f"`{name}`"
        for name, one in diffs.items()
        if one["diff"] and trials.get(name, {}).get("verdict") == "alarming"
    ]
    rows = [
        f"| `{name}` | {one['pattern']} | {one['reason']} |"
        for name, one in diffs.items()
        if not one["diff"]
    ]
    return DIFFS.format(
        patterns=len(source_diff.PATTERNS),
        groups="\n".join(groups),
        failures=f"Not removed:\n\n{failures}\n" if failures else "",
        alarming=f"The suggestion is *alarming*: {', '.join(alarming)}.\n\n" if alarming else "",
        rows="\n".join(rows),
    )


def text_of(outcomes, trials, diffs):
    versions = [outcome["version"] for outcome in outcomes]
    plain = [outcome["cases"]["plain"] for outcome in outcomes]
    lines = ["| Python | Cases | First | Within three |", "|---|---|---|---|"]
    lines += [*score_lines(outcomes), ""]
    lines += ["| Case | What happens | Accepted | First suggestion | Rank | Pattern |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [row(name, [cases[name] for cases in plain], versions) for name in plain[0]]
    lines += ["", "## Misses", ""]
    misses = [f"- `{name}`: {case['miss']}" for name, case in plain[0].items() if case["miss"]]
    lines += misses or ["None among these cases."]
    renamed = outcomes[0]["cases"]["renamed"]
    either = [f"`{name}`" for name in plain[0] if is_tie(plain[0][name]) and is_tie(renamed[name])]
    controls = [f"- `{name}`: {one['summary']}" for name, one in outcomes[0]["controls"].items()]
    return (
        HEAD.format(switch=SWITCH, versions=", ".join(versions))
        + "\n".join(lines)
        + "\n"
        + libraries()
        + trials_text(trials)
        + (Path(__file__).parent / "ablation.md").read_text()
        + diffs_text(diffs, trials)
        + TAIL.format(either=", ".join(either), controls="\n".join(controls))
    )


def check(path, outcomes, trials, diffs):
    """Compare the file at `path` with the outcomes, or rewrite it if requested."""
    text = text_of(outcomes, trials, diffs)
    stored, section, rest = path.read_text().partition(LIVE_SECTION)
    if os.environ.get(SWITCH):
        path.write_text(text + section + rest)
        return
    for outcome in outcomes:
        if f"\n| {outcome['version']} |" not in stored:
            pytest.skip(f"the table was written without Python {outcome['version']}")
    if stored.count("\n| 3.") != len(outcomes):
        pytest.skip("the table was written with more interpreters than are available")
    assert stored == text, f"run the tests of the corpus again with {SWITCH}=1"
