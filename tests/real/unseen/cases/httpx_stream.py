# SPDX-License-Identifier: Apache-2.0
import httpx
import torch


def answer(request):
    return httpx.Response(200, json={"label": 1})


def leaky():
    losses = torch.zeros(1000)

    def trace(event, info):
        losses[0] += 1

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        return client.get("http://localhost/", extensions={"trace": trace}).json()["label"]
