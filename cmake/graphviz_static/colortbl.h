// SPDX-License-Identifier: Apache-2.0
// Instead of the table of color names: neither the layout nor the writer looks up colors.
static hsvrgbacolor_t color_lib[] = {{"black", 0, 0, 0, 0, 0, 0, 255}};
