"""Mutual information of all pairs of variables, free of the order of rows, variables and categories.

With counts n_ij(a, b) of a pair, a pseudocount s spread evenly over its C_i C_j cells, and f(x) = x log x,

    I(X_i; X_j) = log(n_ij + s) - (sum_a f(n_i(a) + s/C_i) + sum_b f(n_j(b) + s/C_j)
                                   - sum_ab f(n_ij(a, b) + s/(C_i C_j))) / (n_ij + s).

Counts are exact, and each f is rounded to a multiple of one power of two, so that sums of f are exact as well, in any
order.  That power is as large as all rows together ask for: divided by a small s alone it would be no longer small.
Where no row shows both variables, I is therefore 0 without these sums.

Where variables have few categories the tables of many pairs come side by side from one matrix product (`pair_counts`).
Where they have many, most cells of a table are empty: with 256 x 256 cells and 5,000 rows at least nine in ten; and
where rows are few, all the cells of the product take longer than counting the rows.  A kernel
(`learning.compiled.pair_information`) then counts one pair at a time in a table that stays in the cache, looks only at
the cells that its rows touch, and counts f(s/(C_i C_j)) once for all others.  Its time is that of the rows, whatever
the number of categories.
"""

from __future__ import annotations

import numpy as np

from pcircuit.array_types import Evidence, Floats, Ints
from pcircuit.arrays import check_memory
from pcircuit.engine import Kernels
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.learning.pair_counts import (
    block_counts,
    complete_variables,
    grouped_sums,
    pairs_are_products,
    variable_groups,
)

MOST_ENTRIES = 2**21  # codes of one side of a block: 8 MB
MOST_BYTES = 2**27  # of all threads
FEW_ROWS = 16  # for each cell of a pair, from which the kernel is the slower one
TINY = 2.0**-900  # total weight of rows
ROW_SECONDS, CELL_SECONDS = 6e-9, 3e-8  # of NumPy: for a row of a pair, and for a cell


def mutual_information(
    data: Evidence, categories: Ints, pseudocount: float, weights: Floats | None
) -> Floats:
    """Mutual information of all pairs of variables.

    Shapes: weights (N,) -> (V, V).
    """
    V = len(categories)
    check_memory(
        f"the mutual information of all pairs of {V} columns", 24 * V**2, "learn from fewer columns"
    )
    total = (len(data) if weights is None else weights.sum()) + pseudocount
    if (
        weights is not None and total < TINY
    ):  # only the ratios matter, and x log x needs digits below those of x
        weights, pseudocount, total = weights / TINY, pseudocount / TINY, total / TINY
    # sum |f| <= T (|log T| + log(cells)) when the arguments add up to T; 2^51 steps reach further than that
    step = np.spacing(total * (1 + abs(np.log(total)) + 2 * np.log(categories.max()))) * 4
    groups = variable_groups(categories)
    pairs = [(rows, columns) for g, rows in enumerate(groups) for columns in groups[g:]]
    singly = [
        weights is None and _is_counted_singly(len(data), categories, *pair) for pair in pairs
    ]
    by_kernel = [pair for pair, is_single in zip(pairs, singly, strict=True) if is_single]
    if by_kernel and INFORMATION.in_numpy(
        sum(_numpy_seconds(len(data), categories, *pair) for pair in by_kernel)
    ):
        by_kernel, singly = [], [False] * len(pairs)
    by_numpy = [pair for pair, is_single in zip(pairs, singly, strict=True) if not is_single]
    complete = complete_variables(data)

    def counted(pair: tuple[Ints, Ints]) -> Floats:
        counts = block_counts(data, categories, complete, weights, *pair)
        return information_of_block(
            counts, categories[pair[0]], categories[pair[1]], pseudocount, step
        )

    def found_by_kernel(pair: tuple[Ints, Ints]) -> Floats:
        return _by_kernel(data, categories, pseudocount, step, *pair)

    information = np.empty((V, V))
    # matrix products have threads of their own
    for some, function, n_jobs in (
        (by_numpy, counted, 1),
        (by_kernel, found_by_kernel, _num_threads(categories)),
    ):
        with map_in_threads(function, some, n_jobs) as blocks:
            for (rows, columns), block in zip(some, blocks, strict=True):
                information[np.ix_(rows, columns)] = block
                information[np.ix_(columns, rows)] = block.T
    return information


def _is_counted_singly(num_rows: int, categories: Ints, rows: Ints, columns: Ints) -> bool:
    """Whether the kernel is faster than the matrix product for the pairs of two groups of variables."""
    few = num_rows <= FEW_ROWS * categories[rows].mean() * categories[columns].mean()
    return bool(few) or not pairs_are_products(categories, rows, columns)


def information_of_block(
    counts: Floats, c_i: Ints, c_j: Ints, pseudocount: float, step: float
) -> Floats:
    """Mutual information from tables of counts, with whole arrays: the readable twin of the kernel.

    Shapes: counts (sum of c_i, sum of c_j), c_i, c_j (I,) -> (I, J).
    """

    def sum_i(table: Floats) -> Floats:
        return grouped_sums(table, c_i)

    def sum_j(table: Floats) -> Floats:
        return np.transpose(grouped_sums(table.T, c_j))

    of_i, of_j = (
        sum_j(counts),
        sum_i(counts),
    )  # n_i(a) over the rows where j is present, and the converse
    together = sum_i(of_i)
    repeated_i, repeated_j = np.repeat(c_i, c_i), np.repeat(c_j, c_j)
    joint = sum_i(
        sum_j(_steps_of_f(counts + pseudocount / np.multiply.outer(repeated_i, repeated_j), step))
    )
    single = sum_i(_steps_of_f(of_i + (pseudocount / repeated_i)[:, None], step)) + sum_j(
        _steps_of_f(of_j + pseudocount / repeated_j, step)
    )
    is_seen = together > 0
    total = np.where(is_seen, together + pseudocount, 1)
    information: Floats = np.where(is_seen, np.log(total) - (single - joint) * step / total, 0.0)
    return information


def _steps_of_f(x: Floats, step: float) -> Floats:
    """f(x) = x log x in whole multiples of `step`, f(0) = 0; overwrites x."""
    log = np.log(np.where(x > 0, x, 1))
    x *= log
    x /= step  # a power of two: no rounding
    np.rint(x, out=x)
    return x


def _by_kernel(
    data: Evidence, categories: Ints, pseudocount: float, step: float, rows: Ints, columns: Ints
) -> Floats:
    """(I, J) mutual information of two groups of variables, so many at a time that their codes stay small."""
    from pcircuit.learning.compiled.pair_information import information_of_pairs

    few, same = max(1, MOST_ENTRIES // len(data)), rows is columns
    result = np.empty((len(rows), len(columns)))
    table = np.zeros(int(categories[rows].max() * categories[columns].max()), dtype=np.int32)
    for a in range(0, len(rows), few):
        for b in range(a if same else 0, len(columns), few):
            parts = rows[a : a + few], columns[b : b + few]
            codes = tuple(np.ascontiguousarray(data[:, part].T, dtype=np.int32) for part in parts)
            block = np.empty((len(parts[0]), len(parts[1])))
            information_of_pairs(
                codes,
                tuple(categories[part] for part in parts),
                same and a == b,
                (float(pseudocount), float(step)),
                table,
                block,
            )
            result[a : a + few, b : b + few] = block
            if same:
                result[b : b + few, a : a + few] = block.T
    return result


def _num_threads(categories: Ints) -> int:
    """Threads whose tables and codes together stay below MOST_BYTES."""
    each = 4 * int(categories.max()) ** 2 + 8 * MOST_ENTRIES
    return max(1, min(count_jobs(None), MOST_BYTES // each))


def _numpy_seconds(num_rows: int, categories: Ints, rows: Ints, columns: Ints) -> float:
    """About what NumPy takes for the pairs of two groups of variables."""
    cells = float(categories[rows].sum() * categories[columns].sum())
    return (len(rows) * len(columns) * num_rows * ROW_SECONDS + cells * CELL_SECONDS) / (
        1 + (rows is columns)
    )


def _compile() -> None:
    """The kernel at work on a pair."""
    _by_kernel(
        np.zeros((1, 2), dtype=np.int64),
        np.array([2, 2]),
        0.1,
        2.0**-40,
        np.array([0]),
        np.array([1]),
    )


INFORMATION = Kernels("mutual information", _compile)
