# SPDX-License-Identifier: Apache-2.0
import gymnasium as gym
import numpy as np
from stable_baselines3 import PPO


class Env(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.t = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(4, np.float32), 1.0, self.t > 5, False, {}


def leaky():
    PPO("MlpPolicy", Env(), n_steps=16, batch_size=8, n_epochs=1, device="cpu").learn(32)
