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
`tests/corpus/cases/` that contains a reference cycle. If its name begins with a letter and a
number, the program is a reduced version of a cycle that existed in a public project and was removed
there. The *accepted* answers are the references that the project removed, or whose removal its
maintainers or users recommended. Programs whose names begin with `own` were written for cyclewatch
and cover other kinds of cycles. Most programs were written together with the ranking of
suggestions, so the numbers reveal regressions but do not predict how often the suggestion is right
for other programs.

References are written *holder label*, as in the report; `+` joins references that must be cut
together. The results for Python {versions} are equal unless a table cell lists several versions.
*Rank* is the position of the first accepted answer among the suggestions.

"""

# The rest of the file is written by tests/live.
LIVE_SECTION = "\n## What holds a live object\n"

REAL = Path(__file__).parents[1] / "real"
LIBRARIES = """\

## Published libraries

The following tables list leaks in published versions of libraries (`make real`;
`tests/real/README.md` explains the verdicts). The rules for references that lead back to one parent
were derived from the following {seen} cases. Verdicts: {seen_counts}. Two accepted answers
(`pypsa_network`, `openpyxl_workbook`) were extended when findings began to list all references that
lead back to a parent. With the earlier answers, the verdict on both would be *next*. However, the
earlier answers do not fix these leaks: if only the references in them are cut, 353 of the 360 data
frames and blocks of pypsa, and 2 of the 3 objects of openpyxl, remain in cycles. If the references
in the extended answers are cut, none remains. The accepted answer for
`sentence_transformers_trainer` does not fix its leak either: even without the references to the
trainer, the model is in a cycle with its model card. The libraries are in directories named
`site-packages`, so that cyclewatch classifies their code as library code. If the libraries are in
other directories, the verdicts are the same.

{seen_table}
No rule was derived from the following {unseen} leaks, and their accepted answers were written down
before the first run. Verdicts: {unseen_counts}.

{unseen_table}"""

TRIALS = """\

## Trial programs

`tests/corpus/trials/` contains {count} trial programs. The verdict on a program is *first* if the
first suggestion is an accepted answer, and *next* if an alternative is. An *alarming* suggestion
would break the program or drop the user's data. Verdicts: {counts}.

The programs in `shape_trials.py` contain the kinds of cycles for which rules were added. The 17
programs in `ecosystem_trials.py` were written by an author who knew the rules, but their accepted
answers were written down before the first run. In that run, all 17 were *first*. The 12 programs in
`blind_trials.py` were written after the ranking was finished. In their first run, 11 of them were
*first* and 1 was *alarming* (`recent_cache`); a rule was derived from this program afterwards.
Later, the penalty for library code was removed from the ranking, but these programs contain no
library code. The other 130 programs and their accepted answers were written by people who had not
seen cyclewatch. In their first run, 118 of them were *first*; general rules were then derived from
the other 12. Rules were removed if no verdict on a trial program, on a case above or on a published
library became worse without them (see below).

The following programs are not *first*:

| Program | Verdict | First suggestion |
|---|---|---|
{rows}
"""

DIFFS = """\

## Proposed changes

`cyclewatch explain --diff` can propose a change to the source for {patterns} patterns. To check the
proposals, each diff was applied to a copy of its program, and the program was run again. *Removed*
means that the changed program exited with the same status and output as before, and that the
collector found no unreachable tensor. Half of the trial programs, selected by a checksum of their
names, were not looked at while the code that proposes diffs was written. In the first run on that
half, 18 of 18 diffs removed the finding.

After that run, rules were added that suppress unsafe diffs, because some diffs had broken other
programs. The first rule was derived from a published library: no diff is proposed for a function
that is stored in a public attribute. According to the other rules, no diff is proposed if the code
compares or inspects the function, stores values in the attribute that do not support weak
references, or uses an attribute or item of an object that the diff would free. The last of these
rules was derived from the unseen half, so the current figures of that half are no longer those of
unseen programs.

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

If every class, function, attribute and variable of a case is renamed, the rank of the accepted
answer does not change. In the following cases, two answers are a tie both with and without the
names, and their order may change: {either}. `own_cursors_of_connection` and
`own_iterator_of_loader` are not compared, because objects that were returned to a caller are
recognized as handles by their names (cursor, lease, view).

No answer and no signature changes if a case has additional tensors, if every frame and instance has
unrelated objects, or if the hash seed is different. An additional tensor on every instance changes
no answer either, but may swap two answers that are a tie.

## Not a finding

{controls}

A tensor that a live object also refers to is not freed with the cycle, so a cycle that leads only
to such tensors is not reported.

Most cycles that run through autograd's C++ objects are invisible to the collector. It never frees
such cycles, and cyclewatch does not report them (`tests/corpus/test_autograd.py`).
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
