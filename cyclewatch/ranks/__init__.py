# SPDX-License-Identifier: Apache-2.0
"""The processes of a job: how their reports reach rank 0."""
