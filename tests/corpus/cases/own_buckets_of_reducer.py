# SPDX-License-Identifier: Apache-2.0
"""A reducer creates buckets that refer to it and adds them to the stages of its pipeline."""

import weakref

EXPECTED = ["Bucket .target"]


class Bucket:
    def __init__(self, target, buffer):
        self.target = target
        self.buffer = buffer


class Stage:
    def __init__(self):
        self.bucket = None


class Reducer:
    def __init__(self):
        self.stages = [Stage(), Stage()]

    def prepare(self, buffer):
        for stage in self.stages:
            stage.bucket = Bucket(self, buffer)

    def prepare_weakly(self, buffer):
        for stage in self.stages:
            stage.bucket = Bucket(weakref.proxy(self), buffer)


def leaky(payload):
    Reducer().prepare(payload())


def fixed(payload):
    Reducer().prepare_weakly(payload())
