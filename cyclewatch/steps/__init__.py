# SPDX-License-Identifier: Apache-2.0
"""What happens at training steps: their numbers, and collections at equal steps of all ranks."""
