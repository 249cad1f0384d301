"""The model was replaced, but the scheduler still refers to the old model's optimizer.

main() local scheduler -> scheduler.optimizer.param_groups[0]['params'][0]
"""

import weakref

import torch

import cyclewatch


def build():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 10)


def main():
    model, optimizer, scheduler = build()
    reference = weakref.ref(model.weight)
    optimizer.step()
    scheduler.step()
    model, optimizer, _ = build()
    print(cyclewatch.why_alive(reference, 1)[0])


main()
