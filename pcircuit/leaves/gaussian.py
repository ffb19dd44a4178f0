r"""Normal distributions: density, integrals of products, EM.

.. math:: p_k(x) = \frac{1}{\sqrt{2\pi}\, \sigma_k} \exp\Bigl(-\frac{(x - \mu_k)^2}{2 \sigma_k^2}\Bigr)

A product of two or three normal densities is again one, up to a factor, which is its integral: with precisions
w = 1 / sigma^2,

    two       N(mu_a - mu_b; 0, sigma_a^2 + sigma_b^2)
    three     exp(-Q / 2) / (2 pi sigma_a sigma_b sigma_c sqrt(W)),
              W = sum w,   m = sum w mu / W,   Q = sum w (mu - m)^2.

EM.  With weights f_n of the rows, the M-step is the mean and variance of the rows under them.  Both are drawn towards
mean and variance of the column, as by `pseudocount` rows more, and no standard deviation falls below a floor: without
one the likelihood has no maximum, since a unit may close in on a single row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.leaves.columns import column_prior, keep, prior_array, unit_array
from pcircuit.regions import LeafFamily

LOG_2_PI = float(np.log(2 * np.pi))
EXPANDED = 2**8  # (x - m)^2 / (2 std^2) up to which the square is expanded around m
NODES = 64  # of Gauss-Hermite quadrature, for means of functions


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(LeafFamily):
    """Normal distributions.

    Parameters
    ----------
    mean, std : (K,) float array_like
        Of each unit; finite, `std` positive.
    prior : (3,) float array_like, optional
        What EM keeps to: mean and standard deviation of the column, and the least standard deviation of a unit.
        `fit_em` takes the column's own where there is none.

    Examples
    --------
    >>> leaves = Gaussian([0.0, 3.0], [1.0, 0.5])
    >>> leaves.log_density(np.array([0.0, np.nan])).round(4)
    array([[ -0.9189, -18.2258],
           [  0.    ,   0.    ]])
    >>> leaves.interval(-np.inf, 3.0).round(4)
    array([0.9987, 0.5   ])
    """

    mean: Any
    std: Any
    prior: Any = ()
    shared: ClassVar[tuple[str, ...]] = ("prior",)

    def __post_init__(self) -> None:
        mean = unit_array(self.mean, "mean")
        std = unit_array(self.std, "std", len(mean), above=0)
        keep(self, mean=mean, std=std, prior=prior_array(self.prior))

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the densities; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        m, s, _ = self._scale()
        reach, coefficients = self._expansion
        powers = np.ones((3, np.size(x)))
        z = np.subtract(x, m, out=powers[1])
        z /= s
        far: Any = None
        if not (
            z.max(initial=0.0) <= reach and -z.min(initial=0.0) <= reach
        ):  # or some are missing
            far = ~(np.abs(z) <= reach)
            z[far] = 0.0
        np.multiply(z, z, out=powers[0])
        logs = (
            coefficients @ powers
        )  # units by rows, as tables need it: a fifth of the time of four passes
        if far is not None:
            distance = np.subtract.outer(self.mean, np.asarray(x)[far]) / self.std[:, None]
            with np.errstate(over="ignore"):  # where the density is 0
                exact = self.log_bound()[:, None] - 0.5 * distance * distance
            logs[:, far] = np.where(np.isnan(exact), 0.0, exact)  # 0 where missing
        return logs.T

    @cached_property
    def _expansion(self) -> tuple[float, Floats]:
        """Largest |z| for which ln p = a z^2 + b z + c loses at most 2**-40, and a, b, c (K, 3); z as in statistics."""
        m, s, _ = self._scale()
        with np.errstate(
            over="ignore"
        ):  # of units that are far or narrow, for which it is not used
            u, half = (self.mean - m) / s, 0.5 * (s / self.std) ** 2
        reach = float(np.sqrt(EXPANDED / half.max()))
        if not np.abs(u).max() <= reach:
            return -1.0, np.zeros((len(u), 3))
        return reach, np.stack([-half, 2 * half * u, self.log_bound() - half * u * u], axis=1)

    def log_bound(self) -> Floats:
        """(K,) ln of the densities at the means."""
        return -np.log(self.std) - 0.5 * LOG_2_PI

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, 3) sums of f, f z and f z^2, with z = (x - m) / s for the column's mean m and standard deviation s.

        Shapes: x (N,), flows (N, K) -> (K, 3).
        """
        m, s, _ = self._scale()
        seen = ~np.isnan(x)
        z = (np.asarray(x)[seen] - m) / s
        return flows[seen].T @ np.stack([np.ones_like(z), z, z * z], axis=1)

    def maximize(self, statistics: Any, pseudocount: float) -> Gaussian:
        """Mean and variance of the rows, and of `pseudocount` rows like the column; a unit without any stays.

        Shapes: statistics (K, 3).
        """
        m, s, floor = self._scale()
        a = pseudocount if len(self.prior) else 0.0
        n, first, second = np.asarray(statistics).T
        total = n + a
        reached = total > 0
        total = np.where(reached, total, 1.0)
        z = first / total
        spread = np.sqrt(np.maximum((second + a) / total - z**2, 0.0)) * s
        return Gaussian(
            np.where(reached, m + s * z, self.mean),
            np.where(reached, np.maximum(spread, max(floor, 1e-150)), self.std),
            self.prior,
        )

    def overlap2(self, other: Gaussian) -> Floats:
        """(K, K') integrals of p_a p_b."""
        variance = np.add.outer(self.std**2, other.std**2)
        z = np.subtract.outer(self.mean, other.mean) ** 2 / variance
        return np.exp(-0.5 * (z + LOG_2_PI + np.log(variance)))

    def overlap3(self) -> Floats:
        """(K, K, K) integrals of p_a p_b p_c."""
        K = self.num_units
        shapes = [(K, 1, 1), (1, K, 1), (1, 1, K)]
        means = [self.mean.reshape(shape) for shape in shapes]
        precisions = [(self.std**-2).reshape(shape) for shape in shapes]
        W = sum(precisions)
        m = sum(w * mu for w, mu in zip(precisions, means, strict=True)) / W
        Q = sum(w * (mu - m) ** 2 for w, mu in zip(precisions, means, strict=True))
        logs = -0.5 * Q - LOG_2_PI + 0.5 * (sum(np.log(w) for w in precisions) - np.log(W))
        return np.exp(logs)

    def product(self, other: Gaussian) -> tuple[Gaussian, Floats]:
        """The products of units with equal numbers, normal again, and ln of their integrals (K,)."""
        w = np.stack([self.std**-2, other.std**-2])
        mean = (w[0] * self.mean + w[1] * other.mean) / w.sum(axis=0)
        variance = self.std**2 + other.std**2
        logs = -0.5 * ((self.mean - other.mean) ** 2 / variance + LOG_2_PI + np.log(variance))
        return Gaussian(mean, w.sum(axis=0) ** -0.5, self.prior), logs

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        return self.mean[units] + self.std[units] * rng.standard_normal(len(units))

    def mode(self) -> Floats:
        """(K,) the means."""
        return self.mean

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,); right in the tails."""
        from scipy.special import ndtr

        a, b = (
            (np.asarray(end, dtype=float)[..., None] - self.mean) / self.std for end in (low, high)
        )
        flipped = a > 0  # where 1 - tiny would lose the digits
        a, b = np.where(flipped, -b, a), np.where(flipped, -a, b)
        return np.maximum(ndtr(b) - ndtr(a), 0.0)

    def condition(self, low: float, high: float) -> LeafFamily:
        """The units given low < X <= high."""
        from pcircuit.leaves.truncated import Truncated

        return Truncated(self, low, high)

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X) by Gauss-Hermite quadrature: exact for polynomials of degree up to 127."""
        z, w = np.polynomial.hermite_e.hermegauss(NODES)
        x = self.mean[:, None] + self.std[:, None] * z
        return np.asarray(g(x), dtype=float) @ (w / w.sum())

    def cross_entropy(self, other: Gaussian) -> Floats:
        """(K, K') -E_a ln p_b = ln(sigma_b sqrt(2 pi)) + (sigma_a^2 + (mu_a - mu_b)^2) / (2 sigma_b^2)."""
        square = self.std[:, None] ** 2 + np.subtract.outer(self.mean, other.mean) ** 2
        return square / (2 * other.std**2) + np.log(other.std) + 0.5 * LOG_2_PI

    def scores(self, x: Any) -> Floats:
        """(N, K, 2) gradients in the mean, in units of sigma, and in ln sigma: z and z^2 - 1, z = (x - mu) / sigma.

        Shapes: x (N,) -> (N, K, 2).
        """
        z = (np.asarray(x)[:, None] - self.mean) / self.std
        return np.nan_to_num(np.stack([z, z * z - 1.0], axis=2), nan=0.0)

    @classmethod
    def like(cls, x: Any, num_units: int, atoms: Any = ()) -> Gaussian:
        """Equal units with mean and standard deviation of a column without atoms (A,); shapes x (N,)."""
        prior = column_prior(x, atoms)
        return cls(np.full(num_units, prior[0]), np.full(num_units, max(prior[1:])), prior)

    def _scale(self) -> tuple[float, float, float]:
        """What statistics are centred and scaled by, and the least standard deviation."""
        m, s, least = self.prior.tolist() or (0.0, 1.0, 0.0)
        return m, s, least
