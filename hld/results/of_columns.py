"""What the results of tests say about the columns of a table, and how they say it."""

from __future__ import annotations

from typing import Any

from hld.answers.words import headline, in_words
from hld.results.shared_level import scaled_level_of

PARTS = ("data_quality", "largest_count", "largest_dependence", "context")  # that may be None


class OfColumns:
    """Base of results with `evidence`, which is None without a table, `reject`, `alpha` and the fields in `PARTS`."""

    evidence: Any
    reject: bool
    alpha: float

    @property
    def scaled_alpha(self) -> float:
        """The level over which a test beside the distance rejects by itself, times its share: at least `alpha`."""
        return scaled_level_of(self)

    @property
    def columns(self) -> tuple[Any, ...]:
        """How each column moved, the smallest p-value first: `hld.answers.column_shifts.ColumnShift`.

        Where the batch is rejected and no column moved by itself, those come first that most likely moved, by the
        dependences on others that changed and those that stayed (`hld.answers.dependences`).

        Empty without a table, that is for results of `HLDTest` and of model files without counts.  With a context
        `expected` are the frequencies of the reference rows, and the p-values those of `column_pvalues`.
        """
        if self.evidence is None:
            return ()
        if not self.reject:
            return tuple(self.evidence.columns)
        return tuple(self.evidence.moved_first(self.alpha))

    @property
    def pairs(self) -> tuple[Any, ...]:
        """Where dependence changed, the smallest p-value first: `hld.answers.pair_shifts.PairShift`; or empty.

        Empty with a context, too: there is no null of pairs among groups, or given covariates.
        """
        return () if self.evidence is None else self.evidence.pairs

    def to_frame(self) -> Any:
        """The columns as a pandas data frame, the smallest p-value first.

        Returns
        -------
        pandas.DataFrame
            A row for each column that the result knows frequencies of; none for a result of `HLDTest`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from hld.answers.for_programs import columns_frame

        return columns_frame(self.columns)

    def parts_to_dict(self) -> dict[str, Any]:
        """The parts, columns and pairs that are known as plain Python values, ready for JSON.

        Returns
        -------
        dict
        """
        known = {name: getattr(self, name) for name in PARTS if getattr(self, name) is not None}
        lists = {} if self.evidence is None else {"columns": self.columns, "pairs": self.pairs}
        return {name: one.to_dict() for name, one in known.items()} | {
            name: [one.to_dict() for one in ones] for name, ones in lists.items()
        }

    def __str__(self) -> str:
        return in_words(self)

    def __repr__(self) -> str:
        return headline(self)
