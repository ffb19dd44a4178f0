r"""p-values of single nodes: how probable is it that the mean likelihood of a node is as far off as it is?

A likelihood need not be nearly normal in the mean.  That of a level that one row in two hundred has is the same number
in all rows but few, and a hundred reference rows may show none of them: their standard deviation is then 0, and by the
normal law one such row in a batch is a certain shift.  Of a circuit with many such nodes some node was called shifted
in nearly every batch.  So, as an alarm of the test is (`hld.nulls.ranks.confirmation`), a node is judged by the rows
of the batch as well.

**Pooled variance.**  Without a shift all N = n + T rows are exchangeable.  Given the rows, the difference d of the
means of T of them and of the others has over all ways to divide them the variance

.. math:: V = s_N^2 \Bigl(\frac{1}{T} + \frac{1}{n}\Bigr), \qquad
          (N - 1) s_N^2 = (n - 1) s_{ref}^2 + (T - 1) s_{batch}^2 + \frac{n T}{N} d^2 .

**Largest step.**  Let all values be from lo to hi, and m their mean.  One row moves the difference upwards by at most

.. math:: J = \max \Bigl( \frac{hi - m}{T}, \frac{m - lo}{n} \Bigr),

and downwards by the same with hi - m and m - lo exchanged.  Among all sums of independent terms with the variance V and
no step above J, that of rare steps of size J has the largest exponential moments (Bennett 1962): J (X - a) with X a
Poisson variable of mean a = V / J^2.  Its tail

.. math:: P \Bigl( X \ge a + \frac{|d|}{J} \Bigr) = \frac{\gamma(a + |d| / J, \; a)}{\Gamma(a + |d| / J)}

is taken for that of the difference, and twice it, at most 1, is the p-value: the normal law where steps are small, that
of a rare count where they are not.  (The tail of no such sum exceeds it by more than a factor e^2 / 2, Bentkus 2004.)

**What is known of the values.**  lo and hi are those of the batch's rows, of `DRAWN` rows drawn from the circuit, and
of rows that show each category, which gives input units their true range.  Of many rows of a batch only some are looked
at: what r rows do not show has a share below 3 / r, at level 0.05, which is added to the variance with the whole range.
Of a summary, which has no rows, the variance is that of the reference with the same addition for its n rows.  Where the
circuit is the reference, n is infinite and V is exact.  With holes T and n are the rows that show the node.

References: Bennett (1962), Probability inequalities for the sum of independent random variables, J. American
Statistical Association 57, 33; Bentkus (2004), On Hoeffding's inequalities, Annals of Probability 32, 1650.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit

DRAWN = 1_000  # rows of the circuit
BLOCK_CELLS = 2**22  # numbers held at a time
UNSHOWN = 3.0  # of r rows: shares below 3 / r are missed with a probability of 0.05
EQUAL = 1e-12  # differences up to which means are alike, as for z-scores


@dataclass(frozen=True, eq=False)
class Values:
    """Of some rows, for m nodes: how many show them, their mean, variance, smallest and largest value."""

    counts: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    low: np.ndarray
    high: np.ndarray


def node_pvalues(result: Any) -> np.ndarray:
    """(m,) p-values of the nodes of a result, not adjusted.

    Returns (m,).
    The likelihoods of some 1,500 rows.
    """
    T, own, g = result.num_samples, result._own, result._weights
    n = T / (result.inflation - 1) if result.inflation > 1 else math.inf
    circuit, nodes = result._circuit, result.nodes
    usual = _values(circuit, nodes, _usual_rows(circuit), False)
    batch = usual if own is None else _values(circuit, nodes, own.rows, g is not None)
    if own is not None:
        usual, batch = _scaled(usual, own.weights), _scaled(batch, own.weights)
    shown = np.ones(len(nodes)) if g is None else g
    d = np.divide(result.deltas, shown, out=np.zeros(len(nodes)), where=shown > 0)
    low, high = np.minimum(usual.low, batch.low), np.maximum(usual.high, batch.high)
    sizes = _sizes(T, n, None if own is None else len(own.rows), batch.counts, shown)
    variance = result.stds**2
    if math.isfinite(n):
        own_variance = variance if own is None else batch.variance
        if own is None or len(own.rows) < T:
            rows = sizes[1] if own is None else np.maximum(batch.counts, 1)
            own_variance = own_variance + UNSHOWN / rows * (high - low) ** 2
        variance = _pooled(variance, own_variance, d, sizes)
    mean = np.clip(
        usual.mean if own is None else batch.mean - d / (1 + sizes[0] / sizes[1]), low, high
    )
    variance = variance * (1 / sizes[0] + 1 / sizes[1])
    return _tails(d, variance, (mean - low, high - mean), sizes, shown)


def _pooled(
    variance: np.ndarray, own_variance: np.ndarray, d: np.ndarray, sizes: tuple[Any, Any]
) -> np.ndarray:
    """(m,) variance of all rows that show each node, from those of the reference and of the batch."""
    T, n = sizes
    between = T / (1 + T / n) * d**2
    found: np.ndarray = np.maximum(n - 1, 0.0) * variance + (T - 1) * own_variance + between
    return found / np.maximum(n + T - 1, 1.0)


def _tails(
    d: np.ndarray,
    variance: np.ndarray,
    reach: tuple[Any, Any],
    sizes: tuple[Any, Any],
    shown: np.ndarray,
) -> np.ndarray:
    """(m,) twice the tails beyond differences d with this variance, for values that reach so far below and above."""
    from scipy.special import gammainc

    ahead, behind = np.where(d > 0, reach[1], reach[0]), np.where(d > 0, reach[0], reach[1])
    step = np.maximum(ahead / sizes[0], behind / sizes[1])
    has_moved = (np.abs(d) > EQUAL) & (shown > 0)
    step = np.where(
        has_moved, np.where(step > 0, step, np.abs(d)), 1.0
    )  # squares of tiny likelihoods would be 0
    a = variance / step**2
    return np.where(has_moved, np.minimum(2 * gammainc(a + np.abs(d) / step, a), 1.0), 1.0)


def _sizes(
    T: int, n: float, held: int | None, counts: np.ndarray, g: np.ndarray
) -> tuple[Any, Any]:
    """Rows of the batch and of the reference that show each node: g^2 (1 / T_j + 1 / n_j) = 1 / T + 1 / n."""
    own = np.full(len(g), float(T)) if held is None else np.maximum(counts, 1) * (T / held)
    with np.errstate(divide="ignore"):
        rest = np.maximum(np.where(g > 0, (1 / T + 1 / n) / g**2, 0.0) - 1 / own, 1 / n)
        return own, 1 / rest


def _usual_rows(circuit: pcircuit.Circuit) -> np.ndarray:
    """(r, V) rows drawn from the circuit, and of each category one that shows it wherever there is one."""
    numbers = np.array(circuit.num_categories)
    each = np.minimum(np.arange(numbers.max())[:, None], numbers - 1)
    return np.concatenate([pcircuit.sample(circuit, DRAWN, rng=0), each])


def _scaled(values: Values, weights: Any) -> Values:
    """The values times weights that are at least 0."""
    return Values(
        values.counts,
        values.mean * weights,
        values.variance * weights**2,
        values.low * weights,
        values.high * weights,
    )


def _values(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, has_holes: bool
) -> Values:
    """Values (m,) of rows; with holes of those that show a node."""
    from hld.vectors.row_vectors import RowVectors

    m, vectors = len(nodes), RowVectors(circuit, nodes)
    low, high, counts, sums, squares = (
        np.full(m, np.inf),
        np.full(m, -np.inf),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
    )
    step, centre = max(BLOCK_CELLS // m, 1), np.zeros(0)
    for start in range(0, len(rows), step):
        block = vectors.rows(rows[start : start + step])
        seen = (
            vectors.seen(rows[start : start + step])
            if has_holes
            else np.ones(block.shape, dtype=bool)
        )
        centre = centre if start else block.mean(axis=0)
        away = np.where(seen, block - centre, 0.0)
        counts, sums, squares = (
            counts + seen.sum(axis=0),
            sums + away.sum(axis=0),
            squares + (away**2).sum(axis=0),
        )
        low = np.minimum(low, np.where(seen, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(seen, block, -np.inf).max(axis=0))
    mean = sums / np.maximum(counts, 1)
    variance = np.maximum(squares - counts * mean**2, 0.0) / np.maximum(counts - 1, 1)
    is_shown = counts > 0
    return Values(
        counts,
        centre + mean,
        variance,
        np.where(is_shown, low, np.inf),
        np.where(is_shown, high, -np.inf),
    )
