# SPDX-License-Identifier: Apache-2.0
"""Searches of the live heap: scans, why_alive(), live_owners() and censuses."""
