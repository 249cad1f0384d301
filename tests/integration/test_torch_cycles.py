# SPDX-License-Identifier: Apache-2.0
"""cyclewatch.compat.torch_cycles replaces torch.utils.viz._cycles if only the import is changed."""

import collections
import gc
import html
import inspect
import json
import os
import re
import subprocess
import sys
import tracemalloc
import weakref
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
original = pytest.importorskip("torch.utils.viz._cycles")

from cyclewatch.compat import torch_cycles as ours  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / "examples" / "torch_cycles.py").read_text()
OUR_IMPORT = "from cyclewatch.compat.torch_cycles import observe_tensor_cycles"
# The calls to CUDA that torch's module makes, replaced so that it observes CPU tensors.
ORIGINAL_ON_CPU = """
import torch
import torch.utils.viz._cycles as _cycles
from torch.utils.viz._cycles import observe_tensor_cycles

_cycles.is_cuda_tensor = lambda obj: isinstance(obj, torch.Tensor)
torch.cuda.memory._snapshot = lambda: {"segments": []}
torch.cuda.memory._record_memory_history = lambda **_: None
torch.cuda.memory_allocated = lambda: 0
"""
SHAPE = re.compile(r"torch\.Tensor \(torch\.Size\((\[.*?\])\)\)")
PUBLIC = [
    "Node",
    "annotated_references",
    "create_graph",
    "cuda_allocation_context",
    "escape",
    "is_cuda_tensor",
    "object_annotation",
    "observe_garbage",
    "observe_tensor_cycles",
    "to_dot",
    "to_html",
    "warn_tensor_cycles",
]


class Engine:
    """Has attributes and no __dict__."""


def is_tensor(obj):
    return isinstance(obj, torch.Tensor)


def no_context(_obj):
    return None


def dead_objects():
    """Objects of many types, each with a reference to the next ones."""
    engine = Engine()
    engine.weights = torch.zeros(3)
    engine.views = {"a b": [engine.weights], 7: (engine.weights,), "owner": {1, 2}}
    engine.callback = lambda: engine
    engine.itself = engine
    callback = engine.callback
    return [
        engine,
        engine.weights,
        engine.views,
        engine.views["a b"],
        engine.views[7],
        engine.views["owner"],
        callback,
        callback.__closure__,
        callback.__closure__[0],
        Engine.__init__,
        weakref.ref(engine, callback),
        sys._getframe(),
    ]


def run_example(folder, program, workload):
    """Run the example; returns the pages of the leaks, in order."""
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", program, "--workload", workload, "--num_iter", "5"]
        + ["--size", "64", "--device", "cpu", "--gc_collect_interval", "1", "--warn_tensor_cycles"],
        check=True,
        cwd=folder,
        timeout=300,
        env={**os.environ, "CYCLEWATCH_DEVICES": "cpu", "PYTHONPATH": str(ROOT)},
    )
    pages = sorted(folder.glob("tensor-cycles-*.html"), key=lambda path: path.stat().st_mtime_ns)
    return [page.read_text() for page in pages]


def boxes_and_arrows(page):
    """The objects and references in a page of torch's module."""
    dot = re.search(r"let dot = '(.*)'\n", page).group(1).encode().decode("unicode_escape")
    return re.findall(r"^\d+ \[label=(.*), color", dot, re.M), re.findall(r"^\d+ -> ", dot, re.M)


def report_of(page):
    """The report in one of our pages."""
    text = re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", page, re.S).group(1)
    return json.loads(text)


def test_public_names_have_the_same_signatures():
    assert sorted(ours.__all__) == PUBLIC
    for name in PUBLIC:
        expected = inspect.signature(getattr(original, name)).parameters
        found = inspect.signature(getattr(ours, name)).parameters
        assert list(found)[: len(expected)] == list(expected)
        assert [each.kind for each in found.values()][: len(expected)] == [
            each.kind for each in expected.values()
        ]
        added = list(found.values())[len(expected) :]
        assert all(each.default is not each.empty for each in added), name


def test_annotations_are_equal(monkeypatch):
    monkeypatch.setenv("CYCLEWATCH_DEVICES", "cpu")
    monkeypatch.setattr(original, "is_cuda_tensor", is_tensor)
    values = [3, "text", None, b"b", (1, "a", gc), [1] * 12, {}, gc, Engine, weakref.ref(Engine)]
    for value in [*values, Engine().__init__, Engine().__repr__, print, *dead_objects()]:
        assert ours.object_annotation(value) == original.object_annotation(value)


def test_graph_contains_the_original_graph():
    objects = dead_objects()
    found = ours.create_graph(objects, context=no_context, filter=is_tensor)
    expected = original.create_graph(objects, context=no_context, filter=is_tensor)
    labels = [node.label for node in found]
    for node in expected:
        assert node.label in labels
        same = found[labels.index(node.label)]
        references = {(name, found[to].label) for name, to in same.referrents}
        assert {(name, expected[to].label) for name, to in node.referrents} <= references
    engine = found[labels.index(original.object_annotation(objects[0]))]
    names = {name for name, _ in engine.referrents}
    assert {".weights", ".views", ".callback", ".itself"} <= names
    assert "?" not in {name for node in found for name, _ in node.referrents}
    assert ours.to_dot(expected) == original.to_dot(expected)


def test_graph_creates_no_dict():
    engine = Engine()
    engine.itself = engine
    before = [type(each) for each in gc.get_referents(engine)]
    ours.create_graph([engine], context=no_context, filter=lambda obj: True)
    assert [type(each) for each in gc.get_referents(engine)] == before


def test_page_of_a_graph_opens_offline():
    context = {torch.Tensor: "train.py:3:make"}
    nodes = ours.create_graph(
        dead_objects(), context=lambda obj: context.get(type(obj)), filter=is_tensor
    )
    page = ours.to_html(nodes)
    assert "http" not in page.replace("http://www.w3.org", "")
    assert ".itself" in page
    assert "train.py:3:make" in page


def test_page_of_many_tensors_shows_the_cycle_and_what_leads_to_them():
    model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(30)))
    model.hook = model.forward
    nodes = ours.create_graph(
        [model, model.hook, model._modules, *model, *(each._parameters for each in model)]
        + [vars(each) for each in [model, *model]]
        + list(model.parameters()),
        context=no_context,
        filter=is_tensor,
    )
    assert len([node for node in nodes if node.root]) > 40
    page = ours.to_html(nodes)
    assert "not drawn" in page
    assert "['hook']" in html.unescape(page)
    assert "__self__" in page
    assert "weight" in page
    assert "0 B" not in page
    assert "memory that other objects" not in page


def test_page_of_names_that_are_not_unicode():
    nodes = [
        ours.Node("object\ntorch.Tensor", "a\udce9.py:3", True, []),
        ours.Node("frame at caf\udce9.py", None, False, [("\udce9", 0)]),
    ]
    ours.to_html(nodes).encode()


@pytest.mark.parametrize("workload", ["simple", "awaitable"])
def test_example_needs_only_another_import(tmp_path, workload):
    assert EXAMPLE.count(OUR_IMPORT) == 1
    found = run_example(tmp_path / "ours", EXAMPLE, workload)
    expected = run_example(
        tmp_path / "torch", EXAMPLE.replace(OUR_IMPORT, ORIGINAL_ON_CPU), workload
    )
    assert len(found) >= len(expected) == 5
    for page, original_page in zip(found, expected, strict=False):
        boxes, arrows = boxes_and_arrows(original_page)
        tensors = collections.Counter(SHAPE.search(label).group(1) for label in boxes)
        [finding] = report_of(page)["findings"]
        drawn = finding["picture"]
        shown = collections.Counter(
            item["text"].removeprefix("Tensor ") for item in drawn["items"] if item["owner"]
        )
        assert tensors and not tensors - shown
        assert len(drawn["arrows"]) >= len(arrows)
        assert all(arrow["label"] not in ("", "?") for arrow in drawn["arrows"])


def test_observed_garbage_is_freed(monkeypatch):
    engine = Engine()
    engine.itself = engine
    freed = []
    weakref.finalize(engine, freed.append, True)
    shown = []
    remove = ours.observe_garbage(lambda garbage: shown.append([type(each) for each in garbage]))
    flags = gc.get_debug()
    gc.garbage.append("of the program")
    try:
        del engine
        gc.collect()
        assert Engine in shown[0]
        assert gc.get_debug() == flags
        assert gc.garbage == ["of the program"]
    finally:
        gc.garbage.clear()
        remove()
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is Engine]
    assert len(shown) == 1


def test_observer_that_raises_is_reported(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: raised.append(args.exc_type))

    def observer(_garbage):
        raise KeyError

    remove = ours.observe_garbage(observer)
    engine = Engine()
    engine.itself = engine
    del engine
    gc.collect()
    remove()
    assert raised == [KeyError]
    assert not [each for each in gc.get_objects() if type(each) is Engine]


TRACED = """
import cProfile, faulthandler, gc, sys
from cyclewatch.compat.torch_cycles import observe_garbage

faulthandler.dump_traceback_later(60, exit=True)  # the fault is an endless loop


class Node:
    pass


shown = []


def function():
    pass


def main():
    remove = observe_garbage(lambda garbage: shown.append(len(garbage)))
    node = Node()
    node.itself = node
    del node
    gc.collect()
    function()
    remove()


gc.collect()
TRACE
print(len(shown), gc.get_debug(), gc.garbage)
"""


@pytest.mark.parametrize(
    "trace",
    [
        "sys.settrace(lambda *_: None); main(); sys.settrace(None)",
        "sys.setprofile(lambda *_: None); main(); sys.setprofile(None)",
        "cProfile.run('main()', '/dev/null')",
    ],
    ids=["settrace", "setprofile", "cProfile"],
)
def test_observed_in_a_traced_program(interpreter, trace):
    done = interpreter.run(TRACED.replace("TRACE", trace))
    assert done.stdout == "1 0 []\n"


CHAINED = """
import faulthandler, gc, sys
import cyclewatch

faulthandler.dump_traceback_later(60, exit=True)  # the fault is an endless loop


class Block:
    pass


def leak():
    block = Block()
    block.itself = block
    del block
    gc.collect()


def callback(report):
    reports.append(report)
    if len(reports) < 3:
        leak()


def main():
    leak()
    for _ in range(3):
        gc.collect()


reports = []
cyclewatch.register_owner(Block, lambda block: {"device": "cpu", "nbytes": 1 << 20})
stop = cyclewatch.observe_tensor_cycles(callback, devices="cpu")
sys.settrace(lambda *_: None)
main()
sys.settrace(None)
stop()
print(len(reports))
"""


def test_traced_callback_that_frees_tensors(interpreter):
    # The report of a collection is queued while a pending call delivers another one.
    assert interpreter.run(CHAINED).stdout == "3\n"


@pytest.mark.parametrize("first", [0, 1])
def test_observers_are_shown_the_same_objects(first):
    shown = ([], [])
    removers = [
        ours.observe_garbage(lambda garbage, types=types: types.extend(map(type, garbage)))
        for types in shown
    ]
    flags = gc.get_debug()
    try:
        engine = Engine()
        engine.itself = engine
        del engine
        gc.collect()
        assert [types.count(Engine) for types in shown] == [1, 1]
        removers[first]()
        engine = Engine()
        engine.itself = engine
        del engine
        gc.collect()
        counts = [1, 1]
        counts[1 - first] = 2
        assert [types.count(Engine) for types in shown] == counts
    finally:
        for remove in removers:
            remove()
    assert gc.get_debug() == flags
    assert gc.garbage == []
    assert not [entry for entry in gc.callbacks if "cyclewatch" in repr(entry)]


def test_observer_must_be_callable():
    with pytest.raises(TypeError, match="observer must be callable, not NoneType"):
        ours.observe_garbage(None)


def test_only_selected_devices_are_cuda_tensors(monkeypatch):
    tensor = torch.zeros(1)
    monkeypatch.delenv("CYCLEWATCH_DEVICES", raising=False)
    assert not ours.is_cuda_tensor(tensor)
    monkeypatch.setenv("CYCLEWATCH_DEVICES", "cuda, cpu")
    assert ours.is_cuda_tensor(tensor)
    assert not ours.is_cuda_tensor("cpu")
    with torch._subclasses.FakeTensorMode():
        assert not ours.is_cuda_tensor(torch.zeros(1))


def test_allocation_context_uses_tracemalloc(monkeypatch):
    monkeypatch.setenv("CYCLEWATCH_DEVICES", "cpu")
    tracemalloc.start(5)
    try:
        tensor = torch.zeros(1)
        context = ours.cuda_allocation_context()
        stack = context(tensor).splitlines()
    finally:
        tracemalloc.stop()
    line = test_allocation_context_uses_tracemalloc.__code__.co_firstlineno + 4
    assert stack[0] == f"{__file__}:{line}"
    assert len(stack) == 5
    assert context("text") is None
