# SPDX-License-Identifier: Apache-2.0
"""Programs with cycles of new shapes, written after the ranking was finished.

The accepted answers were written before the first run. One rule, for linked objects of one class,
was added afterwards, because of recent_cache.
"""

import functools
import sys
import threading
from typing import NamedTuple

from registry import trial


class LinkNode:
    __slots__ = ("newer", "older", "value")

    def __init__(self, value):
        self.value, self.newer, self.older = value, self, self


class RecentCache:
    """A least-recently-used cache: a dict, and a ring of nodes that begins at a sentinel."""

    def __init__(self):
        self.nodes = {}
        self.ring = LinkNode(None)

    def put(self, key, value):
        node = self.nodes[key] = LinkNode(value)
        last = self.ring.older
        last.newer = self.ring.older = node
        node.older, node.newer = last, self.ring


@trial(
    "LinkNode slot:newer + LinkNode slot:older",
    alarming=("RecentCache .nodes", "LinkNode slot:value", "RecentCache .ring"),
)
def recent_cache(data):
    cache = RecentCache()
    for key in ("a", "b"):
        cache.put(key, data)
    return len(cache.nodes)


class GridCell:
    def __init__(self, heights):
        self.heights = heights
        self.neighbours = {}


class TerrainStrip:
    def __init__(self, rows):
        self.cells = [GridCell(row) for row in rows]
        for west, east in zip(self.cells, self.cells[1:], strict=False):
            west.neighbours["east"] = east
            east.neighbours["west"] = west


@trial(
    "dict ['east']",
    "dict ['west']",
    "dict ['east'] + dict ['west']",
    "GridCell .neighbours",
    alarming=("TerrainStrip .cells", "GridCell .heights"),
)
def terrain_strip(data):
    return len(TerrainStrip([data, data, data]).cells)


class MoveCommand:
    def __init__(self, snapshot, offset):
        self.snapshot, self.offset = snapshot, offset
        self.inverse = None

    def undo(self):
        if self.inverse is None:
            self.inverse = MoveCommand(self.snapshot, -self.offset)
            self.inverse.inverse = self
        return self.inverse


@trial("MoveCommand .inverse", alarming=("MoveCommand .snapshot",))
def undone_move(data):
    return MoveCommand(data, 3).undo().offset


class LampState:
    def __init__(self, machine, name):
        self.machine, self.name = machine, name
        self.transitions = {}


class LampMachine:
    def __init__(self, profile):
        self.profile = profile
        self.states = {name: LampState(self, name) for name in ("on", "off")}
        on, off = self.states.values()
        on.transitions["toggle"], off.transitions["toggle"] = off, on
        self.current = off


@trial(
    "LampState .machine",
    "LampState .machine + LampState .transitions",
    "LampState .machine + dict ['toggle']",
    alarming=("LampMachine .states", "LampMachine .profile", "LampMachine .current"),
)
def lamp_machine(data):
    return LampMachine(data).current.name


class MeasuredOutcome:
    def __init__(self):
        self.ok, self.trace = True, None


def measure(samples):
    outcome = MeasuredOutcome()
    try:
        samples.missing_attribute  # noqa: B018
    except AttributeError as error:
        outcome.ok, outcome.trace = False, error.__traceback__
    return outcome.ok


@trial("MeasuredOutcome .trace", "measure local:outcome")
def measured_outcome(data):
    return measure(data)


class CallProbe:
    def __init__(self):
        self.where = None

    def enter(self, batch):
        self.where = sys._getframe()
        return batch is not None


@trial("CallProbe .where", alarming=("enter local:self",))
def call_probe(data):
    return CallProbe().enter(data)


class SensorEvent(NamedTuple):
    source: object
    kind: str


class FlowSensor:
    def __init__(self, calibration):
        self.calibration = calibration
        self.history = []

    def record(self, kind):
        self.history.append(SensorEvent(self, kind))


@trial("SensorEvent .source", alarming=("FlowSensor .calibration",))
def sensor_history(data):
    sensor = FlowSensor(data)
    for kind in ("start", "stop"):
        sensor.record(kind)


class TemplateScope:
    def __init__(self, variables):
        self.variables = dict(variables)
        self.variables["self"] = self

    def render(self, text):
        return text.format(**self.variables)


@trial("dict ['self']", alarming=("TemplateScope .variables", "dict ['rows']"))
def template_scope(data):
    return len(TemplateScope({"rows": data, "title": "t"}).render("{title}"))


class CatalogEntry:
    def __init__(self, catalog, payload):
        self.catalog, self.payload = catalog, payload


class DataCatalog(dict):
    def register(self, name, payload):
        self[name] = CatalogEntry(self, payload)
        return self[name]


@trial(
    "CatalogEntry .catalog",
    alarming=("DataCatalog ['train']", "DataCatalog ['test']", "CatalogEntry .payload"),
)
def data_catalog(data):
    catalog = DataCatalog()
    for name in ("train", "test"):
        catalog.register(name, data)
    return len(catalog)


class HeartbeatMonitor:
    def __init__(self, window):
        self.window = window
        self._timer = threading.Timer(5, self.beat)

    def beat(self):
        self.window = None


@trial(
    "beat __self__",
    "HeartbeatMonitor ._timer",
    "Timer .function",
    alarming=("HeartbeatMonitor .window",),
)
def heartbeat_monitor(data):
    return HeartbeatMonitor(data)._timer.interval


class LazyValue:
    def __init__(self, record, loader):
        self.record, self.loader = record, loader


class LazyField:
    def __init__(self, loader):
        self.loader = loader

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, record, owner=None):
        if record is None:
            return self
        return record.__dict__.setdefault(self.name, LazyValue(record, self.loader))


class PixelRecord:
    preview = LazyField(len)

    def __init__(self, image):
        self.image = image


@trial(
    "LazyValue .record",
    "PixelRecord .preview",
    alarming=("PixelRecord .image", "LazyValue .loader"),
)
def lazy_preview(data):
    return PixelRecord(data).preview.loader


class ImageRanking:
    def __init__(self, reference):
        self.reference = reference
        self.key = functools.cmp_to_key(self.compare)

    def compare(self, left, right):
        return left - right


@trial("compare __self__", "ImageRanking .key", alarming=("ImageRanking .reference",))
def image_ranking(data):
    return sorted([3, 1, 2], key=ImageRanking(data).key)
