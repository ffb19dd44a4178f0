"""A metric whose map is any matrix."""

import numpy as np

from hld.features.linear_maps import SparseRows


def dense_map(name, matrix):
    """The map of a matrix (l, m)."""
    m = matrix.shape[1]
    return SparseRows(name, np.tile(np.arange(m), (len(matrix), 1)), matrix, m)
