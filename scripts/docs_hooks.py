# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks: adapt Markdown links and help() docstrings to the documentation site."""

import re


def on_page_markdown(markdown, page, **_):
    """Replace links to files outside docs/, for which the site has no page."""
    depth = page.file.src_uri.count("/")
    pattern = re.compile(rf"\[([^\]]+)\]\((?:\.\./){{{depth + 1}}}[^)]*\)")
    # The lexer of shell sessions would color cards: "#" is its root prompt.
    markdown = markdown.replace("```console\n", "```text\n")
    # In the tables of answers, "[0]['key']" is text and not a link.
    return pattern.sub(r"\1", markdown).replace("][", "]\\[")


def on_page_content(html, **_):
    """Remove the roles, such as :class:, from the Sphinx cross-references in docstrings."""
    return re.sub(r":(?:meth|func|class|mod|exc):(?=<code>)", "", html)
