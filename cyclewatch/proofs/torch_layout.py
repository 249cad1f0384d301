# SPDX-License-Identifier: Apache-2.0
"""Checks, in this process, which references inside torch's C++ objects can be counted exactly.

A tensor and an autograd node are a Python object and a C++ object with a reference count. torch
offers no function that reads the count of a node, or the objects that a hook, a pack hook or the
`metadata` of a node refers to. They are read from memory, at offsets that this module finds by
experiment: it makes one reference and observes which count, and which word, changes. A kind of
reference that cannot be verified is not used, so a cycle through it counts as alive.
"""

from __future__ import annotations

import _thread
import sys
from types import ModuleType

from cyclewatch.proofs.process_memory import WORD, Memory, UnverifiedError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_WORDS = 64  # words of a node that are searched
_CHANGED_WORDS = 128  # words of a CopySlices node that are searched
_TENSOR_WORDS = 24  # words of a tensor that are searched
_SAVED_WORDS = 16  # words of a SavedVariable that are searched
_COPIES = 3  # references that an experiment makes


def _references(value: Any) -> int:
    """The references to `value`, without those of the caller's variable and of this call."""
    return sys.getrefcount(value) - 3


class _Experiments:
    """The experiments, each of which fills in a part of `layout`."""

    def __init__(self, torch: Any, memory: Memory) -> None:
        self._torch = torch
        self._memory = memory
        self.layout: dict[str, Any] = {}

    def _leaf(self) -> Any:
        return self._torch.ones(2, requires_grad=True, device="cpu")

    def _custom(self) -> type[Any]:
        class Custom(self._torch.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, tensor: Any) -> Any:
                return tensor.clone()

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient

        return Custom

    def _node_address(self, node: Any) -> int:
        is_python = isinstance(node, self._torch._C._FunctionBase)
        offset = self.layout["node_in_function" if is_python else "node_in_wrapper"]
        return self._memory.word(id(node) + offset)

    def _node_count(self, node: Any) -> int:
        return self._memory.strong(self._node_address(node))

    def tensors(self) -> None:
        """C++ owns one reference to the Python object of a tensor that C++ refers to."""
        tensor = self._torch.ones(4, device="cpu")
        before = _references(tensor)
        check(tensor._use_count() == 1, "the count of a new tensor")
        views = [tensor[:1] for _ in range(_COPIES)]
        check(all(view._base is tensor for view in views), "the base of a view")
        check(tensor._use_count() == 1 + _COPIES, "the count of the base of views")
        check(_references(tensor) == before + 1, "the Python object of a base")
        views.clear()
        check(tensor._use_count() == 1 and _references(tensor) == before, "a base without views")

    def gradients(self) -> None:
        leaf = self._leaf()
        gradient = self._torch.ones(2, device="cpu")
        leaf.grad = gradient
        check(gradient._use_count() == 2 and leaf.grad is gradient, "the count of a gradient")
        leaf.grad = None
        check(gradient._use_count() == 1, "the count of a gradient that was removed")

    def _find_node(self, output: Any, size: int) -> int:
        """The offset of the C++ node in the Python object of `output.grad_fn`."""
        wrapper = output.grad_fn
        for offset in range(2 * WORD, size, WORD):
            try:
                address = self._memory.word(id(wrapper) + offset)
                before = self._memory.strong(address)
                consumers = [output * 3 for _ in range(_COPIES)]
                between = self._memory.strong(address)
                exact = all(each.grad_fn.next_functions[0][0] is wrapper for each in consumers)
                consumers.clear()
                after = self._memory.strong(address)
            except UnverifiedError:
                continue
            if exact and before == after == 2 and between == before + _COPIES:
                return offset
        raise UnverifiedError("the count of an autograd node")

    def nodes(self) -> None:
        """The count of a node, `grad_fn`, `next_functions` and `AccumulateGrad.variable`."""
        leaf = self._leaf()
        check(leaf._use_count() == 1, "the count of a new leaf")
        output = leaf * 2
        check(leaf._use_count() == 2, "the variable of AccumulateGrad")
        accumulate = output.grad_fn.next_functions[0][0]
        check(accumulate.variable is leaf, "the variable of AccumulateGrad")
        wrapper = output.grad_fn
        self.layout["node_in_wrapper"] = self._find_node(output, type(wrapper).__basicsize__)
        base = self._torch._C._FunctionBase
        custom = self._custom().apply(leaf)
        self.layout["node_in_function"] = self._find_node(custom, base.__basicsize__)
        for tensor in (output, custom):
            node = tensor.grad_fn
            held = _references(node)
            address = self._node_address(node)
            check(self._memory.strong(address) == 2, "the references to a node")
            # Detaching drops the reference of the tensor, and with it that to the Python object.
            tensor.detach_()
            check(self._memory.strong(address) == 1, "the reference from a tensor to its node")
            check(_references(node) == held - 1, "the Python object of a node")

    def saved(self) -> None:
        """Tensors saved for backward."""
        leaf = self._leaf()
        other = leaf * 2
        before = leaf._use_count()
        output = leaf * leaf
        node = output.grad_fn
        check(leaf._use_count() == before + 2, "the count of a saved tensor")
        check(node._raw_saved_self.data is leaf, "a saved tensor")
        check(node._raw_saved_self.unpack_hook is None, "a saved tensor without hooks")
        result = other.exp()
        data = result.grad_fn._raw_saved_result.data
        check(result.grad_fn._raw_saved_result.data is data, "a saved output")
        check(data._use_count() == 2, "the count of a saved output")
        # The SavedVariable begins with a pointer to the C++ tensor.
        wrapper = node._raw_saved_self
        for offset in range(2 * WORD, type(wrapper).__basicsize__, WORD):
            try:
                address = self._memory.word(id(wrapper) + offset)
                if self._memory.word(address) == leaf._cdata:
                    self.layout["saved_in_wrapper"] = offset
                    return
            except UnverifiedError:
                continue

    def standalone_saved(self) -> None:
        """Tensors that Python code saves, as torch.utils.checkpoint does with its arguments."""
        make = getattr(self._torch._C._autograd, "_make_saved_tensor", None)
        if make is None:  # before torch 2.13
            return
        leaf = self._leaf()
        outputs = [leaf * leaf for _ in range(_COPIES)]
        of_nodes = [output.grad_fn._raw_saved_self for output in outputs]
        before = leaf._use_count()
        own = [make(leaf, is_output=False) for _ in range(_COPIES)]
        check(leaf._use_count() == before + _COPIES, "the count of a tensor that Python code saved")
        check(all(each.data is leaf for each in own), "a tensor that Python code saved")
        # The object of a tensor that a node saved does not own it.
        kind = type(own[0])
        check(type(of_nodes[0]) is kind, "the type of saved tensors")
        count = kind.__basicsize__ // WORD
        words, others = (
            [self._memory.words(id(each), count) for each in objects] for objects in (own, of_nodes)
        )
        places = [
            i
            for i in range(2, count)
            if len({each[i] for each in words}) == len({each[i] for each in others}) == 1
            and words[0][i] != others[0][i]
        ]
        check(len(places) == 1, "what distinguishes a tensor that Python code saved")
        self.layout["standalone_saved"] = (id(kind), places[0] * WORD, words[0][places[0]])
        own.clear()
        check(leaf._use_count() == before, "the count of a tensor that Python code saved")

    def stale_views(self) -> None:
        """The node of a tensor, in memory: reading `grad_fn` of some views makes another node."""
        leaf = self._leaf()
        outputs = [leaf * 2, (leaf * 2)[:1], self._custom().apply(leaf)]
        places: set[tuple[int, int]] | None = None
        for output in outputs:
            address = self._node_address(output.grad_fn)
            found = {
                (i * WORD, j * WORD)
                for i, word in enumerate(self._memory.words(output._cdata, _TENSOR_WORDS))
                for j, inner in enumerate(self._try_words(word, _TENSOR_WORDS))
                if inner == address
            }
            places = found if places is None else places & found
        check(places is not None and len(places) == 1, "the node of a tensor")
        in_tensor, in_meta = self.layout["node_in_tensor"] = places.pop()  # type: ignore[union-attr]

        def node_of(tensor: Any) -> int:
            return self._memory.word(self._memory.word(tensor._cdata + in_tensor) + in_meta)

        base = leaf * 2
        view = base[:1]
        address = self._node_address(view.grad_fn)
        before = self._memory.strong(address)
        base.mul_(2)
        check(node_of(view) == address, "the node of a view whose base was modified")
        check(self._memory.strong(address) == before, "the node of a view whose base was modified")
        outputs[0].detach_()
        check(node_of(outputs[0]) == 0, "the node of a detached tensor")

    def stored_gradients(self) -> None:
        """The gradient of an output, in memory: reading `grad` warns if there is none."""
        in_tensor, _ = self.layout["node_in_tensor"]
        leaf = self._leaf()
        outputs = [leaf * 2, (leaf * 2)[:1], self._custom().apply(leaf)]
        metas = [self._memory.word(output._cdata + in_tensor) for output in outputs]
        before = [self._memory.words(meta, _TENSOR_WORDS) for meta in metas]
        gradients = [self._torch.ones_like(output, requires_grad=False) for output in outputs]
        for output, gradient in zip(outputs, gradients, strict=True):
            output.grad = gradient
            check(gradient._use_count() == 2, "the count of the gradient of an output")
            check(output.grad is gradient, "the gradient of an output")
        after = [self._memory.words(meta, _TENSOR_WORDS) for meta in metas]
        stored = [gradient._cdata for gradient in gradients]
        places = [
            i
            for i in range(_TENSOR_WORDS)
            if [words[i] for words in after] == stored and len({words[i] for words in before}) == 1
        ]
        check(len(places) == 1, "the gradient of an output")
        (place,) = places
        self.layout["gradient_in_data"] = (place * WORD, before[0][place])
        for output, meta, gradient in zip(outputs, metas, gradients, strict=True):
            output.grad = None
            check(gradient._use_count() == 1, "the count of a gradient that was removed")
            word = self._memory.word(meta + place * WORD)
            check(word == before[0][place], "the gradient of an output that has none")

    def unwrapped_nodes(self) -> None:
        """The references of a node without a Python object: `next_functions` and `variable`."""
        leaf = self._leaf()
        first, second = leaf * 2, leaf * 3
        nodes = [(first + second).grad_fn, first.exp().grad_fn, first.view(-1).grad_fn]
        places: set[tuple[int, int]] | None = None
        for node in nodes:
            expected = [self._node_address(next_node) for next_node, _ in node.next_functions]
            words = self._memory.words(self._node_address(node), _MOST_WORDS)
            found = {
                (i * WORD, stride)
                for i in range(len(words) - 1)
                for stride in (2 * WORD, 3 * WORD, 4 * WORD)
                if words[i] and words[i + 1] == words[i] + stride * len(expected)
                if self._edges(words[i], stride, len(expected)) == expected
            }
            places = found if places is None else places & found
        check(places is not None and len(places) == 1, "the next nodes of a node")
        leaves = [self._leaf() for _ in range(_COPIES)]
        offsets: set[int] | None = None
        types = set()
        for each in leaves:
            output = each * 2
            accumulate = output.grad_fn.next_functions[0][0]
            words = self._memory.words(self._node_address(accumulate), _MOST_WORDS)
            types.add(words[0])
            held = {i * WORD for i, word in enumerate(words) if word == each._cdata}
            offsets = held if offsets is None else offsets & held
        check(offsets is not None and len(offsets) == 1, "the variable of AccumulateGrad")
        check(len(types) == 1, "the class of AccumulateGrad")
        check(self._memory.word(self._node_address(nodes[0])) not in types, "the class of a node")
        self.layout["next_nodes"] = places.pop()  # type: ignore[union-attr]
        self.layout["accumulate_grad"] = (types.pop(), offsets.pop())  # type: ignore[union-attr]
        self._count_without_wrapper(leaf)

    def copied_slices(self) -> None:
        """The node of the operation that changed a view, to which only CopySlices refers."""
        offset, stride = self.layout["next_nodes"]
        places: set[int] | None = None
        types = set()
        for _ in range(_COPIES):
            value = self._leaf() * 2
            expected = self._node_address(value.grad_fn)
            before = self._memory.strong(expected)
            base = self._torch.zeros(2, 2, device="cpu")
            base[0] = value
            address = self._node_address(base.grad_fn)
            # One reference of CopySlices, and one of the node that only CopySlices refers to.
            check(self._memory.strong(expected) == before + 2, "the node of a changed view")
            words = self._memory.words(address, _CHANGED_WORDS)
            types.add(words[0])
            found = set()
            for i, word in enumerate(words):
                if self._try_words(word + WORD, 1) and self._memory.strong(word) == 1:
                    begin, end = self._try_words(word + offset, 2) or (0, 0)
                    count = min((end - begin) // stride, 4)
                    found |= {i * WORD} if expected in self._edges(begin, stride, count) else set()
            places = found if places is None else places & found
        check(places is not None and len(places) == 1, "the node of a changed view")
        check(len(types) == 1, "the class of the node of a changed view")
        self.layout["copy_slices"] = (types.pop(), places.pop())  # type: ignore[union-attr]

    def _edges(self, begin: int, stride: int, count: int) -> list[int]:
        return [word for i in range(count) for word in self._try_words(begin + i * stride, 1)]

    def _count_without_wrapper(self, leaf: Any) -> None:
        """A node that only a tensor refers to, and that has no Python object, has one reference."""
        in_tensor, in_meta = self.layout["node_in_tensor"]
        view = leaf.view(-1)
        address = self._memory.word(self._memory.word(view._cdata + in_tensor) + in_meta)
        check(self._memory.strong(address) == 1, "the count of a node without a Python object")
        consumers = [view * 3 for _ in range(_COPIES)]
        check(self._memory.strong(address) == 1 + _COPIES, "the consumers of a node")
        consumers.clear()
        check(self._memory.strong(address) == 1, "the count of a node without a Python object")

    def packed(self) -> None:
        """Saved tensors with hooks: both hooks, the packed object, and the node of the input."""
        offset = self.layout["saved_in_wrapper"]

        class Packed:
            pass

        packed = Packed()

        def pack(_: Any) -> Any:
            return packed

        def unpack(_: Any) -> Any:
            return None

        leaf = self._leaf()
        inner = leaf * 2
        accumulate = inner.grad_fn.next_functions[0][0]
        before = [_references(packed), _references(pack), _references(unpack)]
        counts = [self._node_count(inner.grad_fn), self._node_count(accumulate)]
        with self._torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            of_node = inner * inner
            of_leaf = leaf * leaf
        after = [_references(packed), _references(pack), _references(unpack)]
        check(after == [each + 4 for each in before], "the hooks of a saved tensor")
        grown = [self._node_count(inner.grad_fn), self._node_count(accumulate)]
        # Two next_functions and two saved tensors each.
        check(grown == [each + 4 for each in counts], "the node of a saved tensor")
        # Memory behind the end of a SavedVariable may contain the same addresses by chance.
        with self._torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            outputs = [(of_node, of_leaf), *((inner * inner, leaf * leaf) for _ in range(_COPIES))]
        found = [self._saved_words(output.grad_fn._raw_saved_self, offset) for output in outputs[0]]
        nodes: set[int] = set()
        for i, node in enumerate((inner.grad_fn, accumulate)):
            address = self._node_address(node)
            places = set(range(_SAVED_WORDS))
            for output in outputs:
                words = self._saved_words(output[i].grad_fn._raw_saved_self, offset)
                places &= {at for at, word in enumerate(words) if word == address}
            check(len(places) == 1, "the node of a saved tensor")
            nodes.add(places.pop() * WORD)
        check(len(nodes) == 2, "the node of a saved tensor")
        expected = (id(pack), id(unpack), id(packed))
        for i, word in enumerate(found[0]):
            hooks = self._try_words(word, 12)
            if hooks and all(each in hooks for each in expected):
                self.layout["saved_nodes"] = sorted(nodes)
                self.layout["saved_hooks"] = (
                    i * WORD,
                    hooks[0],
                    *(hooks.index(each) * WORD for each in expected),
                )
                check(self._try_words(found[1][i], 1) == (hooks[0],), "saved tensor hooks")
                return
        raise UnverifiedError("the hooks of a saved tensor")

    def _saved_words(self, wrapper: Any, offset: int) -> tuple[int, ...]:
        return self._memory.words(self._memory.word(id(wrapper) + offset), _SAVED_WORDS)

    def _try_words(self, address: int, count: int) -> tuple[int, ...]:
        try:
            return self._memory.words(address, count) if address % WORD == 0 else ()
        except UnverifiedError:
            return ()

    def post_accumulate(self) -> None:
        leaf = self._leaf()
        handle = leaf.register_post_accumulate_grad_hook(lambda _: None)
        hooks = leaf._post_accumulate_grad_hooks
        # One reference from the Python object and one from the C++ object.
        check(type(leaf)._post_accumulate_grad_hooks is not None, "post-accumulate-grad hooks")
        check(_references(hooks) == 2, "post-accumulate-grad hooks")
        handle.remove()

    def node_hooks(self) -> None:
        """The three lists of hooks of a node."""
        leaf = self._leaf()
        kinds: list[Callable[[Any, Any], Any]] = [
            lambda _, node: node.register_hook(lambda *_: None),
            lambda _, node: node.register_prehook(lambda *_: None),
            lambda output, _: output.register_hook(lambda *_: None),
        ]
        self.layout["hook_lists"] = []
        for register in kinds:
            places = {
                self._hook_list(output, register)
                for output in (leaf * 2, leaf.exp(), self._custom().apply(leaf))
            }
            check(len(places) == 1, "the hooks of a node")
            self.layout["hook_lists"].append(places.pop())
        check(len({place[0] for place in self.layout["hook_lists"]}) == 3, "the hooks of a node")

    def _hook_list(self, output: Any, register: Callable[[Any, Any], Any]) -> tuple[int, int, int]:
        """Offset of the list in the node; type and offset of the dict of its element."""
        address = self._node_address(output.grad_fn)
        before = self._memory.words(address, _MOST_WORDS)
        handle = register(output, output.grad_fn)
        hooks = handle.hooks_dict_ref()
        held = _references(hooks)
        after = self._memory.words(address, _MOST_WORDS)
        for i in range(len(after) - 2):
            begin, end, capacity = after[i : i + 3]
            if before[i : i + 3] != (0, 0, 0) or begin == 0 or end != begin + WORD:
                continue
            element = self._try_words(self._memory.word(begin), 4) if capacity >= end else ()
            if id(hooks) in element:
                handle.remove()
                check(_references(hooks) == held, "the hooks of a node")
                return i * WORD, element[0], element.index(id(hooks)) * WORD
        raise UnverifiedError("the hooks of a node")

    def metadata(self) -> None:
        # In anomaly mode, nodes have metadata from the start: no word changes.
        check(not self._torch.is_anomaly_enabled(), "anomaly detection is on")
        places = set()
        leaf = self._leaf()
        for output in (leaf * 2, leaf.exp(), self._custom().apply(leaf)):
            node = output.grad_fn
            address = self._node_address(node)
            before = self._memory.words(address, _MOST_WORDS)
            metadata = node.metadata
            check(node.metadata is metadata and _references(metadata) == 1, "metadata")
            after = self._memory.words(address, _MOST_WORDS)
            for i, (old, new) in enumerate(zip(before, after, strict=False)):
                words = self._try_words(new, 16) if old == 0 and new else ()
                if id(metadata) in words:
                    places.add((i * WORD, words[0], words.index(id(metadata)) * WORD))
        check(len(places) == 1, "the metadata of a node")
        self.layout["metadata"] = places.pop()


# Kinds in the order of the experiments, with the kinds that they need.
_KINDS = (
    ("tensors", ()),
    ("gradients", ("tensors",)),
    ("nodes", ("tensors",)),
    ("stale_views", ("nodes",)),
    ("stored_gradients", ("gradients", "stale_views")),
    ("unwrapped_nodes", ("stale_views",)),
    ("copied_slices", ("unwrapped_nodes",)),
    ("saved", ("nodes",)),
    ("standalone_saved", ("saved",)),
    ("packed", ("saved",)),
    ("post_accumulate", ("tensors",)),
    ("node_hooks", ("nodes",)),
    ("metadata", ("nodes",)),
)
_NAMES = {
    "tensors": "references to tensors",
    "gradients": "references to gradients",
    "nodes": "references between autograd nodes",
    "stale_views": "the autograd node of a view whose base was modified",
    "stored_gradients": "gradients of tensors that are not leaves",
    "unwrapped_nodes": "the references of autograd nodes without a Python object",
    "copied_slices": "the autograd node of an operation that changed a view",
    "saved": "tensors saved for backward",
    "standalone_saved": "tensors that Python code saved for backward",
    "packed": "hooks of saved tensors",
    "post_accumulate": "post-accumulate-grad hooks",
    "node_hooks": "hooks of autograd nodes",
    "metadata": "the metadata of autograd nodes",
}

_layout: dict[str, Any] | None = None
_MOST_ATTEMPTS = 3
_LONGEST = 5.0  # seconds, instead of milliseconds
_attempts = 0


def is_free_threaded() -> bool:
    """Whether this is a free-threaded build, even if the GIL is enabled."""
    return "t" in sys.abiflags  # sysconfig imports threading, which the program may not use


def require_gil() -> None:
    """Raise RuntimeError on a free-threaded build, even if the GIL is enabled."""
    if is_free_threaded():
        raise RuntimeError("never_freed does not support free-threaded builds of Python.")


def torch_layout() -> dict[str, Any]:
    """What the experiments verified: kinds under "kinds", offsets under other keys.

    "failures" contains a sentence for each kind that could not be verified. The experiments run
    once per process, in about 15 milliseconds; up to three times if they fail, because a mode of
    the program, such as anomaly detection, may be the reason. Returns an empty dict if torch is not
    imported, or if the experiments have to wait until an import has ended.
    """
    global _layout, _attempts
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "autograd"):
        return {}
    if _layout is None or (_layout["failures"] and _attempts < _MOST_ATTEMPTS):
        if _is_importing():
            return {}
        _attempts += 1
        _layout = _in_new_thread(lambda: _examine(torch))
    return _layout


def _is_importing() -> bool:
    """Whether a thread is importing a module.

    The experiments make torch import modules of its own, in another thread. It would wait for an
    import that this thread has begun, which waits for the experiments.
    """
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            # Not getattr(), which may run code of the module.
            spec = object.__getattribute__(module, "__dict__").get("__spec__")
            if getattr(spec, "_initializing", False):
                return True
    return False


def _in_new_thread(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Call the function without the caller's modes, such as its hooks for saved tensors.

    torch stores these modes for each thread. The hooks of the program must not run, and would be
    part of what the experiments examine.
    """
    done = _thread.allocate_lock()
    done.acquire()
    results = []

    def run() -> None:
        try:
            results.append(function())
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the interpreter is ending, or there are too many threads
        return function()
    if not done.acquire(timeout=_LONGEST):
        late = f"the experiments did not end within {_LONGEST} seconds"
        return {"kinds": set(), "failures": [_sentence(sys.modules["torch"], "references", late)]}
    return results[0]


_has_searched = False


def note_search() -> None:
    """The program has asked for a search through autograd nodes: memory() may read them, too."""
    global _has_searched
    _has_searched = True


def memory_layout() -> dict[str, Any]:
    """The part of :func:`torch_layout` that memory() and out-of-memory reports use.

    Reading autograd nodes creates Python objects, and is not safe within a backward pass. They are
    therefore read only if an earlier search of the program has done so, and outside of a backward
    pass; otherwise only references that lead through tensors are used.
    """
    layout = torch_layout()
    if not layout:
        return {}
    task = getattr(sys.modules["torch"]._C, "_current_graph_task_id", None)
    if _has_searched and task is not None and task() == -1:
        return {**layout, "failures": []}
    kinds = {"tensors", "gradients", "post_accumulate"}
    return {**layout, "kinds": layout["kinds"] & kinds, "failures": []}


def _examine(torch: Any) -> dict[str, Any]:
    verified: set[str] = set()
    failures: list[str] = []
    try:
        memory = Memory()
    except UnverifiedError as error:
        return {"kinds": set(), "failures": [_sentence(torch, "references", str(error))]}
    experiments = _Experiments(torch, memory)
    try:
        guard = torch._C.DisableTorchFunction
        with guard(), torch.inference_mode(False), torch.enable_grad():
            for kind, needs in _KINDS:
                if not verified.issuperset(needs):
                    continue
                try:
                    getattr(experiments, kind)()
                except Exception as error:  # noqa: BLE001 - another version of torch
                    failures.append(_sentence(torch, _NAMES[kind], _reason(error)))
                else:
                    verified.add(kind)
    except Exception as error:  # noqa: BLE001
        failures.append(_sentence(torch, "references", _reason(error)))
    finally:
        memory.close()
    return {**experiments.layout, "kinds": verified, "failures": failures}


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, UnverifiedError) else f"{type(error).__name__}: {error}"


def _sentence(torch: Any, kind: str, reason: str) -> str:
    version = getattr(torch, "__version__", "?")
    return (
        f"cyclewatch could not verify how torch {version} stores {kind} ({reason}), so cycles "
        "through them that no collection frees are not found."
    )
