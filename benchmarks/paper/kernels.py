"""Mean Gaussian kernels between batches of rows, thousands of batches at a time: what MMD spends its time on.

For rows of numbers one matrix product per pair of batches gives all gamma ||x - y||^2.  Rows of zeros and ones, binary
data or one-hot categories, have whole numbers for distances: ||x - y||^2 counts the coordinates that differ.  Packed
into words of 64 bits that is an exclusive or and a population count, and the mean kernel needs only how often each
distance occurs.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.paper.kernels     milliseconds for two batches of 1,000 rows
"""
from __future__ import annotations

import functools

import numpy as np

PAIRS, QUADS, NIBBLES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F
BYTES = 0x0101010101010101


def mean_kernels(first, first_index, second, second_index, gamma) -> np.ndarray:
    """(trials,) mean of exp(gamma ||x - y||^2) over all pairs of rows of two batches.

    Rows (N, V) of numbers, or (N, words) of bits as `pack_rows` makes them; indices (trials, T).
    """
    if first.dtype == np.uint64:
        return _means_of_bits(first, first_index, second, second_index, gamma)
    return _means_of_numbers(first, first_index, second, second_index, gamma)


def pack_rows(rows) -> np.ndarray:
    """(N, ceil(V / 64)) uint64 words whose bits are the zeros and ones of (N, V) rows."""
    packed = np.packbits(np.asarray(rows).astype(bool), axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    words[:, :packed.shape[1]] = packed
    return words.view(np.uint64)


def _means_of_numbers(first, first_index, second, second_index, gamma):
    """gamma ||x - y||^2 = (2 |gamma| x, gamma |x|^2, 1) . (y, 1, gamma |y|^2), in single precision."""
    left = np.column_stack([-2 * gamma * first, gamma * (first ** 2).sum(axis=1), np.ones(len(first))])
    right = np.column_stack([second, np.ones(len(second)), gamma * (second ** 2).sum(axis=1)])
    left, right = left.astype(np.float32), right.astype(np.float32)
    pairs = np.empty((first_index.shape[1], second_index.shape[1]), np.float32)
    means = np.empty(len(first_index))
    for trial, (rows, columns) in enumerate(zip(first_index, second_index, strict=True)):
        np.matmul(left[rows], right[columns].T, out=pairs)
        means[trial] = np.exp(pairs, out=pairs).mean(dtype=np.float64)
    return means


def _means_of_bits(first, first_index, second, second_index, gamma):
    """From how often each distance occurs."""
    counts = np.zeros((len(first_index), 64 * first.shape[1] + 1), np.int64)
    _counter()(first, first_index, np.ascontiguousarray(second), second_index, counts)
    pairs = first_index.shape[1] * second_index.shape[1]
    return counts @ np.exp(gamma * np.arange(counts.shape[1])) / pairs


@functools.cache
def _counter():
    """The compiled loop; Numba is imported when it is first needed."""
    import numba
    return numba.njit(nogil=True, cache=True)(count_distances)


def count_distances(first, first_index, second, second_index, counts):
    """Add to counts (trials, 64 words + 1) how often two rows of a trial's batches differ in so many bits."""
    trials, num_columns = second_index.shape
    words = first.shape[1]
    columns = np.empty((words, num_columns), np.uint64)
    distance = np.empty(num_columns, np.uint64)
    for trial in range(trials):
        for w in range(words):
            for j in range(num_columns):
                columns[w, j] = second[second_index[trial, j], w]
        for i in first_index[trial]:
            distance[:] = 0
            for w in range(words):
                for j in range(num_columns):  # contiguous, so that the compiler makes it a vector of population counts
                    bits = first[i, w] ^ columns[w, j]
                    bits -= (bits >> np.uint64(1)) & np.uint64(PAIRS)
                    bits = (bits & np.uint64(QUADS)) + ((bits >> np.uint64(2)) & np.uint64(QUADS))
                    bits = (bits + (bits >> np.uint64(4))) & np.uint64(NIBBLES)
                    distance[j] += (bits * np.uint64(BYTES)) >> np.uint64(56)
            for j in range(num_columns):
                counts[trial, distance[j]] += 1


def main():
    """Print what two batches of 1,000 binary rows cost."""
    from benchmarks.measure import median_time
    rng = np.random.default_rng(0)
    index = rng.integers(0, 5000, (1, 1000))
    for num_variables in (49, 784):
        rows = rng.integers(0, 2, (5000, num_variables))
        times = []
        for form in (pack_rows(rows), rows.astype(np.float64)):
            few = form[index[0]], np.arange(1000)[None]
            mean_kernels(*few, *few, -0.1)
            times.append(1e3 * median_time(lambda few=few: mean_kernels(*few, *few, -0.1), 21))
        print(f"{num_variables} coordinates: {times[0]:.2f} ms as bits, {times[1]:.2f} ms as numbers")


if __name__ == "__main__":
    main()
