# SPDX-License-Identifier: Apache-2.0
"""Programs with cycles for which rules were added: created children, records, many classes."""

from registry import trial


class GradientOptimizer:
    def __init__(self, network):
        self.network = network
        self.momentum = 0.9


class TrainableNetwork:
    def __init__(self, weights):
        self.weights = weights


def make_trainable(weights):
    network = TrainableNetwork(weights)
    network.optimizer = GradientOptimizer(network)
    return network


@trial("GradientOptimizer .network", alarming=("TrainableNetwork .optimizer",))
def attached_optimizer(data):
    return make_trainable(data).optimizer.momentum


class FieldState:
    def __init__(self):
        self.fields_cache = {}


class ArticleWriter:
    def __init__(self, portrait):
        self._state = FieldState()
        self.portrait = portrait
        self.prefetched = {}


class ArticleRow:
    def __init__(self):
        self._state = FieldState()


def prefetch_articles(writer, count):
    rows = [ArticleRow() for _ in range(count)]
    for row in rows:
        row._state.fields_cache["writer"] = writer
    writer.prefetched["articles"] = rows


@trial(
    "dict ['writer']",
    alarming=("ArticleRow ._state", "ArticleWriter ._state", "ArticleWriter .portrait"),
)
def prefetched_rows(data):
    prefetch_articles(ArticleWriter(data), 3)


@trial("dict ['parent']", alarming=("dict ['children']", "list [x]", "dict ['pixels']"))
def dict_tree(data):
    root = {"pixels": data, "children": []}
    for index in range(3):
        root["children"].append({"index": index, "parent": root})


@trial("dict ['group']", alarming=("dict ['members']", "list [x]", "dict ['pixels']"))
def grouped_records(data):
    group = {"name": "g", "pixels": data, "members": []}
    for index in range(3):
        group["members"].append({"index": index, "group": group})


class TaggedSample:
    def __init__(self, group):
        self.links = {("member of", group)}


class SampleGroup:
    def __init__(self, pixels):
        self.pixels = pixels
        self.samples = {}


@trial(
    "TaggedSample .links",
    "set element",
    "tuple [x]",
    alarming=("SampleGroup .samples", "SampleGroup .pixels", "dict ['a']"),
)
def linked_samples(data):
    group = SampleGroup(data)
    for key in "ab":
        group.samples[key] = TaggedSample(group)


class ServerPart:
    def __init__(self, server):
        for name in ("server",):
            setattr(self, name, server)


class RouteTable(ServerPart):
    pass


class TemplateLoader(ServerPart):
    pass


class SessionCache(ServerPart):
    pass


class AppServer:
    def __init__(self, cache):
        self.routes, self.templates = RouteTable(self), TemplateLoader(self)
        self.sessions = SessionCache(self)
        self.cache = cache


@trial(
    "RouteTable .server + TemplateLoader .server + SessionCache .server",
    alarming=("AppServer .routes", "AppServer .templates", "AppServer .cache"),
)
def server_parts(data):
    AppServer(data)


class TopicBus:
    def __init__(self):
        self.handlers = {}

    def on(self, topic, handler):
        self.handlers.setdefault(topic, []).append(handler)


class BusStage:
    def __init__(self, bus, buffer):
        self.bus, self.buffer = bus, buffer
        bus.on("start", self.begin)
        bus.on("stop", self.end)

    def begin(self):
        return self.buffer

    def end(self):
        self.buffer = None


class EncodeStage(BusStage):
    pass


class DecodeStage(BusStage):
    pass


@trial(
    "DecodeStage .bus + EncodeStage .bus",
    "BusStage .bus",
    "EncodeStage .bus",
    "DecodeStage .bus",
    alarming=("EncodeStage .buffer", "DecodeStage .buffer", "TopicBus .handlers"),
)
def bus_stages(data):
    bus = TopicBus()
    return [EncodeStage(bus, data), DecodeStage(bus, data)] and len(bus.handlers)
