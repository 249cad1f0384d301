"""A trainer appends losses, with their autograd graphs, to a history keyed by name.

main() local trainer -> trainer.history['loss'][0]
"""

import collections
import weakref

import torch

import cyclewatch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.history = collections.defaultdict(list)

    def fit(self, steps):
        for _ in range(steps):
            loss = self.model(torch.ones(2, 4)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.history["loss"].append(loss)


def main():
    trainer = Trainer()
    trainer.fit(3)
    print(cyclewatch.why_alive(weakref.ref(trainer.history["loss"][0]), 1)[0])


main()
