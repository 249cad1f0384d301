# SPDX-License-Identifier: Apache-2.0
"""Children that an object creates, registers or receives."""

# %% own_attribute_of_foreign_object
"""A group sets itself as an attribute on objects of a library class."""

from collections import UserDict

EXPECTED = ["UserDict .group"]


class LeakyGroup:
    def __init__(self, members):
        self.members = members
        for member in members:
            member.group = self


class FixedGroup:
    def __init__(self, members):
        self.members = members


def leaky(payload):
    LeakyGroup([UserDict(weight=payload())])


def fixed(payload):
    FixedGroup([UserDict(weight=payload())])


# %% own_buckets_of_reducer
"""A reducer creates buckets that refer to it and adds them to the stages of its pipeline."""

import weakref

EXPECTED = ["Bucket .target"]


class Bucket:
    def __init__(self, target, buffer):
        self.target = target
        self.buffer = buffer


class Stage:
    def __init__(self):
        self.bucket = None


class Reducer:
    def __init__(self):
        self.stages = [Stage(), Stage()]

    def prepare(self, buffer):
        for stage in self.stages:
            stage.bucket = Bucket(self, buffer)

    def prepare_weakly(self, buffer):
        for stage in self.stages:
            stage.bucket = Bucket(weakref.proxy(self), buffer)


def leaky(payload):
    Reducer().prepare(payload())


def fixed(payload):
    Reducer().prepare_weakly(payload())


# %% own_deque_of_events
"""A history keeps events, and each event refers to its source object."""

import collections

EXPECTED = ["Event .source"]


class Event:
    def __init__(self, source, name):
        self.source = source
        self.name = name


class Engine:
    def __init__(self, cache, source_of):
        self.cache = cache
        self.recent = collections.deque(maxlen=8)
        for name in ("start", "step", "stop"):
            self.recent.append(Event(source_of(self), name))


def leaky(payload):
    Engine(payload(), lambda engine: engine)


def fixed(payload):
    Engine(payload(), id)


# %% own_key_registry
"""The keys of a registry are objects that refer to the registry."""

import weakref

EXPECTED = ["Layer .registry", "dict key"]


class Registry:
    def __init__(self, entries):
        self.entries = entries


class Layer:
    def __init__(self, registry, weight):
        self.registry = registry
        self.weight = weight
        registry.entries[self] = "frozen"


def leaky(payload):
    Layer(Registry({}), payload())


def fixed(payload):
    Layer(Registry(weakref.WeakKeyDictionary()), payload())


# %% own_owner_past_registration
"""A class that registers attributes as children stores its parent with object.__setattr__()."""

import weakref

EXPECTED = ["Block .owner"]
KEEP = {"owner"}


class Registering:
    def __setattr__(self, name, value):
        self.__dict__.setdefault("parts", []).append(name)
        super().__setattr__(name, value)


class Model(Registering):
    def __init__(self, weights, block):
        self.weights = weights
        self.block = block(self)


class Block(Registering):
    def __init__(self, owner):
        object.__setattr__(self, "owner", owner)


class WeakBlock(Registering):
    def __init__(self, owner):
        object.__setattr__(self, "owner", weakref.ref(owner))


def leaky(payload):
    Model(payload(), Block)


def fixed(payload):
    Model(payload(), WeakBlock)


# %% own_reader_by_factory
"""A model's constructor stores a reader created by one of its methods."""

EXPECTED = ["DataReader .model"]


class DataReader:
    def __init__(self, model):
        self.model = model


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.reader = self.make_reader()

    def make_reader(self):
        return DataReader(self)


class IndependentReader:
    def __init__(self, size):
        self.size = size


class FixedModel(Model):
    def make_reader(self):
        return IndependentReader(1)


def leaky(payload):
    Model(payload())


def fixed(payload):
    FixedModel(payload())


# %% own_runner_in_scheduler
"""A server creates a runner, which refers to the server through a helper."""

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


# %% own_sampler_set_late
"""A sampler is created from a dataset and stored in the dataset by other code."""

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


# %% own_section_of_document
"""A document creates sections, lists them and returns each one to the caller."""

import weakref

EXPECTED = ["Section .document"]


class Section:
    def __init__(self, document, text):
        self.document = document
        self.text = text


class Document:
    def __init__(self):
        self.sections = []

    def add(self, text):
        section = Section(self, text)
        self.sections.append(section)
        return section


class FixedDocument(Document):
    def add(self, text):
        section = Section(weakref.proxy(self), text)
        self.sections.append(section)
        return section


def leaky(payload):
    document = Document()
    document.add(payload())
    document.add(payload())


def fixed(payload):
    document = FixedDocument()
    document.add(payload())
    document.add(payload())


# %% own_slot_of_queue
"""A queue stores itself in each slot that is pushed to it; the slots refer to the memory."""

EXPECTED = ["Slot .place"]


class Slot:
    def __init__(self, memory):
        self.memory = memory
        self.place = None


class Queue:
    def __init__(self):
        self.first = None

    def push(self, slot, backwards=True):
        if backwards:
            slot.place = self
        self.first = slot


def leaky(payload):
    Queue().push(Slot(payload()))


def fixed(payload):
    Queue().push(Slot(payload()), backwards=False)
