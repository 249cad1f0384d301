# SPDX-License-Identifier: Apache-2.0
"""Replacements for the detectors of other packages; import a submodule by name."""
