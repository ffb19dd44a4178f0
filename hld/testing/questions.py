"""What a test answers beside the verdict on a batch: sums in place of rows, plans, its spectrum, itself in words.

Each method hands on to the function that it names, where the formula is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.nulls.ranks.confirmation import least_pvalue
from hld.planning.detectable import detectable
from hld.planning.power import power, sample_size
from hld.summaries.fingerprint import test_fingerprint
from hld.summaries.summing import summarize_rows
from hld.testing.description import described
from hld.testing.verdict import LEAST_PVALUE, spectrum_of
from pcircuit.arguments import check_whole_number

if TYPE_CHECKING:
    from hld.planning.detectable import Detectable
    from hld.summaries.summary import BatchSummary
    from hld.testing.calibration import Calibration


class HLDTestQuestions:
    """The methods of `hld.HLDTest` that ask for more than a verdict on a batch."""

    circuit: pcircuit.Circuit
    calibration: Calibration

    def summarize(self, rows: Any) -> BatchSummary:
        """The sums sum_t L(x_t) over rows, and a few more, which add up and can be tested in their place.

        Parameters
        ----------
        rows : (T, V) integer array_like
            T at least 0; -1 is missing.

        Returns
        -------
        BatchSummary

        Raises
        ------
        TypeError, ValueError
            If `rows` are not evidence for the circuit, or have holes with ``missing="exact"``.

        Notes
        -----
        O(T) times the likelihoods of a row; where rows are the reference, also the metrics of at most 20,000 rows.

        Examples
        --------
        >>> import hld, pcircuit
        >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
        >>> test = hld.HLDTest(circuit)
        >>> total = test.summarize([[0, 1] * 4] * 30) + test.summarize([[0, 1] * 4] * 20)
        >>> total.num_rows, test(total).reject
        (50, True)
        """
        return summarize_rows(self, rows)

    def power(self, alternative: Any, T: int, alpha: float = 0.05) -> float:
        """Probability that a batch of T rows from an alternative is called shifted: see `hld.planning.power`.

        For one metric with map F and the circuit as reference P(|F Z| >= threshold), where Z, the difference of the
        means, is normal with mean E_1[L] - mu and covariance Cov_1(L) / T; else from 2,000 drawn Z.

        Parameters
        ----------
        alternative : Edit, mapping, pcircuit.Circuit, or (n, V) integer array_like
            Where rows come from: a category that becomes more frequent (`hld.Edit`, or a mapping with "column", "level"
            and "by"), a circuit, or rows.
        T : int
            Rows of a batch, at least 1.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        TypeError, ValueError
            If the alternative does not fit the circuit, or an argument is out of range.

        Notes
        -----
        O(m^3) for one metric, some ten milliseconds to a second for several.  A guide with two to some ten rows.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0))
        >>> test.power(hld.Edit(0, 0, 0.1), 50) < test.power(hld.Edit(0, 0, 0.2), 50)
        True
        """
        return power(self, alternative, T, alpha)

    def sample_size(self, alternative: Any, power: float = 0.9, alpha: float = 0.05) -> int | None:
        """The smallest number of rows with which an alternative is called shifted with probability `power`.

        Parameters
        ----------
        alternative : Edit, mapping, pcircuit.Circuit, or (n, V) integer array_like
            As for `power`.
        power : float
            In (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        int or None
            T; None where ten million rows are not enough, or as many as the alternative is known by.

        Raises
        ------
        TypeError, ValueError
            If the alternative does not fit the circuit, or an argument is out of range.

        Notes
        -----
        Some twenty powers, by bisection.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0))
        >>> T = test.sample_size(hld.Edit(0, 0, 0.2))
        >>> test.power(hld.Edit(0, 0, 0.2), T) >= 0.9
        True
        """
        return sample_size(self, alternative, power, alpha)

    def detectable(self, T: int, power: float = 0.9, alpha: float = 0.05) -> tuple[Detectable, ...]:
        """How much more frequent the most frequent categories of each variable have to get to be found in T rows.

        Parameters
        ----------
        T : int
            Rows of a batch, at least 1.
        power : float
            Probability with which the change is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        tuple of hld.planning.detectable.Detectable
            Each with `column`, `level`, `share` (its probability p) and `by` (the change h, None where even p + h = 1
            is not found so often); the smallest change first, at most three for each variable and 100 in all.

        Raises
        ------
        TypeError, ValueError
            If an argument is out of range.

        Notes
        -----
        Some tens of milliseconds for each category.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0))
        >>> first = test.detectable(400)[0]
        >>> 0 < first.by < 0.4
        True
        """
        return detectable(self, T, power, alpha)

    def effect_spectrum(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The spectrum behind the interval of the effect size, computed at the first call and kept.

        Returns
        -------
        ((m,) float array, (m, m) float array) or None
            Eigenvalues, ascending, and eigenvectors, as columns, of the covariance of a row's likelihoods under the
            reference; None with too many nodes for O(m^3).
        """
        return self._effect_spectrum

    @cached_property
    def _effect_spectrum(self) -> tuple[np.ndarray, np.ndarray] | None:
        return spectrum_of(self)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of circuit and calibration: 64 hexadecimal digits (str).

        A summary carries it as `model`; a test with another one refuses the summary.  Equal tests have equal
        digests, in other processes, too.  Computed once, in one pass over the parameters and the calibration.
        """
        return test_fingerprint(self.circuit, self.calibration)

    def describe(self) -> str:
        r"""What the test does, in a few lines: nodes, reference, null, error of the fit, least p-values, tolerance.

        Returns
        -------
        str

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0), num_train=500)
        >>> print("\n".join(test.describe().splitlines()[1:6]))
        nodes: 13 (8 input, 5 sum)
        reference: circuit; total variance tr(S) = 0.150601
        null:
          euclidean: generalised chi-square, 13 eigenvalues (all there are)
        estimation error: null scaled by 1 + T / 500
        """
        return described(self)

    def least_pvalue(self, T: int) -> float:
        """The smallest p-value that a batch of T rows can have, however far from the reference it is.

        Parameters
        ----------
        T : int
            Rows, at least 1.

        Returns
        -------
        float
            1 / (k + 1) for a single row against k rows; with drawn batches, 1 over their largest number.

        Raises
        ------
        TypeError, ValueError
            If `T` is not a whole number of at least 1.

        Examples
        --------
        >>> import hld, pcircuit
        >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
        >>> hld.HLDTest(circuit, null="monte-carlo", num_resamples=99, rng=0).least_pvalue(10)
        1e-05
        """
        T, kept = check_whole_number(T, "T", 1), self.calibration.kept
        least = max(self.calibration.null.least(T), LEAST_PVALUE)
        is_exact = kept is None or (T == 1 and least > LEAST_PVALUE)
        return least if is_exact else max(least, least_pvalue(kept.num_rows, T))  # type: ignore[union-attr]
