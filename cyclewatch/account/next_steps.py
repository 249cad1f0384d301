# SPDX-License-Identifier: Apache-2.0
"""What to do about reachable tensors, by their category and by what holds them."""

from __future__ import annotations

from cyclewatch.account.checkpointing import uses_checkpointing
from cyclewatch.account.memory_lines import HELD_BY_CPP, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch._native import LiveOwner, Path, Reference

_ROOTS_OF_MODELS = ("local variable", "module global", "thread local")
# The modules of the other containers in which a class may keep objects.
_CONTAINERS = ("collections.", "weakref.", "_weakrefset.")

# Categories of tensors that an autograd graph keeps alive.
OF_GRAPH = ("saved for backward", "activation")

# What the tensors of a category are parts of.
_WHOLES = {"parameter": "model", "optimizer state": "optimizer"}

_CYCLES_OF_NODES = "cyclewatch.never_freed(settle=0) finds cycles of autograd nodes"

_STEPS = {
    "parameter": "this is the model itself",
    "buffer": "`del module.name` frees a buffer that its module no longer needs",
    "gradient": "optimizer.zero_grad() frees gradients between steps",
    "optimizer state": "use an optimizer with a smaller state, or shard the state across ranks",
    HELD_BY_CPP: "no object that could be examined refers to these tensors, which may belong to a "
    "torch.jit module; if not, " + _CYCLES_OF_NODES,
}


def step_of_category(category: str) -> str:
    """What to do about tensors of which only the category is known; "" if nothing."""
    if category in OF_GRAPH:
        advised = "" if uses_checkpointing() else "torch.utils.checkpoint or "
        return f"use torch.no_grad() if you do not train, {advised}smaller batches if you do"
    return _STEPS.get(category, "")


def _is_kept_by_graph(group: LiveOwner) -> bool:
    """Whether what holds the group keeps a graph that the running step does not need.

    The running training step needs what its own variables refer to, as opposed to what it has
    stored in an object or a list.
    """
    path = group.held_by[0]
    labels = [each.label for each in path.references]
    stored = labels[: labels.index("grad_fn")] if "grad_fn" in labels else labels
    is_variable = path.root.kind == "local variable" and len(stored) <= 1
    return group.category in OF_GRAPH and not is_variable


def is_holder_named(group: LiveOwner) -> bool:
    """Whether a sentence about the group names what holds it."""
    return (
        group.category in ("buffer", "other", *OF_GRAPH)
        or _is_of_no_model(group)
        or _is_of_no_parameter(group)
    )


def _is_of_no_model(group: LiveOwner) -> bool:
    """Whether nothing that the program uses as a model is known to hold parameters.

    A model is held by a running function, a module, a thread, or an attribute of a class.
    """
    return group.category == "parameter" and not any(map(_is_of_model, group.held_by))


def _is_of_no_parameter(group: LiveOwner) -> bool:
    """Whether the gradients are those of tensors that an optimizer may not know."""
    holders = [each.holder for each in group.held_by[0].references[-1:]]
    return group.category == "gradient" and holders == ["torch.Tensor"]


def _is_of_model(path: Path) -> bool:
    if any(map(_belongs_to_no_model, path.references)):
        return False
    kind = path.root.kind
    return kind in _ROOTS_OF_MODELS or (kind == "class attribute" and not _is_in_registry(path))


def _belongs_to_no_model(reference: Reference) -> bool:
    """Whether the holder uses parameters without being a part of a model."""
    is_argument = reference.holder == "functools._lru_cache_wrapper" and reference.label == "key"
    return is_argument or reference.holder.startswith("torch.optim.")


def _is_in_registry(path: Path) -> bool:
    """Whether the attribute with which the path begins is a container."""
    containers = [each.holder for each in path.references[1:2]]
    return any(
        each in ("dict", "list", "set") or each.startswith(_CONTAINERS) for each in containers
    )


def step_of_group(group: LiveOwner) -> str:
    """What to do about tensors that the first path of `group.held_by` holds; "" if nothing."""
    path = group.held_by[0]
    if _is_of_no_model(group) and path.root.kind == "C code" and not path.remedy:
        return step_of_category(HELD_BY_CPP)
    if group.category == "other" or _is_of_no_model(group) or _is_of_no_parameter(group):
        return _removal(group)
    if group.category in OF_GRAPH and path.root.kind == "C code":
        return f"{_CYCLES_OF_NODES}; {step_of_category(group.category)}"
    if group.category in _WHOLES:
        return step_of_category(group.category) + _removal_of_whole(group)
    detaching = _detaching(path) if _is_kept_by_graph(group) else ""
    return detaching + step_of_category(group.category)


def _removal_of_whole(group: LiveOwner) -> str:
    """How to remove one of several models or optimizers; "" if the program stores only one."""
    path = group.held_by[0]
    if path.cut is None or not path.remedy:
        return ""
    ends = [(each.holder, each.label) for each in path.references]
    cut = (path.cut.holder, path.cut.label)
    before = ends[: ends.index(cut)] if cut in ends else []
    is_part_of_optimizer = any(label in (".state", ".param_groups") for _, label in before)
    is_numbered = path.cut.label.startswith("[") and not path.cut.label.startswith("['")
    if group.count == 1 or not is_numbered or is_part_of_optimizer:
        return ""
    return f"; if not every {_WHOLES[group.category]} is needed, {path.remedy}"


def _removal(group: LiveOwner) -> str:
    """The remedy of the first path, and the second if the remedy leaves it."""
    path, *others = group.held_by
    remedy = path.remedy or ""
    if remedy and others and group.count == 1 and not path.cut_frees:
        remedy += f"; it is also held by {others[0]}"
    return remedy


def _detaching(path: Path) -> str:
    """How to free tensors that an autograd graph keeps, or that are kept together with one.

    Without the graph, a tensor that the program itself stores is as large as with it.
    """
    last = str(path).rpartition(" -> ")[2]
    carrier, graph, _ = last.partition(".grad_fn")
    if not graph:
        return f"{path.remedy}; " if path.remedy else ""
    return (
        f"if no backward() will use it, store `{carrier}.detach()` instead of `{carrier}`, or, of "
        "a single value, its `.item()`; "
    )


def unread_graph_step(holders: Sequence[LiveOwner]) -> str:
    """How to free the tensors of graphs that were not read."""
    is_single = len(holders) == 1
    words = "holds an autograd graph" if is_single and holders[0].count == 1 else "hold graphs"
    step = "store the result of `detach()` instead"
    if is_single and (name := _variable(holders[0].held_by[0])):
        step = f"store `{name}.detach()` instead of `{name}`"
        if _is_single_value(holders[0]):
            step += ", or its `.item()`"
    return (
        f"{names_of(holders)} {words} too large to be examined, which may keep the tensors of "
        f"earlier steps: if no backward() will use it, {step}"
    )


def _variable(path: Path) -> str:
    """The last expression of a path; "" if unknown."""
    _, arrow, last = str(path).rpartition(" -> ")
    if arrow:
        return last
    name = str(path).rpartition(" ")[2]
    kind = path.root.kind
    if kind == "module global":
        return name.rpartition(".")[2]
    return name if kind == "local variable" else ""


def _is_single_value(group: LiveOwner) -> bool:
    return group.shape is not None and all(each == 1 for each in group.shape)
