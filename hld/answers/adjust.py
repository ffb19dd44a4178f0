"""p-values of many tests, adjusted for their number m.

With p_(1) <= ... <= p_(m):

    Holm (1979)                      max over k <= i of  (m - k + 1) p_(k)       bounds P(any false call)
    Benjamini and Hochberg (1995)    min over k >= i of  m p_(k) / k             bounds the share of false calls
    Benjamini and Yekutieli (2001)   the same times 1 + 1/2 + ... + 1/m          ... under any dependence

each at most 1.  A test is rejected at level a if its adjusted p-value is at most a.
"""

from typing import Any

import numpy as np


def holm(pvalues: Any, total: int = 0) -> np.ndarray:
    """(m,) p-values adjusted by Holm's step-down procedure."""
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order, m = np.argsort(pvalues, kind="stable"), len(pvalues)
    stepped = np.maximum.accumulate(pvalues[order] * (max(total, m) - np.arange(m)))
    return _in_order(order, stepped)


def benjamini_hochberg(pvalues: Any) -> np.ndarray:
    """(m,) p-values adjusted by the step-up procedure of Benjamini and Hochberg."""
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order, m = np.argsort(pvalues, kind="stable"), len(pvalues)
    # m / k first: it is 1 for the largest of them, where p m / m may be another number than p
    stepped = np.minimum.accumulate((pvalues[order] * (m / np.arange(1, m + 1)))[::-1])[::-1]
    return _in_order(order, stepped)


def benjamini_yekutieli(pvalues: Any) -> np.ndarray:
    """(m,) p-values adjusted by the step-up procedure of Benjamini and Yekutieli."""
    m = len(pvalues)
    return np.minimum(benjamini_hochberg(pvalues) * (1 / np.arange(1, m + 1)).sum(), 1.0)


def _in_order(order: np.ndarray, stepped: np.ndarray) -> np.ndarray:
    """Adjusted p-values (m,) from the order of their size to that of the tests."""
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
