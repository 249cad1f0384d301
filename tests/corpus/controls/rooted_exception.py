# SPDX-License-Identifier: Apache-2.0
"""A module keeps an exception, and so its frames and tensors: reachable, not garbage."""

import_errors = []


def control(payload):
    engine = payload()
    try:
        raise ImportError("optional")
    except ImportError as error:
        import_errors.append(error)
    return engine and None
