"""The interface of a scikit-learn estimator, without scikit-learn, and the distribution of a table as one.

Nothing is inherited and nothing imported unless scikit-learn asks: tags are made from its own classes when it calls
`__sklearn_tags__`, and the error for an unfitted estimator is scikit-learn's own once that has been imported.  A
detector has nothing to transform, so there is no ``set_output``.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import pcircuit
from hld.answers.for_programs import data_frame
from hld.answers.table_facts import values_of
from hld.features.odd_rows import log_typicality
from hld.tables.cells import read_table
from hld.tables.column_names import table_called

WIDTH = re.compile(r"`table` has (\d+) columns, expected (\d+) ")


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
            A condition that all rows satisfy, such as ``'age > 40 and sex == "F"'`` (`hld.tables.drawing`).
        rng : int or numpy.random.Generator, optional

        Returns
        -------
        pandas.DataFrame or (num_samples, V) object array
            A frame if the table had names and pandas is installed.  Columns are those that were learned, amounts
            written as in training; None for rare and new levels.  No cell is missing: the circuit is of complete rows.

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
        from hld.tables.drawing import as_learned, draw_rows

        check_fitted(self)
        encoder = self.encoder_
        rows = draw_rows(
            self.circuit_, encoder.columns, self.values_, num_samples, where=where, rng=rng
        )
        names, cells = as_learned(encoder, self.values_, rows)
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
        from hld.answers.reports import detector_view, escaped

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


def sklearn_tags(kind: str) -> Any:
    """The tags of an estimator of some kind that takes tables of anything, with holes."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=False),
        requires_fit=True,
        input_tags=InputTags(two_d_array=True, categorical=True, string=True, allow_nan=True),
    )


class CircuitDensity(Estimator):
    """A Hidden Chow-Liu tree of the rows of a table, learned from all of them; it tests nothing.

    Parameters
    ----------
    num_latents, num_epochs, pseudocount, num_bins, max_categories, categorical, continuous
        As those of `HLDDetector`.
    rng : int or numpy.random.Generator, default 0
        Seed of the start values.

    Attributes
    ----------
    schema_ : TableSchema
        What the columns are.
    encoder_ : TableEncoder
        The map from tables to rows of category codes.
    circuit_ : pcircuit.Circuit
        Over these V categorical variables.
    n_features_in_, num_train_ : int
        Columns and rows of the table.

    Notes
    -----
    A bin has a probability and no width, so that scores compare models of equal `num_bins` and `max_categories` only.

    Examples
    --------
    >>> import hld
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 3, 400)
    >>> table = {"x": x, "y": (x + rng.integers(0, 2, 400)) % 3}
    >>> density = hld.CircuitDensity(num_latents=3, num_epochs=20).fit(table)
    >>> round(density.score(table), 1), density.sample(2, rng=0).shape      # -ln 3 - ln 2 = -1.79
    (-1.8, (2, 2))
    """

    def __init__(
        self,
        num_latents: int = 4,
        num_epochs: int = 100,
        pseudocount: float = 1.0,
        num_bins: int = 8,
        max_categories: int = 64,
        *,
        categorical: Any = None,
        continuous: Any = None,
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.num_latents, self.num_epochs, self.pseudocount = num_latents, num_epochs, pseudocount
        self.num_bins, self.max_categories = num_bins, max_categories
        self.categorical, self.continuous, self.rng = categorical, continuous, rng

    def fit(self, table: Any, y: Any = None) -> CircuitDensity:
        """Learn the distribution of a table.

        Parameters
        ----------
        table : (n, V) array_like or data frame
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        CircuitDensity
            The same object, fitted.

        Raises
        ------
        TypeError, ValueError
            If the table or an option is not usable.
        """
        from hld.tables.schemas.learn_schema import learn_schema

        columns = read_table(table)
        schema = learn_schema(
            columns,
            num_bins=self.num_bins,
            max_categories=self.max_categories,
            categorical=self.categorical,
            continuous=self.continuous,
        )
        encoder = schema.encoder()
        codes = encoder.encode_training(columns)[0]
        start = pcircuit.hclt(
            codes, self.num_latents, encoder.num_categories, self.pseudocount, self.rng
        )
        circuit, _ = pcircuit.fit_em(
            start, codes, num_epochs=self.num_epochs, pseudocount=self.pseudocount
        )
        self.values_ = values_of(encoder, columns)
        self.schema_, self.encoder_, self.circuit_ = schema, encoder, circuit
        self.n_features_in_, self.num_train_ = len(schema.table_names), columns.num_rows
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags("density_estimator")
