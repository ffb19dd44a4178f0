"""Building a test: everything that can be computed before a batch is seen.

A `Calibration` holds, for one reference and one or several metrics: the mean of the node likelihoods, their standard
deviations, the laws of the statistics, and where the laws are not trusted, drawn batches.  It is what a model file
stores.

**Small batches.**  The limit law needs large T.  How large is read off the excess variance of the statistic
(`hld.nulls.limit_law`): with null="auto" batches of T < SWITCH * excess rows are judged by drawn batches, which are
valid at every T, and larger ones by the law with the variance corrected for T.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pcircuit
from hld.metrics.marginals import marginals_metric
from hld.metrics.metric import MAX_FULL_SPECTRUM, build_metric
from hld.nulls.drawn import BatchTable, CircuitDraws, batch_table
from hld.nulls.joint import JointLaw, covariance_factor, joint_law
from hld.nulls.limit_law import ExactLaw, NormalLaw, law_in_metric, law_of_moments, law_of_values
from hld.references.rows import BlendedCovariance, TrainingMoments, training_moments

SWITCH = 20  # at T = SWITCH * excess the variance of the statistic is within 5 % of its limit
MOST_DRAWN_ROWS = 2_000_000  # for one batch size
PILOT_ROWS = 20_000  # from which the excess variance is estimated
PILOT_BYTES = 2 ** 28
JOINT_ROWS = 2_000
MOST_MAPPED = 10_000_000  # entries of a matrix that maps nodes to marginals


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is known about the statistics under the null hypothesis.

    Attributes
    ----------
    nodes : (m,) int array
    mean, stds : (m,) float arrays
        Of the node likelihoods under the reference.
    metrics : tuple of Metric
    laws : tuple of ExactLaw or NormalLaw
        One per metric.
    joint : JointLaw or None
        Of several metrics.
    draws : CircuitDraws, BatchTable or None
        For batches smaller than `switch`.
    switch : int or None
        Batch size from which the laws are used; None: never.
    """

    nodes: np.ndarray
    mean: np.ndarray
    stds: np.ndarray
    metrics: tuple
    laws: tuple
    joint: JointLaw | None
    draws: CircuitDraws | BatchTable | None
    switch: int | None

    def __post_init__(self):
        for array in (self.nodes, self.mean, self.stds):
            array.flags.writeable = False

    def draws_for(self, T: int):
        """The drawn batches that judge a batch of T rows, or None where the laws do."""
        return self.draws if self.switch is None or self.switch > T else None

    def describe(self) -> list:
        """Lines about the null distribution."""
        lines = [f"  {metric.name}: {law.describe()}" for metric, law in zip(self.metrics, self.laws, strict=True)]
        if self.draws is not None and self.switch is None:
            return [f"null: {self.draws.describe()}"]
        if self.draws is not None:
            lines.insert(0, f"  T < {self.switch}: {self.draws.describe()}; from there on:")
        return ["null:", *lines]


def calibrate(circuit, nodes, parts, null, training_data, *, ridge, num_resamples, seed) -> Calibration:
    """Compute a calibration.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
    parts : tuple of str or arrays
        See `hld.metrics.metric.parse_metric`.
    null : "exact", "normal", "monte-carlo" or "auto"
    training_data : (n, V) integer array or None
        Complete rows, for the training reference.
    ridge : float
        Of the whitened metric.
    num_resamples : int
        B, drawn batches.
    seed : int

    Returns
    -------
    Calibration
    """
    rng = np.random.default_rng([seed, 0])
    exact = pcircuit.exact_moments(circuit, nodes)

    def moments_of(weights):
        return exact if weights is None else pcircuit.exact_moments(circuit, nodes, node_weights=weights)

    moments = exact if training_data is None else training_moments(circuit, training_data, nodes)
    whiten_by = None if training_data is None else BlendedCovariance(exact, moments)
    built = [(marginals_metric(circuit, nodes), None) if isinstance(part, str) and part == "marginals"
             else build_metric(part, moments_of, ridge, whiten_by) for part in parts]
    metrics = tuple(metric for metric, _ in built)
    if training_data is None:
        laws = tuple(_marginals_law(circuit, metric, exact, null, rng) if metric.name == "marginals"
                     else _law(metric, values, moments_of, null) for metric, values in built)
    else:
        laws = tuple(_training_law(metric, moments, null) for metric in metrics)
    pilot = _pilot_rows(circuit, moments, training_data, rng) if null == "auto" else None
    joint = _joint(circuit, moments, training_data, metrics, rng) if len(parts) > 1 else None
    draws = switch = None
    if null == "auto":
        laws = tuple(_with_excess(law, metric, pilot) for law, metric in zip(laws, metrics, strict=True))
        most = max(MOST_DRAWN_ROWS // num_resamples, 1)
        switch = min(int(np.ceil(SWITCH * max(abs(law.excess) for law in laws))), most)
    if null == "monte-carlo" or switch:
        draws = (CircuitDraws(circuit, nodes, moments.mean, metrics, num_resamples, seed) if training_data is None
                 else batch_table(moments.rows, metrics, num_resamples, switch, rng))
    stds = np.sqrt(np.maximum(moments.diagonal(), 0.0))
    return Calibration(nodes, np.array(moments.mean), stds, metrics, laws, joint, draws, switch)


def _law(metric, values, moments_of, null):
    """The law of one metric's statistic under the circuit; `values` as `build_metric` gives them."""
    plain = None if values is not None else moments_of(None if metric.name == "euclidean" else metric.node_weights)
    if null == "normal":
        return (NormalLaw(plain.trace, plain.trace_sq) if values is None
                else NormalLaw(float(values[0].sum() + values[1]), float((values[0] ** 2).sum() + values[2])))
    return law_of_moments(plain) if values is None else law_of_values(*values)


def _marginals_law(circuit, metric, moments, null, rng):
    """The law of the distance of marginals under the circuit: exact, or with very many categories from drawn rows."""
    m = len(moments.nodes)
    if m <= MAX_FULL_SPECTRUM:
        mapped = metric.mapped(metric.mapped(moments.covariance()).T)
    elif m * len(metric.index) <= MOST_MAPPED:
        adjoint = np.zeros((m, len(metric.index)))
        np.add.at(adjoint, (metric.index, np.arange(len(metric.index))[:, None]), metric.coefficients)
        mapped = metric.mapped((moments.operator() @ adjoint).T)
    else:
        rows = metric.mapped(_pilot_rows(circuit, moments, None, rng))
        drawn = TrainingMoments(moments.nodes, moments.mean, rows)
        return NormalLaw(drawn.trace, drawn.trace_sq) if null == "normal" else law_of_moments(drawn)
    if null == "normal":
        return NormalLaw(float(np.trace(mapped)), float((mapped ** 2).sum()))
    return law_of_values(np.maximum(np.linalg.eigvalsh(mapped)[::-1], 0.0))


def _training_law(metric, moments, null):
    """The law of one metric's statistic under the training rows."""
    if null != "normal" and len(moments.nodes) <= MAX_FULL_SPECTRUM:
        return law_in_metric(metric, moments.covariance())
    mapped = TrainingMoments(moments.nodes, moments.mean, metric.transform(moments.rows))
    return NormalLaw(mapped.trace, mapped.trace_sq) if null == "normal" else law_of_moments(mapped)


def _joint(circuit, moments, training_data, metrics, rng):
    """Joint law of several metrics: from the covariance, or where it is too large from a sample of rows."""
    if len(moments.nodes) <= MAX_FULL_SPECTRUM:
        return joint_law(covariance_factor(moments.covariance()), metrics, rng)
    rows = _pilot_rows(circuit, moments, training_data, rng)[:JOINT_ROWS]
    return joint_law(rows / np.sqrt(len(rows)), metrics, rng)


def _pilot_rows(circuit, moments, training_data, rng):
    """Centred node likelihoods of rows that follow the null, at most PILOT_ROWS."""
    most = int(np.clip(PILOT_BYTES // (8 * len(moments.nodes)), 500, PILOT_ROWS))
    if training_data is not None:
        return moments.rows[rng.permutation(len(moments.rows))[:most]]
    rows = pcircuit.sample(circuit, most, rng=rng)
    return pcircuit.node_likelihoods(circuit, rows, nodes=moments.nodes) - moments.mean


def _with_excess(law: ExactLaw, metric, pilot) -> ExactLaw:
    """The law with the excess variance of the statistic of a single row, estimated from pilot rows."""
    variance = law.spectrum.variance
    excess = float(np.var(metric.squared(pilot)) / variance - 1) if variance > 0 else 0.0
    return ExactLaw(law.eigenvalues, law.multiplicities, law.quantile_error, law.num_eigenvalues, excess)
