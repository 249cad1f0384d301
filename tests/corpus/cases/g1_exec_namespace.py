# SPDX-License-Identifier: Apache-2.0
"""A generated function stays in the namespace in which exec() created it."""

EXPECTED = ["dict ['generated']", "dict ['table']"]

SOURCE = "def generated(x): return table"


def leaky(payload):
    scope = {"table": payload()}
    exec(SOURCE, scope)


def fixed(payload):
    scope = {"table": payload()}
    exec(SOURCE, scope)
    return scope.pop("generated") and None
