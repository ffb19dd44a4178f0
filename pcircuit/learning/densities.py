"""Circuits of densities to start EM from: structure and first flows from a table of quantile codes.

Each column of numbers is coded by its quantiles.  A circuit of these categories is learned as usual, with a few epochs
of EM, so that its hidden states mean something.  Let F[k, c] be the flow of unit k and code c.  The rows of code c are
shared out among the units in these proportions, and each unit of the family asked for is fitted to its rows:

    f_nk = F[k, c_n] / (number of rows with code c_n),        leaves = maximize(statistics(x, f)).

Weights of sums stay as they are.  So EM for densities begins where that for codes has come.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.evidence import float_table
from pcircuit.inference.flows import expected_flows
from pcircuit.leaves.choice import coded, families_of
from pcircuit.regions import InputRegion, LeafFamily

PRIOR_WEIGHT = 1.0  # pseudocount of the first units: one without rows gets those of the column


def start_of_densities(
    data: ArrayLike,
    leaves: Any,
    start: Callable[[Ints, Ints], Circuit],
    num_codes: Sequence[int] | None = None,
) -> Circuit:
    """The circuit of densities for that which `start` learns of a table of codes and their numbers.

    Shapes: data (N, V).
    """
    table = float_table(data)
    families = families_of(leaves, table)
    codes, numbers = coded(table, families, num_codes)
    return with_families(start(codes, numbers), table, codes, families)


def with_densities(circuit: Circuit, data: ArrayLike, leaves: Any) -> Circuit:
    """A circuit of categories with densities instead, for rows of which its categories are quantile codes.

    Shapes: data (N, V).
    """
    table = float_table(data)
    if table.shape[1] != circuit.num_variables or not circuit.is_categorical:
        found = (
            f"{table.shape[1]} columns" if circuit.is_categorical else "leaves that are no tables"
        )
        raise ValueError(
            f"`leaves` take the place of tables of categories, for `data` of {circuit.num_variables} columns, found "
            f"{found}: leave `leaves` out, or begin with a circuit such as `hclt` makes of codes"
        )
    return start_of_densities(table, leaves, lambda codes, _: circuit, circuit.num_categories)


def with_families(
    circuit: Circuit, table: Floats, codes: Ints, families: list[LeafFamily]
) -> Circuit:
    """The circuit of codes with densities instead, fitted to the flows; shapes table (N, V), codes (N, V)."""
    flows = expected_flows(circuit, codes).by_region(circuit)
    regions = list(circuit.regions)
    for v, r in enumerate(circuit.vtree.leaf_of().tolist()):
        if families[v].num_categories:
            continue
        K, x, code = circuit.inputs[v].num_units, table[:, v], codes[:, v]
        counts = np.maximum(np.bincount(code[code >= 0], minlength=flows[r].shape[1]), 1)
        shares = np.where(code[:, None] >= 0, (flows[r] / counts).T[code], 0.0)
        units = families[v].again(x, K)
        regions[r] = InputRegion(v, units.maximize(units.statistics(x, shares), PRIOR_WEIGHT))
    return Circuit(circuit.vtree, regions)
