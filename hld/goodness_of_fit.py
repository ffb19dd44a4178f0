"""The test: does a batch still follow the distribution of the circuit?

    H0: the rows are independent draws from the circuit's distribution P        H1: they are not

The statistic is the Hierarchical Likelihood Distance between the batch and the reference,

    d = || (1/T) sum_t L(x_t) - mu ||,        mu = E_P[L(X)],

in the paper's plain norm or another one (`hld.metrics.metric`), and H0 is rejected when d is larger than its null
distribution allows (`hld.nulls.limit_law`, `hld.nulls.drawn`).  Everything that does not depend on the batch is
computed once, when the test is built (`hld.calibration`); no reference data are needed, then or later.  A call
evaluates the batch and looks up one tail probability.
"""
from __future__ import annotations

from numbers import Integral, Real

import numpy as np

import pcircuit
from hld.calibration import calibrate
from hld.metrics.metric import RIDGE, parse_metric
from hld.nulls.drawn import drawn_pvalues, drawn_threshold
from hld.nulls.joint import covariance_factor, harmonic_mean, joint_law
from hld.nulls.limit_law import law_in_metric
from hld.references.holes import PatternMoments
from hld.result import HLDResult
from hld.vectors.completion import complete

EXACT_MISSING = (("circuit", "exact"), ("circuit", "auto"))
NULLS = ("exact", "normal", "monte-carlo", "auto")


class HLDTest:
    """Goodness-of-fit test of batches of rows against a circuit.

    Rejects H0 "the rows are independent draws from the reference" when d = || mean L - mu || is too large.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; the model of the in-distribution.
    nodes : (m,) int array_like, optional
        Node ids; by default ``select_nodes(circuit)``, input and sum units.
    metric : str, (m,) float array_like, or sequence of str
        "euclidean" (the paper's), "standardized", "marginals", "whitened", positive node weights, or several names,
        which are combined into one test with one p-value: see `hld.metrics.metric` and `hld.nulls.joint`.
    null : "exact", "normal", "monte-carlo" or "auto"
        The generalised chi-square limit law, the paper's closed form, drawn batches (valid at every T), or drawn
        batches for small T and the law, corrected for T, for large T: see `hld.nulls.limit_law`, `hld.nulls.drawn`,
        `hld.calibration`.
    reference : "circuit" or "training"
        Where mean and covariance come from: exactly from the circuit, or estimated from `training_data`, which also
        covers what the circuit fails to model.
    num_train : int, optional
        Rows n that the circuit was fitted to; the null is then scaled by 1 + T/n for its estimation error.  For
        ``reference="training"`` n is the number of rows of `training_data`.
    training_data : (n, V) integer array_like, optional
        For ``reference="training"``; no row of it is kept.
    rng : int or numpy.random.Generator, optional
        For drawn batches and for the completion of missing values; equal seeds give equal results.
    ridge : float
        Of the whitened metric, relative to the largest eigenvalue; smaller finds more shifts, and the law needs
        larger T.
    num_resamples : int
        B, drawn batches.  Their p-values are at least 1 / (1 + B).
    tolerance : float
        Tests H0 "the distance is at most epsilon", epsilon = tolerance * sqrt(E |L(X) - mu|^2): a drift of 0.1 is a
        tenth of the typical distance of a single row from the mean.  By the triangle inequality the null holds for
        d - epsilon, so the level is kept whatever the direction of the drift.
    missing : "complete" or "exact"
        What is done with missing entries: they are drawn from the circuit's conditional distribution given the rest
        of their row (`hld.vectors.completion`), or summed out, with the exact null for the pattern of holes
        (`hld.references.holes`; for ``reference="circuit"``, and at sizes where the limit law holds).  Both keep the
        level if holes do not depend on the values in them; the second needs no chance and loses less power.

    Attributes
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
    null, reference : str
    num_train : int or None
    tolerance : float
    calibration : Calibration
        Mean, standard deviations, laws.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If `circuit` is not a circuit, an option is unknown, or options contradict each other.

    Notes
    -----
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
                 training_data=None, rng=None, *, ridge=RIDGE, num_resamples=999, tolerance=0.0, missing="complete"):
        if not isinstance(circuit, pcircuit.Circuit):
            raise TypeError(f"`circuit` must be a pcircuit.Circuit, found {type(circuit).__name__}")
        if not circuit.is_normalized:
            raise pcircuit.StructureError("`circuit` is not normalised, so there is no distribution to test against")
        if null not in NULLS:
            raise ValueError(f"`null` must be one of {', '.join(map(repr, NULLS))}, found {null!r}")
        if not isinstance(num_resamples, Integral) or num_resamples < 1:
            raise ValueError(f"`num_resamples` must be a whole number of at least 1, found {num_resamples!r}")
        if not 0 < ridge < np.inf:
            raise ValueError(f"`ridge` must be finite and positive, found {ridge!r}")
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"`tolerance` must be finite and at least 0, found {tolerance!r}")
        if missing not in ("complete", "exact") or (missing == "exact" and (reference, null) not in EXACT_MISSING):
            raise ValueError(
                "`missing` must be 'complete', or 'exact' with reference='circuit' and null='exact' or 'auto', "
                f"found {missing!r} with reference={reference!r} and null={null!r}"
            )
        nodes = pcircuit.select_nodes(circuit) if nodes is None else pcircuit.check_nodes(circuit, nodes)
        parts = parse_metric(metric, len(nodes))
        if null == "normal" and len(parts) > 1:
            raise ValueError("`null` 'normal' is for a single `metric`: the joint law of several is not normal")
        num_train = _checked_num_train(reference, num_train, training_data, null)
        seed = int(np.random.default_rng(rng).integers(2 ** 53))
        if training_data is not None:
            training_data = complete(circuit, training_data, seed, name="training_data")[0]
        self._set(circuit, null, reference, num_train, float(tolerance), missing, seed,
                  calibrate(circuit, nodes, parts, null, training_data, ridge=float(ridge),
                            num_resamples=int(num_resamples), seed=seed))

    def _set(self, circuit, null, reference, num_train, tolerance, missing, seed, calibration):
        """Take over what the constructor computed, or what a file held."""
        self.circuit, self.nodes, self.calibration = circuit, calibration.nodes, calibration
        self.null, self.reference, self.num_train, self.tolerance = null, reference, num_train, tolerance
        self.missing, self._seed = missing, seed
        self._patterns = PatternMoments(circuit, self.nodes) if missing == "exact" else None
        # a law of zeros leaves no room for rounding
        self._round_offs = tuple(metric.round_off(calibration.mean) for metric in calibration.metrics)
        self._margins = tuple(_margin(law, tolerance) for law in calibration.laws)
        return self

    @property
    def mean(self) -> np.ndarray:
        """(m,) mean of the node likelihoods under the reference."""
        return self.calibration.mean

    @property
    def stds(self) -> np.ndarray:
        """(m,) standard deviations of the node likelihoods under the reference."""
        return self.calibration.stds

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
        if self._patterns is not None:
            batch = pcircuit.check_evidence(self.circuit, batch, name="batch")
            if len(batch) and batch.min() < 0:
                return self._test_with_holes(batch, alpha)
        batch, num_missing = complete(self.circuit, batch, self._seed)
        mean = pcircuit.mean_node_likelihoods(self.circuit, batch, nodes=self.nodes)
        return self.judge(mean, len(batch), alpha, num_missing=num_missing)

    def judge(self, mean, num_samples, alpha=0.05, *, num_missing=0) -> HLDResult:
        """Test a batch of which only the mean hierarchical likelihood vector is at hand.

        Means of parts of a batch, weighted by their numbers of rows, add up: machines that each see a part need to send
        these m numbers only.

        Parameters
        ----------
        mean : (m,) float array_like
            Mean over the batch of the likelihoods of `nodes`, see `pcircuit.mean_node_likelihoods`.
        num_samples : int
            T, rows of the batch.
        alpha : float
            Level, in (0, 1).
        num_missing : int
            What the result reports as missing.

        Returns
        -------
        HLDResult

        Raises
        ------
        ValueError
            If `mean` is not (m,), `num_samples` below 1, or `alpha` not in (0, 1).
        """
        if not isinstance(alpha, Real) or not 0 < alpha < 1:
            raise ValueError(f"`alpha` must be between 0 and 1, found {alpha!r}")
        mean, T, calibration = np.asarray(mean, dtype=np.float64), int(num_samples), self.calibration
        if mean.shape != self.nodes.shape or T < 1:
            raise ValueError(f"`mean` must have shape {self.nodes.shape} and `num_samples` be at least 1, found shape "
                             f"{mean.shape} and {num_samples!r}")
        return self._result(mean - calibration.mean, T, alpha, num_missing)

    def _test_with_holes(self, batch, alpha) -> HLDResult:
        """Test a batch by its marginal likelihoods and their own null."""
        expected, covariance = self._patterns.of_batch(batch)
        metrics = self.calibration.metrics
        laws = tuple(law_in_metric(metric, covariance) for metric in metrics)
        rng = np.random.default_rng([self._seed, 1])
        joint = joint_law(covariance_factor(covariance), metrics, rng) if len(metrics) > 1 else None
        mean = pcircuit.mean_node_likelihoods(self.circuit, batch, nodes=self.nodes)
        return self._result(mean - expected, len(batch), alpha, int((batch < 0).sum()), (laws, joint))

    def _result(self, deltas, T, alpha, num_missing, own=None) -> HLDResult:
        """The result for differences of means; `own`, laws and joint law, where the batch has its own."""
        calibration = self.calibration
        inflation = 1.0 if self.num_train is None else 1.0 + T / self.num_train
        distances = [float(np.sqrt(max(metric.squared(deltas), 0.0))) for metric in calibration.metrics]
        beyond = [max(d - margin, 0.0) if d > round_off else 0.0
                  for d, margin, round_off in zip(distances, self._margins, self._round_offs, strict=True)]
        pvalues, pvalue, error, used = self._pvalue(np.square(beyond), T, inflation, own)
        if len(distances) > 1:
            statistic, threshold = float(-np.log10(max(pvalue, 1e-300))), float(-np.log10(alpha))
        else:
            statistic, threshold = distances[0], self._threshold(alpha, T, inflation, own)
        return HLDResult(statistic=statistic, threshold=threshold, pvalue=pvalue, reject=bool(pvalue <= alpha),
                         alpha=float(alpha), num_samples=T, null=used, inflation=inflation, null_error=error,
                         num_missing=num_missing, metrics=tuple(metric.name for metric in calibration.metrics),
                         pvalues=tuple(map(float, pvalues)), deltas=deltas * self._shown_weights(),
                         stds=self.stds * self._shown_weights(), nodes=self.nodes, _circuit=self.circuit)

    def describe(self) -> str:
        """What the test does, in a few lines."""
        kinds, counts = np.unique(self.circuit.nodes.kind[self.nodes], return_counts=True)
        lines = [f"HLD test against {self.circuit!r}",
                 f"nodes: {len(self.nodes)} ({', '.join(f'{n} {k}' for k, n in zip(kinds, counts, strict=True))})",
                 f"reference: {self.reference}; total variance tr(S) = {float(self.stds @ self.stds):.6g}",
                 *self.calibration.describe(),
                 "estimation error: ignored (no num_train)" if self.num_train is None
                 else f"estimation error: null scaled by 1 + T / {self.num_train}"]
        if self.tolerance:
            lines.append(f"tolerance: drifts of up to {self.tolerance:g} typical single-row distances are accepted")
        return "\n".join(lines)

    def __repr__(self):
        return (f"HLDTest({self.circuit.num_variables} variables, {len(self.nodes)} nodes, null {self.null}, "
                f"reference {self.reference})")

    def _pvalue(self, squared, T, inflation, own):
        """p-values of the metrics, the combined one, its estimated error, and the null that was used."""
        calibration = self.calibration
        draws = calibration.draws_for(T) if own is None else None
        if draws is not None:
            pvalues, pvalue = drawn_pvalues(draws, squared / inflation, T)
            B = draws.at(T)[0][1].shape[0]
            return pvalues, pvalue, float(np.sqrt(pvalue * (1 - pvalue) / B)), "monte-carlo"
        laws, joint = own or (calibration.laws, calibration.joint)
        tails = [law.tail(value * T / inflation, T) for law, value in zip(laws, squared, strict=True)]
        pvalues = [p for p, _ in tails]
        used = "normal" if self.null == "normal" else "exact"
        if joint is None:
            return pvalues, pvalues[0], tails[0][1], used
        combined = joint.tail(float(harmonic_mean(pvalues)))
        error = max(error * combined / p if p > 0 else 0.0 for p, error in tails)  # relative errors of p carry over
        return pvalues, combined, error + joint.error(combined), used

    def _threshold(self, alpha, T, inflation, own):
        """Threshold of the distance in a single metric."""
        draws = self.calibration.draws_for(T) if own is None else None
        laws = self.calibration.laws if own is None else own[0]
        squared = drawn_threshold(draws, alpha, T) if draws is not None else laws[0].quantile(alpha, T) / T
        return float(np.sqrt(squared * inflation)) + self._margins[0]

    def _shown_weights(self):
        """Weights in which differences are reported: the metric's own where it is a weighting of nodes."""
        return self.calibration.metrics[0].node_weights if len(self.calibration.metrics) == 1 else 1.0


def _margin(law, tolerance: float) -> float:
    """epsilon: the tolerated distance, in units of the typical distance of one row."""
    total = law.trace if hasattr(law, "trace") else law.spectrum.mean
    return tolerance * float(np.sqrt(total))


def _checked_num_train(reference, num_train, training_data, null):
    """Training rows that the null accounts for, or None; refuses options that contradict each other."""
    if reference not in ("circuit", "training"):
        raise ValueError(f"`reference` must be 'circuit' or 'training', found {reference!r}")
    if (reference == "training") != (training_data is not None):
        raise ValueError(f"`training_data` {'is needed' if training_data is None else 'is used only'} with "
                         f"reference='training', found reference={reference!r}")
    if reference == "training":
        if null == "monte-carlo":
            raise ValueError("`null` 'monte-carlo' draws from the circuit: use null='auto' with reference='training'")
        return len(training_data)
    if num_train is not None and (int(num_train) != num_train or num_train < 1):
        raise ValueError(f"`num_train` must be a whole number of at least 1, or None, found {num_train!r}")
    return None if num_train is None else int(num_train)
