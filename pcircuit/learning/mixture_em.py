"""EM for mixtures of circuits on different v-trees.

With r_mi = w_m p_m(x_i) / sum_l w_l p_l(x_i), the probability that row i came from circuit m, the M-step is

    w_m = sum_i c_i r_mi / sum_i c_i            and            circuit m fitted to rows weighted with c_i r_mi,

with c_i the weight of row i.  One EM step for each circuit is enough for the likelihood never to decrease (generalised
EM; Dempster, Laird and Rubin 1977), so an epoch here is an epoch of `fit_em` for each circuit on its share of every
row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_whole_number
from pcircuit.array_types import Evidence, Floats
from pcircuit.circuit_mixture import Mixture, check_mixture
from pcircuit.evidence import check_evidence, row_weights
from pcircuit.inference.likelihood import log_parts
from pcircuit.learning.chow_liu import checked_pseudocount
from pcircuit.learning.em import fit_em


def fit_mixture(
    mixture: Mixture,
    data: ArrayLike,
    *,
    num_epochs: int = 10,
    pseudocount: float = 0.1,
    weights: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Mixture, Floats]:
    """Fit weights and circuits of a mixture together, by expectation maximisation.

    Parameters
    ----------
    mixture : Mixture
        Start values.
    data : (N, V) integer array_like
        Training rows, -1 missing, N at least 1.
    num_epochs : int
        Passes over the data.
    pseudocount : float
        Smoothing of each circuit, as in `fit_em`.
    weights : (N,) float array_like, optional
        Non-negative row weights; a weight of 2 counts as the row twice.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    mixture : Mixture
        The same structures with new parameters.  A circuit that no row comes from keeps its parameters and has weight
        0; where no circuit explains any row, all weights stay as they are.
    history : (num_epochs + 1,) float64 array
        Mean training log-likelihood, natural, before each epoch and after the last.

    Raises
    ------
    TypeError, ValueError
        If `mixture` is not a mixture, `data` is not evidence for it or has no rows, or an option is out of range.

    Notes
    -----
    An epoch costs an evaluation and an epoch of `fit_em` for each circuit.  Without a pseudocount the likelihood never
    decreases.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> fitted, history = fit_mixture(Mixture(coins), [[0], [1], [1], [1]], num_epochs=20, pseudocount=0)
    >>> np.exp(fitted.log_likelihood([[0], [1]])).round(6), bool((np.diff(history) > -1e-12).all())
    (array([0.25, 0.75]), True)
    """
    check_mixture(mixture)
    rows: Evidence = check_evidence(mixture.circuits[0], data)
    row_weight = row_weights(weights, len(rows))
    num_epochs = check_whole_number(num_epochs, "num_epochs", 0)
    pseudocount = checked_pseudocount(pseudocount)
    if not row_weight.sum() > 0:
        raise ValueError("`data` needs at least one row of positive weight")
    history: list[float] = []
    for _ in range(num_epochs):
        shares, mean = row_shares(mixture, rows, row_weight, n_jobs)
        history.append(mean)
        circuits = [
            fit_em(
                circuit, rows, num_epochs=1, pseudocount=pseudocount, weights=share, n_jobs=n_jobs
            )[0]
            if share.any()
            else circuit
            for circuit, share in zip(mixture.circuits, shares, strict=True)
        ]
        sums = shares.sum(axis=1)
        mixture = Mixture(circuits, sums / sums.sum() if sums.any() else mixture.weights)
    history.append(row_shares(mixture, rows, row_weight, n_jobs)[1])
    return mixture, np.array(history)


def row_shares(
    mixture: Mixture, rows: Evidence, row_weight: Floats, n_jobs: int | None = None
) -> tuple[Floats, float]:
    """The E-step: how much of each row's weight each circuit takes, and the mean log-likelihood.

    Shapes: rows (N, V), row_weight (N,) -> shares (M, N).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.stack(list(log_parts(mixture, rows, n_jobs)))
        best = logs.max(axis=0)
        shares = np.where(np.isneginf(best), 0.0, np.exp(logs - best))
        total = shares.sum(axis=0)
        row_log = best + np.log(total)
    counted = row_weight > 0
    mean = float(
        np.dot(row_weight[counted], np.where(np.isneginf(best), -np.inf, row_log)[counted])
        / row_weight.sum()
    )
    return row_weight * shares / np.where(total > 0, total, 1.0), mean
