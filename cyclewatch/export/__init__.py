# SPDX-License-Identifier: Apache-2.0
"""Reports in the formats of other tools."""
