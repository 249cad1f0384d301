# SPDX-License-Identifier: Apache-2.0
"""Two dataclasses refer to each other in their fields."""

import dataclasses

EXPECTED = ["Part .assembly"]


@dataclasses.dataclass
class Part:
    name: str
    assembly: object = None


@dataclasses.dataclass
class Assembly:
    mesh: object
    main_part: Part


def leaky(payload):
    part = Part("wheel")
    part.assembly = Assembly(payload(), part)


def fixed(payload):
    Assembly(payload(), Part("wheel"))
