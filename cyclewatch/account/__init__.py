# SPDX-License-Identifier: Apache-2.0
"""memory(): what the memory of a device is used for."""
