"""Rare levels are known again in every form that a batch may have them in."""

from itertools import pairwise

import numpy as np
import pandas as pd
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hld.tables.schemas.columns import LevelColumn, digest, digests_of, spans
from hld.tables.schemas.learn_schema import fit_encoder


def rows(N, seed):
    """A column of more numbers than there are levels, and another one."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"v": np.round(rng.integers(0, 150, N) * 0.1, 1), "y": rng.normal(size=N)})


def test_rare_numbers_are_the_same_in_four_bytes():
    table = rows(3000, 0)
    for dtype in ("float64", "float32"):
        encoder = fit_encoder(table.astype({"v": dtype}), categorical=["v"])
        assert len(encoder.columns[0].rare) > 0
        first, second = (
            encoder.encode(table.astype({"v": other}))[1] for other in ("float64", "float32")
        )
        assert first.num_unseen.tolist() == second.num_unseen.tolist() == [0, 0]
        assert first.num_rare.tolist() == second.num_rare.tolist()
        assert first.num_rare[0] > 0


def test_numbers_that_are_not_near_are_no_rare_levels():
    rare = digests_of([0.1, 1e300, 2.5, 2**60, 5e-324])
    known = LevelColumn("x", "categorical", (), rare)
    for value in (0.1 * (1 + 2.0**-22), 1e299, 2, 2**60 + 1, 1e-323, float("inf"), 0, 0.0, "0.1"):
        assert not known.is_rare(value), value
    for value in (0.1, float(np.float32(0.1)), 1e300, 2.5, 2**60, float(2**60), 5e-324):
        assert known.is_rare(value), value


def test_equal_values_have_one_digest():
    assert digest(1) == digest(1.0) == digest(True) != digest("1")
    assert digest(0.1) == digest(float(np.float32(0.1))) != digest(0.2)


ROUNDED = st.integers(-(10**7), 10**7).map(lambda n: n / 100)


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
@example([1.0, 1.0 + 2.0**-52])  # neighbours, whose middle is the first
def test_spans_hold_their_level_and_are_apart(levels):
    found = spans(levels)
    assert all(first <= level <= last for level, (first, last) in zip(levels, found, strict=True))
    assert all(a[1] < b[0] for a, b in pairwise(sorted(found)))


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
