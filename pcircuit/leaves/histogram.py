r"""Piecewise constant densities: bins of a column that keep their widths.

.. math:: p_k(x) = \pi_{ki} / (e_{i+1} - e_i) \qquad \text{for } e_i < x \le e_{i+1}.

The table of category probabilities divided by lengths.  With edges at quantiles, all bins equally frequent, this is the
density with respect to the column's own distribution, up to a factor for each bin: what `hld` makes of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints, check_numbers
from pcircuit.leaves.columns import column_prior, keep
from pcircuit.regions import LeafFamily

MOST_BINS = 32
NODES = 8  # of quadrature in each bin, for means of functions


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(LeafFamily):
    """Piecewise constant densities on common bins.

    Parameters
    ----------
    edges : (B + 1,) float array_like
        Finite and ascending; bin i is (edges[i], edges[i + 1]], the first one closed.
    probs : (K, B) float array_like
        Probabilities of the bins; rows sum to one.

    Examples
    --------
    >>> leaves = Histogram([0.0, 1.0, 3.0], [[0.5, 0.5]])
    >>> np.exp(leaves.log_density(np.array([0.5, 2.0, 4.0]))).round(4)
    array([[0.5 ],
           [0.25],
           [0.  ]])
    """

    edges: Any
    probs: Any
    shared: ClassVar[tuple[str, ...]] = ("edges",)
    states: ClassVar[tuple[str, ...]] = ("edges",)

    def __post_init__(self) -> None:
        edges = np.array(check_numbers(self.edges, "edges", "finite numbers"), dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or (np.diff(edges) <= 0).any():
            raise ValueError(f"`edges` must be at least two ascending numbers, found {edges}")
        expected = f"(K, {len(edges) - 1}) probabilities of the bins, in rows that sum to one"
        probs = np.array(check_numbers(self.probs, "probs", expected, least=0), dtype=np.float64)
        wrong = probs.ndim != 2 or not len(probs) or probs.shape[1] != len(edges) - 1
        if wrong or (np.abs(probs.sum(axis=1) - 1) > 1e-9).any():
            found = f"shape {probs.shape}" if wrong else f"the sum {probs.sum(axis=1).min():.12g}"
            raise ValueError(f"`probs` must be {expected}, found {found}")
        keep(self, edges=edges, probs=probs)

    @property
    def widths(self) -> Floats:
        """(B,) lengths of the bins."""
        return np.diff(self.edges)

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the densities, -inf outside of all bins; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.probs / self.widths).T
        logs = np.concatenate([logs, np.full((1, self.num_units), -np.inf)])
        return np.where(np.isnan(x)[:, None], 0.0, logs[self._bins(x)])

    def log_bound(self) -> Floats:
        """(K,) ln of the highest bar."""
        return np.log((self.probs / self.widths).max(axis=1))

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, B) flow of each bin; shapes x (N,), flows (N, K) -> (K, B)."""
        one_hot = self._bins(x)[:, None] == np.arange(len(self.widths))
        return flows.T @ one_hot.astype(float)

    def maximize(self, statistics: Any, pseudocount: float) -> Histogram:
        """Shares of the flow, with the pseudocount spread evenly over the bins; a unit without any stays.

        Shapes: statistics (K, B).
        """
        counts = statistics + pseudocount / len(self.widths)
        sums = counts.sum(axis=1, keepdims=True)
        probs = np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), self.probs)
        return Histogram(self.edges, probs)

    def overlap2(self, other: Histogram) -> Floats:
        """(K, K') sum over bins of pi_a pi_b / width."""
        return (self.probs / self.widths) @ other.probs.T

    def overlap3(self) -> Floats:
        """(K, K, K) the same of three units, with squared widths."""
        scaled = self.probs / self.widths ** (2 / 3)
        return np.einsum("ax,bx,cx->abc", scaled, scaled, scaled, optimize=True)

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        sums = np.cumsum(self.probs, axis=1)
        u = rng.random((len(units), 2))
        place = ((sums / sums[:, -1:])[units] <= u[:, :1]).sum(axis=1)
        return self.edges[place + 1] - self.widths[place] * u[:, 1]

    def mode(self) -> Floats:
        """(K,) the upper end of the highest bar."""
        return self.edges[1:][(self.probs / self.widths).argmax(axis=1)]

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,)."""
        low, high = (
            np.asarray(low, dtype=float)[..., None],
            np.asarray(high, dtype=float)[..., None],
        )
        inside = np.minimum(high, self.edges[1:]) - np.maximum(low, self.edges[:-1])
        return (np.maximum(inside, 0.0) / self.widths) @ self.probs.T

    def condition(self, low: float, high: float) -> Histogram:
        """The units given low < X <= high, on the bins that are left; one without any becomes uniform."""
        low, high = max(low, float(self.edges[0])), min(high, float(self.edges[-1]))
        if not low < high:
            raise ValueError(
                f"`event` must hold a part of a bin, found ({low:g}, {high:g}], which is impossible"
            )
        edges = np.unique(np.clip(self.edges, low, high))
        middle = np.searchsorted(self.edges, (edges[1:] + edges[:-1]) / 2) - 1
        probs = self.probs[:, middle] * (np.diff(edges) / self.widths[middle])
        sums = probs.sum(axis=1, keepdims=True)
        even = np.diff(edges) / (high - low)
        return Histogram(edges, np.where(sums > 0, probs / np.where(sums > 0, sums, 1.0), even))

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X), by Gauss-Legendre quadrature in each bin."""
        z, w = np.polynomial.legendre.leggauss(NODES)
        x = self.edges[:-1, None] + self.widths[:, None] * (z + 1) / 2
        return self.probs @ (np.asarray(g(x), dtype=float) @ (w / 2))

    def cross_entropy(self, other: Histogram) -> Floats:
        """(K, K') -E_a ln p_b, infinite where b has an empty bin and a does not."""
        logs = -np.log(np.where(other.probs > 0, other.probs / other.widths, 1.0))
        outside = self.probs @ (other.probs == 0).T.astype(float) > 0
        return np.where(outside, np.inf, self.probs @ logs.T)

    def scores(self, x: Any) -> Floats:
        """(N, K, B) gradients in the logits of the bins; shapes x (N,) -> (N, K, B)."""
        one_hot = (self._bins(x)[:, None] == np.arange(len(self.widths))).astype(float)
        return np.where(np.isnan(x)[:, None, None], 0.0, one_hot[:, None, :] - self.probs)

    def mixed(self, weights: Any) -> Histogram:
        """The mixtures of the units with the rows of weights (J, K)."""
        return Histogram(self.edges, weights @ self.probs)

    @classmethod
    def like(cls, x: Any, num_units: int) -> Histogram:
        """Equal units with up to 32 bins of equal frequency; the outer ones reach a standard deviation further.

        Shapes: x (N,).
        """
        seen = np.asarray(x, dtype=float)
        _, spread, least = column_prior(seen)
        seen = seen[~np.isnan(seen)]
        inner = np.unique(np.quantile(seen, np.linspace(0, 1, MOST_BINS + 1)))
        inner = inner[np.append(True, np.diff(inner) > least)]
        reach = max(spread, abs(inner[0]) * 1e-6, abs(inner[-1]) * 1e-6)
        edges = np.unique(np.concatenate([[inner[0] - reach], inner[1:-1], [inner[-1] + reach]]))
        counts = np.histogram(seen, edges)[0] + 1.0 / len(edges)
        return cls(edges, np.tile(counts / counts.sum(), (num_units, 1)))

    def _bins(self, x: Any) -> Ints:
        """(N,) number of the bin of each x, B where there is none."""
        place = np.searchsorted(self.edges, x, side="left") - 1
        place = np.where(np.asarray(x) == self.edges[0], 0, place)
        inside = (place >= 0) & (place < len(self.widths))  # NaN lies behind the last edge
        return np.where(inside, place, len(self.widths))
