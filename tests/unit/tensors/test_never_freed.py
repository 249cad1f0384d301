# SPDX-License-Identifier: Apache-2.0
"""never_freed(): cycles through torch's C++ objects, which no collection frees."""

import ctypes
import gc
import json
import os
import subprocess
import sys
import weakref

import pytest
import several_cuts
import torch
import uncollectable
from running_backward import running_backward
from torch.autograd.graph import register_multi_grad_hook

import cyclewatch
from cyclewatch.heap import scanning
from cyclewatch.proofs import process_memory, torch_layout

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
needs_nodes = pytest.mark.skipif(
    RELEASE < (2, 13), reason="before torch 2.13, the reference counts of nodes cannot be read"
)
needs_tensors = pytest.mark.skipif(
    RELEASE < (2, 11), reason="torch 2.6 counts the references of tensors in another way"
)
WITHOUT_NODES = [
    uncollectable.post_accumulate_grad_hook,
    uncollectable.hook_of_own_module,
    uncollectable.view_on_its_base,
    uncollectable.gradient_refers_back,
]
SHAPES = [
    pytest.param(
        shape, id=shape.__name__, marks=needs_tensors if shape in WITHOUT_NODES else needs_nodes
    )
    for shape in uncollectable.NEVER_FREED
]

# Without the counts of nodes, why_alive() shows "C code of torch" for an output. A collection by
# torch 2.6 does not free views that mark_dirty() changed.
COLLECTED_IN_PART = {
    uncollectable.contexts_of_a_chain_keep_their_outputs: needs_nodes,
    uncollectable.module_keeps_its_output: needs_nodes,
    uncollectable.marks_view_dirty: needs_tensors,
}
COLLECTED = [
    pytest.param(shape, id=shape.__name__, marks=COLLECTED_IN_PART.get(shape, ()))
    for shape in uncollectable.COLLECTED
]


def find(settle=0):
    return cyclewatch.never_freed(settle=settle, devices="cpu")


def alive(references):
    return [reference() is not None for reference in references]


# Signatures of the cycles that other tests have left. Nothing frees these cycles.
left: set[str] = set()


def new_findings(report=None, settle=0):
    report = find(settle) if report is None else report
    return [finding for finding in report.findings if finding.signature not in left]


@pytest.fixture(autouse=True)
def ignore_cycles_of_other_tests():
    left.clear()
    left.update(finding.signature for finding in find().findings)


@pytest.mark.parametrize("shape", SHAPES)
def test_cycle_is_found_and_cutting_it_frees_the_memory(shape):
    label, pattern = uncollectable.NEVER_FREED[shape]
    references, cut = shape()
    gc.collect()
    assert all(alive(references)), "a collection frees this shape"
    (finding,) = new_findings()
    assert finding.collected == "uncollectable"
    assert (finding.cut.label, finding.pattern) == (label, pattern)
    assert finding.status == "new", "torch stores it for the program"
    for each in (finding.cut, *finding.alternatives):
        if each.location is not None:
            assert each.location.rpartition(":")[0] == uncollectable.__file__, "code of torch"
    if label == ".grad":
        assert finding.cut.location is None, "C++ stores gradients"
    storages = {
        r().untyped_storage().data_ptr(): r().untyped_storage().nbytes() for r in references
    }
    assert finding.retained_bytes >= sum(storages.values())
    assert "no collection will free this" in find().to_text()
    cut()
    gc.collect()
    assert not any(alive(references))


def push(gradients):
    """Called by torch."""


def pop(gradients):
    """Called by torch."""


def register(functions, size=uncollectable.SIZE):
    """Each hook that torch creates refers to the nodes of both tensors."""
    output = torch.ones(size, requires_grad=True) * 2
    tensors = [output, output + 1]
    return [register_multi_grad_hook(tensors, function) for function in functions]


def locations(*functions):
    return {f"{__file__}:{function.__code__.co_firstlineno}" for function in functions}


@needs_nodes
def test_hooks_of_different_functions_are_different_findings():
    handles = register([push]) + register([pop]) + register([push])
    found = {finding.cut.location: finding.occurrences for finding in new_findings()}
    assert found.keys() == locations(push, pop)
    assert sorted(found.values()) == [1, 2]
    for handle in handles:
        handle.remove()
    assert not new_findings()


@needs_nodes
def test_all_functions_that_hooks_of_a_finding_call_are_named():
    handles = register([push], size=10 * uncollectable.SIZE) + register([push, pop])
    (finding,) = new_findings()
    assert finding.occurrences == 2
    assert {cut.location for cut in finding.cuts} == locations(push, pop)
    for handle in handles:
        handle.remove()
    assert not new_findings()


@needs_nodes
@pytest.mark.parametrize("shape", several_cuts.SHAPES)
def test_all_references_to_cut_are_named(shape):
    references, cuts = shape()
    (finding,) = new_findings()
    assert {cut.label for cut in finding.cuts} == cuts.keys()
    assert finding.freed_share == 1
    for number, cut in enumerate(cuts.values(), 1):
        cut()
        gc.collect()
        assert any(alive(references)) == (number < len(cuts))


@needs_nodes
def test_picture_shows_which_objects_hide_references():
    _, cut = uncollectable.node_hook_captures_own_output()
    (finding,) = new_findings()
    drawn = json.loads(find().to_json())["findings"]
    (picture,) = [each["picture"] for each in drawn if each["signature"] == finding.signature]
    hiding = [item["text"] for item in picture["items"] if item.get("hides_references")]
    assert sorted(hiding) == ["AccumulateGrad", "MulBackward0"]
    assert "The collector does not see all references of MulBackward0" in finding.to_svg()
    cut()


@pytest.mark.parametrize("shape", COLLECTED)
def test_cycle_that_a_collection_frees_is_not_reported(shape):
    references = shape()
    assert new_findings() == []
    for _ in references:
        gc.collect()
    assert not any(alive(references))


@pytest.mark.parametrize("shape", SHAPES)
def test_cycle_with_a_living_tensor_is_not_reported(shape):
    references, cut = shape()
    kept = references[0]()
    assert new_findings() == []
    del kept
    assert len(new_findings()) == 1
    cut()
    gc.collect()


@needs_tensors
def test_cycle_that_garbage_refers_to_is_reported_without_the_garbage(in_cycle):
    references, cut = uncollectable.post_accumulate_grad_hook()
    node = in_cycle(tensor=references[0](), other=torch.ones(5000))
    assert new_findings() == []
    del node
    for _ in range(2):
        (finding,) = new_findings()
        assert finding.retained_bytes == references[0]().nbytes, "a collection frees `other`"
        gc.collect()
    cut()
    gc.collect()


@pytest.mark.parametrize("shape", SHAPES)
def test_why_alive_tells_that_no_collection_frees_the_cycle(shape, caplog):
    references, cut = shape()
    gc.collect()
    assert cyclewatch.why_alive(references[0]) == []
    (record,) = caplog.records
    assert "no collection will free it, because they lead through C++" in record.message
    with pytest.raises(AssertionError, match=r"never_freed\(settle=0\) shows the reference to cut"):
        cyclewatch.assert_released(references[0])
    cut()
    gc.collect()
    assert not any(alive(references))


@pytest.mark.parametrize("shape", COLLECTED)
def test_why_alive_is_silent_about_a_cycle_that_a_collection_frees(shape, caplog):
    held = [reference for reference in shape() if reference() is not None]
    for reference in held[:1]:  # nothing holds some views
        assert cyclewatch.why_alive(reference) == []
        with pytest.raises(
            AssertionError, match=r"only reference cycles.*gc\.collect\(\) would free"
        ):
            cyclewatch.assert_released(reference)
    assert not caplog.records
    gc.collect()


class Owner:
    pass


def kept_by_hook_of_node():
    owner = Owner()
    kept = torch.ones(8, requires_grad=True) * 2
    kept.grad_fn.register_hook(lambda *_: owner)
    return weakref.ref(owner), kept


def kept_by_hook_of_parameter():
    owner = Owner()
    parameter = torch.ones(8, requires_grad=True)
    parameter.register_post_accumulate_grad_hook(lambda _: owner)
    return weakref.ref(owner), (parameter * 2).sum()


def kept_by_saved_tensor():
    tensor = torch.ones(8, requires_grad=True) * 2
    return weakref.ref(tensor), (tensor * tensor).sum()


@needs_nodes
@pytest.mark.parametrize(
    "keep", [kept_by_hook_of_node, kept_by_hook_of_parameter, kept_by_saved_tensor]
)
def test_why_alive_follows_references_of_nodes(keep, caplog):
    reference, kept = keep()
    (path,) = cyclewatch.why_alive(reference, paths=1)
    assert path.root.kind == "local variable"
    assert str(path).split(" -> ")[1].startswith("kept.grad_fn")
    assert not caplog.records
    del kept, path
    assert reference() is None


@needs_tensors
def test_live_owners_refers_to_the_search_for_cycles_through_torch(caplog):
    references, cut = uncollectable.hook_of_own_module()
    gc.collect()
    owners = cyclewatch.live_owners(min_bytes=1)
    assert any(path.root.kind == "C code" for owner in owners for path in owner.held_by)
    assert any("never_freed(settle=0)" in record.message for record in caplog.records)
    cut()
    gc.collect()


@needs_tensors
def test_storage_must_settle(monkeypatch):
    first, cut_first = uncollectable.post_accumulate_grad_hook()
    assert new_findings(settle=2) == []
    monkeypatch.setattr(uncollectable, "SIZE", uncollectable.SIZE + 1)
    second, cut_second = uncollectable.view_on_its_base()
    report = find(settle=2)
    assert new_findings(report) == []
    assert any("not yet in 3 searches in a row" in note for note in report.notes)
    sizes = {r().data_ptr(): r().untyped_storage().nbytes() for r in (*first, *second)}
    assert report.stats.suspected_bytes == sum(sizes.values())
    assert [finding.cut.label for finding in new_findings(settle=2)] == ["closure:tensor"]
    assert len(new_findings(settle=2)) == 2
    for cut in (cut_first, cut_second):
        cut()
    gc.collect()
    assert not any(alive(first + second))


@needs_tensors
def test_storages_in_growing_numbers_settle_earlier():
    made = [uncollectable.view_on_its_base()]
    assert new_findings(settle=5) == []
    for number in (1, 2):
        made.append(uncollectable.view_on_its_base())
        report = find(settle=5)
        (finding,) = new_findings(report)
        assert finding.occurrences == number, "one more was found for the first time"
        assert any("1 storage (4.0 KiB) is suspected" in note for note in report.notes)
    assert new_findings(settle=5) == [], "the number no longer grows"
    for _, cut in made:
        cut()


@pytest.mark.parametrize(
    ("settle", "error"),
    [(-1, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError), (None, TypeError)],
)
def test_settle_is_checked(settle, error):
    with pytest.raises(error, match="settle must be an integer from 0"):
        cyclewatch.never_freed(settle=settle)


def test_free_threaded_build_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "abiflags", "t")
    with pytest.raises(RuntimeError, match="free-threaded"):
        cyclewatch.never_freed()
    with pytest.raises(RuntimeError, match="free-threaded"):
        cyclewatch.watch(never_freed=True)


@needs_tensors
def test_watch_searches_at_the_end_of_each_step():
    references, cut = uncollectable.post_accumulate_grad_hook()
    with cyclewatch.watch(devices="cpu", never_freed=True) as watch:
        for step in range(6):
            watch.step(step)
            assert len(new_findings(watch.report())) == (1 if step >= 2 else 0)
    (finding,) = new_findings(watch.report())
    assert not [note for note in watch.report().notes if "suspected" in note], "no longer true"
    assert finding.occurrences == 1, "later searches do not count it again"
    assert (finding.collected, finding.by_process[0].first_step) == ("uncollectable", 2)
    cut()
    gc.collect()
    assert not any(alive(references))


def test_watch_searches_only_on_request():
    _, cut = uncollectable.view_on_its_base()
    with cyclewatch.watch(devices="cpu") as watch:
        for step in range(4):
            watch.step(step)
    assert new_findings(watch.report()) == []
    cut()
    with pytest.raises(ValueError, match="never_freed must be True or False"):
        cyclewatch.watch(never_freed=1)


def test_search_changes_nothing_but_the_objects_of_nodes():
    calls = []
    tensor = torch.ones(8, requires_grad=True)

    def pack(saved):
        return saved.detach()

    def unpack(packed):
        calls.append(packed)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = (tensor * tensor).exp().sum()
    loss.register_hook(calls.append)
    gc.collect()
    find()
    before = sys.getrefcount(tensor), tensor._use_count(), tensor._version, loss._use_count()
    count, counts = len(gc.get_objects()), gc.get_count()[0]
    find()
    assert gc.get_count()[0] - counts < 50
    assert len(gc.get_objects()) - count < 10
    assert not calls
    after = sys.getrefcount(tensor), tensor._use_count(), tensor._version, loss._use_count()
    assert after == before
    loss.backward()
    assert len(calls) == 4


@needs_nodes
def test_a_search_that_finds_nothing_names_what_c_code_holds(caplog):
    """The references of a C type without garbage collection cannot be examined."""
    reachable = torch.zeros(1 << 19)
    assert not find().findings
    assert not caplog.messages
    held = [torch.zeros(1 << 19)]
    pointer = ctypes.c_void_p(id(held))
    ctypes.pythonapi.Py_IncRef(pointer)
    del held
    assert not find().findings
    [message] = caplog.messages
    assert message.startswith("never_freed() found nothing, but C code holds 2.0 MiB of tensors")
    cyclewatch.live_owners(devices="cpu", min_bytes=1 << 21)
    ctypes.pythonapi.Py_DecRef(pointer)
    assert "the last never_freed() has found no cycle" in caplog.messages[-1]
    assert reachable is not None


def address_of_node(view):
    """In memory: reading `grad_fn` would replace the node."""
    in_tensor, in_data = torch_layout.torch_layout()["node_in_tensor"]
    memory = torch_layout.Memory()
    address = memory.word(memory.word(view._cdata + in_tensor) + in_data)
    memory.close()
    return address


@needs_nodes
@pytest.mark.filterwarnings("error")
def test_gradients_that_an_output_does_not_have_are_not_read():
    output = torch.ones(8, requires_grad=True) * 2
    find()
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert output.grad is None


@needs_nodes
def test_node_of_a_view_is_not_replaced():
    base = torch.ones(8, requires_grad=True) * 2
    view = base[:4]
    base.mul_(2)
    before = address_of_node(view)
    find()
    assert address_of_node(view) == before
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert address_of_node(view) != before


@needs_nodes
def test_node_without_a_python_object_to_which_c_code_refers_counts_as_alive():
    references, cut = uncollectable.view_of_a_parameter()
    node = address_of_node(references[0]().transposed)
    strong = ctypes.c_uint32.from_address(node + 8)
    strong.value += 1
    during = new_findings()
    strong.value -= 1
    assert during == []
    assert len(new_findings()) == 1
    cut()


@needs_nodes
def test_report_counts_the_objects_that_torch_creates():
    loss = torch.ones(8, requires_grad=True)
    for _ in range(10_000):
        loss = -loss  # saves nothing
    (note,) = [note for note in find().notes if "Python objects" in note]
    assert "made torch create 10,001 Python objects" in note, "10,000 nodes and AccumulateGrad"
    assert not [note for note in find().notes if "Python objects" in note]


@needs_nodes
def test_a_limit_of_nodes_is_noted(monkeypatch):
    loss = torch.ones(8, requires_grad=True)
    for _ in range(50):
        loss = -loss
    limited = {**torch_layout.torch_layout(), "most_nodes": 20}
    monkeypatch.setattr(scanning, "torch_layout", lambda: limited)
    assert "Only 20 tensors and autograd nodes were examined; the others count as alive." in (
        find().notes
    )


@needs_tensors
def test_graphs_are_not_examined_while_another_thread_runs_backward():
    with running_backward():
        during = find().notes
    assert [note for note in during if "another thread runs a backward pass" in note]
    assert not [note for note in find().notes if "another thread" in note]


# ---- Layouts that are not verified -----------------------------------------------------------


@pytest.fixture
def fresh_proof(monkeypatch):
    monkeypatch.setattr(torch_layout, "_layout", None)
    return monkeypatch


@needs_nodes
def test_everything_is_verified(fresh_proof):
    layout = torch_layout.torch_layout()
    assert layout["failures"] == []
    assert layout["kinds"] == {kind for kind, _ in torch_layout._KINDS}


REPEATED_PROOF = """
import torch
from cyclewatch.proofs import torch_layout

kept = []
for number in range(60):
    leaf = torch.ones(8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda t: t[0]):
        output = leaf.exp()
        output = (output * output).sigmoid()
    if number % 3 == 0:
        kept.append(output)
    torch_layout._layout, torch_layout._attempts = None, 0
    print(*torch_layout.torch_layout()["failures"])
"""


@needs_nodes
def test_everything_is_verified_again_and_again_in_a_new_process():
    """What freed memory contains, and thus lies behind the examined objects, differs."""
    command = [sys.executable, "-W", "ignore", "-c", REPEATED_PROOF]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.split() == []


@needs_nodes
def test_modes_of_the_program_do_not_disturb_the_experiments(fresh_proof):
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda value: value):
        assert torch_layout.torch_layout()["failures"] == []
    assert packed == []


@needs_nodes
def test_experiments_that_failed_are_repeated(fresh_proof):
    fresh_proof.setattr(torch_layout, "_attempts", 0)
    with torch.autograd.detect_anomaly(check_nan=False):
        during = torch_layout.torch_layout()["failures"]
    assert [each for each in during if "metadata" in each and "anomaly" in each]
    assert torch_layout.torch_layout()["failures"] == []


@needs_nodes
def test_faked_counts_are_noticed(fresh_proof):
    fresh_proof.setattr(torch_layout.Memory, "strong", lambda self, address: 2)
    layout = torch_layout.torch_layout()
    assert layout["kinds"] == {"tensors", "gradients", "post_accumulate"}
    references, cut = uncollectable.node_hook_captures_own_output()
    report = find()
    assert new_findings(report) == []
    (note,) = [note for note in report.notes if "could not verify" in note]
    assert "references between autograd nodes" in note and torch.__version__ in note
    cut()
    gc.collect()
    assert not any(alive(references))


@pytest.mark.parametrize("shift", [8, -8, 64])
def test_faked_layout_of_nodes_is_noticed(fresh_proof, shift):
    words = torch_layout.Memory.words

    def moved(self, address, count):
        return words(self, address + shift, count)

    fresh_proof.setattr(torch_layout.Memory, "words", moved)
    layout = torch_layout.torch_layout()
    assert "nodes" not in layout["kinds"]
    assert len(layout["failures"]) >= 1
    assert new_findings() == []


def test_unreadable_memory_is_noticed(fresh_proof):
    def refuse(*_):
        raise OSError("not permitted")

    fresh_proof.setattr(process_memory.os, "open", refuse)
    layout = torch_layout.torch_layout()
    assert layout["kinds"] == set()
    assert "cannot read its own memory" in layout["failures"][0]
    assert new_findings() == []


@needs_nodes
@pytest.mark.parametrize(
    "kind",
    [
        *("node_hooks", "metadata", "packed", "post_accumulate", "standalone_saved"),
        *("stale_views", "unwrapped_nodes", "copied_slices", "stored_gradients"),
    ],
)
def test_unverified_kind_is_not_used(fresh_proof, kind):
    def fail(self):
        raise torch_layout.UnverifiedError("a new layout")

    fresh_proof.setattr(torch_layout._Experiments, kind, fail)
    shape = {
        "node_hooks": uncollectable.node_hook_captures_own_output,
        "metadata": uncollectable.node_metadata,
        "packed": uncollectable.pack_hook_returns_output,
        "post_accumulate": uncollectable.post_accumulate_grad_hook,
        "standalone_saved": uncollectable.argument_of_checkpoint_keeps_output,
        "stored_gradients": uncollectable.gradient_of_an_output,
        "stale_views": uncollectable.gradient_with_graph_of_a_layer,
        "unwrapped_nodes": uncollectable.view_of_a_parameter,
        "copied_slices": uncollectable.part_computed_from_the_tensor,
    }[kind]
    references, cut = shape()
    report = find()
    assert new_findings(report) == []
    assert any("a new layout" in note for note in report.notes)
    cut()
    gc.collect()
    assert not any(alive(references))


LEAK = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1 << 18))
        self.w.register_post_accumulate_grad_hook(lambda p: self.update(p))

    def update(self, parameter):
        parameter.grad = None

for _ in range(3):
    model = Model()
    (model.w * 2).sum().backward()
    del model
"""


@needs_tensors
@pytest.mark.usefixtures("installation")
@pytest.mark.parametrize("option", ["--never-freed", "CYCLEWATCH_NEVER_FREED", None])
def test_run_searches_at_exit(tmp_path, option):
    (tmp_path / "program.py").write_text(LEAK)
    command = ["-m", "cyclewatch", "run", "--devices", "cpu", "--fail", "-o", "report.json"]
    environment = dict(os.environ)
    if option == "CYCLEWATCH_NEVER_FREED":
        command = []
        environment |= {"CYCLEWATCH": "1", "CYCLEWATCH_DEVICES": "cpu", option: "1"}
        environment |= {"CYCLEWATCH_FAIL": "1", "CYCLEWATCH_OUTPUT": "report.json"}
    elif option:
        command.append(option)
    result = subprocess.run(
        [sys.executable, *command, "program.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == (1 if option else 0), result.stderr
    findings = cyclewatch.Report.load(tmp_path / "report.json").findings
    assert [finding.occurrences for finding in findings] == ([3] if option else [])
    # Without the option, only the account of the memory at exit finds the cycle.
    named = "cut <lambda>.closure:self (program.py:8). Use --never-freed" in result.stderr
    assert named == (option is None)
    if option:
        assert "the post-accumulate-grad hook of `Model.w`" in findings[0].advice
        assert "Never freed. No collection frees these cycles" in " ".join(
            cyclewatch.Report.load(tmp_path / "report.json").to_text().split()
        )


@needs_tensors
def test_memory_has_a_line_for_hooks_that_capture_their_module():
    before = cyclewatch.memory("cpu")
    references, cut = uncollectable.hook_of_own_module()
    account = cyclewatch.memory("cpu")
    sizes = [dict(each.lines) for each in (before, account)]
    labels = [label for label in sizes[1] if label.startswith("never freed: dead in")]
    assert len(labels) == 1
    others = sum(size for label, size in sizes[0].items() if label.startswith("never freed"))
    assert sizes[1][labels[0]] - others == references[0]().untyped_storage().nbytes()
    assert sum(size for _, size in account.lines) == account.in_use
    assert account.findings[-1].collected == "uncollectable"
    cut()
    gc.collect()
