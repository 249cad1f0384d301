# SPDX-License-Identifier: Apache-2.0
"""A widget keeps its unsubscribe function, which captures the bus and the widget."""

EXPECTED = ["Widget ._unsubscribe"]


class Bus:
    def __init__(self):
        self.listeners = []


class Widget:
    def __init__(self, texture):
        self.texture = texture

    def on_event(self):
        return self.texture


def leaky(payload):
    widget, bus = Widget(payload()), Bus()
    bus.listeners.append(widget.on_event)
    widget._unsubscribe = lambda: bus.listeners.remove(widget.on_event)


def fixed(payload):
    widget, bus = Widget(payload()), Bus()
    bus.listeners.append(widget.on_event)
    bus.listeners.clear()
