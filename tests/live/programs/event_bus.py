"""A run is over, but its early-stopping handler is still subscribed to the event bus.

module global __main__.bus -> bus.subscribers['epoch_end'][0].__self__.best_model
"""

import weakref

import cyclewatch


class Model:
    pass


class EventBus:
    def __init__(self):
        self.subscribers = {}

    def subscribe(self, event, callback):
        self.subscribers.setdefault(event, []).append(callback)


class EarlyStopping:
    def __init__(self, model):
        self.best_model = model

    def on_epoch_end(self, epoch):
        return epoch > 3


bus = EventBus()


def run():
    model = Model()
    stopping = EarlyStopping(model)
    bus.subscribe("epoch_end", stopping.on_epoch_end)
    return weakref.ref(model)


print(cyclewatch.why_alive(run(), 1)[0])
