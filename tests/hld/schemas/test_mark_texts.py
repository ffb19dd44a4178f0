"""Marks of bins as text: short, and different where they are."""
import datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hld.schemas.encoder import fit_encoder
from hld.schemas.mark_texts import mark_texts


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5), st.sampled_from([4, 6]))
def test_marks_are_rounded_but_different_ones_stay_different(marks, digits):
    texts = mark_texts(marks, digits)
    assert len(set(texts)) == len(set(marks))
    np.testing.assert_allclose(list(map(float, texts)), marks, rtol=0.6 * 10.0 ** (1 - digits), atol=5e-324)


def test_as_many_digits_as_needed_and_no_exponent_below_ten_millions():
    assert mark_texts([1.5, 2.0, float("inf")], 6) == ["1.5", "2", "inf"]
    assert mark_texts([-123456.7, 1234567.8, 2e9], 4) == ["-123500", "1235000", "2e+09"]
    assert mark_texts([1.0, np.nextafter(1.0, 2.0)], 4) == ["1.0", "1.0000000000000002"]


def test_stamps_in_milliseconds_are_told_apart_in_descriptions():
    """Six digits made 1.73569e+12 of each of them."""
    encoder = fit_encoder([[1735689600000.0 + 1000 * second] for second in range(30)], num_bins=2)
    assert encoder.describe() == (
        "'x0': continuous, 2 bins cut at 1.73568961e+12; values beyond the training range [1.7356896e+12, "
        "1.73568963e+12] fall into the outermost bins; missing is -1")


def test_dates_are_texts_of_dates():
    first = datetime.date(2025, 1, 1)
    encoder = fit_encoder({"day": [first + datetime.timedelta(day) for day in range(9)]})
    column = encoder.columns[0]
    assert column.texts([column.low, column.high]) == ["2025-01-01", "2025-01-09"]
