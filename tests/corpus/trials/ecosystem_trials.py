# SPDX-License-Identifier: Apache-2.0
"""Programs with cycles like those in libraries that the other trials do not cover.

The accepted answers were written before the first run.
"""

import functools
import sys

from registry import trial


class GeoAccessor:
    def __init__(self, obj):
        self._obj = obj
        self.crs = None

    def bounds(self):
        return (0, 0, self._obj.width, self._obj.height)


class RasterImage:
    def __init__(self, pixels, width, height):
        self.pixels, self.width, self.height = pixels, width, height
        self._geo = None

    @property
    def geo(self):
        if self._geo is None:
            self._geo = GeoAccessor(self)
        return self._geo


@trial(
    "RasterImage ._geo",
    "GeoAccessor ._obj",
    alarming=("RasterImage .pixels",),
)
def raster_accessor(data):
    return RasterImage(data, 4, 3).geo.bounds()


class EdgeTable:
    def __init__(self, mesh):
        self.mesh = mesh
        self.rows = []

    def count(self):
        return len(self.rows) + len(self.mesh.names)


class FaceMesh:
    def __init__(self, vertices):
        self.vertices = vertices
        self.names = []

    @functools.cached_property
    def edges(self):
        return EdgeTable(self)

    @functools.cached_property
    def faces(self):
        return EdgeTable(self)


@trial(
    "EdgeTable .mesh",
    "FaceMesh .edges + FaceMesh .faces",
    alarming=("FaceMesh .vertices",),
)
def cached_edge_tables(data):
    mesh = FaceMesh(data)
    return mesh.edges.count() + mesh.faces.count()


class QueueTask:
    def __init__(self, function, name):
        self.function, self.name = function, name
        self.app = None

    def bind(self, app):
        self.app = app
        return self


class TaskApp:
    def __init__(self, broker):
        self.broker = broker
        self.tasks = {}

    def task(self, function):
        self.tasks[function.__name__] = QueueTask(function, function.__name__).bind(self)
        return function


@trial("QueueTask .app", alarming=("TaskApp .tasks", "TaskApp .broker", "dict ['len']"))
def task_registry(data):
    app = TaskApp(data)
    app.task(len)
    app.task(sum)


class WordToken:
    __slots__ = ("doc", "position")

    def __init__(self, doc, position):
        self.doc, self.position = doc, position


class SpanGroup:
    def __init__(self, doc, name):
        self.doc, self.name = doc, name
        self.ranges = []


class ParsedDoc:
    def __init__(self, words, vectors):
        self.vectors = vectors
        self.tokens = tuple(WordToken(self, i) for i, _ in enumerate(words))
        self.spans = {"entities": SpanGroup(self, "entities")}


@trial(
    "SpanGroup .doc + WordToken slot:doc",
    alarming=("ParsedDoc .tokens", "ParsedDoc .spans", "ParsedDoc .vectors", "tuple [x]"),
)
def parsed_document(data):
    doc = ParsedDoc(["a", "small", "text"], data)
    doc.spans["entities"].ranges.append((1, 2))


class DrawGroup:
    def __init__(self, order):
        self.order = order
        self.batch = None


class DrawBatch:
    def __init__(self):
        self.groups = {}

    def add(self, sprite, order):
        group = self.groups.setdefault(order, DrawGroup(order))
        group.batch = self
        sprite.batch, sprite.group = self, group
        return sprite


class ImageSprite:
    def __init__(self, image):
        self.image = image
        self.batch = self.group = None


class SpriteScene:
    def __init__(self, image):
        self.batch = DrawBatch()
        self.sprite = self.batch.add(ImageSprite(image), 1)
        self.batch.scene = self


@trial(
    "DrawBatch .scene",
    alarming=("ImageSprite .image", "SpriteScene .sprite", "SpriteScene .batch"),
)
def sprite_scene(data):
    SpriteScene(data)


class CallNode:
    def __init__(self, layer, inputs, outputs):
        self.layer, self.inputs, self.outputs = layer, inputs, outputs
        layer.inbound.append(self)


class SymbolTensor:
    def __init__(self, shape):
        self.shape = shape
        self.history = None


class FunctionalLayer:
    def __init__(self, kernel):
        self.kernel = kernel
        self.inbound = []

    def __call__(self, *inputs):
        output = SymbolTensor((None, 8))
        CallNode(self, inputs, [output])
        output.history = (self, len(self.inbound) - 1)
        return output


@trial(
    "CallNode .layer + SymbolTensor .history",
    "CallNode .layer + tuple [x]",
    "FunctionalLayer .inbound",
    "list [x]",
    alarming=("CallNode .inputs", "FunctionalLayer .kernel"),
)
def functional_layers(data):
    first, second = FunctionalLayer(data), FunctionalLayer(None)
    return second(first(SymbolTensor((None, 4)))).shape


class StudyTrial:
    def __init__(self, study, number):
        self.study, self.number = study, number
        self.params = {}

    def suggest(self, name, low, high):
        self.params[name] = (low + high) / 2
        return self.params[name]


class SearchStudy:
    def __init__(self, dataset):
        self.dataset = dataset
        self.trials = []
        self.best = None

    def ask(self):
        self.trials.append(StudyTrial(self, len(self.trials)))
        return self.trials[-1]

    def optimize(self, objective, count):
        for _ in range(count):
            trial = self.ask()
            if objective(trial) > 0:
                self.best = trial


@trial(
    "StudyTrial .study",
    alarming=("SearchStudy .trials", "SearchStudy .dataset", "SearchStudy .best"),
)
def search_study(data):
    study = SearchStudy(data)
    study.optimize(lambda trial: trial.suggest("lr", 0, 1), 3)


class ClickSignal:
    def __init__(self, sender):
        self.sender = sender
        self.slots = []

    def connect(self, slot):
        self.slots.append(slot)


class PushButton:
    def __init__(self, text):
        self.text = text
        self.clicked = ClickSignal(self)


class LoginWindow:
    def __init__(self, background):
        self.background = background
        self.button = PushButton("Log in")
        self.button.clicked.connect(self.on_click)

    def on_click(self):
        return self.background


@trial(
    "on_click __self__",
    "list [x]",
    "ClickSignal .slots",
    "ClickSignal .sender + on_click __self__",
    alarming=("LoginWindow .background", "LoginWindow .button", "PushButton .clicked"),
)
def login_window(data):
    window = LoginWindow(data)
    return window.button.clicked.slots[0]() is not None


class BatchJob:
    def __init__(self, name):
        self.name = name
        self.exc_info = None
        self.attempts = 0

    def failed(self):
        return self.exc_info is not None


def run_batch(job, rows):
    job.attempts += 1
    try:
        return rows[job.name]
    except (KeyError, TypeError, AttributeError):
        job.exc_info = sys.exc_info()


@trial("BatchJob .exc_info", "tuple [x]", "TypeError __traceback__")
def batch_job(data):
    job = BatchJob("images")
    run_batch(job, data)
    return job.failed()


class TextBox:
    def __init__(self, document, page, text):
        self.document, self.page, self.text = document, page, text


class PaperPage:
    def __init__(self, document, number):
        self.document, self.number = document, number
        self.boxes = []

    def add_box(self, text):
        self.boxes.append(TextBox(self.document, self, text))


class PaperDocument:
    def __init__(self):
        self.pages = []
        self.fonts = {}

    def add_page(self):
        self.pages.append(PaperPage(self, len(self.pages)))
        return self.pages[-1]


@trial(
    "PaperPage .document + TextBox .document + TextBox .page",
    alarming=("PaperDocument .pages", "PaperPage .boxes", "TextBox .text", "list [x]"),
)
def paged_document(data):
    document = PaperDocument()
    for _ in range(2):
        page = document.add_page()
        page.add_box(data)
        page.add_box("caption")


class SoupElement:
    def __init__(self, name):
        self.name = name
        self.parent = self.previous_sibling = self.next_sibling = None
        self.first_child = self.last_child = None

    def append(self, child):
        child.parent = self
        child.previous_sibling = self.last_child
        if self.last_child is None:
            self.first_child = child
        else:
            self.last_child.next_sibling = child
        self.last_child = child
        return child


@trial(
    "SoupElement .parent + SoupElement .previous_sibling",
    alarming=("SoupElement .first_child", "SoupElement .name", "SoupElement .next_sibling"),
)
def soup_siblings(data):
    root = SoupElement("html")
    body = root.append(SoupElement("body"))
    for name in ("p", data, "p"):
        body.append(SoupElement(name))


class FrameRecorder:
    def __init__(self, env, limit):
        self.env, self.limit = env, limit
        self.frames = []
        env.on_render = self.capture

    def capture(self, frame):
        self.frames = [*self.frames, frame][-self.limit :]


class CartEnv:
    def __init__(self, texture):
        self.texture = texture
        self.on_render = None

    def render(self):
        if self.on_render is not None:
            self.on_render("frame")


@trial(
    "capture __self__",
    "CartEnv .on_render",
    alarming=("CartEnv .texture", "FrameRecorder .frames"),
)
def frame_recorder(data):
    recorder = FrameRecorder(CartEnv(data), 2)
    recorder.env.render()
    return len(recorder.frames)


class StoppedState:
    def __init__(self, player):
        self.player = player

    def press(self):
        self.player.state = PlayingState(self.player)


class PlayingState:
    def __init__(self, player):
        self.player = player

    def press(self):
        self.player.state = StoppedState(self.player)


class TrackPlayer:
    def __init__(self, track):
        self.track = track
        self.state = StoppedState(self)


@trial("PlayingState .player", alarming=("TrackPlayer .state", "TrackPlayer .track"))
def player_states(data):
    player = TrackPlayer(data)
    for _ in range(3):
        player.state.press()


class BotCommand:
    def __init__(self, name, cog):
        self.name, self.cog = name, cog
        self.aliases = []


class ImageCog:
    def __init__(self, bot, model):
        self.bot, self.model = bot, model
        self.commands = [BotCommand(name, self) for name in ("draw", "upscale")]


class ChatBot:
    def __init__(self):
        self.cogs = {}
        self.all_commands = {}

    def add_cog(self, cog):
        self.cogs[type(cog).__name__] = cog
        for command in cog.commands:
            self.all_commands[command.name] = command


@trial(
    "BotCommand .cog + ImageCog .bot",
    alarming=("ChatBot .cogs", "ChatBot .all_commands", "ImageCog .model", "ImageCog .commands"),
)
def chat_bot(data):
    bot = ChatBot()
    bot.add_cog(ImageCog(bot, data))


class ChartAxis:
    def __init__(self, side):
        self.side = side
        self.chart = None
        self.ticks = []


class ChartLayer:
    def __init__(self, values):
        self.values = values
        self.chart = None
        self.axes = [ChartAxis("left"), ChartAxis("bottom")]


class LayeredChart:
    def __init__(self):
        self.layers = []
        self.title = ""

    def add(self, layer):
        layer.chart = self
        for axis in layer.axes:
            axis.chart = self
        self.layers.append(layer)
        return self


@trial(
    "ChartAxis .chart + ChartLayer .chart",
    alarming=("LayeredChart .layers", "ChartLayer .axes", "ChartLayer .values"),
)
def layered_chart(data):
    LayeredChart().add(ChartLayer(data)).add(ChartLayer(None))


class RelatedSet:
    def __init__(self, instance, name):
        self.instance, self.name = instance, name
        self.result = None

    def fetch(self):
        self.result = [AlbumRow(self.instance, title) for title in ("one", "two")]
        return self.result


class AlbumRow:
    def __init__(self, artist, title):
        self.artist, self.title = artist, title


class ArtistRow:
    def __init__(self, photo):
        self.photo = photo
        self.related = {}

    def albums(self):
        if "albums" not in self.related:
            self.related["albums"] = RelatedSet(self, "albums")
        return self.related["albums"]


@trial(
    "AlbumRow .artist + RelatedSet .instance",
    alarming=("ArtistRow .photo", "RelatedSet .result"),
)
def related_albums(data):
    return len(ArtistRow(data).albums().fetch())


class TabPane:
    def __init__(self, notebook, child):
        self.notebook, self.child = notebook, child
        notebook.tabs.append(self)


class TabNotebook:
    def __init__(self):
        self.tabs = []
        self.current = None

    def select(self, index):
        self.current = self.tabs[index]


@trial("TabPane .notebook", alarming=("TabNotebook .tabs", "TabPane .child", "list [x]"))
def tab_notebook(data):
    notebook = TabNotebook()
    TabPane(notebook, data)
    TabPane(notebook, "log")
    notebook.select(0)
