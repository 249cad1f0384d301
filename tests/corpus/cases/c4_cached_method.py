# SPDX-License-Identifier: Apache-2.0
"""A container caches its current validator as a bound method."""

EXPECTED = ["LeakyBatch .validate_cached", "validate_locked __self__"]


class Batch:
    def __init__(self, values):
        self.values = {"observation": values}
        self.locked = True

    def validate_locked(self, value):
        return value

    def validate_open(self, value):
        return value


class LeakyBatch(Batch):
    def validate(self, value):
        if not hasattr(self, "validate_cached"):
            self.validate_cached = self.validate_locked if self.locked else self.validate_open
        return self.validate_cached(value)


class FixedBatch(Batch):
    def validate(self, value):
        return self.validate_locked(value) if self.locked else self.validate_open(value)


def leaky(payload):
    LeakyBatch(payload()).validate(1)


def fixed(payload):
    FixedBatch(payload()).validate(1)
