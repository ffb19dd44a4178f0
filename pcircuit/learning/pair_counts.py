"""How often two categories occur together: exact counts for all pairs of variables of a table.

The table holds N rows of V variables; variable i takes the categories 0..C_i-1, and -1 says that the entry is
missing.  Row n may carry a weight w_n (else 1).  For a pair of variables the counts are

    n_ij(a, b) = sum_n w_n [x_ni = a] [x_nj = b],

which leaves out the rows where one of the two is missing.  Side by side, the tables of all pairs are one
matrix product Z diag(w) Z^t of the one-hot code Z, which has one row per category.  Two ways lead there:

* the product itself, over blocks of rows, fast as long as the variables have few categories.  The last category of
  a variable without missing entries can be left out: it has the rows that the others do not have
  (for binary variables this halves both sides of the product);
* counting the codes ``x_i * C_j + x_j``, which takes time independent of the number of categories.

Every sum is exact, hence independent of the order of rows, variables and categories: whole numbers below 2^24
in single precision (one block of rows), below 2^53 in double precision.  Row weights are rounded to multiples
of a power of two, about 2^-52 of their total, so that their sums are exact as well.

**Mutual information** of all pairs of variables.  With counts n_ij(a, b) of a pair, a pseudocount s spread evenly over
its C_i C_j cells, and f(x) = x log x,

    I(X_i; X_j) = log(n_ij + s) - (sum_a f(n_i(a) + s/C_i) + sum_b f(n_j(b) + s/C_j)
                                   - sum_ab f(n_ij(a, b) + s/(C_i C_j))) / (n_ij + s).

Counts are exact, and each f is rounded to a multiple of one power of two, so that sums of f are exact as well, in any
order.  That power is as large as all rows together ask for: divided by a small s alone it would be no longer small.
Where no row shows both variables, I is therefore 0 without these sums.

Where variables have few categories the tables of many pairs come side by side from one matrix product (`pair_counts`).
Where they have many, most cells of a table are empty: with 256 x 256 cells and 5,000 rows at least nine in ten; and
where rows are few, all the cells of the product take longer than counting the rows.  A kernel
(`kernels.pair_information`) then counts one pair at a time in a table that stays in the cache, looks only at
the cells that its rows touch, and counts f(s/(C_i C_j)) once for all others.  Its time is that of the rows, whatever
the number of categories.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcircuit.arguments import Bools, Evidence, Floats, Ints, check_integers, check_memory, first
from pcircuit.evidence import integer_entries, row_weights
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.kernels.engine import compiling, in_numpy

BLOCK_CATEGORIES = 1024  # categories of all variables of a group: a block of counts takes 8 MB
BLOCK_ENTRIES = 2**22  # entries of one side of the one-hot code of a block of rows: 16 MB
MAX_PRODUCT_CELLS = (
    144  # cells per pair from which counting codes beats the matrix product (two cores)
)
MOST_CATEGORIES = 2**31 - 1  # of one variable: positions in its tables stay far inside 64 bits
MAX_CELLS = (
    2**27
)  # cells of the table of one pair: 1 GB, and a few such tables are needed at a time


def checked_table(
    data: ArrayLike, num_categories: ArrayLike | None = None, name: str = "data"
) -> tuple[Evidence, Ints]:
    """Return a table and its numbers of categories, or an error that says what is wrong with them.

    Shapes: data (N, V) -> (N, V).
    """
    table = integer_entries(data, name)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"`{name}` must be a table of at least one row and one column, found shape "
            f"{table.shape}"
        )
    if table.min() < -1 or table.max() >= MOST_CATEGORIES:
        row, column = first((table < -1) | (table >= MOST_CATEGORIES))
        raise ValueError(
            f"`{name}` holds {table[row, column]} at row {row}, column {column}: categories are 0, 1, ... "
            f"below {MOST_CATEGORIES}, and -1 is a missing entry"
        )
    largest = table.max(axis=0).astype(np.int64)
    if num_categories is None:
        return table, np.maximum(largest + 1, 2)
    categories = _checked_categories(num_categories, table.shape[1])
    if (largest >= categories).any():
        column = int(np.argmax(largest >= categories))
        raise ValueError(
            f"`{name}` holds category {largest[column]} in column {column}, but `num_categories` "
            f"allows only 0..{categories[column] - 1} there: raise it or recode the column"
        )
    return table, categories


def _checked_categories(num_categories: ArrayLike, num_variables: int) -> Ints:
    """(V,) numbers of categories, from one for all or one for each variable."""
    expected = (
        f"a whole number from 1 to {MOST_CATEGORIES}, or one for each of the {num_variables} columns of "
        "`data`"
    )
    categories = check_integers(num_categories, "num_categories", expected, 1, MOST_CATEGORIES)
    if categories.shape not in ((), (num_variables,)):
        raise ValueError(f"`num_categories` must be {expected}, found shape {categories.shape}")
    return np.broadcast_to(categories, num_variables).astype(np.int64)


def checked_weights(weights: ArrayLike | None, num_rows: int) -> Floats | None:
    """Return row weights whose sums are exact in double precision, in any order; None stays None.

    Shapes: weights (N,).
    """
    if weights is None:
        return None
    array = row_weights(weights, num_rows)
    if array.sum() < np.finfo(np.float64).tiny:
        raise ValueError("`weights` must not all be zero: give at least one row a positive weight")
    step = np.spacing(array.sum()) * 2  # the sum of the rounded weights stays below 2^53 steps
    return np.rint(array / step) * step


def variable_groups(categories: Ints) -> list[Ints]:
    """Groups of variables with similar numbers of categories, of about BLOCK_CATEGORIES together.

    Shapes: categories (V,).
    """
    refuse_large_pairs(categories)
    order = np.argsort(categories, kind="stable")
    blocks = starts(categories[order]) // BLOCK_CATEGORIES
    return np.split(order, np.flatnonzero(np.diff(blocks)) + 1)


def pairs_are_products(categories: Ints, rows: Ints, columns: Ints) -> bool:
    """Whether the matrix product counts two groups of variables faster than pair by pair; shapes categories (V,)."""
    return bool(categories[rows].mean() * categories[columns].mean() <= MAX_PRODUCT_CELLS)


def complete_variables(data: Evidence) -> Bools:
    """(V,) flags of the columns without a missing entry."""
    return np.ones(data.shape[1], bool) if data.dtype.kind != "i" else data.min(axis=0) >= 0


def block_counts(
    data: Evidence,
    categories: Ints,
    complete: Bools,
    weights: Floats | None,
    rows: Ints,
    columns: Ints,
) -> Floats:
    """Counts of all pairs of two groups of variables.

    Shapes: complete (V,), weights (N,) -> (sum of C_i, sum of C_j).
    """
    if pairs_are_products(categories, rows, columns):
        return _counts_by_product(data, categories, complete, weights, rows, columns)
    return np.block([[pair_counts(data, categories, i, j, weights) for j in columns] for i in rows])


def pair_counts(
    data: Evidence, categories: Ints, i: int, j: int, weights: Floats | None = None
) -> Floats:
    """(C_i, C_j) counts of one pair of variables, over the rows where both are present, as the histogram of codes."""
    present = (data[:, i] >= 0) & (data[:, j] >= 0)
    codes = data[present, i].astype(np.int64) * categories[j] + data[present, j].astype(np.int64)
    counted = None if weights is None else weights[present]
    counts = np.bincount(codes, counted, minlength=categories[i] * categories[j])
    return counts.reshape(categories[i], categories[j]).astype(np.float64)


def refuse_large_pairs(categories: Ints) -> None:
    """Raise if the table of a pair of variables would not fit into memory."""
    column = int(np.argmax(categories))
    if categories[column] ** 2 > MAX_CELLS:
        raise ValueError(
            f"`data` column {column} has {categories[column]} categories, pairs can be counted up to "
            f"{int(MAX_CELLS**0.5)}: group them, or lower `num_categories`"
        )


def starts(sizes: Ints) -> Ints:
    """First position of each of several stretches of the given sizes, laid end to end."""
    return np.cumsum(sizes) - sizes


def grouped_sums(table: Floats, sizes: Ints) -> Floats:
    """(sum of sizes, n) -> (groups, n): sums of successive rows, which must be exact in any order.

    Shapes: table (sum of sizes, n), sizes (groups,).
    """
    return np.add.reduceat(table, starts(sizes), axis=0)


# -- the matrix product --------------------------------------------------------------------------------------


def _counts_by_product(
    data: Evidence,
    categories: Ints,
    complete: Bools,
    weights: Floats | None,
    rows: Ints,
    columns: Ints,
) -> Floats:
    """Counts of two groups of variables as the product of their one-hot codes, by blocks of rows."""
    same = rows is columns
    dtype: Any = np.float32 if weights is None else np.float64
    coded = categories - complete  # a complete variable leaves out its last category
    sizes = coded[rows].sum() + 1, coded[columns].sum() + 1
    step = min(
        max(BLOCK_ENTRIES // max(sizes), 256), 2**23, len(data)
    )  # below 2^24 rows: exact in float32
    kept = np.zeros(sizes)
    left = np.empty((sizes[0], step), dtype)
    right = left if same else np.empty((sizes[1], step), dtype)
    for lo in range(0, len(data), step):
        block = data[lo : lo + step]
        z = _one_hot(block, rows, coded, left[:, : len(block)])
        z_other = z if same else _one_hot(block, columns, coded, right[:, : len(block)])
        if weights is not None:
            z_other = z_other * weights[lo : lo + step]
        kept += z @ z_other.T
    half = _with_last_categories(kept, categories[rows], complete[rows])
    return np.transpose(_with_last_categories(half.T, categories[columns], complete[columns]))


def _one_hot(block: Evidence, variables: Ints, coded: Ints, out: NDArray[Any]) -> NDArray[Any]:
    """Fill `out`, (number of coded categories + 1, rows), with the one-hot code; the last row is ones."""
    largest = np.min_scalar_type(int(coded[variables].max(initial=0)))
    code_type = np.result_type(block.dtype if block.dtype.kind != "b" else np.uint8, largest)
    transposed = np.ascontiguousarray(block[:, variables].T, dtype=code_type)
    first = starts(coded[variables])
    for column, lo, size in zip(transposed, first.tolist(), coded[variables].tolist(), strict=True):
        np.equal(column, np.arange(size, dtype=code_type)[:, None], out=out[lo : lo + size])
    out[-1] = 1
    return out


def _with_last_categories(kept: Floats, categories: Ints, complete: Bools) -> Floats:
    """Rows (coded categories + ones, n) -> (sum of categories, n): adds the categories that were left out.

    The indicators of the categories of a complete variable add up to the row of ones.
    """
    first = starts(categories)
    left_out = (first + categories - 1)[complete]
    full = np.zeros((categories.sum(), kept.shape[1]))
    is_coded = np.ones(len(full), bool)
    is_coded[left_out] = False
    full[is_coded] = kept[:-1]
    full[left_out] = kept[-1] - grouped_sums(full, categories)[complete]
    return full


# -- mutual information --------------------------------------------------------------------------------------

MOST_BYTES = 2**28  # of tables of all threads
BYTES_OF_BLOCK = 2**26  # of a matrix product
FEW_ROWS = 16  # for each cell of a pair, from which the kernel is the slower one
ROW_SECONDS, CELL_SECONDS = 6e-9, 3e-8  # of NumPy: for a row of a pair, and for a cell


def mutual_information(
    data: Evidence, categories: Ints, pseudocount: float, weights: Floats | None
) -> Floats:
    """Mutual information of all pairs of variables; shapes weights (N,) -> (V, V)."""
    V = len(categories)
    check_memory(
        f"the mutual information of all pairs of {V} columns", 24 * V**2, "learn from fewer columns"
    )
    total = (len(data) if weights is None else weights.sum()) + pseudocount
    # sum |f| <= T (|log T| + log(cells)) when the arguments add up to T; 2^51 steps reach further than that
    step = np.spacing(total * (1 + abs(np.log(total)) + 2 * np.log(categories.max()))) * 4
    groups = variable_groups(categories)
    pairs = [(rows, columns) for g, rows in enumerate(groups) for columns in groups[g:]]
    row_seconds = V**2 / 2 * len(data) * ROW_SECONDS
    cell_seconds = float(categories.sum()) ** 2 / 2 * CELL_SECONDS
    has_kernel = weights is None and not in_numpy(row_seconds + cell_seconds)
    complete = complete_variables(data)

    def of_pair(pair: tuple[Ints, Ints]) -> Floats:
        if has_kernel and _is_counted_singly(data, categories, *pair):
            return _by_kernel(data, categories, pseudocount, step, *pair)
        counts = block_counts(data, categories, complete, weights, *pair)
        return information_of_block(
            counts, categories[pair[0]], categories[pair[1]], pseudocount, step
        )

    information = np.empty((V, V))
    bytes_of_one = max(4 * int(categories.max()) ** 2, BYTES_OF_BLOCK)
    threads = min(count_jobs(None), max(MOST_BYTES // bytes_of_one, 1))
    with map_in_threads(of_pair, pairs, threads) as blocks:
        for (rows, columns), block in zip(pairs, blocks, strict=True):
            information[np.ix_(rows, columns)] = block
            information[np.ix_(columns, rows)] = block.T
    return information


def _is_counted_singly(data: Evidence, categories: Ints, rows: Ints, columns: Ints) -> bool:
    """Whether the kernel is faster than the matrix product for the pairs of two groups of variables."""
    few = len(data) <= FEW_ROWS * categories[rows].mean() * categories[columns].mean()
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
    return np.where(is_seen, np.log(total) - (single - joint) * step / total, 0.0)


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
    """(I, J) mutual information of two groups of variables, compiled."""
    with compiling:
        from pcircuit.kernels.pair_information import information_of_pairs

    result = np.empty((len(rows), len(columns)))
    codes = tuple(
        np.ascontiguousarray(data[:, group].T, dtype=np.int32) for group in (rows, columns)
    )
    sizes = categories[rows], categories[columns]
    table = np.zeros(int(sizes[0].max() * sizes[1].max()), dtype=np.int32)
    constants = float(pseudocount), float(step)
    information_of_pairs(codes, sizes, rows is columns, constants, table, result)
    return result
