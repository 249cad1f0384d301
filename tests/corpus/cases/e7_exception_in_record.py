# SPDX-License-Identifier: Apache-2.0
"""A record stores an exception whose frames refer to the record."""

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
