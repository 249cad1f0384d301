# SPDX-License-Identifier: Apache-2.0
import torch
from twisted.internet import defer


@defer.inlineCallbacks
def load(ready):
    size = yield ready
    return torch.rand(size)


def leaky():
    ready = defer.Deferred()
    loaded = load(ready)
    ready.callback(1000)
    return len(loaded.result)
