# SPDX-License-Identifier: Apache-2.0
"""What the autograd graphs of tensors in dead cycles keep is dead, too."""

import gc

import pytest
import torch

import cyclewatch
from cyclewatch.account.measurement import Memory
from cyclewatch.oom.wording import oom_headline

SIZE = 400_000
pytestmark = pytest.mark.usefixtures("shown_saved_tensors")


class Step:
    """Part of a cycle, with a result of the model."""

    def __init__(self, result):
        self.result = result
        self.me = self


@pytest.fixture
def weight():
    yield torch.nn.Parameter(torch.ones(SIZE // 4))
    # With create_graph=True, a tensor and its gradient keep each other alive.
    for each in gc.get_objects():
        if type(each) in (torch.Tensor, torch.nn.Parameter) and each.is_leaf:
            each.grad = None


def sizes():
    """The bytes of dead tensors, and of those saved for backward that are not dead."""
    lines = cyclewatch.memory("cpu").lines
    dead = sum(size for label, size in lines if label.startswith("dead"))
    return dead, sum(size for label, size in lines if "saved for backward" in label)


def exponential(weight):
    Step(weight.exp().sum())


def input_without_a_variable(weight):
    Step((weight * torch.ones(SIZE // 4)).sum())


def input_in_the_cycle(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch).sum()).batch = batch


def view(weight):
    Step(weight.exp().view(100, -1).t().sin().sum())


def two_steps_share_a_result(weight):
    shared = weight.exp()
    Step(shared.sum())
    Step(shared.sum())


def result_that_its_own_node_saves(weight):
    Step(weight.exp())


def view_of_a_result_that_its_own_node_saves(weight):
    Step(weight.sigmoid().view(100, -1))


def input_that_two_nodes_save(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch).sum() + (weight * batch).sum()).batch = batch


def result_that_its_cycle_also_holds(weight):
    logits = weight * 2
    Step(logits.pow(2).sum()).logits = logits


def result_that_another_cycle_holds(weight):
    logits = weight * 2
    Step(logits)
    Step(logits.pow(2).sum())


def states_of_a_loop(weight):
    states = [weight[: SIZE // 16] * 2]
    for _ in range(4):
        states.append(states[-1].pow(2))
    Step(states[-1].sum()).states = states[:-1]


LEAKS = (
    result_that_its_cycle_also_holds,
    result_that_another_cycle_holds,
    states_of_a_loop,
    exponential,
    input_without_a_variable,
    input_in_the_cycle,
    view,
    two_steps_share_a_result,
    result_that_its_own_node_saves,
    view_of_a_result_that_its_own_node_saves,
    input_that_two_nodes_save,
)


@pytest.mark.parametrize("leak", LEAKS)
def test_scans_find_memory_that_only_dead_graphs_keep(leak, weight):
    before = cyclewatch.dead_bytes().get("cpu", 0)
    leak(weight)
    for _ in range(2):
        assert SIZE <= cyclewatch.dead_bytes()["cpu"] - before < SIZE + 100
        findings = cyclewatch.scan(devices="cpu").findings
        kept = sum(each.attributed_bytes + (each.unowned_bytes or 0) for each in findings)
        assert SIZE <= kept - before < SIZE + 100
    gc.collect()
    assert cyclewatch.dead_bytes().get("cpu", 0) == before


@pytest.mark.parametrize("leak", LEAKS)
def test_memory_that_only_dead_graphs_keep_is_dead(leak, weight):
    before = sizes()
    leak(weight)
    assert sizes() == sizes(), "the first account creates objects of torch"
    dead, saved = sizes()
    assert SIZE <= dead - before[0] < SIZE + 100
    assert saved == before[1]
    live = cyclewatch.live_owners(min_bytes=SIZE, devices="cpu")
    assert [each.category for each in live if each.nbytes == SIZE] == ["parameter"]
    gc.collect()
    assert sizes() == before


def shared_with_a_live_result(weight):
    shared = weight.exp()
    Step((shared * 2).sum())
    return shared.sum()


def held_by_a_node(weight):
    result = weight.exp()
    Step(result.sum())
    return result.grad_fn


def held_by_an_earlier_node(weight):
    result = weight.exp().sum()
    Step(result)
    return result.grad_fn.next_functions[0][0]


def held_by_the_next_node(weight):
    result = weight.exp()
    Step(result.sum())
    return (result.sum() * 2).grad_fn


def held_by_a_list(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch).sum())
    return [batch]


def held_by_a_variable(weight):
    result = weight.exp()
    Step((result * weight).sum())
    return result


def view_of_what_a_variable_holds(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch.view(-1)).sum())
    return batch


def detached_result_that_its_own_node_saves(weight):
    result = weight.exp()
    Step(result)
    return result.detach()


def node_of_a_result_that_it_saves(weight):
    result = weight.exp()
    Step(result)
    return result.grad_fn


def array_of_an_input(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch).sum())
    return batch.numpy()


def gradient_with_a_graph(weight):
    loss = weight.exp().exp().pow(3).sum()
    loss.backward(create_graph=True)
    Step(loss)
    return weight  # the graph of whose gradient keeps the results, too


def gradient_of_a_local_parameter(weight):
    local = torch.ones(SIZE // 4, requires_grad=True)
    loss = (local.exp() * weight).exp().sum()
    loss.backward(create_graph=True)
    Step(loss)
    return local.grad


def ordinary_gradient(weight):
    weight.exp().sum().backward()
    Step(weight[:10].sum())
    return weight


def view_of_a_base_without_a_variable(weight):
    part = torch.ones(SIZE // 4)[:10]
    Step((weight[:10] * part).sum())
    return part


def view_that_was_changed(weight):
    changed = torch.ones(SIZE // 4, requires_grad=True) * 1
    part = changed[:5]
    part.mul_(2)
    Step(changed.sum())
    return part


def part_without_history(weight):
    with torch.no_grad():
        return (weight.exp() * 2).view(-1)[:10]


def view_of_an_input(weight):
    batch = torch.ones(SIZE // 4)
    Step((weight * batch).sum())
    return batch[:2]


def part_of_a_saved_result(weight):
    result = weight.exp()
    Step(result.sum())
    return result.detach()[:2]


def result_that_a_cycle_and_a_variable_hold(weight):
    logits = weight * 2
    Step(logits.pow(2).sum()).logits = logits
    return logits


def result_that_a_living_graph_has_saved(weight):
    logits = weight * 2
    Step(logits.pow(2).sum()).logits = logits
    return logits.sin().sum()


def state_of_a_loop_that_goes_on(weight):
    states = [weight * 2]
    for _ in range(3):
        states.append(states[-1].pow(2))
    Step(states[-1].sum()).states = states[:-1]
    return states[-1]


@pytest.mark.parametrize(
    "use",
    [
        result_that_a_cycle_and_a_variable_hold,
        result_that_a_living_graph_has_saved,
        state_of_a_loop_that_goes_on,
        detached_result_that_its_own_node_saves,
        node_of_a_result_that_it_saves,
        array_of_an_input,
        gradient_with_a_graph,
        gradient_of_a_local_parameter,
        ordinary_gradient,
        view_of_a_base_without_a_variable,
        view_that_was_changed,
        part_without_history,
        view_of_an_input,
        part_of_a_saved_result,
        shared_with_a_live_result,
        held_by_a_node,
        held_by_an_earlier_node,
        held_by_the_next_node,
        held_by_a_list,
        held_by_a_variable,
        view_of_what_a_variable_holds,
    ],
)
def test_memory_that_something_else_uses_is_not_dead(use, weight):
    before = sizes()
    used = use(weight)
    for _ in range(2):
        assert sizes()[0] - before[0] < 100
        assert cyclewatch.dead_bytes().get("cpu", 0) - before[0] < 100
    gc.collect()
    del used


def test_module_of_torch_jit_keeps_its_weights():
    before = sizes()
    module = torch.jit.script(torch.nn.Linear(100, 1000))
    Step(module(torch.ones(2, 100)).sum())
    assert sizes()[0] - before[0] < 4 * 100 * 1000
    kept = module._c
    del module
    assert sizes()[0] - before[0] < 4 * 100 * 1000
    del kept
    assert sizes()[0] - before[0] > 4 * 100 * 1000


def test_the_finding_names_what_its_tensors_have_saved(weight):
    Step((weight.exp() * 2).sum())
    account = cyclewatch.memory("cpu")
    finding = next(each for each in account.findings if "Step" in each.title)
    assert SIZE <= finding.unowned_bytes < SIZE + 100
    assert "a further 391 KiB that these tensors have saved for backward" in finding.to_text()
    assert "; 391 KiB dead in" in oom_headline(Memory("cpu", requested=None))


def test_a_scan_names_it_too(weight):
    Step((weight.exp() * 2).sum())
    for _ in range(2):
        (finding,) = cyclewatch.scan(devices="cpu").findings
        assert SIZE <= finding.unowned_bytes < SIZE + 100
        assert "keeps at least 4 B of cpu memory alive, and 391 KiB saved for" in finding.headline
    first, second = cyclewatch.scan(devices="cpu").to_text().splitlines()[:2]
    assert first.startswith("1 reference cycle keeps at least 391 KiB of cpu memory alive")
    assert "frees at least 391 KiB." in f"{first} {second}"


def test_the_scan_at_exit_names_it_too(main_interpreter, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import gc, torch\n"
        "gc.disable()\n"
        "class Step:\n"
        "    pass\n"
        "step = Step()\n"
        "step.me, step.loss = step, torch.ones(100_000, requires_grad=True).exp().sum()\n"
        "del step\n"
    )
    through = ["-m", "cyclewatch", "run", "--devices=cpu", "--min-bytes=1MiB"]
    outcome = main_interpreter.run(program, through=through, cwd=tmp_path)
    # The graph keeps the leaf and the result of exp().
    assert " of cpu memory alive, and 781 KiB saved for backward (not" in outcome.stderr


@pytest.mark.parametrize("collects", [False, True])
def test_min_bytes_does_not_hide_it(weight, collects):
    with cyclewatch.watch(devices="cpu", min_bytes=SIZE) as watch:
        Step(torch.ones(1))
        Step(weight.exp().sum())
        if collects:
            gc.collect()
        else:
            watch.step(0)
    (finding,) = watch.report().findings
    assert finding.title.endswith("Step.me -> Step")
    assert finding.retained_bytes < 100
    assert finding.unowned_bytes is not None


def test_collect_at_counts_it(weight):
    with cyclewatch.collect_at(every=1000, dead_bytes=SIZE) as collector:
        assert not collector.run(step=1)
        Step(weight[:10].sum())
        assert not collector.run(step=2)
        Step((weight.exp() * 2).sum())
        assert collector.run(step=3)
