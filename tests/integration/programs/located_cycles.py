# SPDX-License-Identifier: Apache-2.0
"""Creates cycles through attributes and prints the reported location of each store.

Each line that must be reported as a location ends with a comment: an arrow (`<-`) and the labels
of the attributes; NAME/LABEL distinguishes cycles with the same label.
Usage: located_cycles.py [trace]. With "trace", a trace function is active, as in a debugger.
"""

import contextlib
import dataclasses
import functools
import gc
import json
import sys

import cyclewatch


class Tensor:
    """A stand-in for a tensor."""


def read(tensor):
    return {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(tensor)}


class Part:
    def __init__(self, whole=None):
        self.whole = None
        self.tensor = Tensor()
        if whole is not None:
            self.whole = whole  # <- whole

    def forget(self):
        self.whole = self.other = None


class InMethod:
    def reset(self):
        self.by_reset = None

    def attach(self, other):
        self.by_method = other or None  # <- by_method

    def adopt(self, part):
        part.adopted_by = self  # <- adopted_by


class Slotted:
    __slots__ = ("parent", "tensor")

    def __init__(self, parent):
        self.tensor, self.parent = Tensor(), parent  # <- parent


class WithProperty:
    @property
    def target(self):
        return self._target

    @target.setter
    def target(self, value):
        self._target = value  # <- _target

    @functools.cached_property
    def cached(self):
        self.by_cached_property = self  # <- by_cached_property
        return 1


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Decorated:
    @logged
    def run(self):
        self.by_decorated = self  # <- by_decorated

    @classmethod
    def register(cls, thing):
        cls.by_class_method = thing  # <- by_class_method


class WithInner:
    def start(self):
        class Unrelated:
            def __init__(self):
                self.by_inner = []

        def later():
            self.by_inner = self  # <- by_inner

        later()
        return Unrelated


class TakesOwnMethod:
    def __init__(self):
        self.on_done = []
        self.finish()
        self.on_done.append(self.finish)  # <- __self__

    def finish(self):
        pass


class InDict:
    def __init__(self):
        self.__dict__["by_dict"] = self  # <- by_dict


def by_stranger(thing):
    thing.by_dict = thing.record = thing


class Nothing:
    def method(self):
        pass


def patch(thing):
    thing.by_function = thing  # <- by_function


def once(thing):
    thing.twice = thing


def again(thing):
    thing.twice = [thing]


@dataclasses.dataclass
class Record:
    record: object = None  # <- record

    def method(self):
        pass


def attach():
    one = InMethod()
    one.attach(one)
    return one


def adopt():
    one = InMethod()
    one.adopt(one)
    return one


def linked(cls):
    one = cls.__new__(cls)
    cls.__init__(one, one)
    return one


def with_property():
    one = WithProperty()
    one.target = one
    return one


def with_cached_property():
    one = WithProperty()
    assert one.cached
    return one


def decorated():
    one = Decorated()
    one.run()
    return one


def with_inner():
    one = WithInner()
    one.start()
    return one


def done_by(function):
    one = Nothing()
    function(one)
    return one


def by_setattr():
    one = Nothing()
    setattr(one, "by_setattr", one)  # noqa: B010  # <- by_setattr
    return one


def by_computed_name():
    one = Nothing()
    setattr(one, "_".join(["by", "computed", "name"]), one)
    return one


class Handed:
    def finish_later(self):
        """Bound and stored by handed(), not by a method of this class."""


def handed():
    one = Handed()
    one.taken = [one.finish_later]  # <- handed/__self__
    return one


def partially(one):
    setattr(one, "_".join(["by", "partial"]), functools.partial(prepare, one))  # <- args[0]


def prepare(one):
    """Called by the partial."""


def record():
    one = Record()
    one.__dict__["record"] = one
    return one


def of_class():
    class Temporary(Decorated):
        pass

    Temporary.register(Temporary())
    return Temporary.by_class_method


def wide():
    """The method has more than 256 names, so the store needs EXTENDED_ARG."""
    lines = ["class Wide:", "    def __init__(self):", *(f"        a{i}()" for i in range(300))]
    source = "\n".join([*lines[:2], "        if self is None:", *(f"    {x}" for x in lines[2:])])
    namespace = {}
    exec(compile(f"{source}\n        self.wide = self\n", "wide.py", "exec"), namespace)
    return namespace["Wide"]()


MAKERS = {
    "whole": lambda: linked(Part),
    "by_method": attach,
    "adopted_by": adopt,
    "parent": lambda: linked(Slotted),
    "_target": with_property,
    "by_cached_property": with_cached_property,
    "by_decorated": decorated,
    "by_inner": with_inner,
    "__self__": TakesOwnMethod,
    "handed/__self__": handed,
    "args[0]": lambda: done_by(partially),
    "by_dict": InDict,
    "by_function": lambda: done_by(patch),
    "twice": lambda: done_by(once),
    "by_setattr": by_setattr,
    "by_computed_name": by_computed_name,
    "record": record,
    "by_class_method": of_class,
    "wide": wide,
}


def locations_of(attribute, make):
    with cyclewatch.watch(devices="all") as watch:
        holder = make()
        with contextlib.suppress(AttributeError):  # slots
            holder.tensor = Tensor()
        del holder
        gc.collect()
    references = [r for finding in watch.report().findings for r in finding.cycle]
    label = attribute.split("/")[-1]
    labels = {label, f".{label}", f"slot:{label}"}
    return sorted({r.location for r in references if r.label in labels})


def main():
    gc.disable()
    cyclewatch.register_owner(Tensor, read)
    found = {}
    for attribute, make in MAKERS.items():
        for _ in range(40):  # until the interpreter specialises the code
            make()
        gc.collect()
        found[attribute] = locations_of(attribute, make)
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:] == ["trace"]:
        sys.settrace(lambda *_: sys.gettrace())
    main()
