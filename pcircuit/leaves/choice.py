"""Which family each column of a table gets: by name, one for each column, or by a look at the column."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints, check_choice, is_listing, shown
from pcircuit.leaves.atoms import Atoms
from pcircuit.leaves.columns import are_categories
from pcircuit.leaves.gaussian import Gaussian
from pcircuit.leaves.histogram import Histogram
from pcircuit.leaves.negative_binomial import NegativeBinomial
from pcircuit.leaves.poisson import Poisson
from pcircuit.leaves.tailed import Tailed
from pcircuit.regions import Categorical, LeafFamily

NUM_CODES = 8  # of a column of numbers, where structure is learned: quantiles
NAMES: dict[str, type[LeafFamily]] = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "tailed": Tailed,
    "atoms": Atoms,
    "histogram": Histogram,
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
}


def families_of(leaves: Any, table: Floats) -> list[LeafFamily]:
    """A unit for each column of a table, NaN where missing: what its family is, with the states of the column.

    Models of parts of the rows take more units like it (`again`), and so have the same categories and atoms.
    Shapes: table (N, V).
    """
    for v in np.flatnonzero(np.isnan(table).all(axis=0)).tolist():
        raise ValueError(
            f"`data` has no number in column {v}, only missing values, so nothing can be learned of it: leave the "
            "column out"
        )
    V = table.shape[1]
    given = list(leaves) if is_listing(leaves) and not isinstance(leaves, str) else [leaves] * V
    if len(given) != V:
        raise ValueError(
            f"`leaves` must be one family, or one for each of the {V} columns, found {len(given)}"
        )
    return [_unit(one, table[:, v], v) for v, one in enumerate(given)]


def _unit(family: Any, column: Floats, v: int) -> LeafFamily:
    """A unit of a family that is given by its name, its class, or units."""
    if isinstance(family, LeafFamily):
        return family
    if isinstance(family, str):
        name = check_choice(family, "leaves", ("auto", *NAMES))
        if name == "auto":
            name = "categorical" if are_categories(column) else "atoms"
        family = NAMES[name]
    if not (isinstance(family, type) and issubclass(family, LeafFamily)):
        raise TypeError(f"`leaves` must be names or classes of families, found {shown(family)}")
    wrong = column[(column < 0) | (np.floor(column) < column)]
    if family.is_discrete and len(wrong):
        raise ValueError(
            f"`leaves` says {family.__name__} of column {v} of `data`, which holds {wrong[0]:g}, expected 0, 1, "
            "2, ...: choose a family of numbers there"
        )
    if family is Categorical:
        return Categorical(np.ones((1, int(max(np.nanmax(column) + 1, 2)))))
    return family.like(column, 1)


def coded(
    table: Floats, families: list[LeafFamily], num_codes: Sequence[int] | None = None
) -> tuple[Ints, Ints]:
    """(N, V) codes of a table, -1 where missing, and their numbers: categories as they are, else quantiles.

    Shapes: table (N, V) -> (N, V), (V,).
    """
    most = [NUM_CODES] * table.shape[1] if num_codes is None else num_codes
    codes, numbers = np.full(table.shape, -1), np.empty(table.shape[1], dtype=np.int64)
    for v, family in enumerate(families):
        seen = ~np.isnan(table[:, v])
        column = table[seen, v]
        if family.num_categories:
            codes[seen, v], numbers[v] = column, family.num_categories
            continue
        cuts = np.unique(np.quantile(column, np.arange(1, most[v]) / most[v]))
        codes[seen, v], numbers[v] = np.searchsorted(cuts, column, side="right"), most[v]
    return codes, numbers
