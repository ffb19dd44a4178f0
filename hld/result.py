"""What a test says: one frozen object."""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hld.checks import check_verdict

LEAST_SHOWN = 1e-300  # smaller p-values are not told apart


@dataclass(frozen=True, eq=False)
class HLDResult:
    """The outcome of a test of one batch.

    Attributes
    ----------
    statistic : float
        d = || mean HLV of the batch - mean HLV of the reference ||, the distance in the metric of
        the test; with several metrics, -log10 of the combined p-value.
    threshold : float
        Largest statistic that does not reject at level `alpha`; with several metrics, -log10 of `alpha`.
    pvalue : float
        Probability under the null hypothesis of a statistic at least this large.
    reject : bool
        ``pvalue <= alpha``: the batch departs from the circuit.
    alpha : float
        Level of the test.
    num_samples : int
        T, the rows of the batch.
    null : str
        Null distribution used: "exact", "normal" or "monte-carlo" (drawn batches).
    inflation : float
        Factor by which the null was scaled for estimation error: 1 + T / num_train, or 1.
    null_error : float or None
        Estimated error of `pvalue`, absolute: of the numerical method, and of the spectrum where it was not computed
        in full; for "monte-carlo" its standard error; for "normal" None, that error is not estimated.
    num_missing : int
        Missing entries of the batch: drawn from the circuit given the rest of their row, or with ``missing="exact"``
        integrated out.
    metrics : tuple of str
        Names of the metrics.
    pvalues : tuple of float
        One for each metric; `pvalue` is their combination.
    deltas : (m,) float array
        Differences of the node means, batch minus reference, times the node weights where the metric is such.
    stds : (m,) float array
        Standard deviations of the node likelihoods under the reference, weighted alike.
    nodes : (m,) int array
        Node ids.

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 6, num_units=2, depth=1, rng=0)
    >>> batch = pcircuit.sample(circuit, 20, rng=1)
    >>> result = hld.HLDTest(circuit)(batch)
    >>> result.reject, abs(float(result.contributions @ result.contributions - result.statistic ** 2)) < 1e-12
    (False, True)
    """

    statistic: float
    threshold: float
    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    null: str
    inflation: float
    null_error: float | None
    num_missing: int
    metrics: tuple
    pvalues: tuple
    deltas: np.ndarray = field(repr=False)
    stds: np.ndarray = field(repr=False)
    nodes: np.ndarray = field(repr=False)
    _circuit: object = field(repr=False)
    _scores: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self):
        check_verdict(self.statistic, self.pvalue)

    @property
    def contributions(self) -> np.ndarray:
        """(m,) |delta_j| of each node; in the plain metric, or with weights, their squares sum to d^2."""
        return np.abs(self.deltas)

    def localize(self, *, top=10):
        """Nodes and variables that carry the shift: see `hld.localization.localize`."""
        from hld.localization import localize
        return localize(self._circuit, self.nodes, self.deltas, self.stds, self.num_samples / self.inflation, top=top)

    def localize_dependences(self, *, top=10):
        """Which variables go together in another way, where the test has the metric "score": see `hld.dependences`."""
        from hld.dependences import localize_dependences
        if self._scores is None:
            raise ValueError("dependences are found by the score: test with `metric` 'score' among others, and rows "
                             "without holes")
        return localize_dependences(self._circuit, self._scores, self.num_samples / self.inflation, top=top)

    def to_dict(self) -> dict:
        """The scalar fields as plain Python values, ready for JSON."""
        values = {name: _plain(getattr(self, name)) for name in (
            "statistic", "threshold", "pvalue", "reject", "alpha", "num_samples", "null", "inflation", "null_error",
            "num_missing")}
        return {**values, "metrics": list(self.metrics), "pvalues": [_plain(value) for value in self.pvalues]}

    def __str__(self):
        verdict = "shift" if self.reject else "no shift"
        pvalue = f"p = {self.pvalue:.3g}" if self.pvalue >= LEAST_SHOWN else f"p < {LEAST_SHOWN:g}"
        return (f"{verdict}: statistic {self.statistic:.4g} (threshold {self.threshold:.4g}), {pvalue}, "
                f"alpha = {self.alpha:g}, T = {self.num_samples}, null {self.null}")

    __repr__ = __str__


def _plain(value):
    """A NumPy scalar as Python's."""
    return value.item() if isinstance(value, np.generic) else value
