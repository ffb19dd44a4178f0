r"""Mixtures over a continuous hidden variable, as circuits of many points.

What rows have in common is often a matter of degree: how much somebody likes satire, how ill a patient is.  A model
with a hidden point z in d dimensions says so,

.. math:: p(x) = \int N(z; 0, I) \prod_v p(x_v \mid z) \, dz \approx \frac1S \sum_{s=1}^S \prod_v p(x_v \mid z_s),

with a network from z to the probabilities of every column (`continuous.decoder`).  The integral over few dimensions is
a mean over points z_s that fill the space evenly: a Sobol sequence through the quantiles of the normal distribution.
The mean is an ordinary mixture of S components, each a product of columns, and so a circuit: its likelihood, also with
missing entries, is exact.  But its components are not free, as those of S clusters would be: one smooth map gives them
all, and thousands of them can be learned from as many rows.

**Learning** maximises the mean log-likelihood of batches of rows by Adam, each batch with one of 64 sets of points (the
sequence, scrambled anew), so that the map fits the integral and no single set of points.  After each epoch rows that
took no part are evaluated at the points of the final mixture.  Where they gain no more the rate is halved, and after
some such looks the best decoder so far is returned.

**More points** than one learns with are better: the learned map is smooth, and the mean over 8,192 points is nearer to
the integral than that over 1,024.

References: A. Correia, G. Gala, E. Quaeghebeur, C. de Campos and R. Peharz (2023), Continuous mixtures of tractable
probabilistic models, AAAI.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.array_types import Evidence, Floats, Ints
from pcircuit.circuit_mixture import Mixture
from pcircuit.learning.continuous.decoder import Adam, Decoder, Singles, decoded, gradient, start
from pcircuit.learning.continuous.point_logs import (
    Logits,
    coded,
    logits_of,
    normalizers,
    point_logs,
    probabilities,
    slopes,
)
from pcircuit.learning.products.product_mixture import CIRCUIT_PRODUCTS, product_mixture

DIMENSIONS, WIDTH = 16, 128  # d, and hidden units of the decoder
LEARNING_POINTS, SHIFTS = 1024, 64  # points of a batch, and sets of them
RATE, LEAST_STEPS, MOST_STEPS = (
    0.008,
    32,
    200,
)  # of Adam; steps of an epoch, where there are rows for them
BATCH, SMALLEST_BATCH = 256, 16  # rows of a step
HALVED_AFTER, ENDED_AFTER = 2, 6  # looks without a gain
JUDGED_AFTER = 8  # looks, if it has to be as good as something else
HELD_BLOCK, MOST_CODED = 1000, 2**22  # rows that are evaluated at a time, and indicators of them
EDGE = 2.0**-24  # of the unit interval, whose ends are infinitely far out


class Fitted(NamedTuple):
    """A mixture, and the mean log-likelihoods of training rows (of a sample of them) and held rows at each look."""

    mixture: Mixture
    training: Floats
    validation: Floats


def continuous_mixture(
    table: Evidence,
    held: Evidence,
    num_categories: Ints,
    num_points: int,
    generator: np.random.Generator,
    *,
    num_epochs: int = 40,
    tolerance: float = 1e-3,
    least: float = -np.inf,
) -> Fitted:
    """Learn a mixture over a continuous hidden variable.

    Shapes: table (N, V), held (M, V), num_categories (V,).
    A step takes some 3 S' (d + L) H + 2 n S' L multiplications with S' = 1,024 points, H = 128, n = 256 rows (fewer of
    both where there are few rows) and L logits, the categories less one of all columns; a look S (H + M) L.
    """
    logits = logits_of(num_categories)
    points = _points(num_points, generator)
    decoder = best = start(DIMENSIONS, WIDTH, _base(table, logits), generator)
    some = table[generator.permutation(len(table))[:HELD_BLOCK]]
    looks: list[tuple[float, float]] = []
    highest, passed, misses = -np.inf, -np.inf, 0
    learning = _Learning(table, logits, generator, num_points, decoder)
    for _ in range(num_epochs):
        decoder = learning.epoch(decoder)
        training, mean = (_mean_log(decoder, points, one, logits) for one in (some, held))
        looks.append((training, mean))
        best, highest = (decoder, mean) if mean > highest else (best, highest)
        passed, misses = (mean, 0) if mean - passed > tolerance else (passed, misses + 1)
        if misses == ENDED_AFTER or (len(looks) == JUDGED_AFTER and promised(looks) < least):
            break
        learning.rate /= 1 + (misses > 0 and misses % HALVED_AFTER == 0)
    return Fitted(
        _mixture(best, points, num_categories, logits), *map(np.array, zip(*looks, strict=True))
    )


def promised(looks: list[tuple[float, float]]) -> float:
    """What the held rows will have after twice the epochs, at most: a doubling gains less each time.

    With l_e their mean log-likelihood after e epochs, l_2e <= 2 l_e - l_(e/2), l being the highest so far.
    """
    means = [mean for _, mean in looks]
    return 2 * max(means) - max(means[: len(means) // 2])


def work_of_points(num_points: int, num_rows: int, num_held: int, num_logits: int) -> int:
    """Multiplications of an epoch, with the look behind it."""
    learning, batch = _sizes(num_points, num_rows)
    step = learning * (3 * (DIMENSIONS + num_logits) * WIDTH + 2 * batch * num_logits)
    steps = max(min(num_rows // batch, MOST_STEPS), 1)
    return steps * step + num_points * num_logits * (WIDTH + num_held)


def _sizes(num_points: int, num_rows: int) -> tuple[int, int]:
    """S' points and n rows of a step."""
    learning = min(max(num_points // 4, CIRCUIT_PRODUCTS), LEARNING_POINTS)
    return learning, int(np.clip(num_rows // LEAST_STEPS, SMALLEST_BATCH, BATCH))


class _Learning:
    """What changes from step to step, beside the decoder: the order of the rows, the points, Adam's means, the rate."""

    def __init__(
        self,
        table: Evidence,
        logits: Logits,
        generator: np.random.Generator,
        num_points: int,
        decoder: Decoder,
    ) -> None:
        self.table, self.logits, self.generator, self.rate = table, logits, generator, RATE
        self.adam = Adam(decoder)
        learning, self.batch = _sizes(num_points, len(table))
        self.sets = [_points(learning, generator) for _ in range(SHIFTS)]

    def epoch(self, decoder: Decoder) -> Decoder:
        """The decoder after a pass over the rows."""
        order = self.generator.permutation(len(self.table))[: MOST_STEPS * self.batch]
        for begin in range(0, max(len(order) - self.batch, 0) + 1, self.batch):
            points = self.sets[self.generator.integers(SHIFTS)]
            rows = coded(self.table[order[begin : begin + self.batch]], self.logits)
            hidden, values = decoded(decoder, points)
            zeta = normalizers(values, self.logits)
            shares, _ = _shares(point_logs(rows, values, zeta))
            up = slopes(rows, shares, values, zeta, self.logits) / np.float32(len(shares))
            decoder = self.adam.step(decoder, gradient(decoder, points, hidden, up), self.rate)
        return decoder


def _shares(logs: Singles) -> tuple[Singles, Singles]:
    """r_is of log-likelihoods (n, S), which are overwritten, and ln sum_s of each row."""
    top = logs.max(axis=1, keepdims=True)
    logs -= top
    np.exp(logs, out=logs)
    total = logs.sum(axis=1, keepdims=True)
    logs /= total
    return logs, (top + np.log(total))[:, 0]


def _mean_log(decoder: Decoder, points: Singles, rows: Evidence, logits: Logits) -> float:
    """Mean log-likelihood of rows under the mixture of these points, some at a time: coded they are large."""
    values = decoded(decoder, points)[1]
    zeta, total = normalizers(values, logits), 0.0
    step = max(min(HELD_BLOCK, MOST_CODED // values.shape[1]), 1)
    for begin in range(0, len(rows), step):
        some = coded(rows[begin : begin + step], logits)
        total += float(_shares(point_logs(some, values, zeta))[1].sum(dtype=np.float64))
    return total / len(rows) - float(np.log(len(points)))


def _base(table: Evidence, logits: Logits) -> Singles:
    """(L,) logits of the frequencies of the columns, each category counted half a row more."""
    found = []
    for v, count in zip(
        logits.with_logits.tolist(), np.diff([*logits.begins, len(logits.columns)]), strict=True
    ):
        logs = np.log(np.bincount(table[table[:, v] >= 0, v], minlength=count + 1) + 0.5)
        found.append(logs[1:] - logs[0])
    return np.concatenate(found).astype(np.float32)


def _points(count: int, generator: np.random.Generator) -> Singles:
    """(count, d) points that fill the normal distribution evenly: a Sobol sequence, scrambled."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    sequence = qmc.Sobol(DIMENSIONS, seed=generator).random(count)
    found: Singles = ndtri(np.clip(sequence, EDGE, 1 - EDGE)).astype(np.float32)
    return found


def _mixture(decoder: Decoder, points: Singles, num_categories: Ints, logits: Logits) -> Mixture:
    """The mixture of the points."""
    values = decoded(decoder, points)[1]
    columns = probabilities(values, normalizers(values, logits), num_categories, logits)
    return product_mixture(columns, np.full(len(points), 1 / len(points)))
