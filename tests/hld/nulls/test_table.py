"""Tails drawn when a test is made: single rows by exact rank, larger batches by resampling."""

import numpy as np
import pytest
from binomial_bounds import at_most

from hld.features.linear_maps import Scaled
from hld.laws import auto
from hld.laws.auto import auto_null
from hld.laws.drawn import RESOLVED, TableTails, _pvalue, table_of
from hld.laws.named import Context
from hld.laws.null import NullOptions
from hld.references.rows import RowReference


def plain(m):
    return Scaled("euclidean", np.ones(m))


def reference(rows):
    rows = rows - rows.mean(axis=0)
    return RowReference(rows, None, np.zeros(rows.shape[1]), len(rows))


@pytest.mark.parametrize(
    ("n", "trials"),
    [
        (2, 150),
        (3, 150),
        (9, 150),
        (40, 80),
        *(pytest.param(n, 3000, marks=pytest.mark.slow) for n in (2, 3, 9, 40)),
    ],
)
@pytest.mark.parametrize("law", ["normal", "lattice", "cauchy"])
def test_single_rows_are_never_rejected_too_often(n, trials, law, monkeypatch):
    """n + 1 exchangeable rows, the last one judged by the others: p <= a at most with probability a."""
    monkeypatch.setattr(auto, "SIZES", (2,))  # larger batches do not matter here
    rng = np.random.default_rng(n)
    draw = {
        "normal": rng.normal,
        "lattice": lambda size: rng.integers(0, 2, size) * 1.0,
        "cauchy": rng.standard_cauchy,
    }[law]
    options, values = NullOptions(19, 0, rng), []
    for _ in range(trials):
        rows = draw(size=(n + 1, 2))
        source = reference(rows[:n])
        null = auto_null(source, (plain(2),), options) if source.table.any() else None
        delta = rows[n] - rows[:n].mean(axis=0)
        values.append(1.0 if null is None else null.pvalue([delta @ delta / (1 + 1 / n)], 1).value)
    values = np.array(values)
    for alpha in (0.01, 0.05, 0.1, 0.25, 0.34, 0.5):
        assert (values <= alpha).sum() <= at_most(len(values), alpha)
    assert values.min() >= 1 / (n + 1) * (1 - 1e-12)


def test_single_rows_are_compared_as_the_module_says(rng):
    rows, fresh = rng.normal(size=(30, 3)), rng.normal(size=3)
    source = reference(rows)
    delta = fresh - rows.mean(axis=0)
    null = auto_null(source, (plain(3),), NullOptions(99, 0, rng))
    u, d = np.linalg.norm(source.table, axis=1), np.linalg.norm(delta)
    for factor in (0.3, 1.0, 1.5, 3.0):
        expected = (1 + (u >= factor * d * 29 / 31).sum()) / 31
        assert null.pvalue([(factor * d) ** 2 / (1 + 1 / 30)], 1).value == pytest.approx(
            expected, rel=1e-12
        )
    assert null.least(1) == pytest.approx(1 / 31)
    assert null.tails.threshold(0.03, 1) == 0
    assert null.threshold(0.03, 1) == np.inf


def test_tails_below_the_resolution_fall_as_the_score_does(rng):
    scores = rng.random(999)
    tails = table_of([1, 2], [scores[:, None], scores[:, None]]).tails[1][0]
    edge = np.sort(scores)[RESOLVED - 1]
    at_edge = _pvalue(tails, edge, 2)
    assert at_edge == (1 + RESOLVED) / 1000
    assert _pvalue(tails, edge * (1 - 1e-9), 2) == pytest.approx(at_edge, rel=1e-6)
    assert _pvalue(tails, edge * 1e-6, 2) == pytest.approx(at_edge * 1e-6, rel=1e-9)
    assert _pvalue(tails, edge * 1e-6, 1) == 0.001
    found = np.array([_pvalue(tails, one, 2) for one in np.geomspace(1e-9, 1, 300)])
    assert (np.diff(found) >= 0).all()


def test_sizes_between_those_of_the_table(rng):
    uniform, squares = rng.random(999), rng.random(999) ** 2
    table = table_of([1, 10, 20], [uniform[:, None], uniform[:, None], squares[:, None]])
    for T, share in ((10, 1.0), (20, 0.0), (15, (1 / 15 - 1 / 20) / (1 / 10 - 1 / 20)), (100, 0.0)):
        expected = share * _pvalue(table.tails[1][0], 0.3, T) + (1 - share) * _pvalue(
            table.tails[2][0], 0.3, T
        )
        found = table.pvalue(np.array([0.3]), T)
        assert found.value == pytest.approx(expected, rel=1e-12)
        assert found.each == (found.value,)
        threshold = table.threshold(0.05, T)
        assert table.pvalue(np.array([threshold * (1 - 1e-6)]), T).value <= 0.05
        assert table.pvalue(np.array([threshold * (1 + 1e-6)]), T).value > 0.05
    assert table.least(2) == 0.0


@pytest.mark.parametrize(
    "sizes", [np.array([2, 3]), np.array([1, 1]), np.array([1.0, 3.0]), np.zeros(0, int)]
)
def test_sizes_that_do_not_ascend_from_one_are_refused(sizes, rng):
    """And a table of 19 draws, fewer than a tail is extrapolated from, knows its error."""
    table = table_of([1, 3], [rng.random((19, 1)), rng.random((19, 1))])
    found = table.pvalue(np.array([0.5]), 2)
    assert 0 < found.error < found.value
    scalars, arrays = table.to_parts()
    context = Context(None, (plain(1),), np.ones(1), 0)
    with pytest.raises(ValueError, match="sizes"):
        TableTails.from_parts(scalars, arrays | {"sizes": sizes}, context, None)
