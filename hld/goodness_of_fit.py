"""The test: does a batch still follow the distribution of the circuit?

    H0: the rows are independent draws from the circuit's distribution P        H1: they are not

The statistic is the Hierarchical Likelihood Distance between the batch and the circuit,

    d = || (1/T) sum_t L(x_t) - mu ||_2,        mu = E_P[L(X)],

and H0 is rejected when d is larger than its null distribution allows (`hld.null`).  Everything that depends on the
circuit alone, mu, the traces and the spectrum of the covariance, is exact and computed once, when the test is built;
no reference data are needed, then or later.  A call evaluates the batch and looks up one tail probability.
"""
from __future__ import annotations

import numpy as np

import pcircuit

from .distances import checked_weights
from .moments import exact_moments
from .null import MonteCarloNull, NormalNull, exact_null, squared_distance
from .result import HLDResult
from .selection import select_nodes
from .training import training_moments

NULLS = ("exact", "normal", "monte-carlo")


class HLDTest:
    """Goodness-of-fit test of batches of rows against a circuit.

    Rejects H0 "the rows are independent draws from the circuit" when d = || w (mean L - mu) ||_2 is too large.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; the only model of the in-distribution.
    nodes : (m,) int array_like, optional
        Node ids; by default ``select_nodes(circuit)``, input and sum units.
    metric : "euclidean" or (m,) float array_like
        The paper's plain norm, or positive weights w of the nodes.
    null : "exact", "normal" or "monte-carlo"
        Null distribution, see `hld.null`: the generalised chi-square limit law (default), the paper's closed form, or
        batches drawn from the circuit, which is valid at every T.
    reference : "circuit" or "training"
        Where mean and covariance come from: exactly from the circuit, or estimated from `training_data`, which also
        covers what the circuit fails to model.
    num_train : int, optional
        Rows n that the circuit was fitted to; the null is then scaled by 1 + T/n for its estimation error.  For
        ``reference="training"`` n is the number of rows of `training_data`.
    training_data : (n, V) integer array_like, optional
        For ``reference="training"``; only mean and covariance are kept.
    rng : int or numpy.random.Generator, optional
        For the Monte Carlo null, and for the completion of missing values; equal seeds give equal results.
    num_resamples : int
        B, batches of the Monte Carlo null.

    Attributes
    ----------
    nodes, node_weights : (m,) arrays
    mean : (m,) float array
        Weighted mean of the likelihoods under the reference.
    stds : (m,) float array
        Their standard deviations.
    null : str
        As given.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    ValueError
        If an option is unknown or options contradict each other.

    Notes
    -----
    Missing entries (-1) are drawn from the circuit's conditional distribution given the rest of their row.  If entries
    are missing at random, a completed row follows the circuit exactly when the row does, so the test keeps its level.

    Immutable in use: one object may be called from many threads.

    References
    ----------
    K, S and Krishnan (2026), Hierarchical Likelihood Distance, section "Goodness-of-Fit Test using HLD" and
    algorithms 1 and 2.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> test = HLDTest(circuit)
    >>> test(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    >>> test([[0, 1] * 4] * 50).reject
    True
    """

    def __init__(self, circuit, nodes=None, metric="euclidean", null="exact", reference="circuit", num_train=None,
                 training_data=None, rng=None, *, num_resamples=999):
        if not circuit.is_normalized:
            raise pcircuit.StructureError("`circuit` is not normalised, so there is no distribution to test against")
        if null not in NULLS:
            raise ValueError(f"`null` must be one of {', '.join(map(repr, NULLS))}, found {null!r}")
        if int(num_resamples) != num_resamples or num_resamples < 1:
            raise ValueError(f"`num_resamples` must be a whole number of at least 1, found {num_resamples!r}")
        nodes = select_nodes(circuit) if nodes is None else np.array(nodes)  # a copy: it becomes read-only
        weights = _metric_weights(metric, len(nodes))
        num_train = _checked_num_train(reference, num_train, training_data, null)
        seed = int(np.random.default_rng(rng).integers(2 ** 53))
        moments = (exact_moments(circuit, nodes, node_weights=weights) if reference == "circuit"
                   else training_moments(circuit, training_data, nodes, weights))
        if null == "exact":
            law = exact_null(moments)
        elif null == "normal":
            law = NormalNull(moments.trace, moments.trace_sq)
        else:
            law = MonteCarloNull(circuit, nodes, weights, moments.mean, int(num_resamples), seed)
        stds = np.sqrt(np.maximum(moments.diagonal(), 0.0))
        self._set(circuit, nodes, weights, null, reference, num_train, seed, moments.mean, stds, law)

    def _set(self, circuit, nodes, node_weights, null, reference, num_train, seed, mean, stds, law):
        """Take over what the constructor computed, or what a file held."""
        for array in (nodes, node_weights, mean, stds):
            array.flags.writeable = False
        self.circuit, self.nodes, self.node_weights, self.mean, self.stds = circuit, nodes, node_weights, mean, stds
        self.null, self.reference, self.num_train, self._seed, self._null = null, reference, num_train, seed, law
        # d^2 that rounding alone can cause: a spectrum of zeros leaves no room for it
        self._round_off = (8 * np.finfo(float).eps) ** 2 * max(float(mean @ mean), np.finfo(float).tiny)
        return self

    def __call__(self, batch, alpha=0.05) -> HLDResult:
        """Test a batch.

        Parameters
        ----------
        batch : (T, V) integer array_like
            Rows; -1 is missing.  T at least 1.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        HLDResult

        Raises
        ------
        TypeError, ValueError
            If `batch` is not evidence for the circuit or has no rows, or `alpha` is not in (0, 1).
        """
        if not 0 < alpha < 1:
            raise ValueError(f"`alpha` must be between 0 and 1, found {alpha!r}")
        batch, num_missing = self._complete(batch)
        T = len(batch)
        squared, deltas = squared_distance(self.circuit, batch, self.nodes, self.node_weights, self.mean)
        if squared <= self._round_off:  # a spectrum of zeros leaves no room for round-off
            squared = 0.0
        inflation = 1.0 if self.num_train is None else 1.0 + T / self.num_train
        pvalue, error = self._null.tail(squared, T, inflation)
        return HLDResult(statistic=float(np.sqrt(squared)), threshold=self._null.threshold(alpha, T, inflation),
                         pvalue=pvalue, reject=bool(pvalue <= alpha), alpha=float(alpha), num_samples=T, null=self.null,
                         inflation=inflation, null_error=error, num_missing=num_missing, deltas=deltas,
                         stds=self.stds, nodes=self.nodes, _circuit=self.circuit)

    def describe(self) -> str:
        """What the test does, in a few lines."""
        kinds, counts = np.unique(self.circuit.nodes.kind[self.nodes], return_counts=True)
        lines = [f"HLD test against {self.circuit!r}",
                 f"nodes: {len(self.nodes)} ({', '.join(f'{n} {k}' for k, n in zip(kinds, counts, strict=True))})",
                 f"reference: {self.reference}; total variance tr(S) = {float(self.stds @ self.stds):.6g}",
                 f"null: {self._null.describe()}"]
        lines.append("estimation error: ignored (no num_train)" if self.num_train is None
                     else f"estimation error: null scaled by 1 + T / {self.num_train}")
        return "\n".join(lines)

    def __repr__(self):
        return (f"HLDTest({self.circuit.num_variables} variables, {len(self.nodes)} nodes, null {self.null}, "
                f"reference {self.reference})")

    def _complete(self, batch):
        """The batch as evidence without missing entries, and how many there were."""
        batch = np.asarray(batch)
        if batch.ndim == 2 and len(batch) == 0:
            raise ValueError("`batch` has no rows: a test needs at least one")
        if batch.dtype.kind != "i" or batch.ndim != 2 or batch.min() >= 0:
            return batch, 0  # shape, type and range are checked where it is evaluated
        batch = pcircuit.check_evidence(self.circuit, batch)
        missing = batch < 0
        rng = np.random.default_rng([self._seed, len(batch)])
        completed = pcircuit.sample(self.circuit, len(batch), rng=rng)
        possible = pcircuit.log_likelihood(self.circuit, batch) > -np.inf
        if possible.any():
            completed[possible] = pcircuit.sample(self.circuit, evidence=batch[possible], rng=rng)
        return np.where(missing, completed, batch), int(missing.sum())


def _metric_weights(metric, m: int) -> np.ndarray:
    """(m,) node weights of a metric."""
    if isinstance(metric, str):
        if metric != "euclidean":
            raise ValueError(f"`metric` must be 'euclidean' or {m} positive node weights, found {metric!r}")
        return np.ones(m)
    try:
        return checked_weights(metric, m)
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).replace("node_weights", "metric")) from None


def _checked_num_train(reference, num_train, training_data, null):
    """Training rows that the null accounts for, or None; refuses options that contradict each other."""
    if reference not in ("circuit", "training"):
        raise ValueError(f"`reference` must be 'circuit' or 'training', found {reference!r}")
    if (reference == "training") != (training_data is not None):
        raise ValueError(f"`training_data` {'is needed' if training_data is None else 'is used only'} with "
                         f"reference='training', found reference={reference!r}")
    if reference == "training":
        if null == "monte-carlo":
            raise ValueError("`null` 'monte-carlo' draws from the circuit: use reference='circuit' with it")
        return len(training_data)
    if num_train is not None and (int(num_train) != num_train or num_train < 1):
        raise ValueError(f"`num_train` must be a whole number of at least 1, or None, found {num_train!r}")
    return None if num_train is None else int(num_train)
