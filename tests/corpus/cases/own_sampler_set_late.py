# SPDX-License-Identifier: Apache-2.0
"""A dataset, and a sampler of it that other code stores in the dataset later."""

import weakref

EXPECTED = ["Corpus .sampler"]


class Corpus:
    def __init__(self, items):
        self.items = items
        self.sampler = None


class Sampler:
    def __init__(self, corpus):
        self.corpus = corpus


def leaky(payload):
    corpus = Corpus(payload())
    corpus.sampler = Sampler(corpus)


def fixed(payload):
    corpus = Corpus(payload())
    sampler = Sampler(corpus)
    corpus.sampler = weakref.ref(sampler)
