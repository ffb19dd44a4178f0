r"""How often each label occurs in a batch without labels, if only that has changed.

Under label shift P(x | y) is fixed and P(y) may be anything.  The circuit knows P(x | y = c) = P(x, c) / P(c), so a
batch x_1..x_T has the log-likelihood

.. math:: l(q) = \sum_t \log \sum_c q_c P(x_t \mid c)

in the new frequencies q.  It is concave; expectation and maximisation (Saerens, Latinne and Decaestecker 2002) climbs
it by q_c <- the mean over t of the posterior probability of c.  With a_tc = P(x_t | c) / sum_k q_k P(x_t | k) the
observed Fisher information is sum_t a_t a_t^t, restricted to changes that sum to 0, and its inverse is the covariance
of the estimate in the limit of many rows.

The circuit is an estimate, too, from k rows, of which k p_c have label c.  Let e_c be the error of P(x | c).  To first
order the mean score at the true frequencies is that of the batch, less sum_c q_c int a(x) de_c(x), so that it has the
covariance

.. math:: \frac{1}{T} E[a a^t] + \sum_c \frac{q_c^2}{k p_c} \, \mathrm{Cov}(a \mid c),

with means given c those over the batch weighted with a_tc.  With the inverse of the information on both sides this is
the covariance of the estimate: a label that is frequent now and was rare then counts for much, since P(x | c) comes
from few rows.  Parameters that few numbers describe vary less, so that it is rather too large.  Where labels are as
frequent as in training, q = p, it is at most 1/T + 1/k times the inverse: by 1 + T/k twice the gain in log-likelihood
is divided before it is compared with chi-square.  What the circuit cannot represent is in neither.

Where labels have the same P(x | c), or are more than the hidden states of
the circuit above them, some changes of q leave every likelihood as it is: these labels have intervals from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import RARE
from hld.answers.words import label_lines
from hld.conditional.covariates import column_places
from pcircuit.arguments import check_fraction

STEPS, SMALL = 5_000, 1e-9
UNKNOWN = 1e-9  # information in a direction, beside the most in any, that counts as none; and what is put in its place


@dataclass(frozen=True, eq=False)
class LabelShift:
    """Frequencies of labels, estimated from rows without them.

    Attributes
    ----------
    labels : tuple
        Values of the label column; at the end "(rare)" for all that were put together as too rare, if any were.
    before : (C,) float array
        Their frequencies under the circuit.
    now, lower, upper : (C,) float arrays
        Estimates for the batch, and their intervals, each by itself.
    pvalue : float
        p-value of the likelihood-ratio test that the labels are as frequent as in the rows that the circuit learned
        from; it trusts the circuit about the rest of a row given its label.
    num_rows : int
        T.
    confidence : float
        Coverage of the intervals.
    """

    labels: tuple[Any, ...]
    before: np.ndarray
    now: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    pvalue: float
    num_rows: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON.

        Returns
        -------
        dict
            "num_rows", "pvalue", "confidence", and "labels": a list of dicts of "label", "before", "now", "lower" and
            "upper", which are shares between 0 and 1.
        """
        return {
            "num_rows": self.num_rows,
            "pvalue": self.pvalue,
            "confidence": self.confidence,
            "labels": [
                {
                    "label": label,
                    "before": float(a),
                    "now": float(b),
                    "lower": float(c),
                    "upper": float(d),
                }
                for label, a, b, c, d in zip(
                    self.labels, self.before, self.now, self.lower, self.upper, strict=True
                )
            ],
        }

    def __str__(self) -> str:
        return "\n".join(label_lines(self))

    __repr__ = __str__


def label_shift(
    detector: Any, table: Any, label: str | int, *, confidence: float = 0.95
) -> LabelShift:
    """Estimate the frequencies of a label in a table that need not have it.

    Parameters
    ----------
    detector : HLDDetector
        Fitted to a table with the label.
    table : array_like or data frame
        Rows; their labels, if any, are ignored.
    label : str or int
        The column, by name or by position in the training table.
    confidence : float
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    LabelShift

    Raises
    ------
    TypeError, ValueError
        If the detector is not fitted, has no such column, or all labels but one are impossible in the table.

    Notes
    -----
    P(x | y) is the circuit's.  That it was learned from k rows is in the intervals and in the p-value; that it may not
    be able to represent the truth is in neither: `HLDDetector.test` keeps its level where this test does not.  One
    pass over the rows for each label.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities,
    Neural Computation 14, 21.

    Examples
    --------
    >>> import hld
    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(3000) < 0.2
    >>> rows = np.column_stack([sick, *(rng.random((3, 3000)) < 0.1 + 0.6 * sick)]).astype(int)
    >>> detector = hld.HLDDetector(num_epochs=20).fit(rows)
    >>> more = np.concatenate([rows[sick], rows[~sick][:400]])
    >>> found = label_shift(detector, more, 0)
    >>> bool(found.lower[1] < sick.sum() / len(more) < found.upper[1])
    True
    """
    confidence = check_fraction(confidence, "confidence")
    encoder, circuit = getattr(detector, "encoder_", None), getattr(detector, "circuit_", None)
    if encoder is None or circuit is None:
        raise TypeError(f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}")
    (v,) = column_places(encoder.names, label, "label", encoder.table_names)
    codes = encoder.encode_counting(table)[0].astype(np.int64)
    if not len(codes):
        raise ValueError("`table` has no rows: give at least one")
    labels = _labels(encoder.columns[v])
    log_before = [pcircuit.log_probability(circuit, {v: c}) for c in range(len(labels))]
    log_given = np.stack(
        [_log_given(circuit, codes, v, c, one) for c, one in enumerate(log_before)], axis=1
    )
    before = np.exp(log_before)
    usable = np.isfinite(log_given).any(axis=1)
    if not usable.any():
        raise ValueError(
            "`table` has no row that is possible with any label: give rows of the fitted columns"
        )
    found = estimate(log_given[usable], before / before.sum(), confidence, _learned_rows(detector))
    return LabelShift(labels, before / before.sum(), *found, len(codes), confidence)


def estimate(
    log_given: np.ndarray, before: np.ndarray, confidence: float, learned_rows: float = np.inf
) -> tuple[Any, Any, Any, float]:
    """(C,) estimate, lower and upper ends, and the p-value of no change, from (T, C) log P(x_t | c).

    Shapes: log_given (T, C), before (C,) -> estimate, low, high (C,).
    """
    from scipy.special import gammaincc, ndtri

    largest = log_given.max(axis=1, keepdims=True)
    given = np.exp(log_given - largest)
    q = np.maximum(before, SMALL) / np.maximum(before, SMALL).sum()
    for _ in range(STEPS):
        joint = given * q
        new = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        done, q = np.abs(new - q).max() < SMALL, new
        if done:
            break
    ratio = given / (given @ q)[:, None]
    learned = learned_rows * np.maximum(before, SMALL)
    half = ndtri(0.5 + confidence / 2) * _standard_errors(ratio, q**2 / learned)
    gain = 2 * float(np.log((given @ q) / np.maximum(given @ before, 1e-300)).sum())
    pvalue = float(
        gammaincc((len(q) - 1) / 2, max(gain, 0.0) / (1 + len(given) / learned_rows) / 2)
    )
    return q, np.maximum(q - half, 0.0), np.minimum(q + half, 1.0), pvalue


def _standard_errors(ratio: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """(C,) of the estimate, from (T, C) P(x_t | c) / P(x_t) and (C,) q_c^2 / (k p_c).

    Beyond 1 for labels that the rows cannot tell apart.
    """
    tangent = np.linalg.svd(np.ones((1, ratio.shape[1])))[2][
        1:
    ].T  # (C, C - 1): changes that sum to 0
    values, vectors = np.linalg.eigh(tangent.T @ (ratio.T @ ratio) @ tangent)
    least = UNKNOWN * max(
        float(values[-1]), 1.0
    )  # changes with less information than this may be anything
    to_labels = tangent @ vectors / np.where(values > least, values, UNKNOWN)
    scores = ratio @ (tangent @ vectors)
    spread = scores.T @ scores + np.diag(np.where(values > least, 0.0, UNKNOWN))
    for weights, one in zip(ratio.T, learned, strict=True):
        mean = (
            weights @ scores / max(float(weights.sum()), np.finfo(float).tiny)
        )  # no row need be possible with it
        spread += len(ratio) * one * ((scores - mean) * weights[:, None]).T @ (scores - mean)
    variances: np.ndarray = np.einsum("cj,jk,ck->c", to_labels, spread, to_labels)
    return np.sqrt(np.maximum(variances, 0.0))


def _learned_rows(detector: Any) -> int:
    """The rows that the circuit learned from: all, less those of the reference where they were held out."""
    held = detector.test_.num_train or 0
    return int(detector.num_train_ - held if held < detector.num_train_ else held)


def _labels(column: Any) -> tuple[Any, ...]:
    """The labels of a categorical column in the order of their codes; rare ones, which have one code, are one label."""
    levels = tuple(getattr(column, "levels", None) or ())
    if len(levels) < 2:
        raise ValueError(
            f"`label` {column.name!r} has {len(levels)} levels, expected a column with two or more"
        )
    return (*levels, RARE) if column.rare else levels


def _log_given(
    circuit: pcircuit.Circuit, codes: np.ndarray, v: int, c: int, log_label: float
) -> np.ndarray:
    """(T,) log P(x | label c); of a label that is impossible no row is possible."""
    if log_label == -np.inf:
        return np.full(len(codes), -np.inf)
    rows = codes.copy()
    rows[:, v] = c
    return pcircuit.log_likelihood(circuit, rows) - log_label
