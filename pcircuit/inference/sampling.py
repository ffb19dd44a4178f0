"""Sampling: one walk from the root to the leaves.

A sample of a circuit visits every region exactly once.  It enters the root region at its only unit; at sum unit k
it draws one product p with probability ``weights[k, p]``, and goes on to unit ``products[p, c]`` of each child c;
at input unit k of a leaf it draws the category x with probability ``probs[k, x]``.  Together the drawn
categories are a row with exactly the probability that the circuit gives it (ancestral sampling).  In a lecture, for N
samples at a time:

>>> def plain_sample(circuit, N, rng):
...     uniforms = rng.random((N, circuit.num_regions))
...     rows, unit = np.zeros((N, circuit.num_variables), dtype=int), [None] * circuit.num_regions
...     unit[-1] = np.zeros(N, dtype=int)                             # the unit at which each sample enters the region
...     for r in reversed(range(circuit.num_regions)):                # parents before children
...         region = circuit.regions[r]
...         probs = region.probs if region.is_input else region.dense_weights()      # one row for each unit
...         passed = np.cumsum(probs, axis=1)[unit[r]] <= uniforms[:, [r]]
...         drawn = passed.sum(axis=1)                                # (N,) a category, or a product
...         if region.is_input:
...             rows[:, region.variable] = drawn
...         for c, child in enumerate(circuit.vtree.children(r)):
...             unit[child] = region.products[drawn, c]
...     return rows
>>> from pcircuit import rat_spn
>>> circuit = rat_spn([2] * 6, num_units=3, depth=2, rng=0)
>>> bool((plain_sample(circuit, 1000, np.random.default_rng(1)) == sample(circuit, 1000, rng=1)).all())
True

**Drawing.**  From u uniform on [0, 1), inversion takes the outcome j with  c_{j-1} <= u < c_j,  where c_j is
the cumulative probability of outcomes 0..j; the empty interval of an impossible outcome holds no u.  For speed all
rows of a region lie one after the other in one ascending table, k + c_j for unit k, in which a binary search finds
k + u in the same few steps for all samples, whatever unit they are at.  Uniforms have 53 random bits, of which 1,000
units leave 43: with the 24 of single precision an outcome of probability 1e-9 would never be drawn, or 60 times too
often.

**Conditioning.**  Given observed entries, the upward pass (`likelihood.upward`, missing entries summed out)
says how well each product agrees with what was observed below it.  By Bayes' rule the walk then takes product
p at sum unit k with probability proportional to ``weights[k, p]`` times the value of product p (`_descend`).  Only
ratios inside a region matter, so the powers of two that the upward pass takes out need not be put back; rows that it
marks as suspect use logarithms instead.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcircuit.arguments import (
    Evidence,
    Floats,
    Ints,
    Seed,
    Weights,
    check_generator,
    check_memory,
    check_whole_number,
)
from pcircuit.circuit import Circuit, Mixture, check_distribution, derived
from pcircuit.evidence import check_evidence, check_values
from pcircuit.inference.densities import at_rows, dense_variables
from pcircuit.inference.likelihood import log_parts, upward
from pcircuit.inference.log_domain import log_of, log_units

BLOCK_VALUES = 3_000_000  # uniforms, or unit values, that are held at once
MAX_ROWS, MIN_ROWS = (
    4096,
    64,
)  # of a block: the working arrays of a region stay in the cache, calls stay few
DRAWN_ROWS, DRAWN_VALUES = (
    1024,
    20_000_000,
)  # without evidence, so that calls do not take longer than work


def sample(
    circuit: Circuit | Mixture,
    num_samples: int | None = None,
    *,
    given: ArrayLike | None = None,
    rng: Seed = None,
) -> NDArray[np.unsignedinteger[Any]]:
    """Draw rows from a circuit, or complete rows that are observed in part.

    Without evidence x_n ~ p(x), independently.  With evidence the missing entries of row n are drawn from
    p(x_missing | x_observed), exactly, and the observed ones are kept.

    Parameters
    ----------
    circuit : Circuit or Mixture
        Normalised.  For a mixture each row comes from circuit m with probability w_m, or, given evidence, in proportion
        to w_m p_m(x_observed).
    num_samples : int, optional
        N, the number of rows, at least 0.  With evidence it may be left out, or repeats a single row N times.
    given : (N, V) integer array_like or mapping of int to int, optional
        Observed categories; -1 marks an entry to be drawn, as do NaN and a mask.  A mapping is one row, as in {0: 1}.
    rng : int or numpy.random.Generator, optional
        Seed or generator; None draws a fresh seed.

    Returns
    -------
    (N, V) unsigned integer array
        Categories 0..C-1 in the smallest dtype that holds them all: uint8 up to 256 categories, uint16 up
        to 65,536, then uint32.  float64 where leaves are no tables.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    ValueError
        If `num_samples` is missing, negative or at odds with `given`, if `given` does not fit the
        circuit, or if a row of it has probability zero (the first one is named).
    TypeError
        If `num_samples` is not an integer.

    Notes
    -----
    One uniform per region and row, taken from the generator row by row: with one seed, the first rows of a
    longer sample are the shorter sample.  So are those of a mixture, of which the choice of a circuit and each
    circuit have generators of their own.  O(A + log P) array operations per region and row without evidence,
    O(number of parameters) with it; memory beyond the result does not grow with N.

    References
    ----------
    Devroye (1986), Non-Uniform Random Variate Generation, section III.2 (inversion by search); Pearl (1988),
    Probabilistic Reasoning in Intelligent Systems (ancestral sampling).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> twins = Circuit(VTree.from_nested([0, 1]), [          # two variables that always agree
    ...     InputRegion(0, np.eye(2)), InputRegion(1, np.eye(2)),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    >>> rows = sample(twins, 1000, rng=0)
    >>> rows.dtype, bool((rows[:, 0] == rows[:, 1]).all())
    (dtype('uint8'), True)
    >>> sample(twins, given=[[1, -1], [-1, 0]])
    array([[1, 1],
           [0, 0]], dtype=uint8)
    """
    if isinstance(circuit, Mixture):
        return _of_mixture(circuit, num_samples, given, check_generator(rng))
    check_distribution(circuit)
    rng = check_generator(rng)
    observed = None if given is None else _checked_evidence(circuit, given)
    count = _checked_count(num_samples, observed)
    if observed is not None and len(observed) == 1:
        observed = np.broadcast_to(observed, (count, circuit.num_variables))
    dtype = np.dtype(_category_dtype(circuit))
    _check_size(count, circuit.num_variables * dtype.itemsize)
    rows = np.empty((count, circuit.num_variables), dtype=dtype)
    tables = _tables(circuit)
    own = [np.random.default_rng(seed) for seed in _seeds_of_leaves(circuit, rng)]
    step = (
        _rows_per_block(circuit.num_units, MIN_ROWS)
        if observed is not None
        else _rows_per_block(len(tables), min(DRAWN_ROWS, DRAWN_VALUES // len(tables)))
    )
    piece, space = _rows_per_block(len(tables), MIN_ROWS), np.empty((len(tables), min(step, count)))
    for start in range(0, count, step):
        block = rows[start : start + step]
        uniforms = space[:, : len(block)]
        for lo in range(
            0, len(block), piece
        ):  # a whole block beside its transpose would take twice the memory
            uniforms[:, lo : lo + piece] = rng.random((min(piece, len(block) - lo), len(tables))).T
        if observed is None:
            _draw_rows(tables, uniforms, block)
            missing = np.ones(block.shape, dtype=bool) if own else None
        else:
            shown = observed[start : start + step]
            _complete_rows(circuit, shown, uniforms, block, start)
            missing = np.isnan(shown) if own else None
        for v, generator in zip(dense_variables(circuit).tolist(), own, strict=True):
            rest = np.flatnonzero(missing[:, v])  # type: ignore[index]
            units = block[rest, v].astype(np.int64)
            block[rest, v] = circuit.inputs[v].leaves.sample(units, generator)
    return rows


def _checked_evidence(circuit: Circuit, evidence: ArrayLike) -> Any:
    """Evidence of a circuit: integers, or floats with NaN where some leaves are no tables."""
    check = check_evidence if circuit.is_categorical else check_values
    return check(circuit, evidence, name="given")


def _seeds_of_leaves(circuit: Circuit, rng: np.random.Generator) -> Any:
    """Seeds for the draws of each variable that has no table: a longer sample begins like a shorter one."""
    dense = len(dense_variables(circuit))
    return rng.integers(2**32, size=(dense, 4)) if dense else []


def _of_mixture(
    mixture: Mixture, num_samples: int | None, evidence: ArrayLike | None, rng: np.random.Generator
) -> NDArray[np.unsignedinteger[Any]]:
    """Which circuit each row comes from, given its evidence; then the rows of each circuit.

    With a generator for each of these, a longer sample draws the same numbers for its first rows as a shorter one.
    """
    first = mixture.pattern
    choice, *own = (
        np.random.default_rng(seed)
        for seed in rng.integers(2**32, size=(len(mixture.circuits) + 1, 4))
    )
    observed = None if evidence is None else _checked_evidence(first, evidence)
    count = _checked_count(num_samples, observed)
    _check_size(count, np.dtype(float).itemsize)
    share = np.broadcast_to(
        mixture.weights, (1 if observed is None else len(observed), len(mixture.weights))
    )
    if observed is not None:
        logs = np.stack(list(log_parts(mixture, observed)), axis=1)
        best = logs.max(axis=1, keepdims=True)
        if np.isneginf(best).any():
            _refuse(int(np.argmin(best)))
        share = np.exp(logs - best)
        share /= share.sum(axis=1, keepdims=True)
        observed = np.broadcast_to(observed, (count, mixture.num_variables))
    cumulative = np.cumsum(share, axis=1)
    cumulative[cumulative >= cumulative[:, -1:]] = (
        np.inf
    )  # no gap after the last circuit that is possible
    member = (cumulative <= choice.random(count)[:, None]).sum(axis=1)
    rows = np.empty((count, mixture.num_variables), dtype=_category_dtype(first))
    for m, circuit in enumerate(mixture.circuits):
        chosen = np.flatnonzero(member == m)
        given = None if observed is None else observed[chosen]
        if len(chosen):
            rows[chosen] = circuit.sample(len(chosen), given=given, rng=own[m])
    return rows


def _checked_count(num_samples: int | None, evidence: Evidence | None) -> int:
    """The number of rows that `num_samples` and `given` together ask for."""
    if num_samples is None:
        if evidence is None:
            raise ValueError(
                "`num_samples` is missing: give the number of rows to draw, or `given` to complete"
            )
        return len(evidence)
    count = check_whole_number(num_samples, "num_samples", 0)
    if evidence is not None and len(evidence) not in (1, count):
        raise ValueError(
            f"`num_samples` is {count} but `given` has {len(evidence)} rows: leave "
            "`num_samples` out, or give one row of evidence to repeat"
        )
    return count


def _check_size(count: int, size: int) -> None:
    """MemoryError for more rows of so many bytes than there is memory."""
    check_memory(f"a table of {count} rows", count * size, "draw fewer at a time")


def _category_dtype(circuit: Circuit) -> np.dtype[Any]:
    """Smallest unsigned dtype that holds every category; floats where some variables have none."""
    if not circuit.is_categorical:
        return np.dtype(np.float64)
    return np.min_scalar_type(max(circuit.num_categories) - 1)


def _rows_per_block(values_per_row: int, least: int) -> int:
    """Rows to draw at once, so that a block's values fill a bounded memory, but for the `least`."""
    return int(np.clip(BLOCK_VALUES // values_per_row, max(least, MIN_ROWS), MAX_ROWS))


class _Table(NamedTuple):
    """The rows of one region, laid out for the search; E entries in all."""

    cumulative: Floats  # (E,) k + the cumulative probabilities of unit k, ascending
    starts: Ints  # (K,) entry at which the row of each unit starts
    stride: int  # first stride of the search
    variable: int  # of a leaf, else -1
    children: tuple[int, ...]  # child regions
    outcomes: tuple[NDArray[Any], ...]  # (E,) the unit of each child; at a leaf the category alone


def _tables(circuit: Circuit) -> list[_Table]:
    """The search tables of all regions, made once and kept with the circuit."""
    dtype = _category_dtype(circuit)
    return derived(
        circuit,
        "sampling_tables",
        lambda: [
            _table(region, children, dtype)
            for region, children in zip(circuit.regions, circuit.vtree.child_lists(), strict=True)
        ],
    )


def _table(region: Any, children: list[int], dtype: np.dtype[Any]) -> _Table:
    """Search table of one region."""
    K = region.num_units
    if region.is_input and not region.num_categories:  # what is drawn is the unit
        return _Table(np.ones(K), np.arange(K), 0, region.variable, (), (np.arange(K),))
    probs = region.probs if region.is_input else region.weights
    if region.is_sparse:
        rows, outcome = np.split(probs.data, probs.indptr[1:-1]), probs.indices
    else:
        rows, outcome = list(probs), np.tile(np.arange(probs.shape[1]), K)
    # rounding may leave a sum short of 1: the gap must not fall to an outcome of probability zero
    sums = [np.cumsum(row) for row in rows]
    cumulative = np.concatenate([k + row / row[-1] for k, row in enumerate(sums)])
    sizes = np.array([len(row) for row in rows])
    starts, stride = np.cumsum(sizes) - sizes, 1 << int(sizes.max() - 1).bit_length() >> 1
    if region.is_input:
        return _Table(cumulative, starts, stride, region.variable, (), (outcome.astype(dtype),))
    units = tuple(np.ascontiguousarray(column[outcome]) for column in region.products.T)
    return _Table(cumulative, starts, stride, -1, tuple(children), units)


def _draw_rows(tables: list[_Table], uniforms: Floats, rows: Evidence) -> None:
    """Fill `rows` (n, V) from `uniforms` (R, n)."""
    unit: list[Any] = [None] * len(tables)
    unit[-1] = np.zeros(len(rows), dtype=np.int64)
    for r in range(len(tables) - 1, -1, -1):
        table = tables[r]
        entry = _search(table, unit[r], uniforms[r])
        unit[r] = None  # a finished region frees its memory
        if table.variable >= 0:
            rows[:, table.variable] = table.outcomes[0].take(entry)
        for child, outcome in zip(table.children, table.outcomes, strict=False):
            unit[child] = outcome.take(entry)


def _search(table: _Table, units: Ints, uniforms: Floats) -> Ints:
    """(n,) entry drawn by each sample, which is at unit (n,), by a uniform (n,)."""
    place = units + np.minimum(uniforms, 1 - np.spacing(float(len(table.starts))))  # below k + 1
    position, stride = table.starts.take(units), table.stride
    while stride:
        # entry `position + stride - 1`, by shifting the table; beyond the row all are larger
        bound = table.cumulative[stride - 1 :].take(position, mode="clip")
        position = position + (bound <= place) * np.int64(stride)
        stride //= 2
    return position


def _complete_rows(
    circuit: Circuit, evidence: Evidence, uniforms: Floats, rows: Evidence, start: int
) -> None:
    """Fill `rows` (n, V) with `evidence`, drawn by `uniforms` (R, n) where that is -1; row 0 is `start`."""
    there, codes = circuit, evidence
    if not circuit.is_categorical:
        block = at_rows(circuit, evidence, slice(None))
        there, codes = block.circuit, block.codes
    shown, products, _, suspect = upward(there, codes)
    impossible = shown[-1][0] == 0
    if suspect.any():
        log_shown, log_products = log_units(there, codes[suspect])
        impossible[suspect] = log_shown[-1][0] == -np.inf
    if impossible.any():
        _refuse(start + int(np.argmax(impossible)))
    rows[:] = _descend(circuit, evidence, uniforms, products, _posterior)
    if suspect.any():
        rows[suspect] = _descend(
            circuit, evidence[suspect], uniforms[:, suspect], log_products, _posterior_of_logs
        )


def _refuse(row: int) -> NoReturn:
    """Raise for a row of evidence that cannot happen."""
    raise ValueError(
        f"`given` has probability zero at row {row}: nothing can be drawn given an impossible row, so "
        "mark more of it as missing (-1)"
    )


def _descend(
    circuit: Circuit,
    evidence: Evidence,
    uniforms: Floats,
    products: list[Any],
    posterior: Callable[[Weights, Ints, Floats], Floats],
) -> Evidence:
    """(n, V) completed rows, by the walk from the root with the posterior weights of each row."""
    tables = _tables(circuit)
    rows = evidence.astype(
        _category_dtype(circuit)
    )  # -1 turns into some category and is overwritten
    units: list[Any] = [None] * len(tables)
    units[-1] = np.zeros(len(rows), dtype=np.int64)
    for r in range(len(tables) - 1, -1, -1):
        table, region = tables[r], circuit.regions[r]
        if region.is_input:
            column = evidence[:, table.variable]
            missing = np.flatnonzero((column < 0) if circuit.is_categorical else np.isnan(column))
            entry = _search(table, units[r][missing], uniforms[r][missing])
            rows[missing, table.variable] = table.outcomes[0].take(entry)
            continue
        chosen = _invert(posterior(region.weights, units[r], products[r]), uniforms[r])
        for a, child in enumerate(table.children):
            units[child] = region.products[chosen, a]
    return rows


def _posterior(weights: Weights, units: Ints, products: Floats) -> Floats:
    """(P, n) weight of each product given the evidence, up to a factor per sample, from values (P, n)."""
    prior = weights[units]
    return np.asarray((prior.toarray() if hasattr(prior, "toarray") else prior).T * products)


def _posterior_of_logs(weights: Weights, units: Ints, log_products: Floats) -> Floats:
    """The same from natural logarithms (P, n); the largest weight of each sample is 1."""
    prior = _posterior(weights, units, np.ones_like(log_products))
    log_posterior = log_of(prior) + log_products
    return np.asarray(np.exp(log_posterior - log_posterior.max(axis=0)))


def _invert(weights: Floats, uniforms: Floats) -> Ints:
    """(n,) outcome of each sample from its own weights (P, n) and a uniform (n,), by inversion."""
    cumulative = np.cumsum(weights, axis=0)
    threshold = (
        uniforms * cumulative[-1]
    )  # rounds below the total, since a uniform is at most 1 - 2**-53 ...
    return np.asarray(np.minimum((cumulative <= threshold).sum(axis=0), len(weights) - 1))
