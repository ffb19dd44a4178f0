r"""Which column has most likely moved, where a batch is rejected and no column moved by itself.

A column whose values were exchanged, drawn from other rows or replaced in some rows may keep its frequencies, or change
them too little to be seen; its dependences on others change.  Suppose that exactly one column v moved.  Then the
p-values of the pairs that v is part of tend to be small, and those of all other pairs are uniform.  The logarithm of
the likelihood ratio of "v moved" against "none did" is

.. math:: \ln \bigl(\tfrac12 + \tfrac12 f(p_v)\bigr) + \sum_{e \ni v} \ln \bigl(1 - \omega_e + \omega_e f(p_e)\bigr),
          \qquad f(p) = \kappa \, p^{\kappa - 1},

with f a density of small p-values (Sellke, Bayarri and Berger 2001), one half for "its own frequencies changed, too",
and omega_e for how surely the p-value of the pair would be small if the dependence were lost: the power of the
chi-square test at the level `SEEN`, whose noncentrality is then

.. math:: V_e^2 \min(a - 1, b - 1) \, \frac{n T}{n + T},

V Cramer's measure of the dependence in the n reference rows, of a x b groups of values, T rows in the batch.  So a
strong dependence that stayed speaks against both of its columns, and a weak one, whose loss nobody could see, against
none.  Without this a column that several others depend on comes before the one of them that moved.

kappa and the level were chosen on nltcs, adult, connect4, msnbc and kdd of `benchmarks.power.localisation`, where a
wide range of both (.1 to .25, .01 to .001) does as well.
"""
from __future__ import annotations

import math
from typing import Any

KAPPA = 0.15
SEEN = 0.001  # level of the test whose power counts
SURE = 500.0  # noncentrality at which the power is 1 to many digits, with up to 25 degrees of freedom
LEAST = 1e-300  # p-value whose logarithm is taken


def likeliest_first(shifts: tuple[Any, ...], pairs: tuple[Any, ...], num_rows: tuple[int, int]) -> tuple[Any, ...]:
    """Columns in the order of how likely it is that they moved, if one did.

    Parameters
    ----------
    shifts : tuple of ColumnShift
    pairs : tuple of PairShift
        Of the same batch.
    num_rows : tuple of two int
        n, T: rows of the reference and of the batch.

    Returns
    -------
    tuple of ColumnShift
        Those that are equally likely as they were.

    Notes
    -----
    O(columns + pairs).

    References
    ----------
    T. Sellke, M. J. Bayarri and J. O. Berger (2001), Calibration of p values for testing precise null hypotheses, The
    American Statistician 55, 62.
    """
    n, T = num_rows
    evidence = {one.name: _log_ratio(one.pvalue, 0.5) for one in shifts}
    for pair in pairs:
        found = _log_ratio(pair.pvalue, _power_of_loss(pair, n * T / max(n + T, 1)))
        for name in pair.names:
            evidence[name] += found
    return tuple(sorted(shifts, key=lambda one: -evidence[one.name]))


def _log_ratio(pvalue: float, share: float) -> float:
    """ln(1 - share + share f(p)), p at least `LEAST`."""
    return math.log1p(share * (KAPPA * max(pvalue, LEAST) ** (KAPPA - 1) - 1))


def _power_of_loss(pair: Any, num_rows: float) -> float:
    """omega: the probability of a p-value of at most `SEEN` where the dependence is lost; below 1."""
    from scipy.special import chdtri, chndtr
    a, b = (max(size - 1, 1) for size in pair.expected_table.shape)
    noncentrality = min(pair.expected ** 2 * min(a, b) * num_rows, SURE)
    return min(1 - float(chndtr(float(chdtri(a * b, SEEN)), a * b, noncentrality)), 1 - SEEN)
