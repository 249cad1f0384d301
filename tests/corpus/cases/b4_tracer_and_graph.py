# SPDX-License-Identifier: Apache-2.0
"""A tracer and its output graph refer to each other; the graph refers to example values."""

EXPECTED = ["OutputGraph .root_tx", "GraphArgument .example"]


class GraphArgument:
    def __init__(self, example):
        self.example = example


class OutputGraph:
    def __init__(self, root_tx):
        self.root_tx = root_tx
        self.arguments = []

    def clean_up(self):
        self.root_tx = None
        self.arguments.clear()


class Tracer:
    def __init__(self, example):
        self.output = OutputGraph(self)
        self.output.arguments.append(GraphArgument(example))


def leaky(payload):
    Tracer(payload())


def fixed(payload):
    tracer = Tracer(payload())
    tracer.output.clean_up()
