"""A detector with the interface of a scikit-learn estimator, without scikit-learn.

Nothing is inherited and nothing imported unless scikit-learn asks: tags are made from its own classes when it calls
`__sklearn_tags__`, and the error for an unfitted estimator is scikit-learn's own once that has been imported.  A
detector has nothing to transform, so there is no ``set_output``.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

WIDTH = re.compile(r"`table` has (\d+) columns, expected (\d+) ")
ODD_SHARE = 0.05  # of rows that follow the reference, at most, which `predict` calls odd
ROUNDED = 1e-9  # of a log-likelihood: its last digits differ from one engine, and from one processor, to the next


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it is fitted; of the same bases as scikit-learn's error of this name."""


def check_fitted(detector: Any) -> None:
    """Raise unless `fit` has run."""
    if hasattr(detector, "circuit_"):
        return
    known = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if known is None else known.NotFittedError
    raise kind("this HLDDetector is not fitted: call `fit(table)` first, or `hld.load(path)`")


@contextlib.contextmanager
def width_as_expected() -> Iterator[None]:
    """The error about a wrong number of columns also in the words that callers of scikit-learn look for."""
    try:
        yield
    except ValueError as error:
        found = WIDTH.match(str(error))
        if not found:
            raise
        raise ValueError(
            f"{error}: X has {found[1]} features, but HLDDetector is expecting {found[2]} features as "
            "input"
        ) from None


def row_offset(scores: np.ndarray) -> float:
    """The largest log-likelihood that at most a twentieth of the rows after k reference rows fall below.

    It is the r-th smallest of the k scores, r = floor((k + 1) / 20): the rank of a fresh row among k + 1 exchangeable
    ones is uniform, so it falls below with probability r / (k + 1) at most.  With fewer than 19 rows it is -inf.  A
    billionth is taken off, so that no row that is as likely falls below by rounding.
    """
    rank = int(ODD_SHARE * (len(scores) + 1) + 1e-9)
    if not rank:
        return -np.inf
    score = float(np.sort(scores)[rank - 1])
    return min(score - ROUNDED * max(1.0, abs(score)), 0.0)


def sklearn_tags() -> Any:
    """The tags of an outlier detector that takes tables of anything, with holes."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type="outlier_detector",
        target_tags=TargetTags(required=False),
        requires_fit=True,
        input_tags=InputTags(two_d_array=True, categorical=True, string=True, allow_nan=True),
    )
