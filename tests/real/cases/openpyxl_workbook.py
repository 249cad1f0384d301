# SPDX-License-Identifier: Apache-2.0
import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

OWNERS = {Worksheet: lambda s: 200 * len(s._cells)}


def leaky():
    book = openpyxl.Workbook()
    for i in range(50):
        book.active.append([i, i + 1, i + 2])
    book.create_sheet("b")["A1"] = 3
    book.active.column_dimensions["A"].width = 20
    book.active.row_dimensions[1].height = 20
