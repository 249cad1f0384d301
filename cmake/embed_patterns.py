# SPDX-License-Identifier: Apache-2.0
"""Writes patterns.toml as JSON into a C++ file: embed_patterns.py TOML CPP."""

import json
import sys
import tomllib

FORM = """\
// Made from {source} by cmake/embed_patterns.py.
#include "advice/catalog.h"

namespace cyclewatch::advice {{

const std::string_view kBuiltInJson = R"json({text})json";

}}  // namespace cyclewatch::advice
"""

source, target = sys.argv[1:]
with open(source, "rb") as file:
    patterns = tomllib.load(file)
with open(target, "w", encoding="ascii") as file:
    file.write(FORM.format(source=source, text=json.dumps(patterns, indent=1)))
