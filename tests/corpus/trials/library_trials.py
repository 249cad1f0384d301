# SPDX-License-Identifier: Apache-2.0
"""Small programs in the style of library and scientific code, each of which leaks a cycle."""

import asyncio
import functools
import heapq
import itertools
import operator
import sys
import threading
import types
import weakref
from collections import defaultdict, deque
from contextlib import ExitStack
from dataclasses import dataclass, field

from registry import trial


class Section:
    def __init__(self, title, enclosing=None):
        self.title = title
        self.enclosing = enclosing
        self.body = []
        self.level = 0 if enclosing is None else enclosing.level + 1

    def add(self, title):
        section = Section(title, self)
        self.body.append(section)
        return section


@trial("Section .enclosing", alarming=("Section .body", "list [x]"))
def outline_of_sections(data):
    report = Section("report")
    methods = report.add("methods")
    methods.add("sampling").body.append(data)
    return [section.level for section in report.body]


class MarkupElement:
    def __init__(self, owner, tag):
        self.owner_document = owner
        self.tag = tag
        self.attributes = {}
        self.parent_node = None
        self.child_nodes = []

    def append_child(self, child):
        child.parent_node = self
        self.child_nodes.append(child)


class MarkupDocument:
    def __init__(self):
        self.document_element = None

    def create(self, tag):
        return MarkupElement(self, tag)


@trial(
    "MarkupElement .owner_document + MarkupElement .parent_node",
    alarming=("MarkupDocument .document_element", "MarkupElement .child_nodes"),
)
def markup_document(data):
    document = MarkupDocument()
    document.document_element = document.create("svg")
    image = document.create("image")
    image.attributes["href"] = data
    document.document_element.append_child(image)


class GridCell:
    __slots__ = ("sheet", "row", "column", "value")

    def __init__(self, sheet, row, column, value):
        self.sheet, self.row, self.column, self.value = sheet, row, column, value


class Worksheet:
    def __init__(self, book, title):
        self.book = book
        self.title = title
        self._cells = {}

    def put(self, row, column, value):
        self._cells[row, column] = GridCell(self, row, column, value)


class Workbook:
    def __init__(self):
        self.sheets = []
        self.styles = {"default": None}

    def create_sheet(self, title):
        self.sheets.append(Worksheet(self, title))
        return self.sheets[-1]


@trial(
    "Worksheet .book + GridCell slot:sheet",
    alarming=("Workbook .sheets", "Worksheet ._cells", "dict [<tuple>]"),
)
def workbook_of_cells(data):
    book = Workbook()
    book.create_sheet("raw").put(1, 1, data)
    book.create_sheet("summary").put(1, 1, 3.5)


class DrawingCanvas:
    def __init__(self, figure, dpi=100):
        self.figure = figure
        self.dpi = dpi
        figure.canvas = self


class LineArtist:
    def __init__(self, xdata, ydata):
        self.xdata, self.ydata = xdata, ydata
        self.axes = None


class PlotAxes:
    def __init__(self, figure):
        self.figure = figure
        self.lines = []
        self.limits = (0.0, 1.0)

    def plot(self, xdata, ydata):
        line = LineArtist(xdata, ydata)
        line.axes = self
        self.lines.append(line)


class PlotFigure:
    canvas = None

    def __init__(self):
        self.axes = []


@trial(
    "DrawingCanvas .figure + PlotAxes .figure + LineArtist .axes",
    alarming=("PlotFigure .axes", "PlotAxes .lines"),
)
def figure_and_axes(data):
    figure = PlotFigure()
    DrawingCanvas(figure)
    axes = PlotAxes(figure)
    figure.axes.append(axes)
    axes.plot(range(10), data)


class SqlCursor:
    def __init__(self, connection):
        self.connection = connection
        self.description = None
        self.arraysize = 1


class SqlConnection:
    def __init__(self, dsn, driver):
        self.dsn = dsn
        self._driver = driver
        self._cursors = []

    def cursor(self):
        cursor = SqlCursor(self)
        self._cursors.append(cursor)
        return cursor


@trial("list [x]", "SqlConnection ._cursors", alarming=("SqlCursor .connection",))
def cursors_of_connection(data):
    connection = SqlConnection("file::memory:", data)
    first = connection.cursor()
    first.arraysize = 100
    connection.cursor()


class MappedRow:
    def __init__(self, session, identity, values):
        self._session = session
        self._identity = identity
        self.values = values


class UnitOfWork:
    def __init__(self):
        self._identity_map = {}
        self._dirty = set()
        self._autoflush = True

    def load(self, table, key, values):
        identity = (table, key)
        if identity not in self._identity_map:
            self._identity_map[identity] = MappedRow(self, identity, values)
        return self._identity_map[identity]


@trial("MappedRow ._session", "dict [<tuple>]", "UnitOfWork ._identity_map")
def orm_identity_map(data):
    session = UnitOfWork()
    session.load("images", 1, {"pixels": data})
    session.load("images", 2, {"pixels": None})
    return session.load("images", 1, {}).values.keys()


class SimEvent:
    def __init__(self, delay):
        self.delay = delay
        self.callbacks = []
        self.ok = True


class SimProcess:
    def __init__(self, generator):
        self._generator = generator
        self._target = None
        self._resume(None)

    def _resume(self, event):
        self._target = next(self._generator)
        self._target.callbacks.append(self._resume)


def refuel(buffer):
    while buffer is not None:
        yield SimEvent(2.5)


@trial(
    "SimProcess ._target",
    "SimEvent .callbacks",
    "list [x]",
    alarming=("SimProcess ._generator", "_resume __self__"),
)
def simulated_process(data):
    process = SimProcess(refuel(data))
    event = process._target
    for callback in list(event.callbacks):
        callback(event)


class HalfEdge:
    __slots__ = ("origin", "next", "twin", "face")

    def __init__(self, origin):
        self.origin = origin
        self.next = self.twin = self.face = None


class SurfaceMesh:
    def __init__(self, points):
        self.points = points
        self.halfedges = []

    def add_triangle(self, corners):
        ring = [HalfEdge(corner) for corner in corners]
        for edge, following in zip(ring, ring[1:] + ring[:1], strict=True):
            edge.next = following
        self.halfedges += ring
        return ring


@trial(
    "HalfEdge slot:next + HalfEdge slot:twin",
    alarming=("SurfaceMesh .halfedges", "HalfEdge slot:origin"),
)
def halfedge_mesh(data):
    mesh = SurfaceMesh([(0, 0), (1, 0), (0, 1), (1, 1)])
    first = mesh.add_triangle([(0, None), (1, data), (2, None)])
    second = mesh.add_triangle([(2, None), (1, None), (3, None)])
    first[1].twin, second[0].twin = second[0], first[1]


class LabelIndexer:
    def __init__(self, array):
        self._array = array

    def __getitem__(self, label):
        return self._array.values[self._array.labels.index(label)]


class LabelledArray:
    def __init__(self, values, labels):
        self.values = values
        self.labels = labels
        self._loc = None

    @property
    def loc(self):
        if self._loc is None:
            self._loc = LabelIndexer(self)
        return self._loc


@trial("LabelIndexer ._array", "LabelledArray ._loc", alarming=("LabelledArray .values",))
def array_with_indexer(data):
    array = LabelledArray([data, 2], ["a", "b"])
    return array.loc["b"]


class TextAccessor:
    def __init__(self, series):
        self._parent = series
        self._flags = {}

    def lower(self):
        return [str(item).lower() for item in self._parent.items]


class TextSeries:
    def __init__(self, items, metadata):
        self.items = items
        self.attrs = {"source": metadata}

    @functools.cached_property
    def text(self):
        return TextAccessor(self)

    @functools.cached_property
    def nbytes(self):
        return sum(map(len, self.items))


@trial("TextAccessor ._parent", "TextSeries .text", alarming=("TextSeries .attrs",))
def series_accessor(data):
    series = TextSeries(["A", "B"], data)
    return series.text.lower(), series.nbytes


class Widget:
    def __init__(self, master=None, **options):
        self.master = master
        self.options = options
        self.children = {}
        if master is not None:
            master.children[f"!{type(self).__name__.lower()}{len(master.children)}"] = self


class ButtonWidget(Widget):
    pass


class PanelWidget(Widget):
    pass


@trial(
    "ButtonWidget .master + PanelWidget .master",
    alarming=("PanelWidget .children", "Widget .children"),
)
def widget_tree(data):
    window = Widget(title="Viewer")
    toolbar = PanelWidget(window, side="left")
    ButtonWidget(toolbar, icon=data)
    ButtonWidget(toolbar, text="Close")


class EventBus:
    def __init__(self):
        self._handlers = defaultdict(list)

    def on(self, name, handler):
        self._handlers[name].append(handler)

    def emit(self, name, *args):
        return [handler(*args) for handler in self._handlers[name]]


class MediaPlayer:
    def __init__(self, bus, buffer):
        self.bus = bus
        self.buffer = buffer
        self.position = 0
        bus.on("tick", self.on_tick)

    def on_tick(self, step):
        self.position += step


@trial("on_tick __self__", "list [x]", "EventBus ._handlers", "MediaPlayer .bus")
def player_on_bus(data):
    bus = EventBus()
    player = MediaPlayer(bus, data)
    bus.emit("tick", 3)
    return player.position


class LineProtocol:
    def __init__(self, on_line):
        self.transport = None
        self._pending = b""
        self._on_line = on_line

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, chunk):
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            self._on_line(line)


class PipeTransport:
    def __init__(self, protocol, extra):
        self._protocol = protocol
        self._extra = extra
        self._closing = False
        protocol.connection_made(self)

    def close(self):
        self._closing = True


@trial("LineProtocol .transport", "PipeTransport ._protocol")
def protocol_and_transport(data):
    lines = []
    transport = PipeTransport(LineProtocol(lines.append), {"socket": data})
    transport._protocol.data_received(b"one\ntwo")
    transport.close()


class BrokerChannel:
    def __init__(self, broker, number):
        self.broker = broker
        self.number = number
        self.unacked = deque()


class QueueConsumer:
    def __init__(self, channel, tag):
        self.channel = channel
        self.tag = tag


class MessageQueue:
    def __init__(self, name):
        self.name = name
        self.messages = deque()
        self.consumers = []


class MessageBroker:
    def __init__(self):
        self.queues = {}

    def declare(self, name):
        return self.queues.setdefault(name, MessageQueue(name))


@trial(
    "BrokerChannel .broker",
    "MessageQueue .consumers",
    "list [x]",
    alarming=("QueueConsumer .channel", "MessageBroker .queues", "MessageQueue .messages"),
)
def broker_with_consumer(data):
    broker = MessageBroker()
    queue = broker.declare("thumbnails")
    queue.messages.append({"body": data})
    queue.consumers.append(QueueConsumer(BrokerChannel(broker, 1), "ctag1"))


class HealthComponent:
    def __init__(self, entity, points):
        self.entity, self.points = entity, points


class SpriteComponent:
    def __init__(self, holder, texture):
        self.holder, self.texture = holder, texture


class ColliderComponent:
    def __init__(self, body, radius):
        self.body, self.radius = body, radius


class GameEntity:
    def __init__(self, name):
        self.name = name
        self.components = {}

    def attach(self, kind, *args):
        self.components[kind] = kind(self, *args)


@trial(
    "HealthComponent .entity + SpriteComponent .holder + ColliderComponent .body",
    alarming=("GameEntity .components", "dict [<type>]"),
)
def entity_components(data):
    player = GameEntity("player")
    player.attach(HealthComponent, 100)
    player.attach(SpriteComponent, data)
    player.attach(ColliderComponent, 0.5)


class SyntaxNode:
    _fields = ()

    def __init__(self, *parts):
        self.up = None
        for name, part in zip(self._fields, parts, strict=True):
            setattr(self, name, part)
            if isinstance(part, SyntaxNode):
                part.up = self


class NumberNode(SyntaxNode):
    _fields = ("literal",)


class BinaryNode(SyntaxNode):
    _fields = ("left", "op", "right")


@trial("NumberNode .up + BinaryNode .up", alarming=("BinaryNode .left", "BinaryNode .right"))
def syntax_tree(data):
    product = BinaryNode(NumberNode(2), "*", NumberNode(data))
    return BinaryNode(NumberNode(1), "+", product).op


class IrValue:
    def __init__(self, name, constant=None):
        self.name = name
        self.constant = constant
        self.uses = []


class IrInstruction:
    def __init__(self, opcode, *operands):
        self.opcode = opcode
        self.operands = operands
        self.result = IrValue(f"%{opcode}")
        for operand in operands:
            operand.uses.append(self)

    def replace(self, old, new):
        self.operands = tuple(new if item is old else item for item in self.operands)


@trial("IrValue .uses", "list [x]", alarming=("IrInstruction .operands", "tuple [x]"))
def use_lists_of_ir(data):
    table = IrValue("@table", data)
    load = IrInstruction("load", table, IrValue("%i"))
    add = IrInstruction("add", load.result, load.result)
    add.replace(load.result, table)


class BasicBlock:
    def __init__(self, label):
        self.label = label
        self.instructions = []
        self.successors = []
        self.predecessors = []

    def branch(self, *targets):
        for target in targets:
            self.successors.append(target)
            target.predecessors.append(self)


class ControlFlowGraph:
    def __init__(self, entry):
        self.entry = entry
        self.blocks = {entry.label: entry}


@trial("BasicBlock .predecessors", alarming=("BasicBlock .successors", "BasicBlock .instructions"))
def flow_graph(data):
    entry, then, other, merge = map(BasicBlock, ("entry", "then", "else", "merge"))
    graph = ControlFlowGraph(entry)
    entry.branch(then, other)
    then.branch(merge)
    other.branch(merge)
    entry.instructions.append(("const", data))
    graph.blocks.update({block.label: block for block in (then, other, merge)})


class SymbolicExpr:
    def __init__(self, head, *args):
        self.head = head
        self.args = args
        self._canonical = None
        self._hash = hash((head, len(args)))

    def canonical(self):
        if self._canonical is None:
            parts = [arg.canonical() for arg in self.args]
            same = all(map(operator.is_, parts, self.args))
            self._canonical = self if same else SymbolicExpr(self.head, *parts)
        return self._canonical


@trial("SymbolicExpr ._canonical", alarming=("SymbolicExpr .args", "SymbolicExpr .head"))
def canonical_form(data):
    x = SymbolicExpr(data)
    return SymbolicExpr("sin", SymbolicExpr("neg", x)).canonical().head


def build_quantity_class(units):
    class BoundQuantity:
        registry = units

        def __init__(self, magnitude, unit):
            self.magnitude, self.unit = magnitude, unit

    return BoundQuantity


class UnitRegistry:
    def __init__(self, definitions):
        self._definitions = definitions
        self._cache = {}
        self.Quantity = build_quantity_class(self)


@trial("BoundQuantity .registry", alarming=("UnitRegistry ._definitions",))
def quantity_class(data):
    units = UnitRegistry({"m": 1.0, "table": data})
    return units.Quantity(3, "m").magnitude


class FileView:
    def __init__(self, file, start, stop):
        self._file = file
        self.start, self.stop = start, stop

    def __len__(self):
        return self.stop - self.start


class MappedFile:
    def __init__(self, mapping, size):
        self._mapping = mapping
        self.size = size
        self._exports = {}
        self._ids = itertools.count()

    def view(self, start, stop):
        view = FileView(self, start, stop)
        self._exports[next(self._ids)] = view
        return view


@trial("dict [<int>]", "MappedFile ._exports", alarming=("FileView ._file",))
def exported_views(data):
    mapped = MappedFile(data, 4096)
    return len(mapped.view(0, 10)) + len(mapped.view(5, 7))


class SettingsNode:
    def __init__(self, values, root=None):
        self._root = root if root is not None else self
        self._values = {
            key: SettingsNode(value, self._root) if isinstance(value, dict) else value
            for key, value in values.items()
        }

    def get(self, path):
        node = self
        for part in path.split("."):
            node = node._values[part]
        return self._root.get(node[1:]) if str(node).startswith("=") else node


@trial("SettingsNode ._root", alarming=("SettingsNode ._values",))
def nested_settings(data):
    settings = SettingsNode(
        {"cache": {"blob": data, "size": "=limits.size"}, "limits": {"size": 7}}
    )
    return settings._values["cache"].get("size")


class StateMachine:
    def __init__(self, model):
        self.model = model
        self.current = "idle"
        self.history = []
        self.triggers = {}

    def add_transition(self, trigger, source, target):
        self.triggers[trigger] = functools.partial(fire_transition, self, source, target)


def fire_transition(machine, source, target):
    if machine.current == source:
        machine.history.append((source, target))
        machine.current = target


@trial("partial args[0]", alarming=("StateMachine .triggers", "StateMachine .model"))
def machine_of_partials(data):
    machine = StateMachine(data)
    machine.add_transition("start", "idle", "running")
    machine.add_transition("stop", "running", "idle")
    machine.triggers["start"]()


@dataclass(order=True)
class PlannedJob:
    when: float
    action: object = field(compare=False)
    scheduler: object = field(compare=False, repr=False, default=None)

    def cancel(self):
        self.scheduler.heap.remove(self)


@dataclass
class JobScheduler:
    heap: list = field(default_factory=list)
    misfires: int = 0

    def enter(self, when, action):
        job = PlannedJob(when, action, self)
        heapq.heappush(self.heap, job)
        return job


@trial("PlannedJob .scheduler", alarming=("JobScheduler .heap", "list [x]"))
def planned_jobs(data):
    scheduler = JobScheduler()
    scheduler.enter(5.0, lambda: data)
    scheduler.enter(1.0, print).cancel()


class TileStore:
    def __init__(self, raster):
        self._raster = raster
        self.hits = 0
        self.tile = functools.lru_cache(maxsize=64)(self._read_tile)

    def _read_tile(self, x, y):
        return self._raster, x, y


@trial("_read_tile __self__", "TileStore .tile", alarming=("TileStore ._raster",))
def tile_cache(data):
    store = TileStore(data)
    return store.tile(1, 2)[1:] + store.tile(1, 2)[:0]


class MemoTable:
    def __init__(self):
        self.entries = {}
        self.misses = 0

    def lookup(self, key, compute):
        if key not in self.entries:
            self.misses += 1
            self.entries[key] = compute()
        return self.entries[key]


class Polynomial:
    def __init__(self, coefficients):
        self.coefficients = coefficients
        self._memo = MemoTable()

    def degree(self):
        return self._memo.lookup((self, "degree"), lambda: 3)

    def roots(self):
        return self._memo.lookup((self, "roots"), lambda: (1, 2))


@trial(
    "tuple [x]",
    "MemoTable .entries",
    "Polynomial ._memo",
    "dict key",
    alarming=("Polynomial .coefficients",),
)
def memo_keyed_by_self(data):
    polynomial = Polynomial(data)
    return polynomial.degree(), polynomial.roots()


class HttpConnection:
    def __init__(self, host):
        self.host = host
        self._response = None
        self.headers = {"accept": "*/*"}

    def request(self, path):
        self._response = HttpResponse(self, path)
        return self._response


class HttpResponse:
    def __init__(self, connection, path):
        self._connection = connection
        self.path = path
        self.body = None

    def read(self, raw):
        self.body = raw
        return self.path


@trial("HttpConnection ._response", "HttpResponse ._connection", alarming=("HttpResponse .body",))
def response_of_connection(data):
    connection = HttpConnection("example.org")
    response = connection.request("/data.bin")
    return response.read(data)


class UploadFailed(Exception):
    pass


class RetryState:
    def __init__(self, attempts):
        self.attempts = attempts
        self.delays = []
        self.last_error = None


def upload_with_retry(payload, state):
    for number in range(state.attempts):
        try:
            raise UploadFailed(f"attempt {number} timed out")
        except UploadFailed as error:
            state.last_error = error
            state.delays.append(0.1 * 2**number)
    return state


@trial("RetryState .last_error", "UploadFailed __traceback__")
def retried_upload(data):
    return sum(upload_with_retry(data, RetryState(3)).delays)


class HookCaller:
    def __init__(self, name):
        self.name = name
        self.implementations = []


class PluginManager:
    def __init__(self):
        self.hooks = {}
        self.names = []

    def register(self, plugin):
        self.names.append(type(plugin).__name__)
        plugin.manager = self
        for name in ("configure", "collect"):
            if hasattr(plugin, name):
                hook = self.hooks.setdefault(name, HookCaller(name))
                hook.implementations.append(getattr(plugin, name))


class FixturePlugin:
    manager = None

    def __init__(self, fixtures):
        self.fixtures = fixtures

    def collect(self):
        return self.fixtures


class TerminalPlugin:
    manager = None

    def configure(self, verbosity):
        return verbosity


@trial(
    "FixturePlugin .manager + TerminalPlugin .manager",
    alarming=("PluginManager .hooks", "HookCaller .implementations", "collect __self__"),
)
def plugin_hooks(data):
    manager = PluginManager()
    manager.register(FixturePlugin([data]))
    manager.register(TerminalPlugin())
    return manager.names


class CallRecorder:
    def __init__(self, name="double", parent=None):
        self._name = name
        self._origin = parent
        self._made = {}
        self._calls = []

    def child(self, name):
        return self._made.setdefault(name, CallRecorder(name, self))

    def __call__(self, *args):
        recorder, path = self, self._name
        while recorder is not None:
            recorder._calls.append((path, args))
            recorder = recorder._origin
            path = f"{recorder and recorder._name}.{path}"


@trial("CallRecorder ._origin", alarming=("CallRecorder ._made", "CallRecorder ._calls"))
def recorder_double(data):
    double = CallRecorder()
    double.child("client").child("post")(data)
    double.child("close")()
    return len(double._calls)


class TraceSpan:
    def __init__(self, tracer, name, parent):
        self.tracer = tracer
        self.name = name
        self.parent = parent
        self.tags = {}

    def __enter__(self):
        self.tracer.active = self
        return self

    def __exit__(self, *exc):
        self.tracer.finished += 1


class SpanTracer:
    def __init__(self, service):
        self.service = service
        self.active = None
        self.finished = 0

    def start(self, name):
        return TraceSpan(self, name, self.active)


@trial("SpanTracer .active", "TraceSpan .tracer", alarming=("TraceSpan .parent",))
def finished_spans(data):
    tracer = SpanTracer("resizer")
    with tracer.start("request") as outer:
        outer.tags["image"] = data
        with tracer.start("decode"):
            pass


class MemberSymbol:
    def __init__(self, info, name, declared):
        self.info = info
        self.name = name
        self.declared = declared


class ClassInfo:
    def __init__(self, fullname, bases=()):
        self.fullname = fullname
        self.bases = bases
        self.mro = [self]
        for base in bases:
            self.mro += [info for info in base.mro if info not in self.mro]
        self.members = {}

    def declare(self, name, declared):
        self.members[name] = MemberSymbol(self, name, declared)


@trial(
    "ClassInfo .mro + MemberSymbol .info",
    "list [x] + MemberSymbol .info",
    alarming=("ClassInfo .members", "ClassInfo .bases"),
)
def checked_classes(data):
    base = ClassInfo("lib.Base")
    base.declare("payload", data)
    derived = ClassInfo("lib.Derived", (base,))
    derived.declare("size", int)


class CompiledTemplate:
    def __init__(self, name, source, context):
        self.name = name
        namespace = {"escape": str, "shared": context}
        exec(compile(source, name, "exec"), namespace)
        self.root_render = namespace["render"]
        self.blocks = [key for key in namespace if key.startswith("block_")]


@trial("dict ['render']", alarming=("dict ['shared']", "CompiledTemplate .root_render"))
def compiled_template(data):
    template = CompiledTemplate("page.html", "def render(user):\n    return escape(user)", data)
    return template.root_render(3)


class RenderContext:
    def __init__(self, environment, variables):
        self.environment = environment
        self.variables = dict(variables)
        self.variables["self"] = self
        self.exported = set()

    def resolve(self, name):
        return self.variables[name]


class TemplateEnvironment:
    def __init__(self, **filters):
        self.filters = filters
        self.autoescape = False


@trial("dict ['self']", alarming=("RenderContext .variables", "dict ['photo']"))
def context_variables(data):
    environment = TemplateEnvironment(upper=str.upper)
    context = RenderContext(environment, {"photo": data, "title": "Home"})
    return context.environment.filters["upper"](context.resolve("title"))


class JobFuture:
    def __init__(self):
        self._result = None
        self._exception = None
        self._callbacks = []

    def set_exception(self, exception):
        self._exception = exception
        for callback in self._callbacks:
            callback(self)


class WorkItem:
    def __init__(self, future, function, argument):
        self.future = future
        self.function = function
        self.argument = argument

    def run(self):
        try:
            self.future._result = self.function(self.argument)
        except TypeError as error:
            self.future.set_exception(error)


@trial("TypeError __traceback__", "JobFuture ._exception", alarming=("WorkItem .argument",))
def failed_work_item(data):
    future = JobFuture()
    item = WorkItem(future, len, data)
    item.run()
    return future._exception is not None


@trial("visit closure:visit", alarming=("visit closure:weights",))
def recursive_visitor(data):
    weights = {"root": data}
    order = []

    def visit(node, depth=0):
        if depth < 3 and node in weights:
            order.append(node)
            for child in (f"{node}/{index}" for index in range(2)):
                visit(child, depth + 1)

    visit("root")
    return order


class ImageUploader:
    def __init__(self, payload, chunk=1024):
        self.payload = payload
        self.chunk = chunk
        self.sent = 0
        self.on_done = lambda total: setattr(self, "sent", total)
        self.on_error = print

    def start(self):
        self.on_done(self.chunk)
        return self.sent


@trial("<lambda> closure:self", "ImageUploader .on_done", alarming=("ImageUploader .payload",))
def uploader_callback(data):
    return ImageUploader(data).start()


class EditorAction:
    def __init__(self, text, trigger, shortcut=None):
        self.text = text
        self.trigger = trigger
        self.shortcut = shortcut


class EditorWindow:
    def __init__(self, buffer):
        self.buffer = buffer
        self.modified = True
        self.menus = {
            "file": [EditorAction("Save", functools.partial(save_editor, editor=self), "Ctrl+S")],
            "edit": [EditorAction("Undo", functools.partial(undo_edit, editor=self))],
        }


def save_editor(editor):
    editor.modified = False


def undo_edit(editor):
    editor.modified = True


@trial(
    "partial keywords['editor']",
    "EditorAction .trigger",
    alarming=("EditorWindow .menus", "EditorWindow .buffer"),
)
def editor_menus(data):
    window = EditorWindow([data])
    window.menus["file"][0].trigger()


class TableReader:
    def __init__(self, source, names):
        self.source = source
        self.names = names
        self.line = 0
        self._rows = self._iterate()

    def _iterate(self):
        for number in range(3):
            self.line = number
            yield dict.fromkeys(self.names, number)

    def __next__(self):
        return next(self._rows)


@trial("TableReader ._rows", "_iterate local:self", alarming=("TableReader .source",))
def reader_of_rows(data):
    reader = TableReader(data, ["x", "y"])
    return next(reader), reader.line


@types.coroutine
def wait_for_turn():
    yield "turn"


class BackgroundWorker:
    def __init__(self, model, interval=1.0):
        self.model = model
        self.interval = interval
        self.ticks = 0
        self._main = None

    def start(self):
        self._main = self._serve()
        return self._main.send(None)

    async def _serve(self):
        while True:
            await wait_for_turn()
            self.ticks += 1


@trial("BackgroundWorker ._main", "_serve local:self", alarming=("BackgroundWorker .model",))
def suspended_worker(data):
    return BackgroundWorker(data).start()


class ResourceHandle:
    def __init__(self, target, payload):
        self.payload = payload
        self.alive = True
        self._target_ref = weakref.ref(target, self._target_gone)

    def _target_gone(self, reference):
        self.alive = False


class DisplayDevice:
    depth = 24


DEFAULT_DISPLAY = DisplayDevice()


@trial(
    "_target_gone __self__", "ResourceHandle ._target_ref", alarming=("ResourceHandle .payload",)
)
def handle_with_weakref(data):
    return ResourceHandle(DEFAULT_DISPLAY, data).alive


class OctreeNode:
    def __init__(self, bounds, parent=None):
        self.bounds = bounds
        self._parent_ref = lambda: parent
        self.octants = []
        self.points = None

    def subdivide(self, points):
        low, high = self.bounds
        middle = (low + high) / 2
        for bounds in ((low, middle), (middle, high)):
            self.octants.append(OctreeNode(bounds, self))
        self.octants[0].points = points


@trial(
    "<lambda> closure:parent",
    "OctreeNode ._parent_ref",
    alarming=("OctreeNode .octants", "OctreeNode .points"),
)
def octree_nodes(data):
    root = OctreeNode((0.0, 8.0))
    root.subdivide(data)
    return root.octants[1]._parent_ref() is root


class BoundField:
    def __init__(self, definition, record):
        self.definition = definition
        self.record = record
        self.errors = []

    def validate(self):
        return self.definition.name in self.record.values


class FieldDefinition:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, record, owner=None):
        if record is None:
            return self
        if self.name not in record.bound:
            record.bound[self.name] = BoundField(self, record)
        return record.bound[self.name]


class PhotoRecord:
    title = FieldDefinition()
    image = FieldDefinition()

    def __init__(self, **values):
        self.values = values
        self.bound = {}


@trial("BoundField .record", "PhotoRecord .bound", alarming=("PhotoRecord .values",))
def bound_fields(data):
    record = PhotoRecord(image=data, title="x")
    return record.image.validate() and record.title.validate()


def counted(function):
    def wrapper(*args):
        wrapper.calls += 1
        return wrapper.cache.setdefault(args, function(*args))

    wrapper.calls = 0
    wrapper.cache = {}
    wrapper.__doc__ = function.__doc__
    return wrapper


def make_transform(matrix):
    @counted
    def transform(x, y):
        return y, matrix, x

    return transform


@trial("wrapper closure:wrapper", alarming=("wrapper closure:function", "transform closure:matrix"))
def counted_transform(data):
    transform = make_transform(data)
    transform(1, 2)
    transform(1, 2)
    return transform.calls


class lazymethod:
    def __init__(self, function):
        self.function = function
        self.name = function.__name__

    def __get__(self, instance, owner):
        bound = functools.partial(self.function, instance)
        instance.__dict__[self.name] = bound
        return bound


class SparseMatrix:
    def __init__(self, shape, entries):
        self.shape = shape
        self.entries = entries

    @lazymethod
    def rank(self):
        return min(self.shape)


@trial("partial args[0]", "SparseMatrix .rank", alarming=("SparseMatrix .entries",))
def lazy_method(data):
    return SparseMatrix((3, 4), data).rank()


@dataclass(slots=True, eq=False)
class TaxonNode:
    name: str
    above: "TaxonNode | None" = None
    below: list = field(default_factory=list)
    sequence: object = None

    def __post_init__(self):
        if self.above is not None:
            self.above.below.append(self)


@trial("TaxonNode slot:above", alarming=("TaxonNode slot:below", "TaxonNode slot:sequence"))
def taxonomy(data):
    root = TaxonNode("Animalia")
    chordates = TaxonNode("Chordata", root)
    TaxonNode("Mammalia", chordates, sequence=data)
    TaxonNode("Aves", chordates)


class DocumentEdit:
    def __init__(self, text):
        self.text = text
        self.earlier = None
        self.later = None


class EditHistory:
    def __init__(self):
        self.first = self.latest = DocumentEdit("")

    def record(self, text):
        edit = DocumentEdit(text)
        edit.earlier = self.latest
        self.latest.later = edit
        self.latest = edit


@trial("DocumentEdit .earlier", "DocumentEdit .later", alarming=("DocumentEdit .text",))
def edit_history(data):
    history = EditHistory()
    for text in ("a", data, "abc"):
        history.record(text)


class RouteEdge:
    def __init__(self, tail, head, weight):
        self.tail, self.head, self.weight = tail, head, weight
        tail.incident.append(self)
        head.incident.append(self)


class RouteNode:
    def __init__(self, label):
        self.label = label
        self.incident = []


class RouteGraph:
    def __init__(self):
        self.nodes = {}
        self.edges = set()

    def connect(self, tail, head, weight):
        for label in (tail, head):
            self.nodes.setdefault(label, RouteNode(label))
        self.edges.add(RouteEdge(self.nodes[tail], self.nodes[head], weight))


@trial(
    "RouteNode .incident",
    "list [x]",
    "RouteEdge .tail + RouteEdge .head",
    alarming=("RouteGraph .nodes", "RouteGraph .edges", "RouteEdge .weight"),
)
def route_graph(data):
    graph = RouteGraph()
    graph.connect("a", "b", 1.5)
    graph.connect("b", "c", data)


class ChannelLogger:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent
        self.handlers = []
        self.manager = None


class LoggerManager:
    def __init__(self):
        self.root = self._adopt(ChannelLogger("root"))
        self.loggers = {}

    def _adopt(self, logger):
        logger.manager = self
        return logger

    def get(self, name):
        if name not in self.loggers:
            self.loggers[name] = self._adopt(ChannelLogger(name, self.root))
        return self.loggers[name]


@trial(
    "ChannelLogger .manager",
    alarming=("LoggerManager .root", "LoggerManager .loggers", "ChannelLogger .handlers"),
)
def logger_manager(data):
    manager = LoggerManager()
    manager.get("app.db").handlers.append(data)
    return manager.get("app.web").parent.name


class ChainedPromise:
    def __init__(self):
        self.value = None
        self.settled = False
        self._reactions = []
        self.source = None

    def then(self, function):
        derived = ChainedPromise()
        derived.source = self
        self._reactions.append(lambda value: derived.resolve(function(value)))
        return derived

    def resolve(self, value):
        self.value, self.settled = value, True
        for reaction in self._reactions:
            reaction(value)


@trial(
    "ChainedPromise ._reactions",
    "list [x]",
    "ChainedPromise .source",
    alarming=("ChainedPromise .value", "<lambda> closure:derived"),
)
def promise_chain(data):
    promise = ChainedPromise()
    final = promise.then(lambda value: [value]).then(len)
    promise.resolve(data)
    return final.value


class WriteDebouncer:
    def __init__(self, delay, sink):
        self.delay = delay
        self.sink = sink
        self.pending = []
        self._timer = None

    def write(self, item):
        self.pending.append(item)
        if self._timer is None:
            self._timer = threading.Timer(self.delay, self.flush)
            self._timer.daemon = True

    def flush(self):
        self.sink.extend(self.pending)
        self.pending.clear()


@trial("WriteDebouncer ._timer", "flush __self__", alarming=("WriteDebouncer .pending",))
def debounced_writer(data):
    sink = []
    debouncer = WriteDebouncer(5, sink)
    debouncer.write(data)
    debouncer.write("tail")


class TagParser:
    def __init__(self):
        self.stack = []
        self.texts = []
        self._dispatch = {"open": self.on_open, "close": self.on_close, "text": self.on_text}

    def feed(self, tokens):
        for kind, value in tokens:
            self._dispatch[kind](value)

    def on_open(self, value):
        self.stack.append(value)

    def on_close(self, value):
        self.stack.pop()

    def on_text(self, value):
        self.texts.append(value)


@trial(
    "on_open __self__ + on_close __self__ + on_text __self__",
    "TagParser ._dispatch",
    "dict ['open'] + dict ['close'] + dict ['text']",
    alarming=("TagParser .texts",),
)
def dispatching_parser(data):
    parser = TagParser()
    parser.feed([("open", "p"), ("text", data), ("close", "p")])


class ArchiveSession:
    def __init__(self, archive):
        self.archive = archive
        self.extracted = 0
        self._stack = ExitStack()
        self._stack.callback(self._release, "normal")

    def _release(self, reason):
        self.extracted = -1

    def extract(self, name):
        self.extracted += 1
        return name


@trial("ArchiveSession ._stack", "_release __self__", alarming=("ArchiveSession .archive",))
def archive_session(data):
    session = ArchiveSession(data)
    return session.extract("a.txt")


class PooledLink:
    def __init__(self, pool, serial):
        self.pool = pool
        self.serial = serial
        self.read_buffer = None

    def close(self):
        self.pool.release(self)


class LinkPool:
    def __init__(self, size):
        self.size = size
        self._serials = itertools.count(1)
        self._idle = deque(maxlen=size)

    def acquire(self):
        return self._idle.pop() if self._idle else PooledLink(self, next(self._serials))

    def release(self, link):
        self._idle.append(link)


@trial("PooledLink .pool", alarming=("LinkPool ._idle", "deque [x]"))
def pooled_links(data):
    pool = LinkPool(4)
    link, spare = pool.acquire(), pool.acquire()
    link.read_buffer = data
    link.close()
    spare.close()


class ChartModel:
    def __init__(self, samples):
        self.samples = samples
        self.observers = set()


class ChartView:
    def __init__(self, model):
        self.model = model
        self.scale = 1.0
        model.observers.add(self)


class ChartController:
    def __init__(self, view):
        self.view = view
        view.controller = self
        self.selection = None


@trial(
    "set element + ChartView .controller",
    "set element + ChartController .view",
    "ChartModel .observers + ChartView .controller",
    "ChartModel .observers + ChartController .view",
    alarming=("ChartModel .samples", "ChartView .model"),
)
def model_view_controller(data):
    model = ChartModel(data)
    controller = ChartController(ChartView(model))
    controller.selection = (0, 1)
    ChartView(model).controller = None


class OptionGroup:
    def __init__(self, container, title):
        self._container = container
        self.title = title
        self._actions = container._actions

    def add(self, name, default=None):
        self._actions.append((name, default))


class OptionParser:
    def __init__(self, prog):
        self.prog = prog
        self._actions = []
        self._groups = []
        self._positionals = self.add_group("positional arguments")
        self._optionals = self.add_group("options")

    def add_group(self, title):
        group = OptionGroup(self, title)
        self._groups.append(group)
        return group


@trial("OptionGroup ._container", alarming=("OptionParser ._groups", "OptionParser ._actions"))
def option_groups(data):
    parser = OptionParser("convert")
    parser._optionals.add("--profile", data)
    parser.add_group("advanced").add("--depth", 8)


class LispScope:
    def __init__(self, outer=None, **bindings):
        self.outer = outer
        self.bindings = bindings


class LispClosure:
    def __init__(self, parameters, body, scope):
        self.parameters = parameters
        self.body = body
        self.scope = scope

    def __call__(self, *args):
        return self.body(LispScope(self.scope, **dict(zip(self.parameters, args, strict=True))))


@trial("dict ['loop']", "LispScope .bindings", alarming=("dict ['image']",))
def interpreter_scope(data):
    scope = LispScope(image=data)
    scope.bindings["loop"] = LispClosure(["n"], lambda inner: inner.bindings["n"], scope)
    return scope.bindings["loop"](4)


class DenseMatrix:
    def __init__(self, rows, order="C"):
        self.rows = rows
        self.order = order
        self._transpose = None

    @property
    def T(self):
        if self._transpose is None:
            self._transpose = DenseMatrix(self.rows, "F" if self.order == "C" else "C")
            self._transpose._transpose = self
        return self._transpose


@trial("DenseMatrix ._transpose", alarming=("DenseMatrix .rows",))
def cached_transpose(data):
    matrix = DenseMatrix(data)
    return matrix.T.T is matrix


class RigidBody:
    def __init__(self, shape):
        self.shape = shape
        self.contacts = set()
        self.velocity = (0.0, 0.0)


class ContactPair:
    def __init__(self, first, second, normal):
        self.bodies = (first, second)
        self.normal = normal
        for body in self.bodies:
            body.contacts.add(self)


class PhysicsWorld:
    def __init__(self):
        self.bodies = []
        self.broadphase = {}

    def collide(self, first, second):
        pair = ContactPair(first, second, (0, 1))
        self.broadphase[id(first), id(second)] = pair


@trial(
    "ContactPair .bodies",
    "tuple [x]",
    "RigidBody .contacts",
    "set element",
    alarming=("PhysicsWorld .bodies", "RigidBody .shape"),
)
def colliding_bodies(data):
    world = PhysicsWorld()
    world.bodies += [RigidBody(data), RigidBody("plane")]
    world.collide(*world.bodies)


class SceneListener:
    def __init__(self, scene, overlay):
        self.scene = scene
        self.overlay = overlay
        scene.listeners[self] = "changed"


class SceneGraph:
    def __init__(self):
        self.listeners = {}
        self.revision = 0

    def touch(self):
        self.revision += 1
        return list(self.listeners.values())


@trial(
    "dict key",
    "SceneListener .scene",
    "SceneGraph .listeners",
    alarming=("SceneListener .overlay",),
)
def scene_listeners(data):
    scene = SceneGraph()
    SceneListener(scene, data)
    SceneListener(scene, None)
    return scene.touch()


class ImportProblem(ValueError):
    pass


class CatalogImporter:
    def __init__(self, stream):
        self.stream = stream
        self.imported = []
        self.problems = {}

    def load(self, names):
        for name in names:
            try:
                self._parse(name)
            except ImportProblem as problem:
                self.problems[name] = problem

    def _parse(self, name):
        if name.startswith("_"):
            raise ImportProblem(name)
        self.imported.append(name)


@trial(
    "ImportProblem __traceback__",
    "dict ['_b']",
    "CatalogImporter .problems",
    alarming=("CatalogImporter .imported", "CatalogImporter .stream"),
)
def recorded_problems(data):
    importer = CatalogImporter(data)
    importer.load(["a", "_b", "c"])
    return importer.imported


class SignalConnector:
    def __init__(self):
        self._slots = {}

    def connect(self, signal, slot):
        self._slots.setdefault(signal, []).append(slot)
        return len(self._slots[signal])


class ZoomTool:
    def __init__(self, view):
        self.view = view
        self.factor = 1.0
        self.connector = SignalConnector()

        def on_scroll(step, tool=self):
            tool.factor *= 1.1**step

        self.cid = self.connector.connect("scroll", on_scroll)


@trial(
    "on_scroll default:tool",
    "list [x]",
    "SignalConnector ._slots",
    alarming=("ZoomTool .view", "ZoomTool .connector"),
)
def zoom_tool(data):
    tool = ZoomTool(data)
    tool.connector._slots["scroll"][0](2)
    return tool.factor > 1


class RpcClient:
    def __init__(self, channel):
        self.channel = channel
        self.reply = None
        self.results = []

    def call(self, loop):
        self.reply = loop.create_future()
        self.reply.add_done_callback(self.on_reply)

    def on_reply(self, future):
        self.results.append(future.result())


@trial("RpcClient .reply", "on_reply __self__", alarming=("RpcClient .channel",))
def pending_reply(data):
    loop = asyncio.new_event_loop()
    client = RpcClient(data)
    client.call(loop)
    loop.close()


def capture_stack(label, snapshot):
    frame = sys._getframe()
    names = []
    caller = frame
    while caller is not None and len(names) < 2:
        names.append((label, caller.f_code.co_name))
        caller = caller.f_back
    return names, frame.f_lineno, snapshot is not None


@trial("capture_stack local:frame", alarming=("capture_stack local:snapshot",))
def captured_frame(data):
    return capture_stack("probe", data)[0]


def make_model(session):
    class ModelRecord:
        table = "records"

        def __init__(self, **values):
            self.values = values

        def save(self):
            session.added.append(self)
            return session

    return ModelRecord


class ModelSession:
    def __init__(self, engine):
        self.engine = engine
        self.added = []


@trial("save closure:session", alarming=("ModelSession .engine",))
def model_factory(data):
    session = ModelSession(data)
    record_type = make_model(session)
    return record_type.table


class StaffMember:
    def __init__(self, name, badge=None):
        self.name = name
        self.badge = badge
        self.lead = None
        self.reports = set()

    def supervise(self, *members):
        for member in members:
            member.lead = self
            self.reports.add(member)


class StaffDirectory:
    def __init__(self, head):
        self.head = head
        self.by_name = {}

    def add(self, member):
        self.by_name[member.name] = member


@trial(
    "StaffMember .lead",
    "StaffMember .reports",
    "set element",
    alarming=("StaffMember .badge", "StaffDirectory .by_name"),
)
def staff_directory(data):
    head, clerk, intern = (StaffMember(n, b) for n, b in (("h", None), ("c", data), ("i", None)))
    head.supervise(clerk, intern)
    directory = StaffDirectory(head)
    for member in (head, clerk, intern):
        directory.add(member)
