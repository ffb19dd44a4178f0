r"""Mixtures over a continuous hidden variable, as circuits of many points.

What rows have in common is often a matter of degree: how much somebody likes satire, how ill a patient is.  A model
with a hidden point z in d dimensions says so,

.. math:: p(x) = \int N(z; 0, I) \prod_v p(x_v \mid z) \, dz \approx \frac1S \sum_{s=1}^S \prod_v p(x_v \mid z_s),

with a network from z to the probabilities of every column (`Decoder`).  The integral over few dimensions is
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

Log-likelihoods of rows at hidden points, whose columns are independent given the point.

A column with C categories has C - 1 logits, and category 0 has the logit 0:

.. math:: \ln p(x_v = c \mid z) = \ell_{vc} - \zeta_v, \qquad \zeta_v = \ln \Big(1 + \sum_{c \ge 1} e^{\ell_{vc}}\Big).

With the indicators u_(v,c) = [x_v = c] for c >= 1, and o_v = [x_v is there], a row at a point has

.. math:: \ln p(x \mid z) = \sum_{v,c} u_{vc} \ell_{vc} - \sum_v o_v \zeta_v :

two matrix products for all rows and points.  An entry that is missing has no indicator and no o_v, which is the sum
over its categories.  The slopes of f = sum_i ln (1/S) sum_s p(x_i | z_s) are, with r_is the share of point s in row i,

.. math:: \frac{\partial f}{\partial \ell_{s,vc}} = \sum_i r_{is} u_{i,vc} - p_{s,vc} \sum_i r_{is} o_{iv} .

A network with one hidden layer that turns points z into logits, and its gradient.

.. math:: h = \max(a, 0.01 a), \quad a = z A + \alpha, \qquad \ell = h B + \beta,

one row for each of S points: z (S, d), h (S, H), l (S, L).  For a function of the logits with slopes G = d f / d l, the
chain rule gives

.. math:: \frac{df}{dB} = h^t G, \quad \frac{df}{d\beta} = 1^t G, \quad
          D = (G B^t) \odot h'(a), \quad \frac{df}{dA} = z^t D, \quad \frac{df}{d\alpha} = 1^t D .

All numbers are single precision: they are estimates from batches of rows, and every product takes half the time.

The steps are those of Adam (Kingma and Ba 2015): with running means m of the gradients and v of their squares,
corrected for starting at zero, a number moves by rate * m / (sqrt(v) + 1e-8).
With fewer than 4,000 rows all but the beta then shrink by rate * min(1, 1000 / N) (Loshchilov and Hutter 2019): with
1,000 rows of book and of netflix that gained .4 and .1 nats on test rows.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcircuit.arguments import Evidence, Floats, Ints
from pcircuit.circuit import Mixture
from pcircuit.learning.product_mixtures import CIRCUIT_PRODUCTS, product_mixture

DIMENSIONS, WIDTH = 16, 128  # d, and hidden units of the decoder
LEARNING_POINTS, SHIFTS = 1024, 64  # points of a batch, and sets of them
RATE, LEAST_STEPS, MOST_STEPS = (
    0.008,
    32,
    200,
)  # of Adam; steps of an epoch, where there are rows for them
BATCH, SMALLEST_BATCH = 256, 16  # rows of a step
FEW_ROWS, ROWS_OF_DECAY = (
    4000,
    1000,
)  # weights of the map decay by that part of the rate, or all of it
HALVED_AFTER, ENDED_AFTER = 2, 6  # looks without a gain
JUDGED_AFTER = 8  # looks, if it has to be as good as something else
HELD_BLOCK, MOST_CODED = 1000, 2**22  # rows that are evaluated at a time, and indicators of them
EDGE = 2.0**-24  # of the unit interval, whose ends are infinitely far out
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


class Logits(NamedTuple):
    """Which logit is whose: of L logits the column and the category, and where each of the V columns begins."""

    columns: Ints  # (L,)
    categories: Ints  # (L,)
    begins: Ints  # (V',) of the columns that have logits
    with_logits: Ints  # (V',) these columns


Coded: TypeAlias = tuple[
    Singles, Singles | None
]  # indicators (n, L); columns shown (n, V'), None: all


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
) -> tuple[Mixture, Floats, Floats]:
    """A mixture over a continuous hidden variable; mean log-likelihoods of training rows and held ones at each look.

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
    values = decoded(best, points)[1]
    columns = probabilities(values, num_categories)
    mixture = product_mixture(columns, np.full(len(points), 1 / len(points)))
    training, validation = np.transpose(looks)
    return mixture, training, validation


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
        self.steps, self.means, self.squares = (
            0,
            *([np.zeros_like(part) for part in decoder] for _ in range(2)),
        )
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
            decoder = self.moved(decoder, gradient(decoder, points, hidden, up))
            if len(self.table) < FEW_ROWS:
                kept = np.float32(1 - self.rate * min(ROWS_OF_DECAY / len(self.table), 1.0))
                inward, shift, outward = (part * kept for part in decoder[:3])
                decoder = Decoder(inward, shift, outward, decoder.base)
        return decoder

    def moved(self, decoder: Decoder, slopes: Decoder) -> Decoder:
        """The decoder after one step of Adam uphill, each number at a rate of its own."""
        self.steps += 1
        ratio = float(np.sqrt(1 - SECOND**self.steps)) / (1 - FIRST**self.steps)
        rate, found = np.float32(self.rate * ratio), []
        for part, slope, mean, square in zip(
            decoder, slopes, self.means, self.squares, strict=True
        ):
            mean += np.float32(1 - FIRST) * (slope - mean)
            square += np.float32(1 - SECOND) * (slope * slope - square)
            found.append(part + rate * mean / (np.sqrt(square) + np.float32(TINY)))
        return Decoder(*found)


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
    return ndtri(np.clip(sequence, EDGE, 1 - EDGE)).astype(np.float32)


def logits_of(num_categories: Ints) -> Logits:
    """The order of the logits; columns with one category have none; shapes num_categories (V,)."""
    counts = num_categories - 1
    columns = np.repeat(np.arange(len(counts)), counts)
    categories = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    with_logits = np.flatnonzero(counts)
    return Logits(columns, categories, (np.cumsum(counts) - counts)[with_logits], with_logits)


def coded(rows: Evidence, logits: Logits) -> Coded:
    """Rows as what the matrix products need; shapes rows (n, V)."""
    indicators = (rows[:, logits.columns] == logits.categories).astype(np.float32)
    shown = rows[:, logits.with_logits] >= 0
    return indicators, None if shown.all() else shown.astype(np.float32)


def normalizers(values: Singles, logits: Logits) -> Singles:
    """The zeta of some points, without overflow; shapes values (S, L) -> (S, V')."""
    top = np.maximum(np.maximum.reduceat(values, logits.begins, axis=1), 0)
    places = np.searchsorted(logits.with_logits, logits.columns)
    total = np.add.reduceat(np.exp(values - top[:, places]), logits.begins, axis=1)
    return top + np.log(total + np.exp(-top))


def point_logs(rows: Coded, values: Singles, zeta: Singles) -> Singles:
    """(n, S) log-likelihoods of rows at each of S points; shapes values (S, L), zeta (S, V') -> (n, S)."""
    indicators, shown = rows
    return indicators @ values.T - (zeta.sum(axis=1) if shown is None else shown @ zeta.T)


def slopes(rows: Coded, shares: Singles, values: Singles, zeta: Singles, logits: Logits) -> Singles:
    """(S, L) derivatives of the sum of the log-likelihoods of rows by the logits of the points.

    Shapes: shares (n, S) -> (S, L).
    """
    places = np.searchsorted(logits.with_logits, logits.columns)
    indicators, shown = rows
    seen = shares.sum(axis=0)[:, None] if shown is None else (shares.T @ shown)[:, places]
    return shares.T @ indicators - seen * np.exp(values - zeta[:, places])


def probabilities(values: Singles, num_categories: Ints) -> list[Floats]:
    """Probabilities of all categories at the points, in double precision; shapes num_categories (V,)."""
    found, begin = [], 0
    for count in num_categories.tolist():
        own = np.zeros((len(values), count))
        own[:, 1:] = values[:, begin : begin + count - 1]
        own = np.exp(own - own.max(axis=1, keepdims=True))
        found.append(own / own.sum(axis=1, keepdims=True))
        begin += count - 1
    return found


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
    """Hidden units h (S, H) and logits l (S, L) of points; shapes points (S, d)."""
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
