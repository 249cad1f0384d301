# SPDX-License-Identifier: Apache-2.0
"""Reads the snapshots of torch's allocator that ``torch.cuda.memory._dump_snapshot()`` writes."""
