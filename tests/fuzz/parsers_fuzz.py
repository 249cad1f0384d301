# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the parsers written in Python with libFuzzer.

Arguments: the parser (baseline, cyclewatch.toml or pyproject.toml), libFuzzer options, and corpus
directories.
"""

import logging
import os
import sys
from pathlib import Path

import atheris

# Instrumented modules report coverage to libFuzzer. They must not be imported earlier.
with atheris.instrument_imports(include=["cyclewatch", "json", "tomllib"]):
    import json.decoder
    import json.scanner
    import tomllib._parser  # noqa: F401

    import cyclewatch.configuration
    import cyclewatch.pytest_plugin.baseline  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))

from parsers import check_baseline, check_configuration  # noqa: E402

TARGETS = ("baseline", "cyclewatch.toml", "pyproject.toml")
FOLDER = Path(__file__).resolve().parents[2] / ".build" / "fuzz" / "parsers"


def use_parser_in_python():
    """Replace json's C parser with its Python parser, because C code yields no coverage."""
    json.decoder.scanstring = json.decoder.py_scanstring
    json.scanner.make_scanner = json.scanner.py_make_scanner
    json._default_decoder = json.JSONDecoder()


def main(target, arguments):
    logging.getLogger("cyclewatch").propagate = False
    use_parser_in_python()
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [a if a.startswith("-") else str(Path(a).resolve()) for a in arguments]
    os.chdir(folder)

    def one_input(contents):
        if target == "baseline":
            check_baseline(folder, contents)
        else:
            check_configuration(folder, target, contents)

    atheris.Setup([sys.argv[0], *arguments], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
