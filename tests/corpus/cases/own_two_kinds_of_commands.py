# SPDX-License-Identifier: Apache-2.0
"""A canvas lists what was done to it; two kinds of commands keep the canvas to undo it."""

EXPECTED = ["Paint .receiver + Erase .receiver"]


class Paint:
    def __init__(self, receiver, before):
        self.receiver = receiver
        self.before = before


class Erase:
    def __init__(self, receiver, before):
        self.receiver = receiver
        self.before = before


class Canvas:
    def __init__(self):
        self.done = []


def leaky(payload):
    canvas = Canvas()
    canvas.done += [Paint(canvas, payload()), Erase(canvas, payload()), Paint(canvas, payload())]


def fixed(payload):
    canvas = Canvas()
    canvas.done += [Paint(None, payload()), Erase(None, payload()), Paint(None, payload())]
