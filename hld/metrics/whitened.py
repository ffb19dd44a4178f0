"""The whitened metric: d^2 = Z^t (S + c I)^-1 Z with c = ridge * lambda_1.

All directions in which the reference varies by more than the ridge count alike.  A change of dependence moves
directions of little variance, which the plain norm drowns in the noise of the others.

If S = sum_k lambda_k v_k v_k^t, the map is F = sum_k (lambda_k + c)^(-1/2) v_k v_k^t.  It keeps the directions with
variances above a hundredth of the ridge (with many nodes, the leading ones); the others share the factor c^(-1/2),
which is nearly theirs anyway, and the null accounts for exactly the map that is used.

The best ridge depends on the shift: a broken dependence moves directions with tiny variances, which a large ridge
mutes; other shifts move many directions a little, and those with tiny variances bring in noise.  Tests by a
regularised kernel have the minimax rate for the right ridge, and a union over a logarithmic grid of ridges has it up
to logarithms without knowing which that is (Hagrass, Sriperumbudur and Li 2024).  "whitened_fine" is the next point of
the grid, a ridge thirty times smaller; further ones changed nothing (`benchmarks/power`).  Both are maps of the same
Gaussian vector, so the joint null of several metrics (`hld.nulls.joint`) is that of the union.

S is always the circuit's.  The covariance of reference rows is too small in some directions by chance, which the map
would then magnify; and a map made from the rows that a batch is compared with would favour them over the batch.

References: O. Hagrass, B. Sriperumbudur and B. Li (2024), Spectral regularized kernel two-sample tests, Annals of
Statistics 52; arXiv 2308.04561 for goodness of fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hld.references.factors import pivoted_factor
from hld.references.reference import MAX_FULL_SPECTRUM, Reference
from hld.vectors.linear_maps import Stretched
from pcircuit.moments.leading import COARSE, leading_eigenpairs

RIDGE = 0.003  # of the largest eigenvalue; chosen by power and false alarms on the data sets of `benchmarks/paper`
FINER = 30  # ratio of the two ridges of the grid
LEADING_DIRECTIONS = 128  # with more nodes than have a full spectrum
NEGLIGIBLE = 0.01  # of the ridge: directions of less variance get the factor of the others, which is theirs to 0.5 %
DISTINCT = 1e-8  # of the largest eigenvalue: smaller ones are rounding in products of a factor
RESIDUAL = 1e-6  # of the largest eigenvalue, a hundredth of the finer ridge: the null is that of the map that is used


def whitened(reference: Reference, *, ridge: float = RIDGE, **options: Any) -> Stretched:
    """The metric "whitened" for a reference, by the covariance of the circuit.

    O(m^3), or with more than 1500 nodes an iteration for 128 eigenvectors with residuals of 1e-6 lambda_1, or of a
    fifth of the smallest of the 128 eigenvalues where that is more; once for all ridges.
    """
    model, most = reference.model, min(ridge, RIDGE / FINER)
    if ("eigenpairs", most) not in model.kept:  # type: ignore[attr-defined]  # both ridges need the same
        model.kept["eigenpairs", most] = _eigenpairs(  # type: ignore[attr-defined]
            model, len(reference.nodes), NEGLIGIBLE * most
        )
    values, vectors = model.kept["eigenpairs", most]  # type: ignore[attr-defined]
    ridge = ridge * values[0] if len(values) and values[0] > 0 else 1.0
    kept = values > NEGLIGIBLE * ridge
    return Stretched(
        "whitened",
        np.ascontiguousarray(vectors[:, kept]),
        1.0 / np.sqrt(values[kept] + ridge),
        float(1.0 / np.sqrt(ridge)),
    )


def whitened_fine(reference: Reference, *, ridge: float = RIDGE, **options: Any) -> Stretched:
    """The same with a ridge that is thirty times smaller."""
    return replace(whitened(reference, ridge=ridge / FINER), name="whitened_fine")


def _eigenpairs(covariance: Any, m: int, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, descending, and eigenvectors of S: those above a share of the first; of many nodes leading ones.

    With S = A^t A and A A^t = U diag(lambda) U^t they are A^t U / lambda^1/2, orthonormal but for rounding times
    lambda_1 / lambda: A has fewer rows than S wherever nodes depend on one another.
    """
    if m > MAX_FULL_SPECTRUM:
        return leading_eigenpairs(
            covariance.operator(), m, LEADING_DIRECTIONS, RESIDUAL, coarse=COARSE
        )
    matrix = covariance.covariance()
    if least < DISTINCT:
        values, vectors = np.linalg.eigh(matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    factor = pivoted_factor(matrix)
    values, rotation = np.linalg.eigh(factor @ factor.T)
    kept = np.flatnonzero(values > least * values[-1])[::-1] if len(values) else np.arange(0)
    return values[kept], factor.T @ (rotation[:, kept] / np.sqrt(values[kept]))
