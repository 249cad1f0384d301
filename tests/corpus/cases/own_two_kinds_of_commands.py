# SPDX-License-Identifier: Apache-2.0
"""A canvas lists commands of two classes, which refer to the canvas for undo."""

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
