# SPDX-License-Identifier: Apache-2.0
import networkx
import torch


def leaky():
    graph = networkx.path_graph(10)
    for node in graph.nodes:
        graph.nodes[node]["embedding"] = torch.rand(100)
    return [graph.degree[node] for node in graph], len(graph.edges)
