"""The whitened metric: d^2 = Z^t (S + c I)^-1 Z with c = ridge * lambda_1.

Every direction counts alike in which the reference varies by more than the ridge.  A shift that changes how variables
go together moves directions of little variance, which the plain norm drowns in the noise of the others.

If S = sum_k lambda_k v_k v_k^t, the map is F = sum_k (lambda_k + c)^(-1/2) v_k v_k^t.  It keeps the directions with
variances above a hundredth of the ridge (with many nodes, the leading ones); the others share the factor c^(-1/2),
which is nearly theirs anyway, and the null accounts for exactly the map that is used.

S is always the circuit's.  That of reference rows is too small in some directions by chance, which the map would then
magnify; and a map made from the rows that a batch is compared with would treat them better than the batch.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hld.references.reference import MAX_FULL_SPECTRUM, Reference
from hld.vectors.linear_maps import Stretched

if TYPE_CHECKING:
    pass

RIDGE = 0.003  # of the largest eigenvalue; chosen by the power and the false alarms in `benchmarks/options.py`
LEADING_DIRECTIONS = 128  # with more nodes than have a full spectrum
NEGLIGIBLE = 0.01  # of the ridge: directions of less variance get the factor of the others, which is theirs to 0.5 %


def whitened(reference: Reference, *, ridge: float = RIDGE, **options: Any) -> Stretched:
    """The metric "whitened" for a reference, by the covariance of the circuit.

    Parameters
    ----------
    reference : Reference
    ridge : float
        c / lambda_1.

    Returns
    -------
    Stretched

    Notes
    -----
    O(m^3), or with more than 1500 nodes a Lanczos iteration for 128 eigenvectors.
    """
    values, vectors = _eigenpairs(reference.model, len(reference.nodes))
    ridge = ridge * values[0] if values[0] > 0 else 1.0
    kept = values > NEGLIGIBLE * ridge
    return Stretched("whitened", np.ascontiguousarray(vectors[:, kept]), 1.0 / np.sqrt(values[kept] + ridge),
                     float(1.0 / np.sqrt(ridge)))


def _eigenpairs(covariance: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, descending, and eigenvectors of S: all, or the leading ones where there are many nodes."""
    if m <= MAX_FULL_SPECTRUM:
        values, vectors = np.linalg.eigh(covariance.covariance())
    else:
        from scipy.sparse.linalg import eigsh
        start = np.random.default_rng(0).normal(size=m)  # the same start gives the same vectors
        values, vectors = eigsh(covariance.operator(), k=LEADING_DIRECTIONS, which="LA", v0=start, tol=1e-9)
    order = np.argsort(values)[::-1]
    return np.maximum(values[order], 0.0), vectors[:, order]
