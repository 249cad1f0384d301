# SPDX-License-Identifier: Apache-2.0
"""A state machine has a table of its own bound methods."""

EXPECTED = ["pause __self__ + start __self__ + stop __self__ + wait __self__", "Machine .handlers"]


class Machine:
    def __init__(self, values, refer):
        self.values = values
        self.handlers = {
            "start": refer(self.start),
            "stop": refer(self.stop),
            "pause": refer(self.pause),
            "wait": refer(self.wait),
        }

    def start(self):
        return self.values

    def stop(self):
        return self.values

    def pause(self):
        return self.values

    def wait(self):
        return self.values


def leaky(payload):
    Machine(payload(), lambda method: method)


def fixed(payload):
    Machine(payload(), lambda method: method.__name__)
