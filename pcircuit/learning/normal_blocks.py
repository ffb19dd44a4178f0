r"""Mixtures of multivariate normal distributions, beside leaves of single columns: blocks of columns that go together.

.. math:: p(x) = \sum_m w_m \, N(x_B;\, \mu_m, \Sigma_m) \prod_{v \notin B} p_{mv}(x_v)

with B the columns whose leaves are normal.  A tree of a few states cannot say that a column is nearly a linear function
of others; a covariance says nothing else.  The price is B^2 numbers for each product, and that no v-tree takes the sum
apart: likelihoods, missing values and samples are exact, moments of units and products of circuits are not there.

A row that lacks the columns H and shows the columns S of B has the likelihood N(x_S; mu_S, Sigma_SS), and

.. math:: E[x_H \mid x_S] = \mu_H + A (x_S - \mu_S), \qquad
          \mathrm{Cov}[x_H \mid x_S] = \Sigma_{HH} - A \Sigma_{SH}, \qquad A = \Sigma_{HS} \Sigma_{SS}^{-1}.

**EM** (Dempster, Laird and Rubin 1977).  With r_nm the probability that row n is from product m, and n_m their sum,

.. math:: \mu_m = \frac{1}{n_m} \sum_n r_{nm} E[x_n], \qquad
          \Sigma_m = \frac{\sum_n r_{nm} E[(x_n - \mu_m)(x_n - \mu_m)^t] + a \Sigma_0}{n_m + a},

as with `a` rows more of covariance Sigma_0 = ((1 - d) S + d diag S) M^(-2/B), S that of all rows: of M products each
takes about an M-th of the volume (Fraley and Raftery 2007).  A column that is rounded to multiples of u was not known
better than that: u^2 / 12, the variance of a uniform number in a cell, is added to its own.  The other columns are
fitted as in circuits.

References
----------
Fraley and Raftery (2007), Bayesian regularization for normal mixture estimation and model-based clustering, Journal of
Classification 24.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Bools, Floats, Immutable, Ints, Seed, check_generator, check_numbers
from pcircuit.circuit import Circuit, Mixture, check_distribution
from pcircuit.evidence import all_missing, check_values
from pcircuit.learning.product_mixtures import product_circuit
from pcircuit.leaves import Gaussian
from pcircuit.leaves.columns import rounding_unit
from pcircuit.leaves.gaussian import LOG_2_PI
from pcircuit.regions import LeafFamily

DIAGONAL = 0.05  # d
BESIDE = 0.01  # weight of the model that stands beside blocks while they are learned
FAR = 10.0  # standard deviations, beyond which a row lies no further where EM starts
EMPTY = 1e-9  # rows of a product that is left alone


_Pattern: TypeAlias = tuple[
    Ints, Ints, Ints
]  # rows that lack the same columns, those shown, those lacking


@dataclass(frozen=True, eq=False, repr=False)
class NormalBlocks(Immutable):
    """A mixture of products whose normal columns are correlated: a member of a `Mixture`, as `learn` makes it.

    Parameters
    ----------
    products : Circuit
        The products without correlations: one sum over inputs, as `product_circuit` makes it.
    correlations : (M, B, B) float array_like
        Of the B columns with `Gaussian` leaves in each product; positive definite, with ones on the diagonal.

    Examples
    --------
    >>> leaves = [Gaussian([0.0], [1.0]), Gaussian([0.0], [2.0])]
    >>> blocks = NormalBlocks(product_circuit(leaves, [1.0]), [[[1.0, 0.8], [0.8, 1.0]]])
    >>> blocks.log_likelihood([[0.0, 0.0], [0.0, np.nan]]).round(4)
    array([-2.0202, -0.9189])
    """

    products: Circuit
    correlations: Floats
    is_block = True

    def __post_init__(self) -> None:
        root: Any = check_distribution(self.products, "products").regions[-1]
        V, of_inputs = self.num_variables, {region.num_units for region in self.products.inputs}
        if (
            root.is_input
            or root.products.shape[1] != V
            or {len(root.products)} != of_inputs
            or (root.products != np.arange(len(root.products))[:, None]).any()
        ):
            raise ValueError(
                "`products` must be one sum over products of inputs, as `product_circuit` makes it, found "
                f"{self.products}"
            )
        M, B = len(self.weights), len(self.columns)
        expected = f"({M}, {B}, {B}) finite numbers, correlations of the columns with normal leaves"
        array = np.array(
            check_numbers(self.correlations, "correlations", expected, (M, B, B)), dtype=float
        )
        try:
            np.linalg.cholesky(array)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"`correlations` must be {expected}, found a matrix that is not positive definite"
            ) from None
        array.flags.writeable = False
        object.__setattr__(self, "correlations", array)

    @property
    def num_variables(self) -> int:
        """V (int)."""
        return self.products.num_variables

    @property
    def num_categories(self) -> tuple[int, ...]:
        """Number of categories of each variable, 0 where it has none: a tuple of V int."""
        return self.products.num_categories

    @property
    def num_parameters(self) -> int:
        """Those of the products, and a correlation for each pair (int)."""
        M, B, _ = self.correlations.shape
        return int(self.products.num_parameters + M * B * (B - 1) // 2)

    @cached_property
    def weights(self) -> Floats:
        """(M,) weights of the products."""
        root: Any = self.products.regions[-1]
        return root.dense_weights()[0]

    @cached_property
    def columns(self) -> Ints:
        """(B,) columns with normal leaves."""
        return np.flatnonzero(
            [isinstance(region.leaves, Gaussian) for region in self.products.inputs]
        )

    @cached_property
    def mean(self) -> Floats:
        """(M, B) means of the block."""
        return np.transpose([self.products.inputs[v].leaves.mean for v in self.columns])

    @cached_property
    def covariance(self) -> Floats:
        """(M, B, B) covariances of the block."""
        std = np.transpose([self.products.inputs[v].leaves.std for v in self.columns])
        return self.correlations * std[:, :, None] * std[:, None, :]

    def log_likelihood(
        self, data: ArrayLike, *, n_jobs: int | None = None, dtype: str = "float64"
    ) -> Floats:
        """(N,) natural log-likelihoods of rows, NaN where missing; shapes data (N, V) -> (N,)."""
        return np.logaddexp.reduce(self.log_joint(check_values(self.products, data)), axis=1)

    def log_joint(self, values: Floats, patterns: list[_Pattern] | None = None) -> Floats:
        """(N, M) ln of the probability of each product and the row; shapes values (N, V) -> (N, M)."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.broadcast_to(self.weights, (len(values), len(self.weights))))
        for v, region in enumerate(self.products.inputs):
            if v not in self.columns:
                logs = logs + region.leaves.log_density(values[:, v])
        block = values[:, self.columns]
        for rows, shown, _ in _patterns(block) if patterns is None else patterns:
            roots = np.linalg.cholesky(self.covariance[:, shown[:, None], shown])
            constants = (
                np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
                + 0.5 * len(shown) * LOG_2_PI
            )
            for m, (root, constant) in enumerate(zip(roots, constants.tolist(), strict=True)):
                z = np.linalg.solve(root, (block[rows[:, None], shown] - self.mean[m, shown]).T)
                logs[rows, m] -= 0.5 * np.einsum("bn,bn->n", z, z) + constant
        return logs

    def given(self, block: Floats, pattern: _Pattern) -> tuple[Floats, Floats]:
        """Means (M, n, H) and covariances (M, H, H) of the columns that rows of one pattern lack, in each product.

        Shapes: block (N, B).
        """
        rows, shown, lacking = pattern
        across = self.covariance[:, shown[:, None], lacking]
        slopes = np.linalg.solve(self.covariance[:, shown[:, None], shown], across)
        away = block[rows[:, None], shown] - self.mean[:, None, shown]
        rest = self.covariance[:, lacking[:, None], lacking] - across.transpose(0, 2, 1) @ slopes
        return self.mean[:, None, lacking] + away @ slopes, rest

    def sample(self, num_samples: int, *, given: Any = None, rng: Seed = None) -> Floats:
        """(N, V) draws; of rows that are given in part the rest."""
        generator = check_generator(rng)
        rows = (
            all_missing(self.products, num_samples)
            if given is None
            else check_values(self.products, given, "given")
        )
        rows = np.array(np.broadcast_to(rows, (num_samples, self.num_variables)))
        logs = self.log_joint(rows)
        sums = np.cumsum(np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None]), axis=1)
        units = np.minimum(
            (sums <= generator.random(num_samples)[:, None]).sum(axis=1), logs.shape[1] - 1
        )
        block = rows[:, self.columns]
        for pattern in _patterns(block):
            places, own, lacking = pattern[0], units[pattern[0]], self.columns[pattern[2]]
            means, covariances = self.given(block, pattern)
            noise = generator.standard_normal((len(own), len(lacking)))
            noise = np.einsum("nij,nj->ni", _roots(covariances)[own], noise)
            rows[places[:, None], lacking] = means[own, np.arange(len(own))] + noise
        for v, region in enumerate(self.products.inputs):
            if v not in self.columns:
                holes = np.flatnonzero(np.isnan(rows[:, v]))
                rows[holes, v] = region.leaves.sample(units[holes], generator)
        return rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NormalBlocks):
            return NotImplemented
        return self.products == other.products and np.array_equal(
            self.correlations, other.correlations
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        M, B, _ = self.correlations.shape
        return f"NormalBlocks({M} products, {B} of {self.num_variables} variables correlated)"


class BlockSteps:
    """EM for blocks beside a model that stays as it is, from rows that lie far apart."""

    def __init__(
        self,
        table: Floats,
        families: list[LeafFamily],
        is_normal: Bools,
        num_products: int,
        prior_rows: float,
        generator: np.random.Generator,
        other: Circuit,
    ) -> None:
        """Columns in blocks, `is_normal` (V,); the model beside them."""
        from scipy.cluster.vq import kmeans2

        self.table, self.is_normal, self.prior_rows = table, is_normal, prior_rows
        self.other, self.beside = other, np.log(BESIDE) + other.log_likelihood(table)
        self._leaves = [
            Gaussian.like(x, num_products) if is_normal else family.again(x, num_products)
            for family, is_normal, x in zip(families, self.is_normal, table.T, strict=True)
        ]
        block = table[:, self.is_normal]
        self.patterns = _patterns(block)
        mean, scale, least = np.transpose(
            [one.prior for one in self._leaves if isinstance(one, Gaussian)]
        )
        z = np.clip(np.nan_to_num((block - mean) / scale), -FAR, FAR)
        spread = np.atleast_2d(np.cov(z.T, bias=True))
        spread = (1 - DIAGONAL) * spread + DIAGONAL * np.diag(spread.diagonal())
        self.prior = spread * num_products ** (-2 / len(scale)) * np.outer(scale, scale)
        self.prior += np.diag(least**2)
        units = [rounding_unit(x[~np.isnan(x)]) for x in block.T]
        self.rounding = np.diag(np.square(units) / 12)
        count = min(num_products, len(np.unique(z, axis=0)))
        _, nearest = kmeans2(z, count, iter=1, minit="++", seed=generator)
        shares = np.eye(num_products)[nearest]
        self.model = self._maximized(shares, lambda m: (mean + scale * z, np.zeros(spread.shape)))

    def steps(self, _: Any, epochs: int) -> tuple[Mixture, Floats]:
        """Both models after some epochs, and their mean log-likelihood before each."""
        history = [self._step() for _ in range(epochs)]
        both: list[Any] = [self.other, self.model]
        return Mixture(both, [BESIDE, 1 - BESIDE]), np.array(history)

    def _step(self) -> float:
        """One step; the mean log-likelihood of both models together before it."""
        model, block = self.model, self.table[:, self.is_normal]
        logs = model.log_joint(self.table, self.patterns) + np.log(1 - BESIDE)
        total = np.logaddexp(np.logaddexp.reduce(logs, axis=1), self.beside)
        shares = np.exp(logs - total[:, None])
        found = [(one, *model.given(block, one)) for one in self.patterns if len(one[2])]

        def expected(m: int) -> tuple[Floats, Floats]:
            filled, more = block.copy(), np.zeros(self.prior.shape)
            for (rows, _, lacking), means, covariances in found:
                filled[rows[:, None], lacking] = means[m]
                more[lacking[:, None], lacking] += shares[rows, m].sum() * covariances[m]
            return filled, more

        self.model = self._maximized(shares, expected)
        return float(total.mean())

    def _maximized(
        self, shares: Floats, expected: Callable[[int], tuple[Floats, Floats]]
    ) -> NormalBlocks:
        """The M-step, from the block of all rows as each product fills it, and the covariances of what it filled in.

        Shapes: shares (N, M).
        """
        counts, a = shares.sum(axis=0), self.prior_rows
        means, covariances = [], []
        for m, count in enumerate(counts.tolist()):
            filled, more = expected(m)
            mean = shares[:, m] @ filled / count if count > EMPTY else filled.mean(axis=0)
            away = filled - mean
            covariance = (away.T * shares[:, m]) @ away + more + a * self.prior
            means.append(mean)
            covariances.append(covariance / (count + a) + self.rounding)
        std = np.sqrt(np.stack([one.diagonal() for one in covariances]))
        normal = iter(zip(np.transpose(means), std.T, strict=True))
        leaves = [
            Gaussian(*next(normal), own.prior)  # type: ignore[attr-defined]
            if is_normal
            else own.maximize(own.statistics(self.table[:, v], shares), 1.0)
            for v, (own, is_normal) in enumerate(zip(self._leaves, self.is_normal, strict=True))
        ]
        return NormalBlocks(
            product_circuit(leaves, counts + 1.0),
            np.stack(covariances) / (std[:, :, None] * std[:, None, :]),
        )


def _patterns(block: Floats) -> list[_Pattern]:
    """Rows that lack the same columns, together; shapes block (N, B)."""
    holes, which = np.unique(np.isnan(block), axis=0, return_inverse=True)
    return [
        (np.flatnonzero(which.ravel() == number), np.flatnonzero(~one), np.flatnonzero(one))
        for number, one in enumerate(holes)
    ]


def _roots(covariances: Floats) -> Floats:
    """Matrices R with R R^t the covariances, which rounding may have made singular."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
