r"""A few features that stand for the whole score of a row, each parameter in units of its standard deviation.

The score s(x) of a row is the gradient of its log-likelihood in the logits of all parameters (`pcircuit.scores`).  To
compare rows it is scaled,

.. math:: z_p(x) = s_p(x) / \sqrt{\mathrm{Var}_P\, s_p + f}, \qquad f = 0.001,

so that every parameter counts alike, except that those used by one row in a thousand count less: without the floor f
one row with a rare category would outweigh all others.  The variances are those of rows drawn from the circuit, so that
nothing here depends on the rows that a batch is compared with.

A large circuit has more parameters than a test can hold.  The R / 2 that vary most keep coordinates of their
own, and the others share R / 2 coordinates, each with a random sign: sums of squares are preserved on average over the
signs (a count sketch), and parameters that hardly vary add little noise to the coordinates that they share.  The two
parameters of a unit with two choices have opposite scores and are one coordinate from the start.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import pcircuit

FLOOR = 1e-3  # of variances: what a category with this probability has
MOST_FEATURES = 256  # R
DRAWN_VALUES, MOST_DRAWN, FEWEST_DRAWN = (
    8_000_000,
    2_000,
    100,
)  # numbers, and rows, that variances are estimated from
FEW = (
    2**18
)  # scores that are held at a time: SciPy's sparse arrays would take longer to import than these take
SEED = 0  # of what is drawn: the same circuit has the same features


@dataclass(frozen=True, eq=False)
class ScoreFeatures:
    """A sparse linear map of scores: parameter p is added, times a factor, to one coordinate.

    Shapes: places (P,), factors (P,).
    """

    places: np.ndarray
    factors: np.ndarray
    num_features: int

    @cached_property
    def matrix(self) -> Any:
        """(P, r) the map, transposed."""
        from scipy.sparse import csr_array

        P = len(self.places)
        return csr_array(
            (self.factors, self.places, np.arange(P + 1)), shape=(P, self.num_features)
        )

    @property
    def bounds(self) -> np.ndarray:
        """(r,) what no feature of a row exceeds in absolute value: scores are differences of flows, from -1 to 1."""
        return np.bincount(self.places, weights=np.abs(self.factors), minlength=self.num_features)

    def of_scores(self, scores: np.ndarray) -> np.ndarray:
        """(r,) features of the scores (P,) of a row, or of their mean."""
        return np.bincount(self.places, weights=scores * self.factors, minlength=self.num_features)

    def of_rows(self, circuit: pcircuit.Circuit, rows: np.ndarray) -> np.ndarray:
        """(n, r) features of each row; of many, holding only the scores of one region and a block of rows."""
        if 0 < rows.shape[0] * len(self.places) <= FEW:
            return np.stack([self.of_scores(one) for one in pcircuit.scores(circuit, rows)])
        return pcircuit.scores(circuit, rows, directions=self.matrix)


def score_features(circuit: pcircuit.Circuit, *, most: int = MOST_FEATURES) -> ScoreFeatures:
    """The features of a circuit.

    The scores of 100 to 2,000 rows that are drawn from the circuit, always the same.
    """
    variances = score_variances(circuit)
    factors, owner = 1.0 / np.sqrt(variances + FLOOR), _owners(circuit)
    heads = np.flatnonzero(owner == np.arange(len(owner)))
    twins = np.flatnonzero(owner != np.arange(len(owner)))
    factors[heads] *= np.where(np.isin(heads, owner[twins]), np.sqrt(0.5), 1.0)
    places = np.zeros(len(owner), dtype=np.int64)
    places[heads], signs, r = _shared_places(variances[heads], most)
    factors[heads] *= signs
    places[twins], factors[twins] = places[owner[twins]], -factors[owner[twins]]
    return ScoreFeatures(places, factors, r)


def score_variances(circuit: pcircuit.Circuit) -> np.ndarray:
    """(P,) variances of the scores of rows drawn from the circuit, about zero, which is their mean."""
    n = int(np.clip(DRAWN_VALUES // circuit.num_parameters, FEWEST_DRAWN, MOST_DRAWN))
    return (pcircuit.scores(circuit, pcircuit.sample(circuit, n, rng=SEED)) ** 2).mean(axis=0)


def _owners(circuit: pcircuit.Circuit) -> np.ndarray:
    """(P,) the parameter whose coordinate each has: itself, or the other one of a unit with two choices.

    Parameters of inner regions are first in a score, then those of the leaves, variable by variable.
    """
    owner, start = np.arange(circuit.num_parameters), 0
    leaves = circuit.vtree.leaf_of().tolist()
    for r in [*sorted(set(range(circuit.num_regions)) - set(leaves)), *leaves]:
        sizes = _choices(circuit.regions[r])
        second = start + np.cumsum(sizes)[sizes == 2] - 1
        owner[second] = second - 1
        start += int(sizes.sum())
    return owner


def _choices(region: pcircuit.InnerRegion | pcircuit.InputRegion) -> np.ndarray:
    """(K,) parameters of each unit of a region."""
    if region.is_input:
        return np.full(region.num_units, region.num_categories)
    if region.is_sparse:
        return np.diff(region.weights.indptr)
    return np.full(region.num_units, region.weights.shape[1])


def _shared_places(variances: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(n,) places of parameters, (n,) signs, and the number of places."""
    n = len(variances)
    if n <= most:
        return np.arange(n), np.ones(n), n
    own = most // 2
    order = np.argsort(-variances, kind="stable")
    rng = np.random.default_rng(SEED)
    places, signs = np.empty(n, dtype=np.int64), np.ones(n)
    places[order[:own]] = np.arange(own)
    shared = order[own:]
    places[shared] = own + rng.permutation(len(shared)) % (most - own)
    signs[shared] = rng.choice([-1.0, 1.0], len(shared))
    return places, signs, own + min(len(shared), most - own)
