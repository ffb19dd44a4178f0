"""Likelihoods: one pass from the inputs to the root.

    input unit k of variable v:   p_k(x_v), a look-up;            1 where x_v is missing
    product unit p:               the product over children c of unit products[p, c] of child c
    sum unit k:                   sum_p weights[k, p] * product p

In a lecture, for N rows, with the regions in the order in which a circuit lists them, children before parents:

>>> def plain_values(circuit, rows):                                  # (N, V) categories, -1 where missing
...     values = []                                                   # of each region (K, N): its K units, N rows
...     for r, region in enumerate(circuit.regions):
...         if region.is_input:
...             x = rows[:, region.variable]
...             values.append(np.where(x < 0, 1.0, region.probs[:, x]))
...             continue
...         product = 1.0
...         for c, child in enumerate(circuit.vtree.children(r)):
...             product = product * values[child][region.products[:, c]]      # (P, N)
...         values.append(region.weights @ product)                   # (K, P) @ (P, N)
...     return values                                                 # the root has one unit: values[-1][0] is p(x)
>>> from pcircuit import rat_spn
>>> circuit, rows = rat_spn([2] * 6, num_units=3, depth=2, rng=0), np.random.default_rng(1).integers(-1, 2, (50, 6))
>>> bool(np.allclose(np.log(plain_values(circuit, rows)[-1][0]), log_likelihood(circuit, rows), rtol=1e-12))
True

A missing value costs nothing: summing over the values of a variable replaces its inputs by the sums of their
probabilities, which are 1.

Likelihoods of many variables are too small for a double, but a logarithm of every unit would cost more than all the
rest.  So the pass takes powers of two out of all units of a row where they get small, and only the root takes a
logarithm.  After rescaling, values far below a row's largest are stored as small negative numbers ("marked"), so that
they can be found again.  `kernels.rescaling` says where and why; skip `_multiplied` and `_rescaled` at first:

    log p(x) = log(root value) + log 2 * (powers of two taken out).

`upward` is that pass in NumPy, on a block of rows; `kernels.programs.evaluation` is its compiled twin.
Rows in which one unit falls so far behind another of its region that it would be lost are "suspect": they are
evaluated again with one logarithm per unit (`inference.log_domain`), as are all rows of a circuit that may overflow.
`pack` copies all parameters into a few flat arrays for the kernels; a tile is a group of rows that they do together.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Bools, Evidence, Floats, Ints, check_choice
from pcircuit.circuit import Circuit, Mixture, check_circuit, factors, plain
from pcircuit.evidence import as_integer_table, check_values, refuse_out_of_range
from pcircuit.inference.densities import AtRows, by_blocks
from pcircuit.inference.log_domain import log_of, log_units, may_overflow
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.kernels.engine import in_numpy
from pcircuit.kernels.operations import TILE_ROWS
from pcircuit.kernels.packed import FIRST_CHILD, Packed, table_of
from pcircuit.kernels.packing import pack, packed_as
from pcircuit.kernels.programs import evaluation
from pcircuit.kernels.rescaling import (
    LAST_HERE,
    LIFT_HERE,
    LIFT_RISKY,
    NO_RESCALE,
    RESCALE_RISKY,
    Limits,
    limits_of,
)
from pcircuit.kernels.tile import MOST_CATEGORIES, drop_work, free_work, groups

CHUNK_WORK = 2**23  # units and weights times rows of one thread's unit of work: about a millisecond
MOST_KEEPING = (
    16  # circuits of a mixture that keep the memory in which they worked, each some megabytes
)
NUMPY_VALUES = 4_000_000  # of the widest region, for a block of rows in NumPy
UNIT_SECONDS, WEIGHT_SECONDS = 1e-8, 1.5e-10  # of NumPy, for a row
REGION_SECONDS, BLOCK_ROWS = 1.5e-5, 1024  # for a region of a block of so many
LOG_2 = float(np.log(2.0))
DTYPES = ("float64", "float32")


def log_likelihood(
    circuit: Circuit | Mixture,
    data: ArrayLike,
    *,
    n_jobs: int | None = None,
    dtype: str = "float64",
) -> Floats:
    """Natural log-likelihood of each row.

    log p(x_n) with missing entries (-1) integrated out exactly: log of the sum of p over their values.

    Parameters
    ----------
    circuit : Circuit or Mixture
        For a mixture, log sum_m w_m p_m(x_n).
    data : (N, V) array_like
        Evidence: categories, -1, NaN or masked where missing; numbers where leaves are densities, NaN or masked where
        missing.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.
    dtype : "float64" or "float32"
        Numbers to compute with; "float32" takes up to half the time where regions have many units, with an absolute
        error below 1e-5 for up to 784 variables.  What it cannot hold is computed in float64: densities, circuits that
        are not normalised or have parameters below 1e-30, rows in which it would underflow.

    Returns
    -------
    (N,) float64 array
        Natural logarithms; -inf for an impossible row, never NaN and never +inf, even where the likelihood of a
        circuit that is not normalised is too large for a double.  A row with all entries missing gives the log of the
        total mass, 0 for a distribution.

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit; see `check_evidence`.

    Notes
    -----
    O(number of parameters) multiplications per row; memory for one tile per thread, kept with the circuit for the next
    call.  The relative error of a likelihood, which is the absolute one of its logarithm, is at most n u + 2 u |log p|
    with u = 2**-53 and n the number of roundings on the longest path to the root.

    References
    ----------
    Poon and Domingos (2011), Sum-Product Networks, UAI; Darwiche (2003), A differential approach to inference in
    Bayesian networks, J. ACM 50.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> np.exp(log_likelihood(coin, [[0], [1], [-1]]))
    array([0.25, 0.75, 1.  ])
    """
    if isinstance(circuit, Mixture):
        return functools.reduce(np.logaddexp, log_parts(circuit, data, n_jobs, dtype))
    check_circuit(circuit)
    check_choice(dtype, "dtype", DTYPES)
    if not circuit.is_categorical:
        values, _ = check_values(circuit, data), count_jobs(n_jobs)
        in_numpy = evaluated_in_numpy(circuit, len(values))
        return np.concatenate(list(by_blocks(circuit, values, n_jobs, in_numpy, _of_densities)))
    rows, _ = as_integer_table(circuit, data), count_jobs(n_jobs)
    packed, result = packed_as(circuit, dtype), np.empty(len(rows))
    if evaluated_in_numpy(circuit, len(rows)):
        refuse_out_of_range(circuit, rows)
        widest = max(region.num_nodes for region in circuit.regions)
        step = int(np.clip(NUMPY_VALUES // widest, 16, 4096))
        for start in range(0, len(rows), step):
            block, part = rows[start : start + step], result[start : start + step]
            suspect = np.ones(len(block), dtype=bool)
            if not may_overflow(circuit):
                shown, _, exponents, suspect = upward(circuit, block, packed)
                log_root(shown[-1][0], exponents[-1], part)
            if suspect.any():
                part[suspect] = _again(circuit, packed, block[suspect])
        return result
    chunks, free = cut_rows(circuit, len(rows)), free_work(circuit, "root_work")
    with map_in_threads(
        lambda chunk: _root_of_chunk(circuit, packed, rows, chunk, result, free), chunks, n_jobs
    ) as found:
        for suspects in found:
            if len(suspects):
                result[suspects] = _again(circuit, packed, rows[suspects])
    return result


def upward(
    circuit: Circuit, data: Evidence, packed: Packed | None = None
) -> tuple[list[Any], list[Any], list[Ints], Bools]:
    """The plain pass of the module's head over a block of rows, with powers of two taken out; in NumPy.

    Lists, one entry a region: values (K, N) of the units that it shows to its parent, values (P, N) of its products
    (None at a leaf), powers of two that were taken out (N,).  Then which rows are suspect.  All are numbers of the type
    of `packed`, by default float64.

    Shapes: data (N, V) -> suspect (N,).
    """
    packed = pack(circuit) if packed is None else packed
    limits, inner = limits_of(packed), zip(packed.region.tolist(), packed.check_sums, strict=True)
    shown: list[Any] = []
    products: list[Any] = []
    exponents: list[Ints] = []
    suspect = np.zeros(len(data), dtype=bool)
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            codes = data[:, region.variable].astype(np.int64)  # -1 is the last column: missing
            shown.append(table_of(packed, region.variable, region.num_units)[:, codes])
            products.append(None)
            exponents.append(np.zeros(len(data), dtype=np.int64))
            continue
        row, check_sums = next(inner)
        inside = factors(circuit, r, shown)
        plan = packed.rescale[row[FIRST_CHILD] :][: len(inside)].tolist()
        product, power, lost = _multiplied(inside, plan, limits)  # the product over the children
        products.append(product)
        weights = region.weights.astype(product.dtype, copy=False)
        shown.append(weights @ product)  # sum_p weights[k, p] * product p
        exponents.append(power + sum(exponents[c] for c in circuit.vtree.children(r)))
        suspect |= lost
        if check_sums:
            suspect |= shown[-1].min(axis=0) < 2.0**limits.lowest
    return shown, products, exponents, suspect


def _multiplied(factors: list[Any], plan: list[int], limits: Limits) -> tuple[Any, Ints, Bools]:
    """Product of the factors (P, N), rescaled where the plan says so, powers of two (N,), rows that may have lost."""
    product: Any = None
    power, lost = (np.zeros(factors[0].shape[1], dtype=kind) for kind in (np.int64, bool))
    for factor, how in zip(factors, plan, strict=True):
        product = factor if product is None else product * factor
        if how != NO_RESCALE:
            product, taken, too_small = _rescaled(product, how, limits)
            power += taken
            lost |= too_small
    if (
        LIFT_HERE in plan or LIFT_RISKY in plan
    ):  # what is still marked counts for nothing, or the row is suspect
        lost |= -product.min(axis=0) > 2.0**limits.negligible * product.max(axis=0)
        product = np.maximum(product, 0.0)
    return product, power, lost


def _rescaled(product: Any, how: int, limits: Limits) -> tuple[Any, Ints, Bools]:
    """Products (P, N) with each row's maximum in [1, 2), the powers of two (N,), rows that may have lost a value."""
    risky, least = how in (RESCALE_RISKY, LIFT_RISKY), 2.0**limits.after_rescale
    top = np.maximum(product.max(axis=0), 0.0)
    power = np.where(top > 0, np.frexp(top)[1] - 1, 0).astype(np.int64)
    too_low = ((power < limits.risky_top) | (top == 0)) & risky
    with np.errstate(over="ignore"):  # of marked values, which are cut off below
        product = np.ldexp(product, -power)
    if how == LAST_HERE:
        return product, power, too_low
    small = (product < least) & ((product != 0) | risky)  # marked ones are negative
    if how < LIFT_HERE:
        return product, power, small.any(axis=0) | too_low
    outgrown = (product < -1.0).any(axis=0)
    return np.where(small, np.clip(product, -1.0, -least), product), power, outgrown | too_low


def _again(circuit: Circuit, packed: Packed, data: Evidence) -> Floats:
    """(N,) log-likelihoods of suspect rows: those of float32 in float64, those of float64 by logarithms."""
    if packed is not pack(circuit):
        return log_likelihood(circuit, data, n_jobs=1)
    return np.asarray(log_units(circuit, data)[0][-1][0])


def _of_densities(block: AtRows) -> Floats:
    """(n,) log-likelihoods of a block of rows."""
    logs = log_likelihood(block.circuit, block.codes, n_jobs=1)
    return np.asarray(logs + block.log_scale.sum(axis=1))


def log_parts(
    mixture: Mixture, data: ArrayLike, n_jobs: int | None = None, dtype: str = "float64"
) -> Iterator[Floats]:
    """log w_m p_m(x) of each row, (N,), a circuit at a time; see `log_likelihood`; shapes data (N, V) -> (N,)."""
    for circuit, log_weight in zip(mixture.circuits, log_of(mixture.weights), strict=True):
        yield log_weight + circuit.log_likelihood(data, n_jobs=n_jobs, dtype=dtype)
        if len(mixture.circuits) > MOST_KEEPING:
            drop_work(plain(circuit))


def evaluated_in_numpy(circuit: Circuit, num_rows: int) -> bool:
    """Whether NumPy evaluates so many rows.

    A circuit of one region needs no kernel, codes of the kernels have 16 bits, and a circuit that may overflow is
    evaluated by logarithms.
    """
    return (
        circuit.num_regions == 1
        or max(circuit.num_categories) > MOST_CATEGORIES
        or may_overflow(circuit)
        or in_numpy(upward_seconds(circuit, num_rows))
    )


def upward_seconds(circuit: Circuit, num_rows: int) -> float:
    """About what NumPy takes for one upward pass: a time for each region and block of rows, and one for each row."""
    row = circuit.num_units * UNIT_SECONDS + len(pack(circuit).weights) * WEIGHT_SECONDS
    return circuit.num_regions * REGION_SECONDS * -(-num_rows // BLOCK_ROWS) + row * num_rows


def _root_of_chunk(
    circuit: Circuit,
    packed: Packed,
    data: Evidence,
    chunk: tuple[int, int],
    result: Floats,
    free: list[Any],
) -> Ints:
    """Fill `result` in rows start..stop by the kernel, group by group; returns the rows to do again."""
    program, suspects = evaluation(packed), [np.zeros(0, dtype=np.int64)]
    for work, lo, hi in groups(circuit, packed, program, data, chunk, free):
        root, exponents, suspect = work.run(packed, hi - lo)
        log_root(root, exponents, result[lo:hi])
        suspects.append(lo + suspect)
    return np.concatenate(suspects)


def log_root(root: Floats, exponent: Ints, result: Floats) -> None:
    """Write the natural logarithm of root * 2**exponent to `result`, -inf without a warning where the root is 0.

    Shapes: root (n,), exponent (n,), result (n,).
    """
    with np.errstate(divide="ignore"):
        np.log(root, out=result, dtype=np.float64)
    result += LOG_2 * exponent


def cut_rows(circuit: Circuit, N: int) -> list[tuple[int, int]]:
    """Units of work (start, stop), cut without looking at the number of threads."""
    work = circuit.num_units + len(pack(circuit).weights)
    step = max(1, CHUNK_WORK // (work * TILE_ROWS)) * TILE_ROWS
    return [(start, min(start + step, N)) for start in range(0, N, step)]
