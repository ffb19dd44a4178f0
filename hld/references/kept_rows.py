"""What a test keeps of the rows that it compares batches with, besides their mean: sums, no row.

With u_i the differences of the k rows from their mean, as a metric F shows them:

    tr, |.|_F and lambda_1 of F S F^t  how they vary
    (1/k) sum_i |F u_i|^4              how heavy their tails are
    max_i |F u_i|^2                    how far out the farthest is

for each metric, for the check by a batch's own rows (`hld.laws.ranks.confirmation`); and for batches with
holes (`hld.references.available`) the covariance S where it is formed, and, if the rows had holes, how many show each
node and each pair of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hld.references.reference import MAX_FULL_SPECTRUM, Reference
from pcircuit.arguments import check_whole_number
from pcircuit.io.archive import finite_array

SYMMETRIC = ("covariance", "shared")  # of these files hold one half
SLACK, LEAST = 1e-6, 1e-290  # relative and absolute roundings of what is computed in two ways
MOST_SQUARED = 1e140  # a squared distance, so that fourth powers stay in the range of doubles


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Sums over reference rows.

    Shapes: norms (q, 3), fourth, farthest (q,), covariance (m, m), counts (m,), shared (m, m).
    """

    num_rows: int
    norms: np.ndarray
    fourth: np.ndarray
    farthest: np.ndarray
    covariance: np.ndarray
    counts: np.ndarray
    shared: np.ndarray

    @property
    def has_holes(self) -> bool:
        """Whether reference rows had holes."""
        return len(self.counts) > 0

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """k, and the arrays; of symmetric ones the lower triangle."""
        arrays = {part.name: getattr(self, part.name) for part in fields(self)[1:]}
        for name in SYMMETRIC:
            arrays[name] = arrays[name][np.tril_indices(len(arrays[name]))]
        return {"num_rows": self.num_rows}, arrays

    @classmethod
    def from_parts(
        cls, scalars: dict[str, int], arrays: dict[str, np.ndarray], m: int, q: int
    ) -> KeptRows:
        """Sums that `to_parts` wrote, for m nodes and q metrics; raises ValueError where they do not fit."""
        k = check_whole_number(scalars["num_rows"], "num_rows", 2)
        norms = finite_array(arrays, "norms", (q, 3))
        sums = [finite_array(arrays, name, (q,)) for name in ("fourth", "farthest")]
        fourth, farthest = sums
        if min(norms.min(), fourth.min(), farthest.min()) < 0 or farthest.max() > MOST_SQUARED:
            raise ValueError(
                f"sums of squares over the reference rows must be from 0 to {MOST_SQUARED:g}"
            )
        square = farthest**2
        if (fourth > square * (1 + 1e-9)).any() or (square > k * fourth * (1 + 1e-9)).any():
            raise ValueError(
                f"mean fourth powers {fourth.tolist()} of distances are not those of {k} reference rows of "
                f"which the farthest have the squares {farthest.tolist()}"
            )
        covariance, shared = (_symmetric(arrays, name, m) for name in SYMMETRIC)
        counts = finite_array(arrays, "counts", (m,) if arrays["counts"].size else (0,), np.int64)
        if ((counts < 0) | (counts > k)).any():
            raise ValueError(f"rows that show a node must be whole numbers up to {k}")
        each = np.maximum(counts, 1).astype(np.float64)
        most = k / np.outer(each, each) * (1 + SLACK)
        if shared.size and counts.size and ((shared < 0) | (shared > most)).any():
            raise ValueError(f"rows that show two nodes must be from 0 to {k} together")
        return cls(k, norms, fourth, farthest, covariance, counts, shared)

    def check_fits(self, stds: np.ndarray, laws: tuple[Any, ...]) -> None:
        """Raise unless norms and covariance are those of the laws and of the standard deviations of a test.

        Shapes: stds (m,).
        """
        if all(hasattr(law, "multiplicities") for law in laws) and not np.allclose(
            self.norms, _norms_of(laws), rtol=SLACK, atol=0.0
        ):
            raise ValueError(
                "the norms of the reference rows' covariance are not those of the laws of the test"
            )
        most = np.outer(stds, stds)
        if len(self.covariance) and not (
            np.allclose(self.covariance.diagonal(), stds**2, rtol=SLACK, atol=LEAST)
            and (np.abs(self.covariance) <= most * (1 + SLACK) + LEAST).all()
        ):
            raise ValueError(
                "the covariance of the reference rows does not have the deviations of the test"
            )


def kept_rows(
    reference: Reference, metrics: tuple[Any, ...], laws: tuple[Any, ...]
) -> KeptRows | None:
    """What is kept of a reference's rows; None of a reference that is not made of rows."""
    if reference.num_rows is None:
        return None
    squared = reference.squared(metrics).T
    formed = len(reference.mean) <= MAX_FULL_SPECTRUM
    holes = reference.holes
    return KeptRows(
        reference.num_rows,
        _norms_of(laws),
        (squared**2).mean(axis=1),
        squared.max(axis=1),
        reference.covariance() if formed else np.zeros((0, 0)),
        np.zeros(0, np.int64) if holes is None else holes.counts,
        holes.shared if formed and holes is not None else np.zeros((0, 0)),
    )


def _norms_of(laws: tuple[Any, ...]) -> np.ndarray:
    """(q, 3) trace, Frobenius norm and largest of the eigenvalues of each law."""
    found = []
    for law in laws:
        values, counts = law.eigenvalues, law.multiplicities
        found.append((counts @ values, np.sqrt(counts @ values**2), values.max()))
    return np.array(found)


def _symmetric(arrays: dict[str, np.ndarray], name: str, m: int) -> np.ndarray:
    """(m, m) a symmetric matrix from its lower triangle; (0, 0) if empty."""
    if not arrays[name].size:
        return np.zeros((0, 0))
    matrix = np.zeros((m, m))
    matrix[np.tril_indices(m)] = finite_array(arrays, name, (m * (m + 1) // 2,))
    return np.where(np.tri(m, dtype=bool), matrix, matrix.T)
