# SPDX-License-Identifier: Apache-2.0
"""Experiments that verify, in this process, where libraries store references."""
