"""Seconds and memory of the Chow-Liu tree, against loops over pairs of variables.

    python -m benchmarks.bench_chow_liu

prints two Markdown tables.  The first is against scikit-learn's `mutual_info_score` and against a plain NumPy loop (one
histogram of codes per pair), each over all pairs and followed by the same spanning tree, on sizes that they can finish;
the information of the trees found must agree.  The second has large tables, for the library alone.

Times are medians of wall-clock seconds over several calls, all in the same run.  Memory is the peak of what Python and
NumPy allocate during one more call, without the data (BLAS keeps some tens of MB of its own).  Columns copy an earlier
column in about half of the rows, so that there is a tree to find.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc

import numpy as np

from pcircuit import chow_liu_tree

# rows, variables, categories
COMPARED = [(10_000, 50, 2), (10_000, 50, 10), (10_000, 50, 50), (10_000, 100, 2)]
LARGE = [
    (60_000, 784, 2),
    (5_000, 784, 256),
    (200_000, 100, 20),
    (10_000, 1_500, 2),
    (60_000, 100, 256),
    (1_000_000, 50, 5),
    (100, 3_000, 8),
]
REPEATS = 5


def main():
    print(
        "| rows | variables | categories | seconds | peak MB | NumPy loop | ratio | scikit-learn | ratio |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for N, V, C in COMPARED:
        data = dependent_columns(N, V, C)
        options = {"num_categories": C, "pseudocount": 0}
        seconds, peak, tree = measured(
            lambda data=data, options=options: chow_liu_tree(data, **options)
        )
        cells = []
        for information_of in (plain_information, sklearn_information):
            start = time.perf_counter()
            other = spanning_tree(information_of(data, C))
            loop = time.perf_counter() - start
            check_same_information(data, C, tree, other)
            cells.append(f"{loop:.2f} | {loop / seconds:,.0f}")
        print(f"| {N:,} | {V} | {C} | {seconds:.3f} | {peak:.0f} | {' | '.join(cells)} |")
    print()
    print("| rows | variables | categories | entries | seconds | peak MB |")
    print("| ---: | ---: | ---: | --- | ---: | ---: |")
    for N, V, C in LARGE:
        data = dependent_columns(N, V, C)
        seconds, peak, _ = measured(lambda data=data, C=C: chow_liu_tree(data, num_categories=C))
        print(f"| {N:,} | {V:,} | {C} | complete | {seconds:.2f} | {peak:.0f} |", flush=True)
    N, V, C = LARGE[0]
    data = dependent_columns(N, V, C).astype(np.int8)
    data[np.random.default_rng(1).random(data.shape) < 0.1] = -1
    seconds, peak, _ = measured(lambda: chow_liu_tree(data, num_categories=C))
    print(f"| {N:,} | {V:,} | {C} | 10 % missing | {seconds:.2f} | {peak:.0f} |")


def dependent_columns(N, V, C):
    """(N, V) uint8 table; each column copies a random earlier one in about half of the rows."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, C, N, dtype=np.uint8)]
    for v in range(1, V):
        copied = rng.integers(0, 2, N, dtype=bool)
        columns.append(
            np.where(copied, columns[int(rng.integers(v))], rng.integers(0, C, N, dtype=np.uint8))
        )
    return np.stack(columns, axis=1)


def measured(function):
    """Median seconds, peak of the allocations in MB, and the result."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return statistics.median(times), peak, result


def plain_information(data, C):
    """(V, V) mutual information, one histogram of codes per pair."""
    N, V = data.shape
    data = np.ascontiguousarray(data.T, dtype=np.int64)
    information = np.zeros((V, V))
    for i in range(V):
        for j in range(i):
            p = np.bincount(data[i] * C + data[j], minlength=C * C).reshape(C, C) / N
            apart = np.outer(p.sum(axis=1), p.sum(axis=0))
            information[i, j] = information[j, i] = np.sum(
                p[p > 0] * np.log(p[p > 0] / apart[p > 0])
            )
    return information


def sklearn_information(data, C):
    """(V, V) mutual information, one call of scikit-learn per pair."""
    from sklearn.metrics import mutual_info_score

    V = data.shape[1]
    information = np.zeros((V, V))
    for i in range(V):
        for j in range(i):
            information[i, j] = information[j, i] = mutual_info_score(data[:, i], data[:, j])
    return information


def spanning_tree(information):
    """Maximum spanning tree of a dense table, as (V,) parents, by Prim's algorithm."""
    V = len(information)
    parent, best = np.zeros(V, dtype=int), information[0].copy()
    parent[0], best[0] = -1, -np.inf
    inside = {0}
    while len(inside) < V:
        new = int(np.argmax(best))
        inside.add(new)
        best[new] = -np.inf
        for v in range(V):
            if v not in inside and information[new, v] > best[v]:
                parent[v], best[v] = new, information[new, v]
    return parent


def check_same_information(data, C, tree, other):
    """Stop the benchmark unless two trees have the same total information."""
    information = plain_information(data, C)
    totals = [
        sum(information[v, p] for v, p in enumerate(parents) if p >= 0) for parents in (tree, other)
    ]
    if abs(totals[0] - totals[1]) > 1e-9:
        raise RuntimeError(f"the trees have different information: {totals[0]} and {totals[1]}")


if __name__ == "__main__":
    main()
