# SPDX-License-Identifier: Apache-2.0
"""References from a child back to the object that contains it."""

# %% b1_back_pointer
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


# %% b4_tracer_and_graph
"""A tracer and its output graph refer to each other; the graph refers to the tensors."""

EXPECTED = ["OutputGraph .root_tx", "GraphArgument .example"]


class GraphArgument:
    def __init__(self, example):
        self.example = example


class OutputGraph:
    def __init__(self, root_tx):
        self.root_tx = root_tx
        self.arguments = []

    def clean_up(self):
        self.root_tx = None
        self.arguments.clear()


class Tracer:
    def __init__(self, example):
        self.output = OutputGraph(self)
        self.output.arguments.append(GraphArgument(example))


def leaky(payload):
    Tracer(payload())


def fixed(payload):
    tracer = Tracer(payload())
    tracer.output.clean_up()


# %% own_dataclass
"""Two dataclasses refer to each other in their fields."""

import dataclasses

EXPECTED = ["Part .assembly"]


@dataclasses.dataclass
class Part:
    name: str
    assembly: object = None


@dataclasses.dataclass
class Assembly:
    mesh: object
    main_part: Part


def leaky(payload):
    part = Part("wheel")
    part.assembly = Assembly(payload(), part)


def fixed(payload):
    Assembly(payload(), Part("wheel"))


# %% own_doubly_linked_list
"""Each node of a linked list refers to the next and the previous node."""

EXPECTED = ["Node .previous"]


class Node:
    def __init__(self, page):
        self.page = page
        self.next = None
        self.previous = None


def linked(payload, back):
    first = Node(payload())
    last = first
    for _ in range(3):
        node = Node(payload())
        last.next = node
        node.previous = last if back else None
        last = node


def leaky(payload):
    linked(payload, True)


def fixed(payload):
    linked(payload, False)


# %% own_linked_stages
"""Each stage of a pipeline refers to the next and the previous stage."""

EXPECTED = ["Stage .prev_stage"]


class Stage:
    def __init__(self, weights):
        self.weights = weights
        self.next_stage = None
        self.prev_stage = None


def pipeline(payload, both_ways):
    stages = [Stage(payload()) for _ in range(3)]
    for i in range(2):
        stages[i].next_stage = stages[i + 1]
        if both_ways:
            stages[i + 1].prev_stage = stages[i]


def leaky(payload):
    pipeline(payload, both_ways=True)


def fixed(payload):
    pipeline(payload, both_ways=False)


# %% own_memory_of_agent
"""An agent passes itself to the memory object that it creates; that object owns the tensors."""

EXPECTED = ["Memory .agent"]


class Memory:
    def __init__(self, agent, frames):
        self.frames = frames
        self.agent = agent


class Agent:
    def __init__(self, payload, backwards=True):
        memory = Memory(self if backwards else None, payload())
        self.memory = memory


def leaky(payload):
    Agent(payload)


def fixed(payload):
    Agent(payload, backwards=False)


# %% own_mutable_slots
"""A tree of objects with slots, in which each child refers to its parent."""

import weakref

EXPECTED = ["Branch slot:parent"]


class Branch:
    __slots__ = ("__weakref__", "children", "parent", "values")

    def __init__(self, values, parent):
        self.values = values
        self.parent = parent
        self.children = []


def tree(payload, refer):
    root = Branch(payload(), None)
    for _ in range(2):
        child = Branch(payload(), refer(root))
        root.children.append(child)
        child.children.append(Branch(payload(), refer(child)))


def leaky(payload):
    tree(payload, lambda branch: branch)


def fixed(payload):
    tree(payload, weakref.ref)


# %% own_nested_class
"""An instance of a nested class refers to the object that stores the instance."""

EXPECTED = ["View .outer"]


class Grid:
    class View:
        def __init__(self, outer):
            self.outer = outer

    class FixedView:
        def __init__(self, outer):
            self.size = outer.size

    def __init__(self, cells, view):
        self.cells = cells
        self.size = 3
        self.view = view(self)


def leaky(payload):
    Grid(payload(), Grid.View)


def fixed(payload):
    Grid(payload(), Grid.FixedView)


# %% own_property_setter
"""A property setter sets itself as the parent of a child."""

EXPECTED = ["Head ._module"]


class Head:
    _module = None


class Module:
    def __init__(self, weight):
        self.weight = weight

    @property
    def head(self):
        return self._head

    @head.setter
    def head(self, head):
        self._head = head
        head._module = self


class FixedModule(Module):
    @Module.head.setter
    def head(self, head):
        self._head = head
        head._module = id(self)


def leaky(payload):
    Module(payload()).head = Head()


def fixed(payload):
    FixedModule(payload()).head = Head()


# %% own_trainer_and_module
"""A trainer sets itself as an attribute of the module that it trains."""

import weakref

EXPECTED = ["Module .trainer"]


class Module:
    def __init__(self, weights):
        self.weights = weights
        self.trainer = None


class Trainer:
    def __init__(self):
        self.module = None

    def fit(self, module):
        self.module = module
        module.trainer = self

    def fit_weakly(self, module):
        self.module = module
        module.trainer = weakref.proxy(self)


def leaky(payload):
    Trainer().fit(Module(payload()))


def fixed(payload):
    Trainer().fit_weakly(Module(payload()))
