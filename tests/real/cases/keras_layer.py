# SPDX-License-Identifier: Apache-2.0
import keras
import torch


def leaky():
    layer = keras.layers.Dense(100)
    layer.build((None, 100))
    layer(torch.zeros(2, 100))
