# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pfrl
import torch


def leaky():
    q_function = torch.nn.Sequential(
        torch.nn.Linear(100, 2), pfrl.q_functions.DiscreteActionValueHead()
    )
    agent = pfrl.agents.DQN(
        q_function,
        torch.optim.SGD(q_function.parameters(), lr=0.1),
        pfrl.replay_buffers.ReplayBuffer(10),
        gamma=0.9,
        explorer=pfrl.explorers.ConstantEpsilonGreedy(0.1, lambda: 0),
        replay_start_size=2,
        minibatch_size=2,
    )
    for _ in range(4):
        agent.act(np.ones(100, np.float32))
        agent.observe(np.ones(100, np.float32), 1.0, False, False)
