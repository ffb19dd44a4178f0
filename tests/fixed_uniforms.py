"""A generator of random numbers that are all one, for the ends of what a draw can be."""

import numpy as np


class FixedUniforms(np.random.Generator):
    """A generator whose uniforms are all one number."""

    def __new__(cls, value):
        return super().__new__(cls, np.random.PCG64(0))

    def __init__(self, value):
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, size=None):
        return np.full(size, self.value)
