# SPDX-License-Identifier: Apache-2.0
"""Writes the results of run.py as parts of docs/accuracy.md and docs/cards.md."""

TABLE_HEAD = """\
| Case | Library | What upstream changed | First suggestion | Verdict |
|---|---|---|---|---|
"""

SHOWN = {
    "lightning_trainer_fit": "All loops and connectors refer back to the Trainer.",
    "pypsa_network": "Accessors and components refer back to the Network, "
    "and each component to itself.",
    "openpyxl_workbook": "Two levels: worksheets refer to the Workbook, "
    "cells and views to their worksheet.",
    "trimesh_permutate": "Helpers created when an attribute is read refer back to the mesh.",
    "anndata_circular": "Mappings and the file manager refer back to their parent, the data.",
}


def cell(text):
    """Return `text` escaped for a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def row(name, entry, outcome):
    """Return one row of the table."""
    library = (entry.get("pip") or "torch==2.13.0").split()[0]
    suggestion = outcome.findings[0]["remedy"] if outcome.findings else outcome.note
    upstream = cell(entry["upstream"])
    return f"| `{name}` | {library} | {upstream} | {cell(suggestion)} | {outcome.verdict} |\n"


def write_table(path, entries, outcomes):
    """Write one row per case."""
    rows = [row(one.name, entries[one.name], one) for one in outcomes]
    path.write_text(TABLE_HEAD + "".join(rows))


def write_cards(path, outcomes):
    """Write the first card of each case in SHOWN."""
    parts = []
    for one in outcomes:
        if one.name in SHOWN and one.findings:
            card = one.findings[0]["card"]
            parts.append(f"## {one.name}\n\n{SHOWN[one.name]}\n\n```\n{card}\n```\n")
    if parts:
        path.write_text("\n".join(parts))
