"""Many batches at once: segments, days, shops; which of them have shifted.

Each batch gets its own p-value.  Calling every batch with p <= a shifted would call a share a of the unshifted ones;
the step-up procedure of Benjamini and Hochberg (1995) bounds the expected share of false calls among all calls
instead:

    adjusted p_(i) = min over k >= i of  p_(k) m / k,       reject where it is at most a.

It holds for independent batches, and under the positive dependence that a shared reference causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.frequencies import benjamini_hochberg
from pcircuit.arguments import check_fraction, check_numbers

if TYPE_CHECKING:
    from hld.testing.goodness_of_fit import HLDTest


@dataclass(frozen=True, eq=False)
class BatchesResult:
    """The outcome of testing several batches.

    Attributes
    ----------
    results : tuple of HLDResult
        One per batch, each at level `alpha` by itself.
    pvalues, adjusted : (n,) float arrays
        p-values, and p-values adjusted for the number of batches.
    reject : (n,) bool array
        ``adjusted <= alpha``: the batches called shifted, among which a share of at most alpha is expected to be false.
    alpha : float
        Bound on the expected share of false ones among the batches called shifted, in (0, 1).
    """

    results: tuple[Any, ...]
    pvalues: np.ndarray
    adjusted: np.ndarray
    reject: np.ndarray
    alpha: float

    def __str__(self) -> str:
        return (
            f"{int(self.reject.sum())} of {len(self.reject)} batches shifted (false discovery rate "
            f"{self.alpha:g}); smallest adjusted p = {self.adjusted.min():.3g}"
        )

    __repr__ = __str__


def test_batches(test: HLDTest, batches: list[np.ndarray], alpha: float = 0.05) -> BatchesResult:  # noqa: PT028
    """Test several batches and adjust for their number.

    Parameters
    ----------
    test : callable
        An `HLDTest`, the `test` method of an `HLDDetector`, or any other test of this package: called as
        ``test(batch, alpha)``.
    batches : sequence
        At least one batch.
    alpha : float
        Bound on the expected share of unshifted batches among those called shifted, in (0, 1).

    Returns
    -------
    BatchesResult

    Raises
    ------
    TypeError, ValueError
        If there are no batches, or the test refuses one: ``batches[i]`` in front of what it says.

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> batches = [pcircuit.sample(circuit, 50, rng=day) for day in range(6)] + [[[0, 1] * 4] * 50]
    >>> found = test_batches(hld.HLDTest(circuit), batches)
    >>> found.reject.tolist()
    [False, False, False, False, False, False, True]
    """
    alpha = check_fraction(alpha, "alpha")
    if not callable(test):
        raise TypeError(f"`test` must be callable as test(batch, alpha), found {test!r}")
    # of a mapping the names would be tested, and of a table the columns
    is_one = isinstance(batches, Mapping) or hasattr(batches, "columns")
    if is_one or not isinstance(batches, Iterable):
        raise TypeError(
            f"`batches` must be a sequence of batches, found one {type(batches).__name__}: give batches, "
            "such as `list(batches.values())`"
        )
    batches = list(batches)
    if not batches:
        raise ValueError("`batches` is empty: give at least one batch")
    results = tuple(_tested(test, batch, alpha, i) for i, batch in enumerate(batches))
    pvalues = check_numbers(
        [result.pvalue for result in results],
        "test",
        "a test that returns p-values",
        least=0,
        most=1,
    )
    adjusted = benjamini_hochberg(pvalues)
    return BatchesResult(results, pvalues, adjusted, adjusted <= alpha, alpha)


def _tested(test: HLDTest, batch: Any, alpha: float, i: int) -> Any:
    """The result of batch number i; errors say which one it is."""
    try:
        return test(batch, alpha)
    except (TypeError, ValueError) as error:  # subclasses may take other arguments than a message
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`batches[{i}]` cannot be tested: {error}") from error


test_batches.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it
