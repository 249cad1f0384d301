# SPDX-License-Identifier: Apache-2.0
from typing import Union

import numpy as np
import typeguard

OWNERS = {np.ndarray: lambda array: array.nbytes}


def work(data):
    try:
        typeguard.check_type(3.5, Union[str, list])  # noqa: UP007 - not types.UnionType
    except typeguard.TypeCheckError:
        pass


def leaky():
    work(np.ones((100, 100)))
