r"""How far counts of a batch are from those of the rows they are compared with, and how far that is without a shift.

Of a column v, n_v reference rows and T_v rows of a batch show a value; r_c and b_c of them are in category c.  The
distance of all columns, and likewise of all pairs of columns along the edges of a tree (cells for categories), is

.. math:: Q = \sum_v h_v \sum_c w_c \Big(\frac{b_c}{T_v} - \frac{r_c}{n_v}\Big)^2, \qquad
          h_v = \frac{T_v n_v}{T_v + n_v}, \quad w_c = \frac{1}{p_c + f}, \quad p_c = \frac{r_c + b_c}{n_v + T_v},

Pearson's weights except for the floor f = 1 %, which keeps a row or two in a rare category from making Q large.
Given the sums r_c + b_c the mean of Q is exact without a shift, and the law below, of the reference's own shares
:math:`r_c / n_v`, is scaled to it.

**Its law.**  Counts are sums over rows, of the features

.. math:: \phi_c(x) = \sqrt{w_c \, n / n_v} \; (1[x_v = c] - p_c), \quad 0 \text{ where } x_v \text{ is missing},

so for many rows Q follows :math:`\sum_j \lambda_j \chi^2_1` with the eigenvalues of their covariance S.  Columns depend
on one another, and how much they do determines the spread of Q: tr S = c_1 is known from the counts, but

.. math:: \mathrm{tr}\, S^2 = \mathrm{E}\, (\phi(x) \cdot \phi(x'))^2, \qquad x, x' \text{ two independent rows},

is not.  It is estimated when the detector is fitted, from pairs of the reference rows themselves, not from the circuit,
which has less dependence than real rows; four numbers are kept for each law, no row (`count_laws`):

======================  ===========================================================================================
first                   c_1 = tr S
second                  tr S^2, the mean over pairs of different rows, and one standard error more
largest                 the largest eigenvalue of these rows, whose mean is no smaller than that of S
fourth                  the mean of |phi(x)|^4: how much Q spreads beyond its law where rows are few
======================  ===========================================================================================

With them the law is the widest one that has these sums and this largest eigenvalue (`hld.gchi2.three_moments`), its
variance stretched by what few rows add (`hld.laws.ranks.confirmation`): at levels below 5 % it errs on the safe side.

References: K. Pearson (1900), Philosophical Magazine 50, 157; G. E. P. Box (1954), Some theorems on quadratic forms
applied in the study of analysis of variance problems, Annals of Mathematical Statistics 25, 290; S. X. Chen and
Y.-L. Qin (2010), A two-sample test for high-dimensional data, Annals of Statistics 38, 808 (tr S^2 from pairs of rows).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hld.gchi2.three_moments import ThreeMoments
from pcircuit.moments.leading import leading_eigenpairs

FLOOR = 0.01  # added to the share of a category
MOST_ROWS = 800  # of the reference that are compared with one another
MOST_PRODUCTS = 3e8  # pairs of rows, times columns and edges


def count_laws(
    codes: np.ndarray, tables: Sequence[Sequence[np.ndarray]], edges: np.ndarray
) -> np.ndarray:
    """The laws of the distances of columns and of pairs.

    Shapes: codes (k, V), edges (E, 2) -> (2, 4).
    O(m^2 (V + E) + m^3), or less, for m of at most 800 rows, which are drawn.
    """
    singles, pairs = tables
    rows = np.asarray(_some(codes, len(singles) + len(pairs)), dtype=np.int64)
    columns = [rows[:, v] for v in range(rows.shape[1])]
    cells = [
        np.where((columns[u] < 0) | (columns[v] < 0), -1, columns[u] * table.shape[1] + columns[v])
        for (u, v), table in zip(edges.tolist(), pairs, strict=True)
    ]
    return np.array([_law(columns, singles), _law(cells, [table.ravel() for table in pairs])])


def _some(codes: np.ndarray, num_items: int) -> np.ndarray:
    """Rows that are compared with one another in so many columns and edges: at most 800, which are drawn."""
    m = int(min(len(codes), MOST_ROWS, max(50.0, (MOST_PRODUCTS / num_items) ** 0.5)))
    return codes[
        np.sort(np.random.default_rng(0).permutation(len(codes))[:m])
    ]  # like rows may come at equal distances


def law_tail(law: np.ndarray, squared: float, T: int, n: float | None) -> float:
    """P(Q >= squared) without a shift; shapes law (4,)."""
    first, second, largest, fourth = law.tolist()
    if not second > 0:
        return 1.0
    excess = (fourth - first**2) / (2 * second) - 1
    few = 1 / T if n is None else (1 / T**3 + 1 / n**3) / (1 / T + 1 / n) ** 2
    return float(ThreeMoments(first, second, largest).tail(squared, max(1.0, 1 + excess * few)))


def with_laws(
    profile: Any,
    columns: Sequence[Any],
    codes: np.ndarray | None,
    given: np.ndarray | None = None,
) -> Any:
    """A profile with the laws of its own rows, of the columns that are not given; shapes codes (k, V), given (V,)."""
    if codes is None or len(codes) < 3:
        return profile
    singles, pairs = merged_counts(columns, profile)
    if given is not None:
        codes = np.where(given, -1, codes)
        singles = [one * (not left_out) for one, left_out in zip(singles, given, strict=True)]
    codes = merged_codes(columns, _some(codes, len(singles) + len(pairs)))
    laws = count_laws(
        codes, ([shares(one) for one in singles], [shares(one) for one in pairs]), profile.edges
    )
    laws.flags.writeable = False
    return replace(profile, laws=laws)


def merged_counts(columns: Sequence[Any], profile: Any) -> tuple[list[Any], list[Any]]:
    """Counts of a profile with rare and unseen levels in one category."""
    rare = [bool(getattr(one, "rare", b"")) for one in columns]
    singles = [
        _folded(one[:-1], 0) if rare[v] else one[:-1] for v, one in enumerate(profile.counts)
    ]
    pairs = []
    for (u, v), table in zip(profile.edges.tolist(), profile.pairs, strict=True):
        table = _folded(table, 0) if rare[u] else table
        pairs.append(_folded(table, 1) if rare[v] else table)
    return singles, pairs


def _folded(table: np.ndarray, axis: int) -> np.ndarray:
    """A table with the last two entries of an axis added up."""
    table = np.moveaxis(table, axis, 0)
    return np.moveaxis(np.concatenate([table[:-2], table[-2:].sum(axis=0, keepdims=True)]), 0, axis)


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts as shares of their sum."""
    return counts / max(int(counts.sum()), 1)


def merged_codes(columns: Sequence[Any], codes: np.ndarray) -> np.ndarray:
    """Codes with rare and unseen levels in one category, as counts in a database have them; shapes codes (N, V)."""
    most = [
        len(one.levels) if getattr(one, "rare", b"") else one.num_categories - 1 for one in columns
    ]
    return np.minimum(codes.astype(np.int64), most)


def _law(items: list[np.ndarray], tables: Sequence[np.ndarray]) -> tuple[float, ...]:
    """The four numbers of the law of items (m,) with the shares (C,) of their codes."""
    if not items:
        return 0.0, 0.0, 0.0, 0.0
    first = sum(float((p * (1 - p) / (p + FLOOR)).sum()) for p in tables)
    products = _products(items, tables)
    m = len(products)
    own = np.diagonal(products).copy()
    largest = float(leading_eigenpairs(products, m, 1, 1e-6)[0][0]) / m
    np.fill_diagonal(products, 0.0)
    by_row = np.einsum("ij,ij->i", products, products) / (m - 1)
    second = float(by_row.mean()) + 2 * float(by_row.std(ddof=1)) / m**0.5
    return first, second, min(max(largest, 0.0), second**0.5), float((own**2).mean())


def _products(items: list[np.ndarray], tables: Sequence[np.ndarray]) -> np.ndarray:
    """(m, m) products phi(x) . phi(x') of m rows, as A A^t - D - D^t."""
    # A holds sqrt(w_c n / n_v) where x_v = c, and D is the sum over columns v that both rows show of
    # n / n_v (w_c p_c - sum_c w_c p_c^2 / 2) with c = x_v, for its product with the mean
    from scipy.sparse import csr_array

    codes, m = np.array(items), len(items[0])
    shown, p = codes >= 0, np.concatenate(tables)
    starts, w = np.cumsum([0, *map(len, tables)]), 1 / (p + FLOOR)
    at = np.where(shown, codes, 0) + starts[:-1, None]
    rate = (m / np.maximum(shown.sum(axis=1), 1))[:, None]
    halves = np.array([float((one**2 / (one + FLOOR)).sum()) / 2 for one in tables])
    side = np.where(shown, rate * ((w * p)[at] - halves[:, None]), 0.0)
    values = np.where(shown, np.sqrt(rate * w[at]), 0.0)
    sparse = csr_array(
        (values.T.ravel(), at.T.ravel(), np.arange(m + 1) * len(items)), shape=(m, len(p))
    )
    total = (sparse @ sparse.T).toarray()
    less = side.sum(axis=0)[:, None] if shown.all() else side.T @ shown
    total -= less
    total -= less.T
    return total
