# SPDX-License-Identifier: Apache-2.0
import flask
import numpy as np

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    app = flask.Flask("app", static_folder="static", root_path=".")
    app.config["model"] = np.ones((100, 100))
