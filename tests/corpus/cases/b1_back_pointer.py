# SPDX-License-Identifier: Apache-2.0
"""A model owns a tokenizer that refers back to the model."""

EXPECTED = ["Tokenizer .llama"]


class Tokenizer:
    def __init__(self, llama):
        self.llama = llama
        self.vocabulary = llama.vocabulary


class FixedTokenizer:
    def __init__(self, llama):
        self.vocabulary = llama.vocabulary


class Llama:
    def __init__(self, weights, tokenizer_class):
        self.weights = weights
        self.vocabulary = ["a", "b"]
        self.tokenizer = tokenizer_class(self)


def leaky(payload):
    Llama(payload(), Tokenizer)


def fixed(payload):
    Llama(payload(), FixedTokenizer)
