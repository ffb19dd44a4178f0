"""Random tables, and counts and mutual information of their pairs by loops."""

import itertools

import numpy as np


def random_table(rng, *, num_rows=None, num_variables=None, largest=4, missing=0.0):
    """Table of dependent columns with unequal numbers of categories, and those numbers."""
    V = num_variables or int(rng.integers(1, 7))
    N = num_rows or int(rng.integers(1, 40))
    categories = rng.integers(1, largest + 1, V)
    data = np.empty((N, V), np.int64)
    for v in range(V):
        fresh = rng.integers(0, categories[v], N)
        copied = data[:, int(rng.integers(v))] % categories[v] if v else fresh
        data[:, v] = np.where(rng.random(N) < 0.5, copied, fresh)
    data[rng.random((N, V)) < missing] = -1
    return data, categories


def recoded(rng, data, categories):
    """`data` with the categories of each column renamed."""
    data = data.copy()
    for v, C in enumerate(categories):
        data[data[:, v] >= 0, v] = rng.permutation(C)[data[data[:, v] >= 0, v]]
    return data


def naive_counts(data, categories, i, j, weights=None):
    """n_ij row by row."""
    counts = np.zeros((categories[i], categories[j]))
    for n, row in enumerate(np.asarray(data)):
        if row[i] >= 0 and row[j] >= 0:
            counts[row[i], row[j]] += 1 if weights is None else weights[n]
    return counts


def naive_information(data, categories, pseudocount, weights=None):
    """Mutual information of all pairs from the textbook's formula, 0 on the diagonal."""
    V = len(categories)
    information = np.zeros((V, V))
    for i, j in itertools.combinations(range(V), 2):
        joint = naive_counts(data, categories, i, j, weights) + pseudocount / (
            categories[i] * categories[j]
        )
        if joint.sum() > 0:
            p = joint / joint.sum()
            apart = np.outer(p.sum(axis=1), p.sum(axis=0))
            information[i, j] = information[j, i] = np.sum(
                p[p > 0] * np.log(p[p > 0] / apart[p > 0])
            )
    return information
