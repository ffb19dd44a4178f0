"""Dates and durations as objects: exact, in every unit, within Python's range and beyond it."""
import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import codes_of

from hld.tables.encoder import fit_encoder
from hld.tables.times import times_as_objects


@pytest.mark.parametrize(("value", "text"), [
    ("2020-01-02", "2020-01-02 00:00:00"), ("2020-01-02T03:04:05.000006", "2020-01-02 03:04:05.000006"),
    ("2020-01-02T03:04:05.000006007", "2020-01-02 03:04:05.000006007"), ("1600-01-01T00", "1600-01-01 00:00:00"),
    ("12000-01-01", "12000-01-01"), ("-0044-03-15", "-044-03-15"), ("2020-01", "2020-01-01 00:00:00"),
])
def test_dates_are_python_dates_or_the_text_they_would_have(value, text):
    cell = times_as_objects(np.array([np.datetime64(value)]))[0]
    assert str(cell) == text
    assert isinstance(cell, datetime.datetime) == (len(text) in (19, 26))


def test_data_frames_write_nanoseconds_alike():
    values = np.array(["2020-01-02T03:04:05.000000001", "2020-01-02T03:04:05.123456789"], dtype="M8[ns]")
    assert list(map(str, times_as_objects(values))) == [str(pd.Timestamp(value)) for value in values]


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "10ns"]


@given(st.integers(-2 ** 63 + 1, 2 ** 63 - 1), st.sampled_from(UNITS), st.sampled_from("<>"))
def test_different_dates_and_durations_stay_different(count, unit, order):
    for kind in "Mm":
        values = np.array([count, count + 1 if count < 2 ** 63 - 1 else count - 1], dtype="i8").view(f"{kind}8[{unit}]")
        one, other = times_as_objects(values.astype(values.dtype.newbyteorder(order)))
        assert str(one) != str(other)
        assert times_as_objects(values[:1])[0] == one


@given(st.timedeltas())
def test_durations_in_microseconds_are_pythons(duration):
    microseconds = duration // datetime.timedelta(microseconds=1)
    if abs(microseconds) < 2 ** 62:
        assert times_as_objects(np.array([microseconds], dtype="m8[us]"))[0] == duration


@pytest.mark.parametrize(("nanoseconds", "text"), [(1, "0:00:00.000000001"), (-1, "-1 day, 23:59:59.999999999"),
                                                   (86_400_000_000_001, "1 day, 0:00:00.000000001")])
def test_durations_in_nanoseconds(nanoseconds, text):
    assert str(times_as_objects(np.array([nanoseconds], dtype="m8[ns]"))[0]) == text


def test_missing_times_are_none_in_any_shape():
    values = np.array([["NaT", "2020-01-01"]], dtype="M8[ns]")
    assert times_as_objects(values).tolist() == [[None, datetime.datetime(2020, 1, 1)]]
    assert times_as_objects(np.array("NaT", dtype="m8[s]")).item() is None


def test_levels_a_nanosecond_apart_are_two_levels():
    values = np.array(["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000002"], dtype="M8[ns]")
    for table in (values[:, None], pd.DataFrame({"t": values}),
                  pd.DataFrame({"t": pd.to_datetime(values).astype(object)}), [[value] for value in values]):
        encoder = fit_encoder(table)
        assert codes_of(encoder, table) == [0, 1]
        assert codes_of(encoder, values[:, None]) == [0, 1]
