# SPDX-License-Identifier: Apache-2.0
"""A configuration contains itself under one of its keys."""

EXPECTED = ["dict ['root']"]


def leaky(payload):
    config = {"weights": payload(), "size": 3}
    config["root"] = config


def fixed(payload):
    config = {"weights": payload(), "size": 3}
    config["root"] = dict(config)
