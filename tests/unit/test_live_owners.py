# SPDX-License-Identifier: Apache-2.0
"""live_owners(): the largest reachable tensors, and the objects that hold them."""

import asyncio
import atexit
import contextlib
import functools
import gc
import io
import signal
import sys
import threading
import weakref

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch import _native
from cyclewatch.account import measurement

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


class Layer:
    """Holds a buffer."""

    def __init__(self, nbytes):
        self.weight = Buffer(nbytes)


layers = []


@pytest.fixture(autouse=True)
def no_layers():
    yield
    layers.clear()


def owners(**arguments):
    return [
        owner
        for owner in cyclewatch.live_owners(1000, **arguments)
        if owner.type == "owners.Buffer"
    ]


def test_equal_paths_are_one_group():
    layers.extend(Layer(1 << 20) for _ in range(3))
    extra = Layer(1 << 20)
    first, second = owners()
    assert (first.count, first.nbytes, first.device) == (3, 3 << 20, "cpu")
    assert str(first.held_by[0]) == f"module global {__name__}.layers -> layers[0].weight"
    assert (second.count, second.nbytes, second.category) == (1, 1 << 20, "other")
    assert str(second.held_by[0]) == (
        "test_equal_paths_are_one_group() local extra -> extra.weight"
    )
    assert (first.shape, first.dtype, first.allocated_at) == (None, None, None)
    assert str(first) == (
        f"3.0 MiB: 3 x owners.Buffer on cpu, other, held by {first.held_by[0]} (one of 3 such "
        "paths). To free them, " + first.held_by[0].remedy + "."
    )
    assert repr(first) == f"<LiveOwner {first}>"
    del extra


def test_an_attribute_of_an_object_in_a_tuple_of_a_list_can_be_cleared():
    layers.extend((Layer(1 << 20), number) for number in range(3))
    [group] = owners()
    assert group.held_by[0].remedy == (
        "remove the items of `layers` that are no longer needed, or set `[0].weight` of those "
        "that no longer need it to None; if all are needed, store less in each"
    )
    for item in layers:
        item[0].weight = None
    assert not owners()


def test_items_that_several_entries_hold_are_removed_without_their_list():
    for first in range(2):
        kept = Buffer(1 << 20)
        layers.extend([(kept, first), (kept, first + 1)])
    del kept
    [group] = owners()
    assert group.count == 2
    assert group.held_by[0].remedy.startswith("remove the items of `layers` that are no longer")


@pytest.mark.parametrize(
    "batch",
    [list, lambda buffers: dict(enumerate(buffers)), lambda buffers: {"predictions": buffers}],
)
def test_containers_are_removed_from_the_list_that_collects_them(batch):
    layers.extend(batch([Buffer(1 << 20) for _ in range(2)]) for _ in range(3))
    [group] = owners()
    assert group.count == 6
    assert group.held_by[0].remedy.startswith("remove the items of `layers` that are no longer")


def test_no_item_of_a_group_is_chosen():
    layers.extend(Layer(1 << 20) for _ in range(3))
    layers.append([Buffer(1 << 21) for _ in range(2)])
    lists, objects = sorted(owners(), key=lambda owner: owner.count)
    assert objects.held_by[0].remedy == (
        "remove the items of `layers` that are no longer needed, or set `.weight` of those "
        "that no longer need it to None; if all are needed, store less in each"
    )
    assert lists.held_by[0].remedy.startswith(
        "remove the items of `layers` that are no longer needed, or items of these; if all"
    )
    del layers[1:]
    (single,) = owners()
    assert single.held_by[0].remedy == "remove `layers[0]` once it is no longer needed"


def test_small_views_are_copied():
    numpy = pytest.importorskip("numpy")

    def read(array):
        while isinstance(array.base, numpy.ndarray):
            array = array.base
        return {"device": "cpu", "nbytes": array.nbytes, "data_ptr": array.ctypes.data}

    cyclewatch.register_owner(numpy.ndarray, read)
    try:
        layers.extend(numpy.ones(1 << 20)[:10] for _ in range(3))
        (group,) = [
            each
            for each in cyclewatch.live_owners(1000, devices="cpu")
            if each.type == "numpy.ndarray" and "layers[" in str(each)
        ]
    finally:
        cyclewatch.unregister_owner(numpy.ndarray)
    assert group.held_by[0].remedy.startswith("store `.copy()` of each view such as `layers[")


def test_small_detached_tensors_are_cloned():
    torch = pytest.importorskip("torch")
    layers.extend(torch.ones(1 << 20)[:10].detach() for _ in range(3))
    layers.append(torch.ones(1 << 21).view(2, -1).detach())
    views, whole = sorted(
        (each for each in cyclewatch.live_owners(1000, devices="cpu") if "layers[" in str(each)),
        key=lambda each: -each.count,
    )
    assert views.held_by[0].remedy.startswith("store `.clone()` of each view such as `layers[")
    assert whole.held_by[0].remedy == "remove `layers[3]` once it is no longer needed"


def test_both_remedies_are_named_if_one_does_not_suffice():
    async def train(weight):
        await asyncio.sleep(0)
        return weight

    buffer = Buffer(1 << 21)
    running = train(buffer)
    layers.append(buffer)
    del buffer
    (group,) = owners()
    assert not group.held_by[0].cut_frees
    remedies = [path.remedy for path in group.held_by]
    assert str(group).endswith(f"To free it, {remedies[0]}, and {remedies[1]}.")
    running.close()


# A size that no other object has.
PAGE = (1 << 20) + 123


@pytest.fixture
def pages_are_owners():
    def read(page):
        return {"device": "cpu", "nbytes": PAGE, "data_ptr": id(page)} if len(page) == 123 else None

    cyclewatch.register_owner(bytearray, read)
    yield
    cyclewatch.unregister_owner(bytearray)


def pages():
    return [owner for owner in cyclewatch.live_owners(1000) if owner.type == "bytearray"]


@pytest.mark.usefixtures("pages_are_owners")
def test_owners_without_a_gc_header():
    assert not gc.is_tracked(bytearray(123))
    layer = Layer(10)
    layer.weight = bytearray(123)
    layers.append(layer)
    del layer
    (owner,) = pages()
    assert (owner.count, owner.nbytes) == (1, PAGE)
    assert str(owner.held_by[0]) == f"module global {__name__}.layers -> layers[0].weight"
    # The collector does not track this dict and this tuple either.
    layers[0] = {"page": bytearray(123)}
    gc.collect()
    assert not gc.is_tracked(layers[0]) or sys.version_info >= (3, 14)
    (owner,) = pages()
    assert str(owner.held_by[0]) == f"module global {__name__}.layers -> layers[0]['page']"
    layers.clear()
    local = bytearray(123)
    (owner,) = pages()
    assert str(owner.held_by[0]) == "test_owners_without_a_gc_header() local local"
    del local
    assert pages() == []


@pytest.mark.usefixtures("pages_are_owners")
def test_unreachable_owners_without_a_gc_header_are_left_out():
    layer = Layer(10)
    layer.me, layer.weight = layer, bytearray(123)
    assert len(pages()) == 1
    del layer
    assert pages() == []
    gc.collect()


@pytest.mark.usefixtures("pages_are_owners")
def test_growth_of_owners_without_a_gc_header():
    before = cyclewatch.census()
    layers.extend(bytearray(123) for _ in range(4))
    (growth,) = cyclewatch.census().diff(before)
    assert (growth.nbytes, growth.count) == (4 * PAGE, 4)


def test_message_if_all_groups_are_too_small(caplog):
    layers.append(Layer(1000))
    assert cyclewatch.live_owners(min_bytes=1 << 40) == []
    (record,) = caplog.records
    assert "each smaller than min_bytes=1099511627776; pass min_bytes=0" in record.getMessage()
    caplog.clear()
    assert cyclewatch.live_owners(devices="cuda:7", min_bytes=1 << 40) == []
    assert caplog.records == []


def test_small_groups_and_other_devices_are_left_out():
    layers.append(Layer((1 << 20) - 1))
    assert owners() == []
    assert len(owners(min_bytes=0)) == 1
    assert len(owners(min_bytes=0, devices="cpu")) == 1
    assert len(owners(min_bytes=0, devices=["cpu:0"])) == 1
    assert owners(min_bytes=0, devices=["cuda"]) == []
    assert len(owners(min_bytes=0, device="cpu")) == 1  # the former spelling
    assert owners(min_bytes=0, device="cuda:0") == []


def test_unreachable_tensors_are_left_out():
    gc.disable()
    try:
        layer = Layer(1 << 20)
        layer.me = layer
        del layer
        assert owners() == []
    finally:
        gc.enable()


def test_tensors_released_during_the_call_are_left_out():
    """The function that reads an owner releases tensors, as another thread could."""

    class Trigger:
        pass

    def read(trigger):
        layers.clear()
        return {"device": "cpu", "nbytes": 8, "data_ptr": id(trigger)}

    cyclewatch.register_owner(Trigger, read)
    try:
        trigger = Trigger()
        kept = Layer(1 << 20)
        layers.extend([Layer(1 << 20), Layer(1 << 20)])
        (owner,) = owners()
        assert (owner.count, len(owner.held_by)) == (1, 1)
        layers.extend([Layer(1 << 20), Layer(1 << 20)])
        found = [each for each in cyclewatch.census().owners if each.type == owner.type]
        assert sum(each.count for each in found) == 1
        del kept, trigger
    finally:
        cyclewatch.unregister_owner(Trigger)


def test_keys_are_hidden_in_reports():
    layers.append({"user 1": {17: Layer(1 << 20)}})
    (shown,) = owners()
    assert str(shown.held_by[0]).endswith(".layers -> layers[0]['user 1'][17].weight")
    hidden = [
        str(owner.held_by[0])
        for owner in _native.live_owners(["all"], show_keys=False)[0]
        if owner.type == shown.type
    ]
    assert hidden == [f"module global {__name__}.layers -> layers[0][<str>][<int>].weight"]


def test_keys_are_part_of_a_path_unless_the_dict_is_large():
    layers.append({f"key {i}": Buffer(100 + i) for i in range(64)})
    start = f"module global {__name__}.layers -> layers[x]"
    assert {each.path for each in owners(min_bytes=0)} == {f"{start}['key {i}']" for i in range(64)}
    layers[0]["key 64"] = Buffer(1000)
    assert {each.path for each in owners(min_bytes=0)} == {f"{start}[x]"}


@pytest.mark.parametrize(
    ("keys", "first"), [(range(30_000), "[0]"), ([f"key {i}" for i in range(30_000)], "['key 0']")]
)
def test_many_tensors_in_one_dict_are_one_group(keys, first):
    layers.append({key: Buffer(100) for key in keys})
    (owner,) = owners(min_bytes=1 << 20)
    assert (owner.count, owner.nbytes) == (30_000, 3_000_000)
    assert str(owner.held_by[0]) == f"module global {__name__}.layers -> layers[0]{first}"
    assert owner.path == f"module global {__name__}.layers -> layers[x][x]"


def test_many_tensors_of_objects_in_one_list_have_paths():
    layers.extend(Layer(100) for _ in range(25_000))
    (owner,) = owners(min_bytes=0)
    assert (owner.count, len(owner.held_by)) == (25_000, 1)


def test_top():
    layers.extend([Layer(1 << 20), Layer(2 << 20)])
    (owner,) = cyclewatch.live_owners(1)
    assert owner.nbytes >= 2 << 20


def test_wrong_arguments():
    with pytest.raises(ValueError, match="top must be an integer from 1, not 0"):
        cyclewatch.live_owners(0)
    with pytest.raises(ValueError, match="min_bytes must be an integer from 0, not -1"):
        cyclewatch.live_owners(min_bytes=-1)
    with pytest.raises(TypeError, match="top must be an integer from 1, not '10'"):
        cyclewatch.live_owners("10")
    with pytest.raises(TypeError, match='device must be a name such as "cuda:0", or None, not 0'):
        cyclewatch.live_owners(device=0)
    for find in (cyclewatch.live_owners, cyclewatch.census):
        with pytest.raises(ValueError, match="unknown device 'bogus'; expected one of .*cuda"):
            find(device="bogus")


def test_categories_of_a_training_state():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.randn(17, 64)
    model(inputs).sum().backward()
    optimizer.step()
    hidden = model(inputs)
    state = model.state_dict()  # aliases of the parameters
    live = {
        (owner.shape, owner.category): owner
        for owner in cyclewatch.live_owners(1000, min_bytes=0)
        if owner.type.startswith("torch.")
    }
    name = "test_categories_of_a_training_state()"
    weight = live[(64, 64), "parameter"]
    assert weight.nbytes == 64 * 64 * 4
    assert weight.dtype == "float32"
    assert str(weight.held_by[0]) == f"{name} local model -> model.weight"
    gradient = live[(64, 64), "gradient"]
    path = gradient.held_by[0]
    assert str(path) == f"{name} local model -> model.weight.grad"
    assert (path.cut.label, path.cut_frees) == (".grad", True)
    assert path.cut.reason == "every path to the object contains this reference"
    kept = model.weight.grad
    owners = cyclewatch.live_owners(1000, min_bytes=0)
    path = next(each for each in owners if each.category == "gradient").held_by[0]
    assert (path.cut.label, path.cut_frees) == (".grad", False)
    moments = [owner for key, owner in live.items() if key == ((64, 64), "optimizer state")]
    assert str(moments[0].held_by[0]).startswith(f"{name} local optimizer -> optimizer.state[")
    assert ((17, 64), "activation") in live
    assert live[(17, 64), "other"].count == 1
    del hidden, state, kept


@pytest.mark.parametrize(
    ("make", "category"),
    [
        (lambda torch, weight: torch.ones(1 << 12, requires_grad=True), "other"),
        (lambda torch, weight: torch.ones(1 << 12) * weight, "activation"),
        (lambda torch, weight: torch.nn.Parameter(torch.ones(1 << 12)), "parameter"),
    ],
)
@pytest.mark.parametrize("holder", [list, dict])
def test_gradients_are_not_counted_with_their_tensors(make, category, holder):
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(1))
    kept = []
    for _ in range(65):
        kept.append(make(torch, weight))
        kept[-1].retain_grad()
        (kept[-1] * 2).sum().backward()
    layers.append(kept if holder is list else {f"key {i}": each for i, each in enumerate(kept)})
    first = "[0]" if holder is list else "['key 0']"
    kept = None
    found = {
        (each.category, str(each.held_by[0]), each.path): (each.count, each.nbytes)
        for each in cyclewatch.live_owners(1000, min_bytes=0)
        if each.shape == (1 << 12,)
    }
    start = f"module global {__name__}.layers -> layers"
    assert found == {
        (category, f"{start}[0]{first}", f"{start}[x][x]"): (65, 65 << 14),
        ("gradient", f"{start}[0]{first}.grad", f"{start}[x][x].grad"): (65, 65 << 14),
    }
    sizes = dict.fromkeys([category, "gradient"], 0)
    for _, _, size, _, of, path in _native.owned_storages(["cpu"]):
        if path.startswith(start):
            sizes[of] += size
    assert sizes == {category: 65 << 14, "gradient": 65 << 14}


def test_buffers_of_modules_have_a_category():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(1))
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1003), torch.nn.Linear(1, 1))
    model.register_buffer("mask", torch.ones(1004), persistent=False)
    model.plain = torch.ones(1005)
    model.listed = [torch.ones(1006)]
    model[1].register_buffer("scale", torch.nn.Parameter(torch.ones(1007)))
    model.register_buffer("computed", torch.ones(1008) + weight)
    found = {
        str(each.held_by[0]).rpartition("model")[2]: each.category
        for each in cyclewatch.live_owners(1000, min_bytes=0)
        if each.shape and 1003 <= each.shape[0] <= 1008
    }
    assert found == {
        "[0].weight": "parameter",
        "[0].bias": "parameter",
        "[0].running_mean": "buffer",
        "[0].running_var": "buffer",
        ".mask": "buffer",
        ".plain": "other",
        ".listed[0]": "other",
        "[1].scale": "parameter",
        ".computed": "activation",
    }
    lines = dict(cyclewatch.memory("cpu").lines)
    assert lines["reachable: buffers of modules"] >= 4 * (2 * 1003 + 1004)


def test_tensors_of_one_path_are_grouped_by_category():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(1))
    for weighted in (False, True, False):
        layers.append(Layer(0))
        layers[-1].weight = torch.ones(999) + weight if weighted else torch.ones(999)
    found = {
        each.category: each.count
        for each in cyclewatch.live_owners(1000, min_bytes=0)
        if each.shape == (999,)
    }
    assert found == {"other": 2, "activation": 1}


def test_array_of_a_tensor_is_named_as_its_holder():
    torch = pytest.importorskip("torch")
    pytest.importorskip("numpy")
    arrays = [torch.ones(1000 + i).numpy() for i in range(2)]
    found = [each for each in cyclewatch.live_owners(min_bytes=4000) if each.nbytes in (4000, 4004)]
    name = "test_array_of_a_tensor_is_named_as_its_holder() local arrays"
    assert sorted((each.count, each.category, str(each.held_by[0])) for each in found) == [
        (1, "other", f"{name} -> arrays[{i}].base") for i in range(2)
    ]
    del arrays


def test_base_of_a_view_is_held_by_the_view():
    torch = pytest.importorskip("torch")

    def cut(number):
        base = torch.full((1000,), number)
        weak = weakref.ref(base)
        return base[2:5], weak

    view, reference = cut(3.0)
    found = [each for each in cyclewatch.live_owners(min_bytes=4000) if each.shape == (1000,)]
    assert reference() is not None
    (owner,) = found
    assert owner.category == "other"
    name = "test_base_of_a_view_is_held_by_the_view()"
    assert str(owner.held_by[0]) == f"{name} local view -> view._base"
    assert view.shape == (3,)


def test_tensors_of_a_kept_loss_are_held_by_its_list():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))
    losses = [model(torch.ones(32, 64)).sum() for _ in range(2)]
    del model
    found = {
        (owner.shape, owner.category): (
            owner.count,
            str(owner.held_by[0]).replace("[1]", "[0]"),
        )
        for owner in cyclewatch.live_owners(1000, min_bytes=0)
        # Other tests may have imported libraries with tensors of their own.
        if owner.shape in {(64, 64), (32, 64), ()} and "losses" in str(owner.held_by[0])
    }
    path = "test_tensors_of_a_kept_loss_are_held_by_its_list() local losses -> losses[0].grad_fn"
    assert found == {
        ((64, 64), "parameter"): (2, path),
        ((32, 64), "saved for backward"): (4, path),
        ((), "activation"): (2, path.removesuffix(".grad_fn")),
    }
    del losses


OPERATIONS = {
    "one saved result": (lambda tensor: (tensor * 2.0).tanh(), 1),
    "chain of results": (lambda tensor: (tensor * 2.0).sigmoid().softmax(0).exp(), 3),
    "saved argument": (lambda tensor: (tensor * 2.0).pow(2), 1),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("ask", ["live_owners", "memory"])
def test_first_census_lists_the_tensors_that_only_a_graph_holds(name, ask):
    torch = pytest.importorskip("torch")
    operation, saved = OPERATIONS[name]
    size = 10_007
    losses = [operation(torch.ones(size, requires_grad=True)).sum() for _ in range(3)]

    def census():
        if ask == "memory":
            owners = measurement.Memory("cpu", None).owners
        else:
            owners = cyclewatch.live_owners(1000, min_bytes=0)
        return [
            (each.category, each.count, each.nbytes) for each in owners if each.shape == (size,)
        ]

    first = census()
    assert sorted(first)[-1] == ("saved for backward", 3 * (saved + 1), 12 * size * (saved + 1))
    assert census() == first
    del losses


@pytest.mark.parametrize("kept", ["node", "checkpoint"])
def test_tensors_saved_for_a_node_or_a_checkpoint_have_their_category(kept):
    torch = pytest.importorskip("torch")

    def compute():
        leaf = torch.ones(10_009, requires_grad=True)
        if kept == "node":
            return (leaf * 2.0).tanh().grad_fn
        checkpoint = torch.utils.checkpoint.checkpoint
        return checkpoint(torch.sin, leaf * 2.0, use_reentrant=False).sum()

    result = compute()
    found = [
        (each.category, each.count)
        for each in cyclewatch.live_owners(1000, min_bytes=0)
        if each.shape == (10_009,)
    ]
    assert {category for category, _ in found} == {"saved for backward"}
    assert sum(count for _, count in found) == 2
    del result


def test_a_parameter_is_held_by_its_module_rather_than_by_the_graph_of_a_loss():
    torch = pytest.importorskip("torch")
    trainers = [{"models": [torch.nn.Linear(1 << 10, 1 << 8)]}]
    loss = trainers[0]["models"][0](torch.ones(1 << 10)).sum()
    path = cyclewatch.why_alive(weakref.ref(trainers[0]["models"][0].weight))[0]
    assert str(path).endswith("() local trainers -> trainers[0]['models'][0].weight")
    assert loss.grad_fn


def test_memory_of_an_array_is_counted_once():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(1 << 18)
    tensors = [torch.from_numpy(array), torch.from_numpy(array)]
    found = [owner for owner in cyclewatch.live_owners(1000) if owner.shape == (1 << 18,)]
    assert [(owner.count, owner.nbytes) for owner in found] == [(1, 1 << 21)]
    assert tensors[0].shape == (1 << 18,)


def test_overlapping_memory_is_counted_once():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(1_000_003)
    kept = [torch.from_numpy(array[i:]) for i in range(4)]
    kept += [
        torch.from_numpy(array[:10]),
        torch.frombuffer(memoryview(array)[7:], dtype=torch.int8),
    ]
    found = [owner for owner in cyclewatch.live_owners(1000) if "kept" in str(owner.held_by[0])]
    assert [(each.count, each.nbytes) for each in found] == [(1, 8_000_024)]
    assert len(kept) == 6


def test_part_of_a_mapped_file_is_counted_with_its_tensor(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save([torch.ones(100_003), torch.ones(100_019)], tmp_path / "saved.pt")
    loaded = torch.load(tmp_path / "saved.pt", mmap=True)
    file_size = (tmp_path / "saved.pt").stat().st_size
    found = {each.shape: each for each in cyclewatch.live_owners(1000, min_bytes=0)}
    rest = [
        each
        for each in cyclewatch.live_owners(1000, min_bytes=0)
        if each.type == "torch.storage.UntypedStorage" and each.category == "held by C++"
    ]
    assert [found[each.shape].nbytes for each in loaded] == [400_012, 400_076]
    assert found[100_003,].category == "other"
    assert [each.nbytes for each in rest] == [file_size - 800_088]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_tensors_that_only_cpp_code_holds_are_not_saved_for_backward():
    torch = pytest.importorskip("torch")
    saved = io.BytesIO()
    saved.write(torch.jit.script(torch.nn.Linear(1009, 1013)).save_to_buffer())
    saved.seek(0)
    module = torch.jit.load(saved)
    gc.collect()
    assert list(module.parameters())  # their Python objects live as long as the tensors
    (found,) = (each for each in cyclewatch.live_owners(1000) if each.shape == (1013, 1009))
    assert str(found.held_by[0]) == "C code of torch"
    assert found.category == "held by C++"
    account = dict(cyclewatch.memory("cpu").lines)
    assert account["tensors held by C++ only"] >= found.nbytes
    assert module.training


def test_tensor_is_reported_instead_of_its_storage():
    torch = pytest.importorskip("torch")
    layers.extend([torch.ones(1007), torch.nn.Parameter(torch.ones(1009))])
    gc.collect()  # the tensors are older than the objects for their storages
    for tensor in layers:
        tensor.untyped_storage()  # creates an object that lives as long as the storage
    del tensor
    found = [each for each in cyclewatch.live_owners(min_bytes=4000) if each.nbytes in (4028, 4036)]
    assert sorted((each.type, each.shape, str(each.held_by[0])) for each in found) == [
        ("torch.Tensor", (1007,), f"module global {__name__}.layers -> layers[0]"),
        ("torch.nn.parameter.Parameter", (1009,), f"module global {__name__}.layers -> layers[1]"),
    ]


def test_tensor_held_by_a_view_of_its_array_is_not_saved_for_backward():
    torch = pytest.importorskip("torch")
    view = torch.ones(1 << 18).numpy()[1:]
    (found,) = (owner for owner in cyclewatch.live_owners(1000) if owner.shape == (1 << 18,))
    assert found.category == "other"
    assert str(found.held_by[0]).endswith(" local view -> view.base.base")
    assert view.sum() == (1 << 18) - 1


@pytest.mark.parametrize("kind", ["TorchDispatchMode", "TorchFunctionMode"])
def test_active_mode_of_torch_is_a_root(kind):
    torch = pytest.importorskip("torch")
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    tensor = torch.ones(1 << 18)
    mode = {"TorchDispatchMode": TorchDispatchMode, "TorchFunctionMode": TorchFunctionMode}[kind]()
    mode.kept = [tensor]
    reference = weakref.ref(tensor)
    mode.__enter__()
    del mode, tensor
    try:
        (path,) = cyclewatch.why_alive(reference)
        assert (str(path), path.cut_frees) == (f"active {kind} -> {kind}.kept[0]", True)
    finally:
        # Without another reference to the mode, _pop_mode() of torch 2.6 may crash.
        if kind == "TorchDispatchMode":
            mode = torch.utils._python_dispatch._get_current_dispatch_mode()
            torch.utils._python_dispatch._pop_mode()
        else:
            mode = torch.overrides._get_current_function_mode()
            torch.overrides._pop_mode()
        del mode
    assert reference() is None


class Member:
    """One of many objects that refer to the same list."""

    def __init__(self, shared):
        self.shared = shared


def test_search_for_further_paths_is_limited():
    count = 50
    shared = [Layer((1 << 20) + number) for number in range(count)]
    first = list(shared)
    # All searches for further paths together visit at most a quarter of the objects.
    objects = len(gc.get_objects()) + gc.get_freeze_count()
    crowd = [Member(shared) for _ in range(objects // 10)]
    del shared
    found = [owner.held_by for owner in owners()]
    start = "test_search_for_further_paths_is_limited() local"
    assert [str(paths[0]) for paths in found] == [
        f"{start} first -> first[{number}].weight" for number in reversed(range(count))
    ]
    # Each search for a second path visits all members. The largest owner's search completes.
    assert [str(path).split("[")[0] for path in found[0][1:]] == [f"{start} crowd -> crowd"]
    assert len(found[-1]) == 1
    assert len(cyclewatch.why_alive(first[0].weight)) == 2
    del crowd


def test_a_reader_with_an_invalid_result_is_told_once(monkeypatch):
    class Owner:
        pass

    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(str(args.exc_value)))
    cyclewatch.register_owner(Owner, lambda owner: (1 << 20, "cpu"))
    try:
        alive = [Owner(), Owner()]
        assert cyclewatch.live_owners(devices="cpu", min_bytes=0) is not None
        assert cyclewatch.live_owners(devices="cpu", min_bytes=0) is not None
    finally:
        cyclewatch.unregister_owner(Owner)
    del alive
    assert len(told) == 1
    assert "registered for Owner is invalid: it returned tuple" in told[0]


class Player:
    """Is drawn by a callback; needs its parts for that."""

    def __init__(self, layers=2):
        self.layers = [Layer(1 << 20) for _ in range(layers)]
        self.cover = Buffer(1 << 21)

    def draw(self, *_):
        return [each.weight.facts for each in self.layers], self.cover.facts


def is_of_parts(remedy):
    """Whether the remedy names a part of a player."""
    return any(part in remedy for part in ("layers", "weight", "cover"))


def remedies_of_player():
    """The remedies for the layers of a player and for its cover."""
    groups = owners()
    assert sorted(group.nbytes for group in groups) == [2 << 20, 2 << 20]
    return [str(group).partition("To free ")[2].partition(", ")[2] for group in groups]


def partial_of(player):
    return functools.partial(lambda each, *_: each.draw(), player)


def closure_of(player):
    return lambda *_: player.draw()


CALLBACKS = [lambda player: player.draw, closure_of, partial_of]


@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_signal_handler_is_replaced_rather_than_what_it_needs(callback):
    former = signal.signal(signal.SIGUSR1, callback(Player()))
    try:
        remedies = remedies_of_player()
    finally:
        signal.signal(signal.SIGUSR1, former)
    for remedy in remedies:
        assert "`signal.signal(signal.SIGUSR1, former)`" in remedy
        assert not is_of_parts(remedy)
        assert ("do not capture `player` (test_live_owners.py:" in remedy) == (
            callback is closure_of
        )
    assert owners() == []


@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_function_of_atexit_is_unregistered_rather_than_what_it_needs(main_interpreter, callback):
    if main_interpreter.free_threaded:
        pytest.skip("free-threaded builds show the registry as C code")
    function = callback(Player())
    atexit.register(function)
    registered = [function]
    del function
    try:
        reference = weakref.ref(registered[0].__self__) if callback is CALLBACKS[0] else None
        function = registered.pop()
        unregister = weakref.WeakMethod(function) if reference else weakref.ref(function)
        del function
        remedies = remedies_of_player()
    finally:
        atexit.unregister(unregister())
    for remedy in remedies:
        assert "`atexit.unregister()`" in remedy
        assert not is_of_parts(remedy)
    assert owners() == []


@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("store", [list.append, set.add])
def test_a_function_is_removed_from_a_registry_rather_than_what_it_needs(callback, store):
    layers.append([] if store is list.append else set())
    store(layers[0], callback(Player()))
    for remedy in remedies_of_player():
        assert "`layers[0]" in remedy
        assert not is_of_parts(remedy.replace("`layers[0]", ""))
    layers[0].clear()
    assert owners() == []


def test_what_a_function_of_a_registry_collects_is_removed():
    def observe():
        seen = []
        layers.append(lambda: seen.append(Buffer(1 << 20)))

    observe()
    for _ in range(3):
        layers[0]()
    [group] = owners()
    assert group.held_by[0].remedy.startswith("remove the items of `seen` that are no longer")


@contextlib.contextmanager
def thread_with(function):
    """Runs a thread in which a variable refers to the result of `function`."""
    started, ends = threading.Event(), threading.Event()

    def work():
        used = function()
        started.set()
        ends.wait()
        used()

    thread = threading.Thread(target=work, name="drawing")
    thread.start()
    started.wait()
    try:
        yield
    finally:
        ends.set()
        thread.join()


@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_call_in_a_thread_is_ended_rather_than_deprived_of_what_it_needs(callback):
    with thread_with(lambda: callback(Player())):
        remedies = remedies_of_player()
    for remedy in remedies:
        assert remedy.startswith("end the call of `")
        assert "in thread `drawing`" in remedy
        assert not is_of_parts(remedy)
    assert owners() == []


def test_many_items_that_a_thread_collects_are_removed():
    with thread_with(lambda: Player(layers=100).draw):
        [items] = [group for group in owners() if group.count == 100]
    assert items.held_by[0].remedy.startswith("remove the items of `used.__self__.layers` that are")


def test_an_item_of_a_module_dict_is_not_removed_from_its_model():
    torch = pytest.importorskip("torch")
    model = torch.nn.ModuleDict({"head": torch.nn.Linear(1 << 10, 1 << 10, bias=False)})
    [group] = [each for each in cyclewatch.live_owners() if "local model" in str(each)]
    assert group.held_by[0].remedy.startswith("delete the variable `model`")
    assert model is not None


def test_models_and_optimizers_are_removed_as_wholes():
    torch = pytest.importorskip("torch")

    def remedies(name):
        paths = {each.category: each.held_by[0] for each in cyclewatch.live_owners()}
        return {of: path.remedy for of, path in paths.items() if f"local {name} " in str(path)}

    models = [torch.nn.Linear(1 << 10, 1 << 10, bias=False) for _ in range(3)]
    optimizers = [torch.optim.Adam(model.parameters()) for model in models]
    for model, optimizer in zip(models, optimizers, strict=True):
        model(torch.ones(1, 1 << 10)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    model = optimizer = None
    remedy = "remove the items of `{}` that are no longer needed"
    assert remedies("models") == {"parameter": remedy.format("models")}
    assert remedies("optimizers") == {"optimizer state": remedy.format("optimizers")}
    del optimizers[1:], models[1:]
    # Its state may contain that of parameters that were replaced.
    state = {"optimizer state": remedy.format("optimizers[0].state")}
    assert remedies("optimizers") == state


def batches():
    """A loader that keeps the samples of the batch that it has returned."""
    samples = [Buffer(1 << 20) for _ in range(4)]
    yield [each.facts for each in samples]


def test_of_equal_groups_the_one_in_use_is_listed_last():
    for batch in batches():
        used = Buffer(4 << 20)
        kept, in_use = owners()
        assert (kept.count, in_use.count) == (4, 1)
        assert " local samples[0]" in str(kept) and str(in_use.held_by[0]).endswith(" local used")
        assert batch and used.facts
    used = Buffer(4 << 20)
    layers.append(Buffer((4 << 20) - 1000))
    assert [each.nbytes for each in owners()] == [(4 << 20) - 1000, 4 << 20]
    layers[0] = Buffer(3 << 20)
    assert [each.nbytes for each in owners()] == [4 << 20, 3 << 20]
    assert used.facts


@contextlib.contextmanager
def open_session():
    buffer = Buffer(1 << 20)
    yield
    assert buffer.facts


def samples():
    buffer = Buffer(1 << 20)
    yield
    assert buffer.facts


def test_what_only_the_stack_of_the_caller_holds():
    """The context manager of a `with` statement, and the iterator of a loop."""
    with open_session():
        (path,) = [group.held_by[0] for group in owners()]
    assert str(path).endswith(" -> open_session() local buffer")
    for _ in samples():
        (path,) = [group.held_by[0] for group in owners()]
    assert str(path).endswith(" -> samples() local buffer")
