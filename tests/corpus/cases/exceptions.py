# SPDX-License-Identifier: Apache-2.0
"""Stored exceptions whose tracebacks refer to the frames that store them."""

# %% e1_artificial_traceback
"""A helper stores an error, and the traceback that it creates for the error, in local variables."""

import sys
import types

EXPECTED = ["append local:error", "append local:error + append local:trace"]


def append(error, trace):
    frame = sys._getframe()
    trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    error.__traceback__ = trace
    del frame


def append_and_forget(error, trace):
    try:
        frame = sys._getframe()
        error.__traceback__ = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    finally:
        del error, trace, frame


def leaky(payload):
    batch = payload()
    append(KeyError("missing"), None)
    return batch and None


def fixed(payload):
    batch = payload()
    append_and_forget(KeyError("missing"), None)
    return batch and None


# %% e2_errors_in_list
"""A comparison collects errors in a local list of its own frame."""

EXPECTED = ["list [x]", "compare local:errors"]


def compare(payload, forget):
    errors = []
    actual = payload()
    try:
        raise AssertionError(f"not equal: {type(actual)}")
    except AssertionError as error:
        errors.append(error)
    if forget:
        errors.clear()


def leaky(payload):
    compare(payload, False)


def fixed(payload):
    compare(payload, True)


# %% e4_failed_future
"""A future raises its stored exception in a frame with a variable that refers to the future."""

EXPECTED = ["result local:self"]


class Future:
    def __init__(self, exception):
        self.exception = exception

    def result(self):
        raise self.exception

    def result_and_forget(self):
        try:
            raise self.exception
        finally:
            self = None


def leaky(payload):
    batch = payload()
    try:
        Future(ValueError("no result")).result()
    except ValueError:
        return batch and None


def fixed(payload):
    batch = payload()
    try:
        Future(ValueError("no result")).result_and_forget()
    except ValueError:
        return batch and None


# %% e7_exception_in_local
"""A function keeps an exception in a local variable after the exception handler has ended."""

EXPECTED = ["work local:last"]


def work(payload, forget):
    batch = payload()
    last = None
    try:
        raise ValueError("bad batch")
    except ValueError as error:
        last = error
    if forget:
        last = None
    return batch and last and None


def leaky(payload):
    work(payload, False)


def fixed(payload):
    work(payload, True)


# %% e7_exception_in_record
"""A record stores an exception, and a frame in its traceback refers to the record."""

EXPECTED = ["work local:record", "Record .error", "ValueError __traceback__"]


class Record:
    pass


def work(payload, keep):
    record = Record()
    batch = payload()
    try:
        raise ValueError("bad batch")
    except ValueError as error:
        record.error = keep(error)
    return batch and None


def leaky(payload):
    work(payload, lambda error: error)


def fixed(payload):
    work(payload, str)


# %% own_exception_chain
"""A function stores an error in a variable in order to raise a second error from it."""

EXPECTED = ["work local:first"]


def work(payload, forget):
    batch = payload()
    try:
        raise KeyError("weights")
    except KeyError as error:
        first = error
    try:
        raise RuntimeError("cannot load") from first
    finally:
        if forget:
            first = None
        del batch


def outer(payload, forget):
    other_batch = payload()
    try:
        work(payload, forget)
    except RuntimeError:
        return other_batch and None


def leaky(payload):
    outer(payload, False)


def fixed(payload):
    outer(payload, True)


# %% own_exit_keeps_error
"""A context manager keeps the error that ended it; a frame of the error refers to the manager."""

EXPECTED = ["Guard .error", "work local:guard"]


class Guard:
    def __init__(self, keep):
        self.keep = keep
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.error = self.keep(error)
        return True


def work(payload, keep):
    batch = payload()
    guard = Guard(keep)
    with guard:
        raise ValueError("bad batch")
    return batch and None


def leaky(payload):
    work(payload, lambda error: error)


def fixed(payload):
    work(payload, str)


# %% own_failed_task
"""A client keeps a failed task that ran one of its coroutines."""

import asyncio

EXPECTED = ["Client .task"]


class Client:
    def __init__(self, buffers):
        self.buffers = buffers

    async def serve(self):
        raise ConnectionError("closed")


async def use(payload, forget):
    client = Client(payload())
    client.task = asyncio.ensure_future(client.serve())
    await asyncio.wait([client.task])
    client.task.exception()
    if forget:
        client.task = None


def leaky(payload):
    asyncio.run(use(payload, False))


def fixed(payload):
    asyncio.run(use(payload, True))
