"""Mutual information pair by pair, compiled: for variables with many categories, whose tables are mostly empty.

Its readable twin is `pcircuit.learning.pair_counts.information_of_block`.  A pair is counted in one table, row by
row; a second walk over the rows adds up f of each cell that is not empty yet and empties it, so that the table is clean
for the next pair without a look at the cells that no row touched.  All of these hold the same f.

Counts are small whole numbers, and pairs with as many cells share the pseudocount of a cell: f is computed once for
each small count, and looked up from then on.
"""

import numpy as np

from pcircuit.kernels.jit import compile_kernel

LOOKED_UP = 256  # counts below this, whose f is kept


@compile_kernel
def information_of_pairs(codes, categories, same, constants, table, out):
    """Fill out[i, j] with the mutual information of codes[0][i] and codes[1][j], (I, N) and (J, N), -1 missing.

    `categories`: of either group.  `same`: both are one group, so that only j >= i is computed.  `constants`: the
    pseudocount, and the power of two of which each f is a multiple.  `table`: zeros, int32, as many as the largest
    table has cells; left so.
    """
    x, y = codes
    c_x, c_y = categories
    pseudocount, step = constants
    of_x, of_y = np.zeros(c_x.max(), np.int64), np.zeros(c_y.max(), np.int64)
    known, sizes = (
        np.empty((3, LOOKED_UP)),
        np.zeros(3, np.int64),
    )  # f of counts of x, y and both, with so many cells
    for i in range(len(x)):
        for j in range(i if same else 0, len(y)):
            columns = c_y[j]
            total = 0
            for b in range(x.shape[1]):
                u, v = x[i, b], y[j, b]
                if u >= 0 and v >= 0:
                    table[u * columns + v] += 1
                    of_x[u] += 1
                    of_y[v] += 1
                    total += 1
            cells = c_x[i] * columns
            for k, size in enumerate((c_x[i], columns, cells)):
                if sizes[k] != size:  # rare: variables come in the order of their categories
                    known[k], sizes[k] = np.nan, size
            share = pseudocount / cells
            joint, touched = 0.0, 0
            for b in range(x.shape[1]):
                u, v = x[i, b], y[j, b]
                if u >= 0 and v >= 0 and table[u * columns + v] > 0:
                    joint += looked_up(table[u * columns + v], share, step, known[2])
                    table[u * columns + v] = 0
                    touched += 1
            joint += (cells - touched) * looked_up(0, share, step, known[2])
            single = emptied(of_x, c_x[i], pseudocount, step, known[0]) + emptied(
                of_y, columns, pseudocount, step, known[1]
            )
            seen = total + pseudocount  # of which `step` is a small part, but where no row is
            out[i, j] = np.log(seen) - (single - joint) * step / seen if total > 0 else 0.0
            if same:
                out[j, i] = out[i, j]


@compile_kernel
def emptied(counts, num_categories, pseudocount, step, known):
    """The sum of f over the counts of a variable, which are set to 0."""
    result, share = 0.0, pseudocount / num_categories
    for c in range(num_categories):
        result += looked_up(counts[c], share, step, known)
        counts[c] = 0
    return result


@compile_kernel
def looked_up(count, share, step, known):
    """f(x) = x log x at count + share, in whole multiples of `step`; `known` (LOOKED_UP,) are those of this share."""
    if count < len(known) and not np.isnan(known[count]):
        return known[count]
    x = count + share
    f = np.rint(x * np.log(x) / step) if x > 0 else 0.0
    if count < len(known):
        known[count] = f
    return f
