"""What a fitted detector answers beside the test of a batch: segments, sums, plans, rows one by one, drawn rows.

Each method checks that the detector is fitted and hands on to the function that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.table_facts import batch_profile
from hld.estimator import check_fitted, predictions, width_as_expected
from hld.planning.of_tables import detectable_of_table, power_of_table, sample_size_of_table
from hld.results.largest import largest_of
from hld.results.with_quality import with_quality
from hld.summaries.of_tables import summarize_chunks
from hld.synthetic.drawing import condition_probability, draw_rows
from pcircuit.arguments import check_fraction

if TYPE_CHECKING:
    from hld.answers.segments import SegmentsResult


class DetectorQuestions:
    """The methods of `hld.HLDDetector` that ask a fitted detector for more than a verdict on a batch."""

    circuit_: Any
    encoder_: Any
    judge_: Any
    test_: Any
    values_: Any

    def test_by(
        self,
        table: Any,
        by: Any,
        alpha: float = 0.05,
        *,
        every: str | None = None,
        procedure: str = "bh",
    ) -> SegmentsResult:
        """Test each segment of a table, with false discovery control: see `hld.answers.segments`.

        Parameters
        ----------
        table : (N, V) array_like or data frame
            Rows with the training table's columns, and possibly that of `by`.
        by : str, int or sequence of N labels
            The column to group by, by name or position; or the label of each row.  A column that the model knows is
            hidden from the test, unless it is a covariate: segments that differ by nature are called.
        alpha : float
            Bound on the expected share of unshifted segments among those called shifted, in (0, 1).
        every : "year", "month", "day", "hour" or "minute", optional
            For dates, how long a segment is.
        procedure : "bh" or "by"
            Benjamini and Hochberg, or Benjamini and Yekutieli, which allows for any dependence.

        Returns
        -------
        SegmentsResult

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the table or an option is not usable.

        Examples
        --------
        >>> import hld
        >>> rng = np.random.default_rng(0)
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rng.integers(0, 3, size=(400, 2)))
        >>> rows = rng.integers(0, 3, size=(90, 2))
        >>> rows[60:] = 2
        >>> found = detector.test_by(rows, np.repeat(["a", "b", "c"], 30))
        >>> found.labels, found.reject.tolist()
        (('a', 'b', 'c'), [False, False, True])
        """
        from hld.answers.segments import judge_segments

        check_fitted(self)
        alpha = check_fraction(alpha, "alpha")
        return judge_segments(
            self,
            lambda rows, quality: with_quality(
                lambda level: self.judge_(rows, level),
                quality,
                alpha,
                largest_of(self, batch_profile(self, rows)) if self.judge_ is self.test_ else {},
            ),
            table,
            by,
            alpha,
            every=every,
            procedure=procedure,
        )

    def summarize(self, table: Any) -> Any:
        """A few sums over the rows of a table, which add up and can be tested in their place.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        BatchSummary

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the table is not usable.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(300, 2))
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rows[:200])
        >>> total = detector.summarize(rows[200:240]) + detector.summarize(rows[240:])
        >>> total.num_rows, detector.test(total).reject
        (100, False)
        """
        check_fitted(self)
        return summarize_chunks(self, [table])

    def power(self, alternative: Any, T: Any, alpha: float = 0.05) -> float:
        """Probability that T rows of an alternative are called shifted: see `hld.planning.of_tables.power_of_table`.

        Parameters
        ----------
        alternative : Edit, mapping, pcircuit.Circuit, or table
            Where rows come from: a level that becomes more frequent, a circuit, or rows (further columns are ignored).
        T : int
            Rows of a batch.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(400, 2))
        >>> detector = hld.HLDDetector(num_epochs=5, num_resamples=99).fit(rows)
        >>> detector.power(hld.Edit("x0", 2, 0.02), 50) < 0.3 < detector.power(hld.Edit("x0", 2, 0.6), 50)
        True
        """
        check_fitted(self)
        return power_of_table(self, alternative, T, alpha)

    def sample_size(self, alternative: Any, power: Any = 0.9, alpha: float = 0.05) -> Any:
        """Rows with which an alternative is found: see `hld.planning.of_tables.sample_size_of_table`.

        Parameters
        ----------
        alternative : Edit, mapping, pcircuit.Circuit, or table
        power : float
            Probability with which it is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        int or None
            None if no number that can be computed is enough.

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.
        """
        check_fitted(self)
        return sample_size_of_table(self, alternative, power, alpha)

    def detectable(self, T: Any, power: Any = 0.9, alpha: float = 0.05) -> tuple[Any, ...]:
        """How much more frequent levels have to get: see `hld.planning.of_tables.detectable_of_table`.

        Parameters
        ----------
        T : int
            Rows of a batch.
        power : float
            Probability with which the change is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        tuple of Detectable

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.
        """
        check_fitted(self)
        return detectable_of_table(self, T, power, alpha)

    def score_samples(self, table: Any) -> np.ndarray:
        """Natural log-likelihood of each row under the circuit; larger is more typical.

        Parameters
        ----------
        table : (T, V) array_like or data frame
            With every column of the training table, by name; others are ignored, as in `HLDDetector.test`.

        Returns
        -------
        (T,) float array

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the table lacks a column of the training table.
        """
        check_fitted(self)
        with width_as_expected():
            return pcircuit.log_likelihood(
                self.circuit_, self.encoder_.encode(table, ignore_extra=True)[0]
            )

    def decision_function(self, table: Any) -> np.ndarray:
        """`score_samples` less `offset_`: negative for the rows that `predict` calls odd.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        (T,) float array

        Raises
        ------
        TypeError, ValueError
            As `score_samples`.
        """
        return predictions(self, table)[0]

    def predict(self, table: Any) -> np.ndarray:
        """1 for ordinary rows, -1 for odd ones: at most 5 % of rows that follow the training distribution.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        (T,) int array

        Raises
        ------
        TypeError, ValueError
            As `score_samples`.
        """
        return predictions(self, table)[1]

    def sample(
        self,
        num_samples: int,
        *,
        where: str | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> Any:
        """Rows drawn from the circuit, numbers inside their bins and types kept.

        Parameters
        ----------
        num_samples : int
        where : str, optional
            A condition that all rows satisfy, such as ``'age > 40 and sex == "F"'`` (`hld.synthetic.expressions`).
        rng : int or numpy.random.Generator, optional

        Returns
        -------
        (num_samples, V) object array
            None for rare and new levels.  No cell is missing: the circuit is of complete rows.

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the condition cannot be read or is never satisfied.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(300, 2))
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rows)
        >>> drawn = detector.sample(20, where="x0 == 2", rng=0)
        >>> drawn.shape, set(drawn[:, 0])
        ((20, 2), {2})
        """
        check_fitted(self)
        return draw_rows(
            self.circuit_, self.encoder_.columns, self.values_, num_samples, where=where, rng=rng
        )

    def probability(self, where: str) -> float:
        """Probability of a condition under the circuit, exactly.

        Parameters
        ----------
        where : str
            Such as ``'age > 40 and sex == "F"'`` (`hld.synthetic.expressions`).

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the condition cannot be read.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 2, size=(300, 2))
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rows)
        >>> bool(abs(detector.probability("x0 == 1") + detector.probability("x0 == 0") - 1) < 0.02)
        True
        """
        check_fitted(self)
        return condition_probability(self.circuit_, self.encoder_.columns, self.values_, where)
