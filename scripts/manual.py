# SPDX-License-Identifier: Apache-2.0
"""Generates docs/man/cyclewatch.1 and the reference in docs/command_line.md from the parser.

Run this script in the source tree after changing the command line:
.venv/bin/python scripts/manual.py
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from argparse_manpage.manpage import Manpage  # noqa: E402

from cyclewatch.cli import parser as command_line  # noqa: E402

MANUAL_PAGE = ROOT / "docs/man/cyclewatch.1"
REFERENCE = ROOT / "docs/command_line.md"
BEGIN = "<!-- made by scripts/manual.py; do not edit below -->\n"


def manual_page():
    """Return the manual page in troff."""
    parser = command_line.make_parser()
    parser.epilog = None
    parser.man_short_description = command_line.SUMMARY
    page = Manpage(parser, format="single-commands-section")
    page.date, page.manual = "", "User Commands"
    page.add_section("environment", "=", troff(command_line.ENVIRONMENT))
    page.add_section("exit status", "=", troff(command_line.EXIT_STATUS))
    return str(page)


def troff(text):
    """Escape hyphen-minus characters, which troff would otherwise print as U+2010."""
    return text.replace("-", "\\-")


def with_reference(page):
    """Return the Markdown page with the reference replaced by the output of --help."""
    parser = command_line.make_parser()
    parts = [page.partition(BEGIN)[0], BEGIN, "\n## Reference\n"]
    for name, command in command_line.commands(parser).items():
        parts.append(f"\n### cyclewatch {name}\n\n```\n{command.format_help()}```\n")
    parts.append(f"\n### Environment\n\n{command_line.ENVIRONMENT}\n")
    parts.append(f"\n### Exit status\n\n{command_line.EXIT_STATUS}\n")
    return "".join(parts)


# The width of argparse's output.
os.environ["COLUMNS"] = "100"

if __name__ == "__main__":
    MANUAL_PAGE.write_text(manual_page(), encoding="utf-8")
    REFERENCE.write_text(with_reference(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")
