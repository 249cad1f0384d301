# SPDX-License-Identifier: Apache-2.0
"""A subject stores methods of its observers, and each observer refers to the subject."""

import weakref

EXPECTED = ["changed __self__", "Observer .subject", "list [x]"]


class Subject:
    def __init__(self, values):
        self.values = values
        self.observers = []


class Observer:
    def __init__(self, subject, refer):
        self.subject = subject
        subject.observers.append(refer(self.changed))

    def changed(self):
        return self.subject.values


def leaky(payload):
    Observer(Subject(payload()), lambda method: method)


def fixed(payload):
    Observer(Subject(payload()), weakref.WeakMethod)
