# SPDX-License-Identifier: Apache-2.0
"""A module keeps a hook that is a partial with the module as first argument."""

import collections
import functools
import weakref

EXPECTED = ["partial args[x]"]


class Module:
    def __init__(self, weight):
        self.weight = weight
        self.hooks = collections.OrderedDict()


def hook(module, state):
    return module, state


def weak_hook(module_reference, state):
    return hook(module_reference(), state)


def leaky(payload):
    module = Module(payload())
    module.hooks[7] = functools.partial(hook, module)


def fixed(payload):
    module = Module(payload())
    module.hooks[7] = functools.partial(weak_hook, weakref.ref(module))
