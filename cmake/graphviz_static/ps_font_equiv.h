// SPDX-License-Identifier: Apache-2.0
// Instead of the table of PostScript's font names, which only renderers use. Included between the
// braces of an array.
{"Courier", "Courier", 0, 0, 0, 12, "monospace", 0, 0},
