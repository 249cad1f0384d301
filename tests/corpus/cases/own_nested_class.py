# SPDX-License-Identifier: Apache-2.0
"""A view, of a nested class, refers to the object that keeps the view."""

EXPECTED = ["View .outer"]


class Grid:
    class View:
        def __init__(self, outer):
            self.outer = outer

    class FixedView:
        def __init__(self, outer):
            self.size = outer.size

    def __init__(self, cells, view):
        self.cells = cells
        self.size = 3
        self.view = view(self)


def leaky(payload):
    Grid(payload(), Grid.View)


def fixed(payload):
    Grid(payload(), Grid.FixedView)
