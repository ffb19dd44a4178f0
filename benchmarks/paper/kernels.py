"""Mean Gaussian kernels between batches of rows, thousands of batches at a time: what MMD spends its time on.

For rows of numbers one matrix product per pair of batches gives all gamma ||x - y||^2.

*One-hot rows.*  A column of categories as one coordinate per category adds 2 to ||x - y||^2 where the two rows differ
and 0 where they are equal, so with H the number of columns that differ

    k(x, y) = exp(-||x - y||^2 / (2 s^2)) = exp(-H / s^2),        s^2 = 2 median H by the median heuristic,

and the kernel is exp(-H / (2 median H)).  Rows of zeros and ones have ||x - y||^2 = H, a median of half the size, and
the same kernel.  H is counted without forming one-hot rows: category codes are written in binary, the b-th digits of
all columns of a row make a string of bits, one bit a column, packed into words of 64; the exclusive or of two rows, the
"or" of it over the digits, and a population count give H exactly.  The mean kernel needs only how often each H occurs,
and within one batch half of the pairs.
"""

import functools

import numpy as np

PAIRS, QUADS, NIBBLES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F
BYTES = 0x0101010101010101


def mean_kernels(first, first_index, second, second_index, gamma) -> np.ndarray:
    """(trials,) mean kernel over all pairs of rows of two batches, for index arrays (trials, T).

    exp(gamma ||x - y||^2) of rows (N, V) of numbers, or exp(gamma H) of packed rows as `pack_rows` makes them.
    """
    if first.dtype == np.uint64:
        return _means_of_counts(first, first_index, second, second_index, gamma)
    return _means_of_numbers(first, first_index, second, second_index, gamma)


def pack_rows(codes, num_categories) -> np.ndarray:
    """(N, digits, words) uint64: binary digit b of the codes (N, V), 64 columns a word."""
    codes = np.asarray(codes)
    digits = max(1, (int(max(num_categories)) - 1).bit_length())
    words = -(-codes.shape[1] // 64)
    packed = np.zeros((len(codes), digits, 8 * words), np.uint8)
    for digit in range(digits):
        bits = np.packbits((codes >> digit & 1).astype(bool), axis=1)
        packed[:, digit, : bits.shape[1]] = bits
    return packed.view(np.uint64)


def median_difference(packed) -> float:
    """Median H between different rows of a sample of packed rows; 1 where that is 0."""
    index = np.arange(len(packed))[None]
    counts = _counts(packed, index, packed, index)[0]
    counts[0] -= len(packed)  # a row and itself
    at_most = np.cumsum(counts // 2)  # each pair was counted twice
    low, high = (at_most[-1] - 1) // 2, at_most[-1] // 2  # positions of the two middle pairs
    return float(np.searchsorted(at_most, [low, high], side="right").mean()) or 1.0


def _means_of_numbers(first, first_index, second, second_index, gamma):
    """gamma ||x - y||^2 = (2 |gamma| x, gamma |x|^2, 1) . (y, 1, gamma |y|^2), in single precision."""
    left = np.column_stack(
        [-2 * gamma * first, gamma * (first**2).sum(axis=1), np.ones(len(first))]
    )
    right = np.column_stack([second, np.ones(len(second)), gamma * (second**2).sum(axis=1)])
    left, right = left.astype(np.float32), right.astype(np.float32)
    pairs = np.empty((first_index.shape[1], second_index.shape[1]), np.float32)
    means = np.empty(len(first_index))
    for trial, (rows, columns) in enumerate(zip(first_index, second_index, strict=True)):
        np.matmul(left[rows], right[columns].T, out=pairs)
        means[trial] = np.exp(pairs, out=pairs).mean(dtype=np.float64)
    return means


def _means_of_counts(first, first_index, second, second_index, gamma):
    """From how often each number of differing columns occurs."""
    counts = _counts(first, first_index, second, second_index)
    pairs = first_index.shape[1] * second_index.shape[1]
    return counts @ np.exp(gamma * np.arange(counts.shape[1])) / pairs


def _counts(first, first_index, second, second_index):
    """(trials, 64 words + 1) how often two rows of a trial's batches differ in so many columns."""
    counts = np.zeros((len(first_index), 64 * first.shape[2] + 1), np.int64)
    within = first is second and first_index is second_index
    _counter(first.shape[1])(first, first_index, second, second_index, within, counts)
    if within:
        counts *= 2
        counts[:, 0] += first_index.shape[1]  # a row and itself
    return counts


@functools.cache
def _counter(digits):
    """The compiled loop; Numba is imported when it is first needed."""
    import numba

    return numba.njit(nogil=True, cache=True)(make_counter(digits))


def make_counter(digits):
    """The loop for rows of so many digits: a number that the compiler knows, so that it unrolls the loop over them."""

    def count_differences(first, first_index, second, second_index, within, counts):
        """Add to counts (trials, 64 words + 1) how often rows differ in so many columns; `within` for pairs j < i."""
        trials, num_columns = second_index.shape
        words = first.shape[2]
        columns, distance = (
            np.empty((digits, words, num_columns), np.uint64),
            np.empty(num_columns, np.uint64),
        )
        for trial in range(trials):
            for j in range(num_columns):
                columns[:, :, j] = second[second_index[trial, j]]
            for i in range(first_index.shape[1]):
                row, stop = first[first_index[trial, i]], i if within else num_columns
                distance[:stop] = 0
                for w in range(words):
                    for j in range(
                        stop
                    ):  # contiguous in j, so that the compiler makes it a vector loop
                        bits = row[0, w] ^ columns[0, w, j]
                        for d in range(1, digits):
                            bits |= row[d, w] ^ columns[d, w, j]
                        bits -= (bits >> np.uint64(1)) & np.uint64(PAIRS)
                        bits = (bits & np.uint64(QUADS)) + (
                            (bits >> np.uint64(2)) & np.uint64(QUADS)
                        )
                        bits = (bits + (bits >> np.uint64(4))) & np.uint64(NIBBLES)
                        distance[j] += (bits * np.uint64(BYTES)) >> np.uint64(56)
                for j in range(stop):
                    counts[trial, distance[j]] += 1

    return count_differences
