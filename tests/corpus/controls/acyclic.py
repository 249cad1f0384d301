# SPDX-License-Identifier: Apache-2.0
"""Objects without a cycle are freed immediately."""


class Holder:
    def __init__(self, tensors):
        self.tensors = tensors


def control(payload):
    Holder([payload(), {"key": payload()}])
