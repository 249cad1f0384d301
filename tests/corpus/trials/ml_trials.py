# SPDX-License-Identifier: Apache-2.0
"""Sixty-four small training and inference programs whose objects outlive their use.

Every function below takes a substitute for a tensor, creates and uses objects like those of a
library of its kind, and returns None.
"""

import asyncio
import contextlib
import contextvars
import functools
import itertools
import time
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial

from registry import trial


class Tokenizer:
    def __init__(self, table, specials=("<pad>", "<eos>")):
        self.table = table
        self.special_ids = {name: i for i, name in enumerate(specials)}
        self.backend = BpeBackend(self)

    def encode(self, text):
        return self.backend.merge(text.split()) + [self.special_ids["<eos>"]]


class BpeBackend:
    def __init__(self, owner):
        self.owner = owner
        self.merges = {}

    def merge(self, words):
        start = len(self.owner.special_ids)
        return [self.merges.setdefault(w, start + len(self.merges)) for w in words]


@trial("BpeBackend .owner", alarming=("Tokenizer .backend", "Tokenizer .table"))
def tokenizer_backend(data):
    tokenizer = Tokenizer(data)
    tokenizer.encode("the cat sat on the mat")


class FitCallback:
    trainer = None

    def set_trainer(self, trainer):
        self.trainer = trainer


class EarlyStop(FitCallback):
    def __init__(self, patience):
        self.patience, self.bad = patience, 0

    def epoch_end(self, loss):
        self.bad = self.bad + 1 if loss > self.trainer.best else 0


class CsvHistory(FitCallback):
    def __init__(self):
        self.rows = []

    def epoch_end(self, loss):
        self.rows.append((self.trainer.epoch, loss))


class FitLoop:
    def __init__(self, weights, callbacks):
        self.weights, self.callbacks = weights, callbacks
        self.epoch, self.best = 0, 1.0
        for callback in callbacks:
            callback.set_trainer(self)


@trial(
    "EarlyStop .trainer + CsvHistory .trainer",
    alarming=("FitLoop .callbacks", "FitLoop .weights", "list [x]"),
)
def fit_loop_callbacks(data):
    loop = FitLoop(data, [EarlyStop(3), CsvHistory()])
    for loop.epoch in range(2):
        for callback in loop.callbacks:
            callback.epoch_end(0.5)


class GradParam:
    def __init__(self, value):
        self.value = value
        self.post_hooks = []


class OverlappedSgd:
    def __init__(self, params, lr=0.1):
        self.groups = {"params": tuple(params), "lr": lr}
        self.ready = 0
        for param in self.groups["params"]:
            param.post_hooks.append(self.accumulate)

    def accumulate(self, param):
        self.ready += 1


@trial(
    "accumulate __self__",
    "list [x]",
    "GradParam .post_hooks",
    alarming=("dict ['params']", "tuple [x]", "OverlappedSgd .groups", "GradParam .value"),
)
def optimizer_post_hooks(data):
    optimizer = OverlappedSgd([GradParam(data), GradParam(None)])
    for param in optimizer.groups["params"]:
        for hook in param.post_hooks:
            hook(param)


class MomentumSgd:
    def __init__(self, weights):
        self.weights = weights
        self.state = {"buf": None}

    def step(self):
        return 1


class WarmupSchedule:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.optimizer.step = self.count_calls(optimizer.step)

    @staticmethod
    def count_calls(method):
        def counted(*args):
            counted.calls = getattr(method, "calls", 0) + 1
            return method(*args)

        return counted


@trial(
    "step __self__",
    "counted closure:method",
    alarming=("MomentumSgd .weights",),
)
def schedule_patches_step(data):
    schedule = WarmupSchedule(MomentumSgd(data))
    schedule.optimizer.step()


class LayerNode:
    def __init__(self, name, weight=None):
        self.name, self.weight = name, weight
        self.parent = None
        self.layers = OrderedDict()

    def add(self, layer):
        layer.parent = self
        self.layers[layer.name] = layer
        return layer

    def path(self):
        prefix = self.parent.path() + "." if self.parent else ""
        return prefix + self.name


@trial("LayerNode .parent", alarming=("LayerNode .layers", "LayerNode .weight"))
def layer_tree(data):
    root = LayerNode("net")
    block = root.add(LayerNode("block"))
    block.add(LayerNode("fc", data)).path()


class Backbone:
    def __init__(self):
        self.forward_hooks = {}
        self.ids = itertools.count()

    def register(self, hook):
        key = next(self.ids)
        self.forward_hooks[key] = hook
        return key

    def __call__(self, x):
        for hook in self.forward_hooks.values():
            hook(self, x)
        return x


class FeatureExtractor:
    def __init__(self, backbone):
        self.backbone, self.features = backbone, {}
        self.keys = [backbone.register(self.make_hook(n)) for n in ("stem", "head")]

    def make_hook(self, name):
        def capture(module, output):
            self.features[name] = output

        return capture


@trial(
    "capture closure:self",
    "dict [int]",
    alarming=("FeatureExtractor .backbone", "FeatureExtractor .features"),
)
def extractor_hooks(data):
    extractor = FeatureExtractor(Backbone())
    extractor.backbone(data)


class ShardLoader:
    def __init__(self, dataset, persistent=True):
        self.dataset = dataset
        self.persistent = persistent
        self._iterator = None

    def __iter__(self):
        if self._iterator is None or not self.persistent:
            self._iterator = ShardIterator(self)
        return self._iterator


class ShardIterator:
    def __init__(self, loader):
        self._loader = loader
        self._left = 2

    def __next__(self):
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self._loader.dataset


@trial("ShardLoader ._iterator", "ShardIterator ._loader", alarming=("ShardLoader .dataset",))
def persistent_loader(data):
    loader = ShardLoader(data)
    for batch in loader:
        assert batch is data


@trial("split closure:split", alarming=("split closure:weights",))
def recursive_split(data):
    weights = {"alias": data, "count": 8}
    leaves = []

    def split(low, high):
        if high - low < 2:
            leaves.append((low, weights["count"]))
            return
        middle = (low + high) // 2
        split(low, middle)
        split(middle, high)

    split(0, 8)


class RunningMean:
    def __init__(self, state, nan_safe=False):
        self.state, self.count, self.total = state, 0, 0.0
        self.finish = (lambda: self.total / max(self.count, 1)) if not nan_safe else None

    def update(self, value):
        self.total += value
        self.count += 1


@trial("<lambda> closure:self", "RunningMean .finish", alarming=("RunningMean .state",))
def metric_lambda(data):
    mean = RunningMean(data)
    mean.update(2.0)
    mean.finish()


class StudentNet:
    def __init__(self, weights):
        self.weights, self.ema, self.frozen = weights, None, set()


class EmaCopy:
    def __init__(self, source, decay=0.99):
        self.source, self.decay = source, decay
        self.shadow = [source.weights]
        source.ema = self

    def update(self):
        self.shadow[0] = self.source.weights


@trial(
    "StudentNet .ema",
    "EmaCopy .source",
    alarming=("StudentNet .weights", "EmaCopy .shadow"),
)
def ema_copy(data):
    ema = EmaCopy(StudentNet(data))
    ema.update()


class Transition:
    __slots__ = ("next", "obs", "prev", "reward")

    def __init__(self, obs, reward):
        self.obs, self.reward = obs, reward
        self.prev = self.next = None


class EpisodeBuffer:
    def __init__(self):
        self.head = self.tail = None

    def push(self, item):
        if self.tail is None:
            self.head = item
        else:
            item.prev, self.tail.next = self.tail, item
        self.tail = item

    def returns(self, gamma):
        total, item = 0.0, self.tail
        while item is not None:
            total, item = item.reward + gamma * total, item.prev
        return total


@trial("Transition slot:prev", alarming=("Transition slot:next", "Transition slot:obs"))
def episode_chain(data):
    buffer = EpisodeBuffer()
    for step in range(3):
        buffer.push(Transition(data, step))
    buffer.returns(0.9)


class GridWorld:
    def __init__(self):
        self.listeners = []

    def step(self, action):
        for listener in self.listeners:
            listener(action, 1.0)


class QAgent:
    def __init__(self, env, table):
        self.env, self.table, self.seen = env, table, 0
        env.listeners.append(self.observe)

    def observe(self, action, reward):
        self.seen += 1

    def act(self):
        self.env.step(self.seen)


@trial("observe __self__", "list [x]", alarming=("QAgent .env", "QAgent .table"))
def agent_and_world(data):
    QAgent(GridWorld(), data).act()


def flush_run(run, step):
    run.flushed = step


class FileSink:
    def __init__(self, path, on_full):
        self.path, self.lines, self.on_full = path, [], on_full

    def write(self, line):
        self.lines.append(line)
        self.on_full(step=len(self.lines))


class RunLogger:
    def __init__(self, artifact):
        self.artifact, self.flushed = artifact, 0
        self.sinks = {"text": FileSink("run.log", partial(flush_run, self))}


@trial(
    "partial args[0]",
    "FileSink .on_full",
    alarming=("RunLogger .sinks", "RunLogger .artifact", "dict ['text']"),
)
def logger_sink(data):
    RunLogger(data).sinks["text"].write("loss=0.1")


class SavedState:
    def __init__(self, manager, step, payload):
        self.manager, self.step, self.payload = manager, step, payload

    @property
    def is_latest(self):
        return max(self.manager.saved) == self.step


class CheckpointKeeper:
    def __init__(self, keep=2):
        self.keep, self.saved, self.stats = keep, {}, defaultdict(int)

    def save(self, step, payload):
        self.saved[step] = SavedState(self, step, payload)
        self.stats["saves"] += 1
        while len(self.saved) > self.keep:
            del self.saved[min(self.saved)]


@trial(
    "SavedState .manager",
    alarming=("CheckpointKeeper .saved", "dict [int]", "SavedState .payload"),
)
def checkpoint_keeper(data):
    keeper = CheckpointKeeper()
    for step in range(4):
        keeper.save(step, data)
    assert keeper.saved[3].is_latest


class TimedSpan:
    def __init__(self, profiler, name):
        self.profiler, self.name = profiler, name
        self.enclosing, self.inner, self.tensor = None, [], None

    def __enter__(self):
        self.enclosing = self.profiler.current
        if self.enclosing is not None:
            self.enclosing.inner.append(self)
        self.start, self.profiler.current = time.monotonic(), self
        return self

    def __exit__(self, *exc_info):
        self.elapsed = time.monotonic() - self.start
        self.profiler.current = self.enclosing


class SpanProfiler:
    current = None


@trial("TimedSpan .enclosing", alarming=("TimedSpan .inner", "TimedSpan .tensor", "list [x]"))
def profiler_spans(data):
    profiler = SpanProfiler()
    with TimedSpan(profiler, "step"), TimedSpan(profiler, "forward") as span:
        span.tensor = data


class ScalarValue:
    def __init__(self, data, inputs=()):
        self.data, self.grad, self.inputs = data, 0.0, set(inputs)
        self._backward = None

    def __add__(self, other):
        out = ScalarValue(self.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out


@trial(
    "_backward closure:out",
    "ScalarValue ._backward",
    alarming=("ScalarValue .data", "_backward closure:self", "_backward closure:other"),
)
def scalar_autograd(data):
    total = ScalarValue(data) + ScalarValue(data) + ScalarValue(data)
    total.grad = 1.0
    total._backward()


def bucket_ready(bucket, *, wrapper):
    wrapper.pending.discard(bucket)


class Reducer:
    def __init__(self, buckets, ready):
        self.buckets, self.ready = list(buckets), ready


class ReplicaWrapper:
    def __init__(self, module, world=2):
        self.module, self.pending = module, {0, 1}
        self.rank_info = {"world": world, "rank": 0}
        self.reducer = Reducer(range(2), ready=partial(bucket_ready, wrapper=self))

    def backward(self):
        for bucket in self.reducer.buckets:
            self.reducer.ready(bucket)


@trial(
    "partial keywords['wrapper']",
    "Reducer .ready",
    alarming=("ReplicaWrapper .module", "ReplicaWrapper .reducer"),
)
def replica_reducer(data):
    ReplicaWrapper(data).backward()


class DecodeSession:
    def __init__(self, engine):
        self.engine, self.positions = engine, []

    def run(self, prompt):
        self.positions.append(len(prompt) % self.engine.max_len)


class ServingEngine:
    def __init__(self, weights):
        self.weights, self.max_len = weights, 16

    @functools.cached_property
    def session(self):
        return DecodeSession(self)


@trial("DecodeSession .engine", "ServingEngine .session", alarming=("ServingEngine .weights",))
def cached_session(data):
    engine = ServingEngine(data)
    engine.session.run("hello")


class JobRecord:
    def __init__(self, name, inputs):
        self.name, self.inputs, self.error, self.tries = name, inputs, None, 0


def execute_job(record):
    record.tries += 1
    try:
        raise ValueError(f"bad shape in {record.name}")
    except ValueError as error:
        record.error = error


@trial("ValueError __traceback__", "JobRecord .error", alarming=("JobRecord .inputs",))
def failed_job(data):
    record = JobRecord("resize", data)
    execute_job(record)
    assert record.tries == 1


class PendingReply:
    def __init__(self):
        self.value, self.exc = None, None

    def result(self):
        if self.exc is not None:
            raise self.exc
        return self.value


@trial("RuntimeError __traceback__", "PendingReply .exc")
def reply_exception(data):
    def collect_reply(batch):
        reply = PendingReply()
        reply.exc = RuntimeError("worker died")
        return reply.result(), batch

    try:
        collect_reply(data)
    except RuntimeError:
        pass


class Prefetcher:
    def __init__(self, source, depth=2):
        self.source, self.depth, self.served = source, depth, 0
        self.stream = self._produce()

    def _produce(self):
        for index in itertools.count():
            self.served += 1
            yield index, self.source

    def next(self):
        return next(self.stream)


@trial("_produce local:self", "Prefetcher .stream", alarming=("Prefetcher .source",))
def prefetch_stream(data):
    prefetcher = Prefetcher(data)
    prefetcher.next()
    prefetcher.next()


@types.coroutine
def next_request():
    return (yield)


class ModelServer:
    def __init__(self, model):
        self.model, self.handled = model, deque(maxlen=4)
        self.serving = None

    def start(self):
        self.serving = self.serve()
        self.serving.send(None)

    async def serve(self):
        while True:
            request = await next_request()
            self.handled.append(request)


@trial("ModelServer .serving", "serve local:self", alarming=("ModelServer .model",))
def server_coroutine(data):
    server = ModelServer(data)
    server.start()
    server.serving.send({"prompt": "hi"})


def fuse_layer(weight):
    class FusedLayer:
        fused = True

        def forward(self, x):
            return x, weight

    return FusedLayer()


@trial("forward closure:weight", alarming=("FusedLayer .forward",))
def layer_class_factory(data):
    layer = fuse_layer(data)
    layer.forward(1)


class HubPlugin:
    def __init__(self, hub, name):
        self.hub, self.name, self.options = hub, name, {}

    def setup(self):
        self.options["peers"] = len(self.hub.plugins)


class PluginHub:
    def __init__(self, resource):
        self.resource, self.plugins, self.order = resource, {}, []

    def load(self, *names):
        for name in names:
            self.plugins[name] = HubPlugin(self, name)
            self.order.append(name)
        for plugin in self.plugins.values():
            plugin.setup()


@trial("HubPlugin .hub", alarming=("PluginHub .plugins", "PluginHub .resource"))
def plugin_hub(data):
    PluginHub(data).load("amp", "compile", "fsdp", "wandb", "profile", "clip")


class StatView:
    def __init__(self, instance, name):
        self.instance, self.name = instance, name

    def read(self):
        return getattr(self.instance, "_" + self.name)


class Stat:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        view = instance.__dict__[self.name] = StatView(instance, self.name)
        return view


class RunningNorm:
    mean, var = Stat(), Stat()

    def __init__(self, mean, var):
        self._mean, self._var, self.eps = mean, var, 1e-5


@trial(
    "StatView .instance", "RunningNorm .mean + RunningNorm .var", alarming=("RunningNorm ._mean",)
)
def norm_stats(data):
    norm = RunningNorm(data, data)
    assert norm.mean.read() is norm.var.read()


class MemoizedCall:
    def __init__(self, func, limit=8):
        self.func, self.limit = func, limit
        self.hits, self.values = 0, {}

    def __call__(self, key):
        if key not in self.values:
            self.values[key] = self.func(key)
        return self.values[key]


class ScoringModel:
    def __init__(self, weights):
        self.weights = weights
        self.forward = MemoizedCall(self.forward)

    def forward(self, key):
        return len(key)


@trial(
    "forward __self__",
    "MemoizedCall .func",
    "ScoringModel .forward",
    alarming=("ScoringModel .weights", "MemoizedCall .values"),
)
def memoized_forward(data):
    model = ScoringModel(data)
    model.forward("a")


class TextEncoder:
    def __init__(self, table, size=32):
        self.table, self.unknown = table, 0
        self.encode = functools.lru_cache(maxsize=size)(self._encode)

    def _encode(self, word):
        self.unknown += 1
        return hash(word) % 100


@trial("_encode __self__", "TextEncoder .encode", alarming=("TextEncoder .table",))
def encoder_lru(data):
    encoder = TextEncoder(data)
    encoder.encode("token")
    encoder.encode("token")


ACTIVE_RUN = contextvars.ContextVar("active_run", default=None)


class RunScope:
    def __init__(self, params):
        self.params, self.tags = params, {"stage": "train"}
        self.context = contextvars.copy_context()
        self.context.run(ACTIVE_RUN.set, self)

    def call(self, fn):
        return self.context.run(fn)


@trial("RunScope .context", alarming=("RunScope .params",))
def run_scope(data):
    RunScope(data).call(lambda: ACTIVE_RUN.get().tags)


class EventBus:
    def __init__(self):
        self.handlers, self.sent = defaultdict(list), 0

    def on(self, event, handler):
        self.handlers[event].append(handler)

    def emit(self, event, value):
        self.sent += 1
        for handler in self.handlers[event]:
            handler(value)


class LossMonitor:
    def __init__(self, bus, window):
        self.bus, self.window, self.values = bus, window, deque(maxlen=5)
        for event in ("loss", "val_loss"):
            bus.on(event, self.handle)

    def handle(self, value):
        self.values.append(value)
        if value > 1:
            self.bus.emit("alarm", value)


@trial("handle __self__", "list [x]", "LossMonitor .bus", alarming=("LossMonitor .window",))
def event_bus(data):
    monitor = LossMonitor(EventBus(), data)
    LossMonitor(monitor.bus, None)
    monitor.bus.emit("loss", 2)


class PipeEnd:
    def __init__(self):
        self.peer, self.inbox = None, deque()

    def send(self, item):
        self.peer.inbox.append(item)


class VectorEnv:
    def __init__(self, count):
        self.ends = []
        for _ in range(count):
            ours, theirs = PipeEnd(), PipeEnd()
            ours.peer, theirs.peer = theirs, ours
            self.ends.append(ours)


@trial("PipeEnd .peer", alarming=("PipeEnd .inbox", "deque [x]"))
def env_pipes(data):
    envs = VectorEnv(2)
    for end in envs.ends:
        end.send(("reset", data))


class LossScaler:
    def __init__(self):
        self.scale, self.stages = 1024.0, {}

    def unscale(self, optimizer):
        self.stages.setdefault(optimizer, {"stage": "ready", "inf": 0})["stage"] = "unscaled"


class FusedAdam:
    def __init__(self, moments, scaler):
        self.moments, self.scaler = moments, scaler

    def step(self):
        self.scaler.unscale(self)


@trial("dict key", "FusedAdam .scaler", alarming=("FusedAdam .moments",))
def scaler_stages(data):
    FusedAdam(data, LossScaler()).step()


class MetricHub:
    def __init__(self):
        self.listeners, self.history = set(), {}

    def report(self, name, value):
        self.history.setdefault(name, []).append(value)
        for listener in self.listeners:
            listener.redraw(name)


class PlotListener:
    def __init__(self, hub, canvas):
        self.hub, self.canvas, self.drawn = hub, canvas, []
        hub.listeners.add(self)

    def redraw(self, name):
        self.drawn.append((name, len(self.hub.history[name])))


@trial("PlotListener .hub", "set element", alarming=("PlotListener .canvas", "MetricHub .history"))
def metric_hub(data):
    listener = PlotListener(MetricHub(), data)
    listener.hub.report("loss", 0.3)


class PopulationMember:
    def __init__(self, weights, fitness):
        self.weights, self.fitness, self.rivals = weights, fitness, []

    def exploit(self):
        best = max(self.rivals, key=lambda member: member.fitness)
        if best.fitness > self.fitness:
            self.weights = best.weights


@trial("PopulationMember .rivals", "list [x]", alarming=("PopulationMember .weights",))
def population(data):
    members = [PopulationMember(data, score) for score in range(4)]
    for member in members:
        member.rivals.extend(m for m in members if m is not member)
    for member in members:
        member.exploit()


class SegmentationHead:
    def __init__(self, weight, smooth=1.0):
        self.weight, self.smooth = weight, smooth
        self.loss_fn = partial(self._dice, reduction="mean")

    def _dice(self, overlap, reduction):
        return overlap + self.smooth, reduction


@trial("_dice __self__", "SegmentationHead .loss_fn", alarming=("SegmentationHead .weight",))
def segmentation_loss(data):
    SegmentationHead(data).loss_fn(0.5)


class LbfgsDriver:
    def __init__(self, params, lines=3):
        self.params, self.evals, self.closure = params, 0, None
        self.lines = lines

    def minimize(self):
        def closure(driver=self, scale=0.5):
            driver.evals += 1
            return scale * driver.evals

        self.closure = closure
        return [self.closure() for _ in range(self.lines)]


@trial("LbfgsDriver .closure", "closure default:driver", alarming=("LbfgsDriver .params",))
def lbfgs_closure(data):
    LbfgsDriver(data).minimize()


@trial(
    "parse_block closure:parse_layer",
    "parse_layer closure:parse_block",
    alarming=("parse_layer closure:pretrained",),
)
def config_parser(data):
    pretrained = OrderedDict(fc=data)
    built = []

    def parse_block(spec):
        for item in spec:
            parse_layer(item)

    def parse_layer(item):
        if isinstance(item, list):
            parse_block(item)
        else:
            built.append((item, item in pretrained))

    parse_block(["conv", ["fc", ["relu"]]])


class KvBlock:
    __slots__ = ("index", "pool", "refs", "storage")

    def __init__(self, pool, index):
        self.pool, self.index, self.storage, self.refs = pool, index, None, 0

    def release(self):
        self.refs = 0
        self.pool.free.append(self.index)


class KvPool:
    def __init__(self, count):
        self.blocks = [KvBlock(self, i) for i in range(count)]
        self.free, self.tables = deque(range(count)), {}

    def allocate(self, sequence):
        block = self.blocks[self.free.popleft()]
        block.refs += 1
        self.tables.setdefault(sequence, []).append(block)
        return block


@trial("KvBlock slot:pool", alarming=("KvPool .blocks", "KvBlock slot:storage"))
def kv_pool(data):
    pool = KvPool(4)
    pool.allocate("seq").storage = data
    pool.allocate("seq").release()


class PlanNode:
    __slots__ = ("actions", "hidden", "parent", "visits")

    def __init__(self, parent, hidden):
        self.parent, self.hidden = parent, hidden
        self.actions, self.visits = {}, 0

    def expand(self, count):
        for action in range(count):
            self.actions[action] = PlanNode(self, self.hidden)

    def backup(self):
        node = self
        while node is not None:
            node.visits += 1
            node = node.parent


@trial("PlanNode slot:parent", alarming=("PlanNode slot:actions", "dict [int]"))
def plan_tree(data):
    root = PlanNode(None, data)
    root.expand(3)
    root.actions[1].expand(2)
    root.actions[1].actions[0].backup()


@dataclass
class ExperimentRun:
    name: str
    experiment: "Experiment" = field(repr=False)
    outputs: list = field(default_factory=list)


@dataclass
class Experiment:
    config: dict
    runs: list = field(default_factory=list)

    def start(self, name):
        run = ExperimentRun(name, self)
        self.runs.append(run)
        return run


@trial(
    "ExperimentRun .experiment",
    alarming=("Experiment .runs", "ExperimentRun .outputs", "list [x]"),
)
def experiment_runs(data):
    experiment = Experiment({"lr": 0.1})
    experiment.start("baseline").outputs.append(data)
    experiment.start("ablation").outputs.append(repr(experiment))


class PipelineStage:
    def __init__(self, module, device):
        self.module, self.device = module, device
        self.upstream = self.downstream = None
        self.grads = []

    def then(self, stage):
        self.downstream, stage.upstream = stage, self
        return stage

    def backward(self, grad):
        self.grads.append(grad)
        if self.upstream:
            self.upstream.backward(grad)


@trial("PipelineStage .upstream", alarming=("PipelineStage .downstream", "PipelineStage .module"))
def pipeline_stages(data):
    first = PipelineStage(data, 0)
    first.then(PipelineStage(data, 1)).then(PipelineStage(None, 2)).backward(1.0)


class ShardReader:
    def __init__(self, shards):
        self.shards, self.open = shards, set()
        self.cleanup = contextlib.ExitStack()
        self.cleanup.callback(self.close)

    def read(self, index):
        self.open.add(index)
        return self.shards

    def close(self):
        self.open.clear()


@trial("close __self__", "ShardReader .cleanup", alarming=("ShardReader .shards",))
def shard_reader(data):
    ShardReader(data).read(0)


class ExpContext:
    def __init__(self, inputs):
        self.inputs, self.result, self.needs_grad = inputs, None, (True,)

    def backward(self, grad):
        return grad, self.result


class TapeTensor:
    def __init__(self, storage, grad_fn=None):
        self.storage, self.grad_fn = storage, grad_fn

    def exp(self):
        ctx = ExpContext([self])
        ctx.result = TapeTensor(self.storage, ctx)
        return ctx.result


@trial(
    "ExpContext .result",
    alarming=("TapeTensor .grad_fn", "TapeTensor .storage", "ExpContext .inputs"),
)
def exp_context(data):
    TapeTensor(data).exp().grad_fn.backward(1.0)


class LitModule:
    def __init__(self, weights):
        self.weights, self.trainer, self.logged = weights, None, {}

    def log(self, name, value):
        self.logged[name, self.trainer.step] = value


class LitDataModule:
    def __init__(self, size):
        self.size, self.trainer = size, None

    def batches(self):
        return range(self.size // self.trainer.accumulate)


class LitTrainer:
    def __init__(self, accumulate=2):
        self.accumulate, self.step, self.module, self.datamodule = accumulate, 0, None, None

    def fit(self, module, datamodule):
        self.module, self.datamodule = module, datamodule
        module.trainer = datamodule.trainer = self
        for self.step in datamodule.batches():
            module.log("loss", 1 / (self.step + 1))


@trial(
    "LitModule .trainer + LitDataModule .trainer",
    alarming=("LitTrainer .module", "LitModule .weights", "LitDataModule .size"),
)
def lit_trainer(data):
    LitTrainer().fit(LitModule(data), LitDataModule(6))


def load_with_retry(source, tries=2):
    errors = []
    for attempt in range(tries):
        try:
            raise OSError(f"shard {attempt} is gone")
        except OSError as error:
            errors.append(error)
    return [str(error) for error in errors], source


@trial(
    "OSError __traceback__",
    "load_with_retry local:errors",
    "list [x]",
    alarming=("load_with_retry local:source",),
)
def retry_errors(data):
    messages, _ = load_with_retry(data)
    assert len(messages) == 2


def draw(mixture, name):
    position = 0
    while True:
        mixture.counts[name] += 1
        position += 1
        yield mixture.corpora[name], position


class MixtureSampler:
    def __init__(self, corpora, seed=0):
        self.corpora, self.seed = corpora, seed
        self.counts = dict.fromkeys(corpora, 0)
        self.streams = {name: draw(self, name) for name in corpora}

    def sample(self, name):
        return next(self.streams[name])


@trial("draw local:mixture", "MixtureSampler .streams", alarming=("MixtureSampler .corpora",))
def mixture_streams(data):
    mixture = MixtureSampler({"web": data, "code": data, "books": None})
    for name in ("web", "code", "web"):
        mixture.sample(name)


class FeedHandle:
    def __init__(self, feed, callback):
        self.feed, self.callback = feed, callback

    def cancel(self):
        self.feed.handles.remove(self)


class GradientFeed:
    def __init__(self, latest):
        self.latest, self.handles = latest, []

    def subscribe(self, callback):
        handle = FeedHandle(self, callback)
        self.handles.append(handle)
        return handle


@trial(
    "FeedHandle .feed",
    alarming=("FeedHandle .callback", "GradientFeed .handles", "GradientFeed .latest"),
)
def gradient_feed(data):
    feed = GradientFeed(data)
    norms = []
    handles = [feed.subscribe(norms.append) for _ in range(3)]
    handles[1].cancel()


class Router:
    def __init__(self):
        self.routes, self.middleware = {}, []

    def add(self, name, endpoint):
        self.routes[name] = endpoint


class PredictApp:
    def __init__(self, model):
        self.model, self.router, self.served = model, Router(), 0
        self.router.add("predict", self.predict)
        self.router.add("health", self.health)

    def predict(self):
        self.served += 1

    def health(self):
        return "ok"


@trial(
    "predict __self__ + health __self__",
    "dict ['predict'] + dict ['health']",
    alarming=("PredictApp .model", "PredictApp .router"),
)
def app_routes(data):
    app = PredictApp(data)
    app.router.routes["predict"]()


class ParamView:
    def __init__(self, base, offset):
        self.base, self.offset = base, offset

    def storage(self):
        return self.base.buffer


class FlatParameter:
    def __init__(self, buffer, shapes):
        self.buffer, self.shapes, self.view_cache = buffer, shapes, {}

    def view(self, name):
        if name not in self.view_cache:
            self.view_cache[name] = ParamView(self, self.shapes[name])
        return self.view_cache[name]


@trial(
    "FlatParameter .view_cache",
    "dict ['weight'] + dict ['bias']",
    alarming=("ParamView .base", "FlatParameter .buffer"),
)
def flat_parameter(data):
    flat = FlatParameter(data, {"weight": 0, "bias": 16})
    assert flat.view("weight").storage() is flat.view("bias").storage()


class RangeObserver:
    __slots__ = ("high", "layer", "low")

    def __init__(self, layer):
        self.layer, self.low, self.high = layer, 0.0, 0.0

    def calibrate(self, value):
        self.high = max(self.high, value)
        self.layer.config.qparams[self.layer.name] = (self.low, self.high)


class QuantConfig:
    def __init__(self, bits):
        self.bits, self.qparams = bits, {}


class QuantLinear:
    def __init__(self, name, weight, config):
        self.name, self.weight, self.config = name, weight, config
        self.observers = {"input": RangeObserver(self), "output": RangeObserver(self)}


@trial("RangeObserver slot:layer", alarming=("QuantLinear .observers", "QuantLinear .weight"))
def quant_observers(data):
    layer = QuantLinear("fc", data, QuantConfig(8))
    for observer in layer.observers.values():
        observer.calibrate(3.0)


def upload_part(uploader, part):
    uploader.sent.append(part)


class ArtifactUploader:
    def __init__(self, blob):
        self.blob, self.sent, self.queue = blob, [], deque()

    def schedule(self, parts):
        for part in range(parts):
            self.queue.append(partial(upload_part, self, part))

    def drain(self, limit):
        for job in itertools.islice(self.queue, limit):
            job()


@trial(
    "partial args[0]",
    "deque [x]",
    "ArtifactUploader .queue",
    alarming=("ArtifactUploader .blob",),
)
def artifact_upload(data):
    uploader = ArtifactUploader(data)
    uploader.schedule(3)
    uploader.drain(2)


class PhaseTable:
    def __init__(self, state):
        self.state, self.seen = state, []
        self.table = {"epoch": {"end": [(0, self.on_end)], "start": []}}

    def on_end(self, epoch):
        self.seen.append(epoch)

    def fire(self, phase, moment, epoch):
        for _, action in sorted(self.table[phase][moment]):
            action(epoch)


@trial(
    "on_end __self__",
    "tuple [x]",
    "PhaseTable .table",
    "list [x]",
    alarming=("PhaseTable .state",),
)
def phase_table(data):
    PhaseTable(data).fire("epoch", "end", 3)


class GraphNode:
    def __init__(self, graph, op, args, meta=None):
        self.graph, self.op, self.args, self.meta = graph, op, args, meta or {}
        self.users = {}
        for arg in args:
            arg.users[self] = None


class ComputeGraph:
    def __init__(self):
        self.nodes, self.names = [], itertools.count()

    def create(self, op, *args, **meta):
        self.nodes.append(GraphNode(self, op, args, meta))
        return self.nodes[-1]

    def dead(self):
        return [node.op for node in self.nodes if not node.users]


@trial(
    "GraphNode .graph + GraphNode .users",
    "GraphNode .graph + dict key",
    alarming=("ComputeGraph .nodes", "GraphNode .meta", "list [x]"),
)
def compute_graph(data):
    graph = ComputeGraph()
    weight = graph.create("placeholder", value=data)
    hidden = graph.create("matmul", weight, weight)
    graph.create("add", hidden, weight)
    graph.dead()


@trial("dict ['scope']", alarming=("dict ['checkpoint']", "dict ['defaults']"))
def config_scope(data):
    scope = {"lr": 0.1, "defaults": {"checkpoint": data}}
    scope["scope"] = scope
    scope["depth"] = 2
    "{scope[lr]} {depth}".format_map(scope)


def compile_forward(source, **names):
    namespace = dict(names, __builtins__={"len": len})
    exec(source, namespace)  # noqa: S102
    return namespace["forward"]


@trial("dict ['forward']", alarming=("dict ['weights']",))
def generated_forward(data):
    forward = compile_forward("def forward(x):\n    return len(x), weights", weights=data)
    assert forward([1])[1] is data


class DispatchLoop:
    def __init__(self, module):
        self.module, self.log = module, []
        self.handlers = {"train": self.train_step, "eval": self.eval_step}

    def run(self, plan):
        return [self.handlers[mode](i) for i, mode in enumerate(plan)]

    def train_step(self, index):
        self.log.append(("train", index))

    def eval_step(self, index):
        self.log.append(("eval", index))


@trial(
    "DispatchLoop .handlers",
    "train_step __self__ + eval_step __self__",
    "dict ['train'] + dict ['eval']",
    alarming=("DispatchLoop .module", "DispatchLoop .log"),
)
def dispatch_loop(data):
    DispatchLoop(data).run(["train", "train", "eval"])


def traced_call(fn):
    calls = []

    def traced(*args):
        calls.append(args)
        return fn(*args)

    def reset():
        calls.clear()
        traced.runs = 0

    traced.reset = reset
    traced.__wrapped__ = fn
    return traced


@trial(
    "traced .reset",
    "reset closure:traced",
    alarming=("traced __wrapped__", "traced closure:fn", "list [x]"),
)
def traced_kernel(data):
    kernel = traced_call(lambda x: (x, data))
    kernel.reset()
    kernel(3)


class BatchTicket:
    def __init__(self, number):
        self.number, self.done_callbacks, self.output = number, [], None

    def finish(self, output):
        self.output = output
        for callback in self.done_callbacks:
            callback(self)


class DynamicBatcher:
    def __init__(self, engine):
        self.engine, self.tickets, self.finished = engine, {}, 0

    def submit(self):
        ticket = self.tickets[len(self.tickets)] = BatchTicket(len(self.tickets))
        ticket.done_callbacks.append(self.on_done)
        return ticket

    def on_done(self, ticket):
        self.finished += 1


@trial(
    "BatchTicket .done_callbacks",
    "list [x]",
    "on_done __self__",
    "dict [int]",
    alarming=("DynamicBatcher .engine", "BatchTicket .output"),
)
def dynamic_batcher(data):
    batcher = DynamicBatcher(data)
    batcher.submit().finish("text")
    batcher.submit()


class TrieNode:
    __slots__ = ("children", "fail", "token")

    def __init__(self):
        self.children, self.fail, self.token = {}, None, None


class PhraseMatcher:
    def __init__(self, vocab):
        self.root, self.size = TrieNode(), len(vocab)
        for word, token in vocab.items():
            node = self.root
            for letter in word:
                node = node.children.setdefault(letter, TrieNode())
            node.token = token
        queue = [self.root]
        for node in queue:
            for letter, child in node.children.items():
                child.fail = (node.fail or self.root).children.get(letter, self.root)
                child.fail = self.root if child.fail is child else child.fail
                queue.append(child)


@trial(
    "TrieNode slot:fail",
    alarming=("dict [str]", "TrieNode slot:children", "TrieNode slot:token"),
)
def phrase_matcher(data):
    PhraseMatcher({"ab": data, "b": 1, "abc": 2})


class FrozenScope:
    def __init__(self, model, names):
        self.model, self.names, self.saved = model, names, None

    def __enter__(self):
        self.saved = set(self.model.frozen)
        self.model.frozen.update(self.names)
        self.model.scopes.append(self)
        return self

    def __exit__(self, *exc_info):
        self.model.frozen = self.saved


class FineTuneModel:
    def __init__(self, params):
        self.params, self.frozen, self.scopes = params, set(), []

    def freeze(self, *names):
        return FrozenScope(self, names)


@trial(
    "list [x]", "FrozenScope .model", "FineTuneModel .scopes", alarming=("FineTuneModel .params",)
)
def frozen_scope(data):
    model = FineTuneModel({"fc": data})
    with model.freeze("fc"):
        assert model.frozen


class LazyTable:
    def __init__(self, columns, size):
        self.columns, self.size, self.loaded = columns, size, 0
        self.rows = map(self.load, range(size))

    def load(self, index):
        self.loaded += 1
        return {name: (index, column) for name, column in self.columns.items()}

    def batch(self, count):
        return list(itertools.islice(self.rows, count))


@trial("load __self__", "LazyTable .rows", alarming=("LazyTable .columns",))
def lazy_table(data):
    LazyTable({"image": data, "label": 3}, 10).batch(2)


class StageTimer:
    def __init__(self, loop):
        self.loop, self.times = loop, {}

    def tick(self, stage):
        self.times[stage] = self.loop.position


class StreamLoop:
    def __init__(self, carry):
        self.carry, self.position = carry, 0
        self.timer = StageTimer(self)
        self.advance = lambda by=1: setattr(self, "position", self.position + by)

    def run(self, stages):
        for stage in stages:
            self.advance()
            self.timer.tick(stage)


@trial(
    "StageTimer .loop + <lambda> closure:self",
    "StageTimer .loop + StreamLoop .advance",
    alarming=("StreamLoop .carry", "StreamLoop .timer"),
)
def stream_loop(data):
    StreamLoop(data).run(["load", "forward", "backward"])


@trial("list [x]", "Worker .active", alarming=("Worker .weights",))
def worker_class(data):
    class Worker:
        active = []  # noqa: RUF012

        def __init__(self, weights):
            self.weights = weights
            self.active.append(self)

    for _ in range(2):
        Worker(data)


class DecodeRequest:
    def __init__(self, prompt, scheduler):
        self.prompt, self.tokens, self.scheduler = prompt, [], scheduler
        self.group = None

    def abort(self):
        self.scheduler.waiting.pop(self.prompt, None)


class RequestGroup:
    def __init__(self, requests, cache):
        self.requests, self.cache = tuple(requests), cache
        for request in self.requests:
            request.group = self


class TokenScheduler:
    def __init__(self):
        self.waiting, self.groups = OrderedDict(), []

    def submit(self, prompts, cache):
        group = RequestGroup([DecodeRequest(p, self) for p in prompts], cache)
        self.groups.append(group)
        self.waiting.update((request.prompt, request) for request in group.requests)


@trial(
    "DecodeRequest .group + DecodeRequest .scheduler",
    alarming=("RequestGroup .requests", "RequestGroup .cache", "TokenScheduler .groups"),
)
def token_scheduler(data):
    scheduler = TokenScheduler()
    scheduler.submit(["a", "b"], data)
    scheduler.waiting["a"].abort()


class BatchGather:
    def __init__(self, batch):
        self.batch, self.outcomes = batch, []

    async def part(self, index):
        if index:
            raise LookupError(f"part {index} of {len(self.outcomes)}")
        return index

    async def run(self):
        parts = [self.part(i) for i in range(3)]
        self.outcomes = await asyncio.gather(*parts, return_exceptions=True)


@trial(
    "LookupError __traceback__",
    "BatchGather .outcomes",
    "list [x]",
    alarming=("BatchGather .batch",),
)
def batch_gather(data):
    asyncio.run(BatchGather(data).run())
