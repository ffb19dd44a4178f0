"""Many batches as a matrix of distances: which days resemble which.

The distance of two batches is the effect size between them: |mean L_A - mean L_B| over the typical distance of a row,
less what sampling alone gives, so that batches from one distribution are near 0 whatever their sizes.  Only the sums of
each batch are needed, so each is read once, and summaries serve as well as tables.

Where cells are missing and rows are the reference, a node has the mean of the rows that show it, as in a test, and is
left out where one of two batches has none; what sampling alone gives is then sum_k s_k^2 (1/a_k + 1/b_k) / sum_k s_k^2
with s_k the standard deviation of a node and a_k, b_k how many rows show it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.comparing.two_sample import codes_of, test_of
from hld.detector.detector import HLDDetector
from hld.summaries.spread import check_possible
from hld.summaries.summary import BatchSummary
from hld.summaries.summing import detector_fingerprint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hld.testing.goodness_of_fit import HLDTest


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between batches.

    Attributes
    ----------
    labels : tuple of str
        Names of the n batches, in the order of rows and columns of `matrix`.
    matrix : (n, n) float array
        Effect sizes between batches, symmetric, 0 on the diagonal.
    from_reference : (n,) float array
        Distances of the batches from what the model learned.
    num_rows : (n,) int array
        Rows of each batch.
    """

    labels: tuple[Any, ...]
    matrix: np.ndarray = field(repr=False)
    from_reference: np.ndarray = field(repr=False)
    num_rows: np.ndarray = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the attributes under their names.

        Returns
        -------
        dict
            "labels", "matrix" (a list of n lists of n float), "from_reference" and "num_rows" (lists of n numbers).
        """
        return {
            "labels": list(self.labels),
            "matrix": self.matrix.tolist(),
            "num_rows": self.num_rows.tolist(),
            "from_reference": self.from_reference.tolist(),
        }

    def plot(self) -> Figure:
        """The matrix as a picture: a square for each pair of batches, the darker the larger the distance.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown and not registered with pyplot; ``figure.savefig(path)`` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from hld.answers.plots import LONGEST, new_figure, shortened

        n = len(self.labels)
        figure = new_figure((2.5 + 0.35 * n, 2 + 0.35 * n))
        axes = figure.add_subplot()
        image = axes.imshow(self.matrix, cmap="Blues", vmin=0.0)
        figure.colorbar(image, ax=axes, label="effect size between batches")
        labels = [shortened(label, LONGEST) for label in self.labels]
        axes.set_xticks(range(n), labels, rotation=90, parse_math=False)
        axes.set_yticks(range(n), labels, parse_math=False)
        return figure


def distances(model: Any, batches: Mapping[str, Any] | Iterable[Any]) -> Distances:
    """Distances between batches, and of each from the reference.

    Parameters
    ----------
    model : pcircuit.Circuit, HLDTest or HLDDetector
    batches : mapping of label to batch, or sequence of batches
        At least two; rows, tables or summaries.  Columns of tables that the detector does not have are ignored.

    Returns
    -------
    Distances

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two batches, or one does not fit the model.

    Notes
    -----
    One pass over the rows and O(n^2 m) for n batches.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> days = {"mon": pcircuit.sample(circuit, 200, rng=1), "tue": pcircuit.sample(circuit, 200, rng=2),
    ...         "wed": [[0, 1] * 4] * 200}
    >>> found = distances(circuit, days)
    >>> bool(found.matrix[0, 1] < 0.2 < found.matrix[0, 2])
    True
    """
    test = test_of(model)
    if not isinstance(batches, (Mapping, Iterable)) or isinstance(batches, (str, bytes)):
        raise TypeError(
            f"`batches` must be a mapping or a sequence of batches, found {type(batches).__name__}"
        )
    named = (
        dict(batches)
        if isinstance(batches, Mapping)
        else {str(i): one for i, one in enumerate(batches)}
    )
    if len(named) < 2:
        raise ValueError(f"`batches` has {len(named)} of them, expected at least two")
    known = test.fingerprint
    if isinstance(model, HLDDetector):
        known = detector_fingerprint(known, model.schema_)
    labels = named if isinstance(batches, Mapping) else range(len(named))
    found = [
        _mean(model, test, one, known, f"batches[{reprlib.repr(label)}]")
        for label, one in zip(labels, named.values(), strict=True)
    ]
    sizes, m = np.array([n for _, _, n in found]), len(test.nodes)
    means, chances = (
        np.array([mean for mean, _, _ in found]),
        np.array([chance for _, chance, _ in found]),
    )
    total = float((test.stds[:m] ** 2).sum())
    matrix = np.array(
        [_effects(means - means[i], chances + chances[i], total) for i in range(len(found))]
    )
    np.fill_diagonal(matrix, 0.0)
    from_reference = _effects(means - test.mean[:m], chances + _reference_chance(test), total)
    return Distances(tuple(map(str, named)), matrix, from_reference, sizes)


def _mean(
    model: Any, test: HLDTest, batch: Any, known: str, name: str
) -> tuple[np.ndarray, np.ndarray, int]:
    """(m,) means of a batch, how far chance alone moves each, as a variance, and the number of rows."""
    m = len(test.nodes)
    if isinstance(batch, BatchSummary):
        if batch.model != known or not batch.num_rows:
            raise ValueError(
                f"`{name}` is a summary of another model or of no rows, expected one of some rows of this "
                "model"
            )
        check_possible(test.vectors, test.calibration.metrics, batch, name)
        return batch.means[:m], _chance(test, batch.seen[:m]), batch.num_rows
    rows = codes_of(model, test, batch, name, None if test.missing == "available" else 7)
    if rows.min() < 0:
        own = test.summarize(rows)
        return own.means[:m], _chance(test, own.seen[:m]), len(rows)
    return test.vectors.mean(rows)[:m], _chance(test, np.full(m, len(rows))), len(rows)


def _reference_chance(test: HLDTest) -> np.ndarray:
    """(m,) variances of the means that were learned, 0 where they are exact."""
    kept = test.calibration.kept
    if kept is not None and kept.has_holes:
        return _chance(test, kept.counts[: len(test.nodes)])
    n = np.inf if test.num_train is None else test.num_train
    return _chance(test, np.full(len(test.nodes), n))


def _chance(test: HLDTest, seen: np.ndarray) -> np.ndarray:
    """(m,) variances of means of so many rows, infinite for none."""
    return np.where(seen > 0, test.stds[: len(seen)] ** 2 / np.maximum(seen, 1), np.inf)


def _effects(deltas: np.ndarray, chances: np.ndarray, total: float) -> np.ndarray:
    """(n,) effect sizes of differences of means (n, m), of which those with infinite variances are not known."""
    if not total > 0:
        return np.zeros(len(deltas))
    is_known = np.isfinite(chances)
    squared = np.where(is_known, deltas**2, 0.0).sum(axis=1)
    return np.sqrt(np.maximum(squared - np.where(is_known, chances, 0.0).sum(axis=1), 0.0) / total)
