"""Conditioning: what a circuit says once some variables are known, or known to lie in a set.

An event gives a set of levels for some variables, E = {x : x_v in E_v for each of these v}.  Since an event splits over
the variables, p(x) 1[x in E] is the same circuit with other inputs: in the table of each variable the entries outside
E_v become zero.  Its sum over all states is P(E), and dividing by it gives the conditional distribution

    p(x | E) = p(x) 1[x in E] / P(E).

The division is carried out unit by unit (`normalize`), from the leaves to the root: with Z_k the total of unit k,

    inputs     p_k(c) / Z_k                    Z_k = sum_c p_k(c)
    products   divided by the product of their children's totals
    sums       w_kp Z_p / Z_k                  Z_k = sum_p w_kp Z_p,     Z_p = prod_c Z_{u(p,c)}

so that every unit becomes a distribution, whatever the scale of the numbers: totals are carried as logarithms.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Floats,
    Weights,
    check_flag,
    check_integers,
    check_numbers,
    is_listing,
    shown,
)
from pcircuit.circuit import Circuit, check_circuit, factors
from pcircuit.evidence import all_missing, check_row, is_missing
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.log_domain import log_of
from pcircuit.leaves import Atoms, Gaussian
from pcircuit.operations.marginals import marginalize
from pcircuit.regions import InnerRegion, InputRegion, StructureError

Event = Mapping[int, "float | Collection[float]"] | ArrayLike


def condition(circuit: Circuit, event: Event, *, keep_known: bool = False) -> Circuit:
    """The conditional distribution given an event, as a circuit.

    p(x | E) = p(x) 1[x in E] / P(E), over the variables that E does not fix to a single level.

    Parameters
    ----------
    circuit : Circuit
    event : mapping of int to int or collection of int, or (V,) int array_like
        For some variables the level, or the levels, that they have; or a row of evidence, -1 where nothing is known.
        Where leaves are no tables, a number or an interval ``(low, high)``, which means low < x <= high; ends may be
        infinite, and NaN means that nothing is known.
    keep_known : bool, default False
        Keep variables with a single level, too, so that no variable is renumbered.

    Returns
    -------
    Circuit
        Normalised.  The remaining variables are renumbered 0, 1, ... in ascending order of their old numbers.

    Raises
    ------
    ValueError
        If the event is impossible, names a variable or level that does not exist, or leaves no variable.
    TypeError
        If `event` is neither.

    Notes
    -----
    O(number of parameters).

    References
    ----------
    Choi, Vergari and Van den Broeck (2020), Probabilistic Circuits: A Unifying Framework for Tractable Probabilistic
    Models.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> condition(circuit, {0: 1}).regions[0].probs.round(4)     # (0.025 * 0.7 + 0.6 * 0.4) / (0.025 + 0.6)
    array([[0.412, 0.588]])
    """
    keep_known = check_flag(keep_known, "keep_known")
    levels = event_levels(circuit, event)
    fixed = [
        v
        for v, allowed in levels.items()
        if (allowed.sum() if circuit.num_categories[v] else len(allowed)) == 1
    ]
    known = [] if keep_known else fixed
    if len(known) == circuit.num_variables:
        raise ValueError(
            "`event` fixes all variables, so nothing is left: use `log_likelihood`, or keep_known=True"
        )
    conditioned, log_total = _normalized(*restricted(circuit, levels))
    if log_total == -np.inf:
        raise ValueError(
            "`event` has probability zero under the circuit, so there is no conditional distribution"
        )
    return marginalize(conditioned, known) if known else conditioned


def log_probability(circuit: Circuit, event: Event) -> float:
    """Natural logarithm of the probability of an event.

    ln P(E) = ln of the sum of p(x) over all x with x_v in E_v for each variable v that the event names.

    Parameters
    ----------
    circuit : Circuit
    event : mapping of int to int or collection of int, or (V,) int array_like
        As for `condition`.

    Returns
    -------
    float
        -inf where the event is impossible.  Values of densities make it a log density.

    Raises
    ------
    TypeError, ValueError
        If the event is not of this kind, or names what does not exist.

    Notes
    -----
    One evaluation of the circuit.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> die = Circuit(VTree([-1], [0]), [InputRegion(0, [[1 / 6] * 6])])
    >>> round(float(np.exp(log_probability(die, {0: {1, 3, 5}}))), 12)
    0.5
    """
    given, scales = restricted(circuit, event_levels(circuit, event))
    if scales:
        return _normalized(given, scales)[1]
    return float(log_likelihood(given, all_missing(given))[0])


def normalize(circuit: Circuit) -> Circuit:
    """The distribution proportional to a circuit: f(x) / sum over all x of f(x), every unit a distribution.

    Parameters
    ----------
    circuit : Circuit
        Not zero everywhere.

    Returns
    -------
    Circuit
        With the same v-tree, products and sparsity.  Units that are zero everywhere, which nothing uses, become
        uniform.

    Raises
    ------
    StructureError
        If the circuit is zero everywhere.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    O(number of parameters).  Totals are carried as logarithms, so none under- or overflows.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> normalize(Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 3.0]])])).regions[0].probs
    array([[0.25, 0.75]])
    """
    check_circuit(circuit)
    found, log_total = _normalized(circuit, {})
    if log_total == -np.inf:
        raise StructureError(
            "`circuit` is zero for every state, so it is proportional to no distribution"
        )
    return found


def _normalized(circuit: Circuit, scales: Mapping[int, Floats]) -> tuple[Circuit, float]:
    """The distribution proportional to a circuit, and ln of its total.

    `scales` holds for some variables ln of what each unit (K,) is to be multiplied by.
    """
    regions: list[Any] = []
    log_totals: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input and not region.num_categories:
            regions.append(region)
            log_totals.append(scales.get(region.variable, np.zeros(region.num_units)))
            continue
        if region.is_input:
            largest = region.probs.max(axis=1, keepdims=True)
            scaled = np.where(largest > 0, region.probs / np.where(largest > 0, largest, 1.0), 1.0)
            totals = scaled.sum(axis=1, keepdims=True)
            log_totals.append(log_of(largest[:, 0]) + np.log(totals[:, 0]))
            regions.append(InputRegion(region.variable, scaled / totals))
            continue
        log_products: Any = sum(factors(circuit, r, log_totals))
        weights, totals = _normalized_weights(region, log_products)
        regions.append(InnerRegion(region.products, weights))
        log_totals.append(totals)
    return Circuit(circuit.vtree, regions), float(log_totals[-1][0])


def event_levels(circuit: Circuit, event: Event) -> dict[int, np.ndarray]:
    """An event as one array of allowed levels for each variable that it names."""
    check_circuit(circuit)
    if not isinstance(event, Mapping):
        row = check_row(circuit, event, "event")
        event = {v: row[v].item() for v in np.flatnonzero(~is_missing(row)).tolist()}
    expected = f"a mapping from variables 0..{circuit.num_variables - 1} to levels"
    variables = check_integers(list(event), "event", expected, 0, circuit.num_variables - 1)
    levels: dict[int, Any] = {}
    for v, allowed in zip(variables.tolist(), event.values(), strict=True):
        if not circuit.num_categories[v]:
            levels[v] = _value_or_interval(v, allowed)
            continue
        listed: Any = list(allowed) if is_listing(allowed) else [allowed]  # type: ignore[arg-type]
        mask = np.zeros(circuit.num_categories[v], dtype=bool)
        expected = f"a mapping that has levels 0..{len(mask) - 1} for variable {v}"
        numbers = check_integers(listed, "event", expected, 0, len(mask) - 1)
        if numbers.ndim != 1 or not numbers.size:
            raise ValueError(
                f"`event` must be {expected}, found {shown(allowed)}: name at least one, or leave the "
                "variable out"
            )
        mask[numbers] = True
        levels[v] = mask
    return levels


def _value_or_interval(v: int, allowed: Any) -> Floats:
    """The value, (1,), or the interval, (2,), that an event gives to a variable without categories."""
    listed = list(allowed) if is_listing(allowed) else [allowed]
    expected = f"a mapping that has a number, or (low, high) for low < x <= high, for variable {v}"
    ends = check_numbers(listed, "event", expected, finite=False)
    is_interval = ends.shape == (2,) and ends[0] < ends[1]
    if not is_interval and not (ends.shape == (1,) and np.isfinite(ends[0])):
        raise ValueError(f"`event` must be {expected}, found {shown(allowed)}")
    return ends


def restricted(
    circuit: Circuit, levels: Mapping[int, np.ndarray]
) -> tuple[Circuit, dict[int, Floats]]:
    """The circuit f(x) 1[x in E], and ln of what units of some variables are still to be multiplied by.

    Entries of tables outside the allowed levels become zero; other leaves are conditioned, and their factors are the
    probabilities of the interval, or the densities of the value.
    """
    scales: dict[int, Floats] = {}
    regions = list(circuit.regions)
    for v, r in enumerate(circuit.vtree.leaf_of().tolist()):
        if v not in levels:
            continue
        leaves, allowed = circuit.inputs[v].leaves, levels[v]
        if leaves.num_categories:
            regions[r] = InputRegion(v, circuit.inputs[v].probs * allowed)
        elif len(allowed) == 2:
            scales[v] = log_of(leaves.interval(*allowed.tolist()))
            regions[r] = InputRegion(v, leaves.condition(*allowed.tolist()))
        else:
            scales[v] = leaves.log_density(allowed)[0]
            point = Gaussian(np.zeros(leaves.num_units), np.ones(leaves.num_units))
            regions[r] = InputRegion(v, Atoms(allowed, np.ones((leaves.num_units, 1)), point))
    return Circuit(circuit.vtree, regions), scales


def _normalized_weights(region: InnerRegion, log_products: np.ndarray) -> tuple[Any, ...]:
    """Weights w_kp Z_p / Z_k, and (K,) ln Z_k."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if not region.is_sparse:
            terms = np.log(region.weights) + log_products
            top = terms.max(axis=1, keepdims=True)
            scaled = np.where(top > -np.inf, np.exp(terms - top), 1.0)
            totals = scaled.sum(axis=1, keepdims=True)
            return scaled / totals, (top + np.log(totals))[:, 0]
        weights = _without_empty_rows(region.weights)
        terms = np.log(weights.data) + log_products[weights.indices]
        rows = np.repeat(np.arange(region.num_units), np.diff(weights.indptr))
        top = np.full(region.num_units, -np.inf)
        np.maximum.at(top, rows, terms)
        weights.data = np.where(top[rows] > -np.inf, np.exp(terms - top[rows]), 1.0)
        totals = np.bincount(rows, weights.data, minlength=region.num_units)
        weights.data = weights.data / totals[rows]
        return weights, top + np.log(np.where(totals > 0, totals, 1.0))


def _without_empty_rows(weights: Weights) -> Weights:
    """A copy of CSR weights in which rows without stored entries store their first one, as zero."""
    import scipy.sparse

    sizes = np.diff(weights.indptr)
    starts = weights.indptr[:-1][sizes == 0]
    indptr = np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))])
    parts = np.insert(weights.data, starts, 0.0), np.insert(weights.indices, starts, 0), indptr
    return scipy.sparse.csr_array(parts, shape=weights.shape)
