# SPDX-License-Identifier: Apache-2.0
"""A request keeps a context in which a variable refers to the request."""

import contextvars

EXPECTED = ["Request .context"]

CURRENT = contextvars.ContextVar("CURRENT")


class Request:
    def __init__(self, batch):
        self.batch = batch


def leaky(payload):
    request = Request(payload())
    request.context = contextvars.copy_context()
    request.context.run(CURRENT.set, request)


def fixed(payload):
    request = Request(payload())
    context = contextvars.copy_context()
    context.run(CURRENT.set, request)
