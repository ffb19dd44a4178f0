"""The distribution of a table as an estimator of scikit-learn: for pipelines, grids and cross-validation."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import pcircuit
from hld.answers.for_programs import data_frame
from hld.answers.table_facts import cells_by_name, numbers_of
from hld.detector.estimator import Estimator, check_fitted, sklearn_tags, width_as_expected
from hld.tables.cells import read_table
from hld.tables.drawing import as_learned, draw_rows
from hld.tables.schemas.learn_schema import learn_schema
from hld.tables.values import is_binned, value_tables


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
        cells = cells_by_name(encoder, columns)
        self.values_ = value_tables(
            encoder.columns,
            [
                numbers_of(one, cells[one.name]) if is_binned(one) else None
                for one in encoder.columns
            ],
        )
        self.schema_, self.encoder_, self.circuit_ = schema, encoder, circuit
        self.n_features_in_, self.num_train_ = len(schema.table_names), columns.num_rows
        return self

    def score_samples(self, table: Any) -> np.ndarray:
        """Natural log-likelihood of each row.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        (T,) float array

        Raises
        ------
        TypeError, ValueError
            If it is not fitted, or the table lacks a column.
        """
        check_fitted(self)
        with width_as_expected():
            codes = self.encoder_.encode(table, ignore_extra=True)[0]
            return pcircuit.log_likelihood(self.circuit_, codes)

    def score(self, table: Any, y: Any = None) -> float:
        """Mean natural log-likelihood of the rows, as cross-validation takes it.

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

    def sample(self, num_samples: int = 1, *, where: str | None = None, rng: Any = None) -> Any:
        """Rows drawn from the circuit: see `HLDDetector.sample`.

        Parameters
        ----------
        num_samples : int
        where : str, optional
            A condition that all rows satisfy.
        rng : int or numpy.random.Generator, optional

        Returns
        -------
        pandas.DataFrame or (num_samples, V) object array
            A frame if the table had names and pandas is installed.

        Raises
        ------
        TypeError, ValueError
            If it is not fitted, or the condition cannot be read or is never satisfied.
        """
        check_fitted(self)
        return drawn_table(self, num_samples, where, rng)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags("density_estimator")


def drawn_table(fitted: Any, num_samples: int, where: str | None, rng: Any) -> Any:
    """Rows of what was fitted as a frame if its table had names, else as an object array (num_samples, V)."""
    encoder, values = fitted.encoder_, fitted.values_
    rows = draw_rows(fitted.circuit_, encoder.columns, values, num_samples, where=where, rng=rng)
    names, cells = as_learned(encoder, values, rows)
    if encoder.by_name:
        with contextlib.suppress(ImportError):
            frame = data_frame(dict(zip(names, cells.T.tolist(), strict=True)))
            whole = {one.name for one in encoder.columns if one.kind == "integer"} & {*names}
            return frame.astype(dict.fromkeys(sorted(whole), "Int64"))  # which has holes
    return cells
