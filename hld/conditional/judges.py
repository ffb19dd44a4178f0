"""Which test judges the batches of a detector."""

from __future__ import annotations

from typing import cast

import numpy as np

from hld.conditional.conditional_test import ConditionalTest, conditional_test
from hld.testing.goodness_of_fit import HLDTest
from hld.variation.group_test import GroupTest, group_test
from hld.variation.time_test import TimeTest, time_test


def build_judge(
    test: HLDTest,
    kept: np.ndarray | None,
    labels: np.ndarray | None,
    given: np.ndarray | None,
    order: str | None,
) -> HLDTest | GroupTest | TimeTest | ConditionalTest:
    """The test itself, or where there are covariates, or reference rows have groups or an order of time, one of those.

    Shapes: kept (n, V), labels (n,), given (V,).
    """
    rows = cast("np.ndarray", kept)  # None only where the test itself judges
    if given is not None:
        return conditional_test(test, rows, given, seed=test.settings.seed)
    if order is not None:
        return time_test(test, rows)
    return test if labels is None else group_test(test, rows, labels, seed=test.settings.seed)
