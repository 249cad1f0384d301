# SPDX-License-Identifier: Apache-2.0
"""Settings and the configuration file."""
