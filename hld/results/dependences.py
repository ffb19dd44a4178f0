r"""Which dependences changed: the regions of a circuit, ranked by the score of their own parameters.

A region's weights say how the scopes of its children depend on each other, an input region's tables how a variable
depends on the states above it.  With s the mean score of a batch less that of the reference
(`hld.vectors.score_features`), over the parameters p of a region r,

.. math:: Q_r = T \sum_{p \in r} \frac{s_p^2}{\mathrm{Var}_P\, s_p + f}, \qquad
          z_r = \frac{Q_r - \mathrm{E}\, Q_r}{\mathrm{Sd}\, Q_r},

with the expectation and standard deviation without a shift estimated from rows drawn from the circuit, as for a sum of
weighted chi-squares.  A shift in one dependence moves the parameters of the regions that carry it, whose z stands out;
the parameters of other regions hardly move, since their mean scores are zero wherever the rest of the model fits.

At an input region s can be decomposed.  Summed over the units it is the difference of the variable's marginal from what
the batch's own hidden states predict; the remainder is a change in the dependence of the variable on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.vectors.score_features import FLOOR, parameter_slices, sampled_scores
from pcircuit.arguments import check_whole_number


@dataclass(frozen=True)
class DependenceShift:
    """One region of a localisation."""

    region: int
    parts: tuple[Any, ...]
    statistic: float
    zscore: float


def localize_dependences(
    circuit: pcircuit.Circuit, mean_score: np.ndarray, num_samples: Any, *, top: Any = 10
) -> tuple[Any, ...]:
    """Rank the regions of a circuit by how far their parameters are from those that fit a batch.

    Shapes: mean_score (P,).
    The scores of 100 to 2,000 rows that are drawn from the circuit.
    """
    top = check_whole_number(top, "top", 1, none="all regions")
    drawn = sampled_scores(circuit)
    variances, shifts = (drawn**2).mean(axis=0), []
    for r, part in enumerate(parameter_slices(circuit)):
        scaled = drawn[:, part] / np.sqrt(variances[part] + FLOOR)
        mean, deviation = _moments(scaled)
        statistic = float(num_samples * (mean_score[part] ** 2 / (variances[part] + FLOOR)).sum())
        shifts.append(
            DependenceShift(r, _parts(circuit, r), statistic, (statistic - mean) / deviation)
        )
    return tuple(sorted(shifts, key=lambda shift: -round(shift.zscore, 9))[:top])


def _moments(scaled: np.ndarray) -> tuple[Any, ...]:
    """Mean and standard deviation of T |mean of T rows|^2 for rows of mean zero, for large T: tr S, sqrt(2 tr S^2)."""
    gram = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    mean, squares = np.trace(gram) / len(scaled), float((gram**2).sum()) / len(scaled) ** 2
    return float(mean), float(np.sqrt(2 * squares)) + FLOOR


def _parts(circuit: pcircuit.Circuit, r: int) -> tuple[Any, ...]:
    """Variables under each child of a region, or its own variable."""
    region = circuit.regions[r]
    if isinstance(region, pcircuit.InputRegion):
        return ((int(region.variable),),)
    return tuple(tuple(circuit.vtree.scope(c).tolist()) for c in circuit.vtree.children(r).tolist())
