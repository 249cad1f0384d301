# SPDX-License-Identifier: Apache-2.0
import numpy as np
import plotly.graph_objects as go

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    f = go.Figure()
    f.add_scatter(x=np.arange(10000.0), y=np.arange(10000.0))
    f.add_bar(y=np.arange(1000.0))
    f.update_layout(title="x", xaxis_title="y")
