# SPDX-License-Identifier: Apache-2.0
"""Watches, and what they report while the program runs."""
