# SPDX-License-Identifier: Apache-2.0
"""Results of notebook cells are in the namespace and in the list of outputs."""

EXPECTED = ["dict ['model'] + dict [<int>]"]

CELLS = """
class Model:
    def __init__(self, weight):
        self.weight = weight

    def forward(self):
        return self.weight

model = Model(payload())
Out[3] = model
"""


def leaky(payload):
    exec(CELLS, {"payload": payload, "Out": {}})


def fixed(payload):
    exec(CELLS + "del model\nOut.clear()\n", {"payload": payload, "Out": {}})
