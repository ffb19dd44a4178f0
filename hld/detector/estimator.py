"""A detector with the interface of a scikit-learn estimator, without scikit-learn.

Nothing is inherited and nothing imported unless scikit-learn asks: tags are made from its own classes when it calls
`__sklearn_tags__`, and the error for an unfitted estimator is scikit-learn's own once that has been imported.  A
detector has nothing to transform, so there is no ``set_output``.
"""

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from hld.answers.for_programs import data_frame
from hld.features.odd_rows import log_typicality
from hld.tables.cells import read_table
from hld.tables.column_names import table_called
from hld.tables.drawing import draw_rows

WIDTH = re.compile(r"`table` has (\d+) columns, expected (\d+) ")
ODD_SHARE = 0.05  # of rows that follow the reference, at most, which `predict` calls odd
ROUNDED = 1e-9  # of a log-likelihood: its last digits differ from one engine, and from one processor, to the next


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it is fitted; of the same bases as scikit-learn's error of this name."""


class Estimator:
    """What estimators share: parameters by name, those of the constructor, and what a fitted circuit says of rows."""

    encoder_: Any
    circuit_: Any
    values_: Any
    has_tails = False  # whether numbers beyond the range of training make a row less typical

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor parameters, as scikit-learn expects.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict of str to object
        """
        return {
            name: getattr(self, name)
            for name in inspect.signature(type(self).__init__).parameters
            if name != "self"
        }

    def set_params(self, **params: Any) -> Any:
        """Change constructor parameters; takes effect at the next `fit`.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        Estimator
            The same object.

        Raises
        ------
        ValueError
            If a name is not that of a parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"`{name}` is not a parameter of {type(self).__name__}, expected one of {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def score_samples(self, table: Any) -> np.ndarray:
        """Natural log-likelihood of each row under the circuit; larger is more typical.

        Of a detector less e where a number lies e units beyond the range of training: see `hld.features.odd_rows`.

        Parameters
        ----------
        table : (T, V) array_like or data frame
            With every column of the training table, by name; others are ignored, as in batches.

        Returns
        -------
        (T,) float array

        Raises
        ------
        TypeError, ValueError
            If it is not fitted, or the table lacks a column of the training table.
        """
        check_fitted(self)
        with width_as_expected(), table_called("table"):
            table = read_table(table)
            marks = np.zeros((table.num_rows, len(self.encoder_.columns)), np.uint8)
            codes, _ = self.encoder_.encode(table, ignore_extra=True, marks=marks)
        return log_typicality(self.circuit_, codes, marks if self.has_tails else None)

    def score(self, table: Any, y: Any = None) -> float:
        """Mean natural log-likelihood of the rows, as `sklearn.model_selection.cross_val_score` takes it.

        Parameters
        ----------
        table : (T, V) array_like or data frame
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            As `score_samples`.
        """
        return float(self.score_samples(table).mean())

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
            A condition that all rows satisfy, such as ``'age > 40 and sex == "F"'`` (`hld.tables.conditions`).
        rng : int or numpy.random.Generator, optional

        Returns
        -------
        pandas.DataFrame or (num_samples, V) object array
            A frame if the table had names and pandas is installed.  Columns are those that were learned;
            None for rare and new levels.  No cell is missing: the circuit is of complete rows.

        Raises
        ------
        TypeError, ValueError
            If it is not fitted, or the condition cannot be read or is never satisfied.

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
        encoder = self.encoder_
        names = encoder.names
        cells = draw_rows(
            self.circuit_, encoder.columns, self.values_, num_samples, where=where, rng=rng
        )
        if encoder.by_name:
            with contextlib.suppress(ImportError):
                frame = data_frame(dict(zip(names, cells.T.tolist(), strict=True)))
                whole = {one.name for one in encoder.columns if one.kind == "integer"} & {*names}
                holed = [name for name in sorted(whole) if frame[name].isna().any()]
                return frame.astype(dict.fromkeys(holed, "Int64"))  # which has holes
        return cells

    def __repr__(self) -> str:
        own: Any = self
        is_fitted = hasattr(self, "circuit_")
        state = f"fitted to {own.num_train_} rows" if is_fitted else "not fitted"
        return f"{type(self).__name__}(num_latents={own.num_latents}, {state})"

    def _repr_html_(self) -> str:
        from hld.answers.html import detector_view, escaped

        return detector_view(self) if hasattr(self, "circuit_") else escaped(repr(self))


def check_fitted(detector: Any) -> None:
    """Raise unless `fit` has run."""
    if hasattr(detector, "circuit_"):
        return
    known = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if known is None else known.NotFittedError
    name = type(detector).__name__
    other = ", or `hld.load(path)`" if name == "HLDDetector" else ""
    raise kind(f"this {name} is not fitted: call `fit(table)` first{other}")


@contextlib.contextmanager
def width_as_expected() -> Iterator[None]:
    """The error about a wrong number of columns also in the words that callers of scikit-learn look for."""
    try:
        yield
    except ValueError as error:
        found = WIDTH.match(str(error))
        if not found:
            raise
        raise ValueError(
            f"{error}: X has {found[1]} features, but HLDDetector is expecting {found[2]} features as "
            "input"
        ) from None


def row_offset(scores: np.ndarray) -> float:
    """The largest log-likelihood that at most a twentieth of the rows after k reference rows fall below.

    It is the r-th smallest of the k scores, r = floor((k + 1) / 20): the rank of a fresh row among k + 1 exchangeable
    ones is uniform, so it falls below with probability r / (k + 1) at most.  With fewer than 19 rows it is -inf.  A
    billionth is taken off, so that no row that is as likely falls below by rounding.
    """
    rank = int(ODD_SHARE * (len(scores) + 1) + 1e-9)
    if not rank:
        return -np.inf
    score = float(np.sort(scores)[rank - 1])
    return min(score - ROUNDED * max(1.0, abs(score)), 0.0)


def sklearn_tags(kind: str) -> Any:
    """The tags of an estimator of some kind that takes tables of anything, with holes."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=False),
        requires_fit=True,
        input_tags=InputTags(two_d_array=True, categorical=True, string=True, allow_nan=True),
    )
