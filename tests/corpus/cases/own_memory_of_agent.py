# SPDX-License-Identifier: Apache-2.0
"""An agent makes its memory and hands itself over; the tensors hang off the memory."""

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
