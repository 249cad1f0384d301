# SPDX-License-Identifier: Apache-2.0
import markdown

OWNERS = {markdown.Markdown: lambda owner: 1 << 20}


def leaky():
    return markdown.Markdown(extensions=["tables", "fenced_code"]).convert("# Title\n\n*text*")
