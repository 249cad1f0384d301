# SPDX-License-Identifier: Apache-2.0
"""Applies the proposed diff of each program in the corpus and runs the program again."""

import ast
import contextlib
import json
import shutil
import subprocess
import zlib

from run_cases import FOLDER, all_cases

import cyclewatch
from cyclewatch import source_diff, source_edit
from cyclewatch.source_syntax import names_in

SCRIPT = FOLDER / "run_diffs.py"


def write_copies(folder):
    """Write each case and each trial to a separate file, like a real program."""
    for name, _, source in all_cases():
        (folder / f"{name}.py").write_text(source)
    shutil.copy(FOLDER / "trials" / "registry.py", folder)
    for path in (FOLDER / "trials").glob("*_trials.py"):
        text = path.read_text()
        body = ast.parse(text).body
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                (folder / f"{node.name}_trials.py").write_text(separated(text, body, node))


def separated(text, body, program):
    """The source of one program in a file: the imports, and the statements that it needs."""
    kept = {program}
    while True:
        used = set().union(*(names_in(node) for node in kept))
        needed = kept | {node for node in body if used & names_defined(node)}
        if needed == kept:
            break
        kept = needed
    lines = text.split("\n")
    return "".join(
        "\n".join(lines[first_line(node) - 1 : node.end_lineno]) + "\n\n\n"
        for node in body
        if node in kept or isinstance(node, ast.Import | ast.ImportFrom)
    )


def first_line(node):
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])


def names_defined(node):
    if isinstance(node, ast.Assign):
        return {getattr(target, "id", "") for target in node.targets}
    return {getattr(node, "name", "")} - {""}


def group_of(name, trials):
    """The group of a program; half of the trials were not read while diff rules were written."""
    if name not in trials:
        return "case"
    return "unseen trial" if zlib.crc32(name.encode()) % 2 else "trial"


def run(interpreter, folder, names):
    done = interpreter.run(SCRIPT, folder, *names, cwd=folder)
    return json.loads(done.stdout)


def outcomes(interpreter, folder, trials):
    """For each program with a finding: its group, its pattern, and what its proposed diff does."""
    before = folder / "before"
    before.mkdir()
    write_copies(before)
    seen = run(interpreter, before, [cell[0] for cell in all_cases()] + sorted(trials))
    found = {
        name: {**propose(before, name), "group": group_of(name, trials)}
        for name, one in seen.items()
        if one["signatures"]
    }
    changed = [name for name, one in found.items() if one["diff"]]
    after = folder / "after"
    after.mkdir()
    for path in before.glob("*.py"):
        shutil.copy(path, after)
    for name in changed:
        diff = found[name]["diff"]
        subprocess.run(["patch", "-p0", "-s"], input=diff, text=True, cwd=after, check=True)
    for name, fixed in run(interpreter, after, changed).items():
        found[name]["verdict"] = verdict(seen[name], fixed)
    return found


def propose(folder, name):
    """The pattern of the finding, and its diff or the reason why there is none."""
    finding = cyclewatch.Report.load(folder / f"{name}.json").findings[0]
    diff, reason = "", ""
    try:
        with contextlib.chdir(folder):  # the paths of a diff are relative
            diff = source_diff.propose(finding)
    except source_edit.NoDiff as error:
        reason = str(error)
    return {"pattern": finding.pattern, "diff": diff, "reason": reason, "verdict": ""}


def verdict(seen, fixed):
    """What a diff changed."""
    if fixed["end"] != seen["end"]:
        return f"ends differently: {fixed['end']}"
    if seen["signatures"][0] in fixed["signatures"]:
        return "not removed"
    return "another cycle remains" if fixed["signatures"] or fixed["waiting"] else "removed"
