# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks: adapt Markdown links and help() docstrings to the documentation site.

They also add the report of an example, which `<!-- live report -->` in a page shows.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
EXAMPLE = "examples/awaitable.py"
REPORT = "live_report.html"


def on_files(files, config, **_):
    """Add the report of a run of the example."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, REPORT)
        subprocess.run(
            [".venv/bin/python", "-m", "cyclewatch", "run", "-q", "-o", path, EXAMPLE],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        files.append(File.generated(config, REPORT, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, **_):
    """Replace links to files outside docs/, for which the site has no page."""
    depth = page.file.src_uri.count("/")
    pattern = re.compile(rf"\[([^\]]+)\]\((?:\.\./){{{depth + 1}}}[^)]*\)")
    # The lexer of shell sessions would color cards: "#" is its root prompt.
    markdown = markdown.replace("```console\n", "```text\n")
    to_root = "../" * (depth + 1)  # a page is the index.html of a folder
    markdown = markdown.replace(
        "<!-- live report -->",
        f'<iframe class="live-report" title="A report" src="{to_root}{REPORT}"></iframe>\n\n'
        f'<a href="{to_root}{REPORT}">Open the report alone</a>',
    )
    # In the tables of answers, "[0]['key']" is text and not a link.
    return pattern.sub(r"\1", markdown).replace("][", "]\\[")


def on_page_content(html, **_):
    """Remove the roles, such as :class:, from the Sphinx cross-references in docstrings."""
    return re.sub(r":(?:meth|func|class|mod|exc):(?=<code>)", "", html)
