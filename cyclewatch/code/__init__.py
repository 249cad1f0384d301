# SPDX-License-Identifier: Apache-2.0
"""The program's source code: lines, and which files are library code."""
