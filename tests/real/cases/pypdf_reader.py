# SPDX-License-Identifier: Apache-2.0
import io

import pypdf

OWNERS = {io.BytesIO: lambda b: 0 if b.closed else b.getbuffer().nbytes}

writer = pypdf.PdfWriter()
writer.add_blank_page(100, 100)
out = io.BytesIO()
writer.write(out)


def leaky():
    reader = pypdf.PdfReader(io.BytesIO(out.getvalue() + b"%" * 100_000))
    return reader.pages[0].extract_text(), reader.metadata
