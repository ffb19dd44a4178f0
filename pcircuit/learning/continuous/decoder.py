r"""A network with one hidden layer that turns points z into logits, and its gradient.

.. math:: h = \max(a, 0.01 a), \quad a = z A + \alpha, \qquad \ell = h B + \beta,

one row for each of S points: z (S, d), h (S, H), l (S, L).  For a function of the logits with slopes G = d f / d l, the
chain rule gives

.. math:: \frac{df}{dB} = h^t G, \quad \frac{df}{d\beta} = 1^t G, \quad
          D = (G B^t) \odot h'(a), \quad \frac{df}{dA} = z^t D, \quad \frac{df}{d\alpha} = 1^t D .

All numbers are single precision: they are estimates from batches of rows, and every product takes half the time.

The steps are those of Adam (Kingma and Ba 2015): with running means m of the gradients and v of their squares,
corrected for starting at zero, a number moves by rate * m / (sqrt(v) + 1e-8).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Singles: TypeAlias = NDArray[np.float32]

LEAK = np.float32(0.01)  # slope of a hidden unit below zero
FIRST, SECOND, TINY = (
    0.9,
    0.999,
    1e-8,
)  # decays of the means of Adam, and what keeps its ratio finite
SMALL_OUT = 0.1  # of the usual size: the first distributions of all points are nearly the same


class Decoder(NamedTuple):
    """The numbers of the network; or their gradients, or running means of these."""

    inward: Singles  # A (d, H)
    shift: Singles  # alpha (H,)
    outward: Singles  # B (H, L)
    base: Singles  # beta (L,)


def start(dimensions: int, width: int, base: Singles, generator: np.random.Generator) -> Decoder:
    """Start values: normal numbers of the sizes of He et al. (2015), and given logits for all points.

    Shapes: base (L,).
    """
    inward = generator.standard_normal((dimensions, width), dtype=np.float32) * np.float32(
        np.sqrt(2 / dimensions)
    )
    outward = generator.standard_normal((width, len(base)), dtype=np.float32)
    outward *= np.float32(SMALL_OUT * np.sqrt(2 / width))
    return Decoder(inward, np.zeros(width, np.float32), outward, base)


def decoded(decoder: Decoder, points: Singles) -> tuple[Singles, Singles]:
    """Hidden units h (S, H) and logits l (S, L) of points.

    Shapes: points (S, d).
    """
    inner = points @ decoder.inward
    inner += decoder.shift
    hidden = np.maximum(inner, LEAK * inner)
    logits = hidden @ decoder.outward
    logits += decoder.base
    return hidden, logits


def gradient(decoder: Decoder, points: Singles, hidden: Singles, slopes: Singles) -> Decoder:
    """The gradient of a function of the logits, by its slopes there.

    Shapes: points (S, d), hidden (S, H), slopes (S, L).
    """
    back = slopes @ decoder.outward.T
    back *= np.where(hidden > 0, np.float32(1), LEAK)  # h has the sign of a
    return Decoder(points.T @ back, back.sum(axis=0), hidden.T @ slopes, slopes.sum(axis=0))


class Adam:
    """Steps uphill, each number at a rate of its own."""

    def __init__(self, decoder: Decoder) -> None:
        self._means, self._squares = ([np.zeros_like(part) for part in decoder] for _ in range(2))
        self._steps = 0

    def step(self, decoder: Decoder, slopes: Decoder, rate: float) -> Decoder:
        """The decoder after one step along a gradient."""
        self._steps += 1
        rate *= float(np.sqrt(1 - SECOND**self._steps)) / (1 - FIRST**self._steps)
        found = []
        for part, slope, mean, square in zip(
            decoder, slopes, self._means, self._squares, strict=True
        ):
            mean += np.float32(1 - FIRST) * (slope - mean)
            square += np.float32(1 - SECOND) * (slope * slope - square)
            found.append(part + np.float32(rate) * mean / (np.sqrt(square) + np.float32(TINY)))
        return Decoder(*found)
