"""Mean vectors without differences that are only rounding.

Where all rows show the same, such as a column with one value, the means of groups are equal, but for the last digits: a
sum of 30 doubles is not rounded as one of 10 is.  Ranks know no size, so that a batch of another size than the groups
would be the oddest of all.  A number of the vectors of which all means lie within the share `SLACK` of its size is
therefore taken to be the same in all.  What a row can change is far larger: one row in a million that shows something
else moves a mean by about a millionth.

The rule treats the batch and the groups alike, so they remain exchangeable.
"""

from __future__ import annotations

import numpy as np

SLACK = 1e-9  # sums of 10 million rows are exact to about this


def without_rounding(
    own: np.ndarray, others: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean vectors of the batch and of the groups, 0 in both wherever they differ by rounding alone.

    Shapes: own (size,), others (G, size), size (size,) -> own (size,), others (G, size).
    """
    low, high = np.minimum(own, others.min(axis=0)), np.maximum(own, others.max(axis=0))
    varies = high - low > SLACK * np.maximum(size, np.maximum(-low, high))
    return np.where(varies, own, 0.0), np.where(varies, others, 0.0)
