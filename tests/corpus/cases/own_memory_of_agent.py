# SPDX-License-Identifier: Apache-2.0
"""An agent passes itself to the memory that it creates; the memory refers to the tensors."""

EXPECTED = ["Memory .agent"]


class Memory:
    def __init__(self, agent, frames):
        self.frames = frames
        self.agent = agent


class Agent:
    def __init__(self, payload, backwards=True):
        memory = Memory(self if backwards else None, payload())
        self.memory = memory


def leaky(payload):
    Agent(payload)


def fixed(payload):
    Agent(payload, backwards=False)
