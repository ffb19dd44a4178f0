"""Which family each column of a table gets: by name, one for each column, or by a look at the column."""

from collections.abc import Sequence
from typing import Any, TypeAlias

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
Family: TypeAlias = "type[LeafFamily] | LeafFamily"  # units of one: with their categories, or atoms


def families_of(leaves: Any, table: Floats) -> list[Family]:
    """The family of each column of a table, NaN where missing, with the states that the column has.

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
    return [_family(one, table[:, v], v) for v, one in enumerate(given)]


def _family(one: Any, column: Floats, v: int) -> Family:
    """A family by its name, the class itself, or units whose states are to be kept."""
    if isinstance(one, LeafFamily):
        return one
    if isinstance(one, type) and issubclass(one, LeafFamily):
        return _with_states(one, column)
    if not isinstance(one, str):
        raise TypeError(f"`leaves` must be names or classes of families, found {shown(one)}")
    name = check_choice(one, "leaves", ("auto", *NAMES))
    if name == "auto":
        name = "categorical" if are_categories(column) else "atoms"
    family = NAMES[name]
    seen = column[~np.isnan(column)]
    if family.is_discrete and ((seen < 0) | (seen != np.floor(seen))).any():
        wrong = float(seen[(seen < 0) | (seen != np.floor(seen))][0])
        raise ValueError(
            f"`leaves` says {one} of column {v} of `data`, which holds {wrong:g}, expected 0, 1, 2, ...: choose "
            "a family of numbers there"
        )
    return _with_states(family, column)


def _with_states(family: type[LeafFamily], column: Floats) -> Family:
    """A family with the categories or the atoms of a column: models of parts of the rows have the same."""
    if family is Categorical:
        return Categorical(np.full((1, int(max(np.nanmax(column) + 1, 2))), 1.0))
    if family is not Atoms:
        return family
    units = family.like(column, 1)
    return units if isinstance(units, Atoms) else type(units)


def units_like(family: Family, x: Floats, num_units: int) -> LeafFamily:
    """Equal units that fit a column; shapes x (N,)."""
    return family.like(x, num_units) if isinstance(family, type) else family.again(x, num_units)


def coded(
    table: Floats, families: list[Family], num_codes: Sequence[int] | None = None
) -> tuple[Ints, Ints]:
    """(N, V) codes of a table, -1 where missing, and their numbers: categories as they are, else quantiles.

    Shapes: table (N, V) -> (N, V), (V,).
    """
    most = [NUM_CODES] * table.shape[1] if num_codes is None else num_codes
    codes, numbers = np.full(table.shape, -1), np.empty(table.shape[1], dtype=np.int64)
    for v, family in enumerate(families):
        seen = ~np.isnan(table[:, v])
        column = table[seen, v]
        if isinstance(family, Categorical):
            codes[seen, v], numbers[v] = column, family.num_categories
            continue
        cuts = np.unique(np.quantile(column, np.arange(1, most[v]) / most[v]))
        codes[seen, v], numbers[v] = np.searchsorted(cuts, column, side="right"), most[v]
    return codes, numbers
