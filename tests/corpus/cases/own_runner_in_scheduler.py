# SPDX-License-Identifier: Apache-2.0
"""A server passes itself through a helper to a runner, which refers back to the server."""

EXPECTED = ["Runner .server"]


class Runner:
    def __init__(self, server, weights):
        self.server = server
        self.weights = weights


class Scheduler:
    def __init__(self, server, weights, backwards):
        self.runner = Runner(server if backwards else None, weights)


class Server:
    def __init__(self, weights, backwards=True):
        self.scheduler = Scheduler(self, weights, backwards)


def leaky(payload):
    Server(payload())


def fixed(payload):
    Server(payload(), backwards=False)
