"""The distribution of a table as an estimator of scikit-learn: for pipelines, grids and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

import pcircuit
from hld.answers.table_facts import cells_by_name
from hld.detector.estimator import Estimator, sklearn_tags
from hld.tables.cells import read_table
from hld.tables.schemas.encoding import numbers_in
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
                numbers_in(one, cells[one.name]) if is_binned(one) else None
                for one in encoder.columns
            ],
        )
        self.schema_, self.encoder_, self.circuit_ = schema, encoder, circuit
        self.n_features_in_, self.num_train_ = len(schema.table_names), columns.num_rows
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags("density_estimator")
