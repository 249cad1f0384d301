# SPDX-License-Identifier: Apache-2.0
"""Out-of-memory errors: how they are recognized and reported, and retry_on_oom()."""
