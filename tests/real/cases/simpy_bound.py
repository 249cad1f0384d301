# SPDX-License-Identifier: Apache-2.0
import numpy as np
import simpy

OWNERS = {np.ndarray: lambda array: array.nbytes}


def work(env, store, data):
    yield env.timeout(1)
    yield store.put(data)


def leaky():
    env = simpy.Environment()
    store = simpy.Store(env, capacity=1)
    env.process(work(env, store, np.ones((100, 100))))
    env.run()
