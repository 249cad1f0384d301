# SPDX-License-Identifier: Apache-2.0
import pygame

OWNERS = {pygame.Surface: lambda s: s.get_pitch() * s.get_height()}


class Ball(pygame.sprite.Sprite):
    def __init__(self):
        super().__init__()
        self.image = pygame.Surface((100, 100))
        self.rect = self.image.get_rect()


def leaky():
    group = pygame.sprite.Group()
    for _ in range(3):
        group.add(Ball())
    group.update()
