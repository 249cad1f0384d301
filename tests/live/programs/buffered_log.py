"""A MemoryHandler keeps records, and with them the logged tensors.

module global __main__.log -> log.handlers[0].buffer[0].args[1]
"""

import logging
import logging.handlers
import weakref

import torch

import cyclewatch

log = logging.getLogger("train")


def configure():
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(logging.handlers.MemoryHandler(1000, flushLevel=logging.CRITICAL))


def step(index):
    output = torch.ones(16)
    log.debug("step %d: %s", index, output)
    return weakref.ref(output)


configure()
print(cyclewatch.why_alive(step(0), 1)[0])
