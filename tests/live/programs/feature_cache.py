"""A class keeps the features of every image, keyed by split and index.

class attribute __main__.FeatureCache.entries -> FeatureCache.entries[('val', 0)]
"""

import collections
import weakref

import torch

import cyclewatch


class FeatureCache:
    entries = collections.OrderedDict()

    @classmethod
    def get(cls, split, index):
        key = (split, index)
        if key not in cls.entries:
            cls.entries[key] = torch.full((8,), float(index))
        cls.entries.move_to_end(key)
        return cls.entries[key]


def evaluate():
    for index in range(3):
        FeatureCache.get("val", index)
    return weakref.ref(FeatureCache.get("val", 0))


print(cyclewatch.why_alive(evaluate(), 1)[0])
