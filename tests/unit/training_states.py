# SPDX-License-Identifier: Apache-2.0
"""States of training programs, in the middle of a step: a graph waits for its backward pass.

Each function returns everything that a program would hold, and a loss or None. All of it is alive.
"""

import collections

import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint


def network(width=16):
    return nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))


def data(*shape):
    return torch.randn(*shape or (4, 16))


def stepped(model, optimizer=torch.optim.AdamW, rounds=2):
    """The model and its optimizer, after `rounds` steps, with another graph."""
    chosen = optimizer(model.parameters(), lr=1e-3)
    for _ in range(rounds):
        model(data()).sum().backward()
        chosen.step()
        chosen.zero_grad()
    return chosen, model(data()).sum()


def transformer():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    loss = model(data(2, 5, 16)).pow(2).mean()
    return [model, torch.optim.AdamW(model.parameters())], loss


def convolution():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    )
    return [model], model(data(2, 3, 10, 10)).sum()


def recurrent():
    model = nn.LSTM(16, 16, num_layers=2)
    output, state = model(data(5, 2, 16))
    output, state = model(output, tuple(part.detach() for part in state))
    return [model, state], output.sum()


def gru_with_carried_graph():
    model = nn.GRUCell(16, 16)
    hidden = [data()]
    for _ in range(5):
        hidden.append(model(data(), hidden[-1]))
    return [model, hidden], hidden[-1].sum()


def adversarial():
    generator, discriminator = network(), network()
    optimizers = [torch.optim.Adam(each.parameters()) for each in (generator, discriminator)]
    fake = generator(data())
    discriminator(fake.detach()).sum().backward()
    optimizers[1].step()
    return [generator, discriminator, optimizers, fake], discriminator(fake).sum()


def gradient_penalty():
    model = network()
    inputs = data().requires_grad_()
    (gradient,) = torch.autograd.grad(model(inputs).sum(), inputs, create_graph=True)
    return [model, inputs, gradient], (gradient.norm() - 1) ** 2


def created_graph_with_living_model():
    model = network()
    model(data()).sum().backward(create_graph=True)
    return [model], sum(parameter.grad.pow(2).sum() for parameter in model.parameters())


def reentrant_checkpoint():
    model = network()
    inputs = data().requires_grad_()
    return [model, inputs], checkpoint(model, inputs, use_reentrant=True).sum()


def nested_checkpoint():
    model = network()
    inputs = data().requires_grad_()

    def inner(tensor):
        return checkpoint(model, tensor, use_reentrant=False).sin()

    return [model, inner], checkpoint(inner, inputs, use_reentrant=False).sum()


def compiled():
    model = network()
    function = torch.compile(model, backend="aot_eager")
    return [model, function], function(data()).sum()


def compiled_to_machine_code():
    model = network()
    function = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        function(data()).sum().backward()
        optimizer.step()
    return [model, function, optimizer], function(data()).sum()


def functional():
    model = network()
    parameters = {name: value.detach() for name, value in model.named_parameters()}

    def loss_of(values, inputs):
        return torch.func.functional_call(model, values, (inputs,)).sum()

    gradients = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(
        parameters, data(3, 2, 16)
    )
    return [model, parameters, gradients, torch.func.hessian(torch.sum)(data(3))], None


def vmap_with_graph():
    weight = nn.Parameter(data(16))
    return [weight], torch.func.vmap(lambda row: (row * weight).sum().exp())(data()).sum()


def hooks():
    model = network()
    seen = []
    handles = [
        model.register_forward_hook(lambda *a: seen.append(len(a))),
        model[0].register_full_backward_hook(lambda *a: seen.append(len(a))),
        model.register_full_backward_pre_hook(lambda *a: seen.append(len(a))),
    ]
    handles += [p.register_post_accumulate_grad_hook(seen.append) for p in model.parameters()]
    output = model(data())
    handles.append(output.register_hook(lambda g: seen.append(output) or g))
    handles.append(output.grad_fn.register_hook(lambda *_: seen.append(output)))
    handles.append(output.grad_fn.register_prehook(lambda *_: seen.append(output)))
    parameters = list(model.parameters())
    handles.append(torch.autograd.graph.register_multi_grad_hook(parameters, seen.append))
    return [model, handles, output], output.sum()


def optimizer_in_backward():
    model = network()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    return [model, optimizers], model(data()).sum()


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, factor):
        ctx.factor = factor
        ctx.save_for_backward(tensor)
        return tensor * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(tensor):
        return tensor**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


def custom_functions():
    tensor = data().requires_grad_()
    middle = Scale.apply(tensor, 2.0)
    return [tensor, middle], Cube.apply(middle).sum()


def parametrized():
    model = network()
    parametrizations.weight_norm(model[0])
    parametrizations.orthogonal(model[2])
    return [model], model(data()).sum()


def mixed_precision():
    model = network()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(data()).float().sum()
    return [model], loss


def quantized():
    model = torch.ao.quantization.quantize_dynamic(network(), {nn.Linear}, dtype=torch.qint8)
    return [model, model(data())], None


def sparse():
    embedding = nn.Embedding(20, 8, sparse=True)
    embedding(torch.tensor([1, 2, 3])).sum().backward()
    matrix = torch.eye(4).to_sparse().requires_grad_()
    return [embedding, matrix], torch.sparse.mm(matrix, data(4, 4)).sum()


def nested_tensors():
    weight = nn.Parameter(data(16, 16))
    ragged = torch.nested.nested_tensor([data(2, 16), data(3, 16)], layout=torch.jagged)
    return [weight, ragged], nn.functional.linear(ragged, weight).values().sum()


class Tagged(torch.Tensor):
    """A subclass with attributes."""


def subclass():
    tensor = data().as_subclass(Tagged).requires_grad_()
    tensor.tag = {"parent": network()}
    result = tensor * 2
    result.source = tensor
    return [tensor, result], result.sum()


def saved_tensors_hooks():
    model = network()
    packed = []

    def pack(tensor):
        packed.append(tensor.numel())
        return tensor.detach().clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(data()).exp().sum()
    return [model, packed], loss


def saved_on_cpu():
    model = network()
    with torch.autograd.graph.save_on_cpu():
        loss = model(data()).exp().sum()
    return [model], loss


def retained_graph():
    model = network()
    loss = model(data()).sum()
    loss.backward(retain_graph=True)
    return [model], loss


def second_order_optimizer():
    model = network()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = model(data()).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return [model, optimizer, closure, closure()], None


def meta_learning():
    model = network()
    weights = dict(model.named_parameters())
    for _ in range(3):
        loss = torch.func.functional_call(model, weights, (data(),)).pow(2).sum()
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {
            name: value - 0.1 * gradient
            for (name, value), gradient in zip(weights.items(), gradients, strict=True)
        }
    return [model, weights], torch.func.functional_call(model, weights, (data(),)).sum()


def replay_buffer():
    policy = network()
    buffer = collections.deque(maxlen=50)
    state = data(1, 16)
    for _ in range(20):
        action = policy(state)
        buffer.append((state, action.detach(), action.logsumexp(-1)))
        state = action.detach()
    return [policy, buffer], torch.stack([entry[2] for entry in buffer]).sum()


def exported():
    program = torch.export.export(network(), (data(),))
    return [program], program.module()(data()).sum()


def pipeline_stages():
    stages = [network() for _ in range(3)]
    sent = []
    tensor = data()
    for stage in stages:
        received = tensor.detach().requires_grad_()
        tensor = stage(received)
        sent.append((received, tensor))
    return [stages, sent], tensor.sum()


def views_and_bases():
    base = data(8, 8)
    base.note = "kept"
    flat = nn.Parameter(torch.zeros(64))
    parts = flat.split(16)
    with torch.no_grad():
        base[:2].zero_()
    return [base, base[:2], base.t(), flat, parts], parts[0].sum()


def changed_in_place():
    tensor = data().requires_grad_()
    output = tensor * 2
    view = output[:2]
    view.mul_(3)
    output.relu_()
    output.register_hook(lambda gradient: gradient)
    return [tensor, output, view], output.sum()


def retained_gradients():
    tensor = data().requires_grad_()
    middle = tensor.exp()
    middle.retain_grad()
    middle.sum().backward(retain_graph=True)
    return [tensor, middle], middle.sum()


def averaged_model():
    model = network()
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer, loss = stepped(model)
    average.update_parameters(model)
    return [model, average, optimizer], loss


def tied_weights():
    model = nn.Sequential(nn.Embedding(16, 16), nn.Linear(16, 16))
    model[1].weight = model[0].weight
    return [model], model(torch.tensor([1, 2])).sum()


def forward_differentiation():
    tensor, tangent = data(), data()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(tensor, tangent)
        output = dual.sin()
    return [tensor, tangent, dual, output], None


def scripted():
    model = torch.jit.trace(network(), data())
    return [model], model(data()).sum()


STATES = [
    transformer,
    convolution,
    recurrent,
    gru_with_carried_graph,
    adversarial,
    gradient_penalty,
    created_graph_with_living_model,
    reentrant_checkpoint,
    nested_checkpoint,
    compiled,
    compiled_to_machine_code,
    functional,
    vmap_with_graph,
    hooks,
    optimizer_in_backward,
    custom_functions,
    parametrized,
    mixed_precision,
    quantized,
    sparse,
    nested_tensors,
    subclass,
    saved_tensors_hooks,
    saved_on_cpu,
    retained_graph,
    second_order_optimizer,
    meta_learning,
    replay_buffer,
    exported,
    pipeline_stages,
    views_and_bases,
    changed_in_place,
    retained_gradients,
    averaged_model,
    tied_weights,
    forward_differentiation,
    scripted,
]
