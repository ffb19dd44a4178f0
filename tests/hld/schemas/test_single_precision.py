"""The same numbers in eight bytes and in four: codes, counts of new values, verdicts; in frames and in databases."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import hld
from hld.schemas.encoder import fit_encoder
from hld.schemas.single_precision import spans

ROUNDED = st.integers(-(10**7), 10**7).map(lambda n: n / 100)


def rows(n, seed):
    """A constant column, a few levels, an atom at the largest value, and a plain column."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "constant": np.full(n, 0.1),
            "level": rng.choice([0.1, 0.7, 1.3, 2.9], n),
            "capped": np.minimum(rng.exponential(size=n).round(2), 1.1),
            "plain": rng.integers(0, 3, n),
        }
    )


def forms(table):
    """The same cells in eight and four bytes, as arrays and as objects."""
    return (
        table,
        table.astype("float32"),
        table.astype(object),
        table.astype("float32").astype(object),
    )


@pytest.mark.parametrize("categorical", [None, ["level"]])
def test_verdicts_do_not_depend_on_the_bytes_of_a_number(categorical):
    training, batch = rows(600, 0), rows(200, 1)
    for kept in (training, training.astype("float32")):
        detector = hld.HLDDetector(categorical=categorical, num_epochs=5, rng=0).fit(kept)
        pvalues = {detector.test(form).pvalue for form in forms(batch)}
        assert len(pvalues) == 1
        assert pvalues.pop() > 0.001
        for form in forms(batch):
            report = detector.encoder_.encode(form)[1]
            assert report.num_unseen.sum() == report.num_out_of_range.sum() == 0


@given(st.lists(ROUNDED, min_size=2, max_size=30), st.booleans())
@example([79791.01, 79791.02], True)
@example([19948.15, 19948.16], False)
def test_codes_are_the_same_in_four_bytes(numbers, is_categorical):
    table = np.array(numbers)[:, None]
    if is_categorical:
        assume(len(set(numbers)) == len(np.unique(table.astype(np.float32))))
    else:  # an edge lies between two numbers, and needs as much space as they
        assume(all(b - a > 2.0**-21 * max(-a, b) for a, b in pairwise(sorted(set(numbers)))))
    options = {"categorical": [0], "max_categories": 64} if is_categorical else {"continuous": [0]}
    for training in (table, table.astype(np.float32)):
        if not is_categorical and len(set(numbers)) == 1:
            continue
        encoder = fit_encoder(training, **options)
        found = [
            encoder.encode(form) for form in (table, table.astype(np.float32), table.astype(object))
        ]
        for codes, report in found:
            np.testing.assert_array_equal(codes, found[0][0])
            assert report.num_unseen.sum() == report.num_out_of_range.sum() == 0


@given(
    st.lists(
        ROUNDED | st.integers(-(2**53), 2**53) | st.floats(-10, 10),
        unique=True,
        min_size=1,
        max_size=20,
    )
)
def test_spans_hold_their_level_and_are_apart(levels):
    found = spans(levels)
    assert all(first <= level <= last for level, (first, last) in zip(levels, found, strict=True))
    assert all(a[1] < b[0] for a, b in pairwise(sorted(found)))


@given(st.integers(2**23, 2**24 - 9), st.integers(-100, -1), st.integers(1, 7), st.floats(0, 1))
def test_neighbours_in_four_bytes_are_told_apart(digits, exponent, steps, part):
    first = digits * 2.0**exponent
    other = first + (steps + part) * 2.0**exponent
    for sign in (1, -1):
        found = spans([sign * first, sign * other])
        for one, (low, high) in zip((first, other), found, strict=True):
            assert low <= sign * one <= high
            assert low <= sign * float(np.float32(one)) <= high


def test_levels_that_four_bytes_cannot_tell_apart_are_taken_as_they_are():
    close = [0.1, float(np.float32(0.1)), 0.3, 3, 2.0]
    assert [a == b for a, b in spans(close)] == [True, True, False, True, True]
    encoder = fit_encoder(np.array(close[:3])[:, None], categorical=[0])
    cells = np.array([0.1, np.float32(0.1), np.nextafter(0.1, 1)])[:, None]
    assert encoder.encode(cells)[0][:, 0].tolist() == [0, 1, 3]


def test_a_number_that_is_only_near_is_new():
    encoder = fit_encoder(np.array([[0.1], [0.7], [0.1]]), categorical=[0])
    for far in (0.1 * (1 + 2.0**-22), 0.1 * (1 - 2.0**-22), 0.4):
        assert (
            encoder.encode(np.array([[far]]))[0].item()
            == encoder.encode(np.array([[far]], object))[0].item()
            == 2
        )
    encoder = fit_encoder(np.array([[0.1], [0.7], [0.3]]), continuous=[0])
    assert encoder.encode(np.array([[0.7 * (1 + 2.0**-22)]]))[1].num_out_of_range.tolist() == [1]


def test_databases_agree_on_reals_and_doubles():
    pytest.importorskip("ibis")
    duckdb = pytest.importorskip("duckdb")
    import hld.sql

    batch = rows(300, 1)
    detector = hld.HLDDetector(categorical=["level"], num_epochs=5, rng=0).fit(rows(600, 0))
    connection = duckdb.connect()
    connection.register("t", batch)
    connection.register("f", batch.astype("float32"))
    connection.execute(
        "CREATE TABLE d AS SELECT constant::DECIMAL(4, 1) AS constant, level::DECIMAL(4, 1) AS level, "
        "capped::DECIMAL(6, 2) AS capped, plain FROM t"
    )
    counts = [
        [one.tolist() for one in hld.sql.count(detector, connection, name).profile.counts]
        for name in "tfd"
    ]
    assert counts[0] == counts[1] == counts[2]
    assert all(one[-1] == one[-2] == 0 for one in counts[0][:2])  # none missing, none unseen
