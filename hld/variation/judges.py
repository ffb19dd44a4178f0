"""Which test judges the batches of a detector."""
from __future__ import annotations

import numpy as np

from hld.goodness_of_fit import HLDTest
from hld.variation.group_test import GroupTest, group_test
from hld.variation.time_test import TimeTest, time_test


def build_judge(test: HLDTest, kept: np.ndarray | None, labels: np.ndarray | None, *,
                in_time: bool = False) -> HLDTest | GroupTest | TimeTest:
    """The test itself, or where reference rows have groups or an order of time, the test among these.

    Parameters
    ----------
    test : HLDTest
    kept : (n, V) int array or None
        Rows of the reference.
    labels : (n,) int array or None
        Their groups.
    in_time : bool
        Whether the rows are in order of time.
    """
    if in_time:
        return time_test(test, kept)
    return test if labels is None else group_test(test, kept, labels, seed=test.settings.seed)
