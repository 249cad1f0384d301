# SPDX-License-Identifier: Apache-2.0
"""Two callbacks share a variable that refers to the object that stores both."""

EXPECTED = ["read closure:store + write closure:store"]


class Store:
    def __init__(self, values):
        self.values = values


def leaky(payload):
    store = Store(payload())

    def read():
        return store.values

    def write(values):
        store.values = values

    store.callbacks = {"read": read, "write": write}


def fixed(payload):
    store = Store(payload())

    def read(store):
        return store.values

    def write(store, values):
        store.values = values

    store.callbacks = {"read": read, "write": write}
