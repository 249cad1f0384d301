# SPDX-License-Identifier: Apache-2.0
"""Writes patterns.toml as a C++ table: embed_patterns.py READER TOML CPP.

READER is cyclewatch/settings/configuration_reader.py, which checks the patterns.
"""

import json
import runpy
import sys
import tomllib

FORM = """\
// Made from {source} by cmake/embed_patterns.py.
#include "advice/catalog.h"

namespace cyclewatch::advice {{

std::vector<Pattern> built_in_patterns() {{
    std::vector<Pattern> patterns;
    patterns.reserve({count});
{patterns}
    return patterns;
}}

}}  // namespace cyclewatch::advice
"""


def literal(value):
    """`value` as a C++ initializer."""
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{{{literal(key)}, {each}}}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(literal, value)) + "}"
    return str(value)


def struct(name, fields):
    """Designated initializers of all `fields`, which are C++ code."""
    return f"{name}{{" + ", ".join(f".{key} = {code}" for key, code in fields.items()) + "}"


def words(texts):
    return struct("Words", {key: literal(text) for key, text in texts.items()})


def step(globs):
    holder, label, target = map(literal, globs)
    return struct("Step", {"holder": holder, "label": label, "target": target})


def pattern(table):
    library, suggests = table["library"], table["suggests"]
    texts = ("id", "title", "shape")
    fields = {key: literal(table[key]) for key in texts} | {
        "words": words(table["words"]),
        "variants": literal({key: words(each) for key, each in table["variants"].items()}),
        "before": literal(table["before"]),
        "after": literal(table["after"]),
        "links": literal(table["links"]),
        "benign": literal(table["benign"]),
        "library": struct("Library", {key: literal(each) for key, each in library.items()})
        if library
        else literal(None),
        "steps": "{" + ", ".join(map(step, table["steps"])) + "}",
        "suggests": step(suggests) if suggests else literal(None),
    }
    return f"    patterns.push_back({struct('Pattern', fields)});"


reader, source, target = sys.argv[1:]
with open(source, "rb") as file:
    patterns, _, problems = runpy.run_path(reader)["read"](tomllib.load(file), None)
if problems:
    sys.exit("\n".join(f"{source}: {problem}" for problem in problems))
with open(target, "w", encoding="utf-8") as file:
    code = "\n".join(map(pattern, patterns))
    file.write(FORM.format(source=source, count=len(patterns), patterns=code))
