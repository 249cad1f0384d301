# SPDX-License-Identifier: Apache-2.0
"""Callbacks for trainers, and adapters for monitoring systems.

No module of this package is imported unless the program imports it. Each module imports the
library that it is named after, and nothing else imports a trainer or torch.
"""
