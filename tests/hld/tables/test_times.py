"""Dates and durations as objects: exact, in every unit, within Python's range and beyond it."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import codes_of

from hld.schemas.encoder import fit_encoder
from hld.tables.times import (
    as_seconds,
    duration_text,
    from_seconds,
    time_in_bin,
    time_text,
    time_texts,
    times_as_objects,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2020-01-02", "2020-01-02 00:00:00"),
        ("2020-01-02T03:04:05.000006", "2020-01-02 03:04:05.000006"),
        ("2020-01-02T03:04:05.000006007", "2020-01-02 03:04:05.000006007"),
        ("1600-01-01T00", "1600-01-01 00:00:00"),
        ("12000-01-01", "12000-01-01"),
        ("-0044-03-15", "-044-03-15"),
        ("2020-01", "2020-01-01 00:00:00"),
    ],
)
def test_dates_are_python_dates_or_the_text_they_would_have(value, text):
    cell = times_as_objects(np.array([np.datetime64(value)]))[0]
    assert str(cell) == text
    assert isinstance(cell, datetime.datetime) == (len(text) in (19, 26))


def test_data_frames_write_nanoseconds_alike():
    values = np.array(
        ["2020-01-02T03:04:05.000000001", "2020-01-02T03:04:05.123456789"], dtype="M8[ns]"
    )
    assert list(map(str, times_as_objects(values))) == [
        str(pd.Timestamp(value)) for value in values
    ]


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "10ns"]


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(UNITS), st.sampled_from("<>"))
def test_different_dates_and_durations_stay_different(count, unit, order):
    for kind in "Mm":
        values = np.array([count, count + 1 if count < 2**63 - 1 else count - 1], dtype="i8").view(
            f"{kind}8[{unit}]"
        )
        one, other = times_as_objects(values.astype(values.dtype.newbyteorder(order)))
        assert str(one) != str(other)
        assert times_as_objects(values[:1])[0] == one


def test_years_and_months_beyond_the_seconds_of_64_bits_have_average_lengths():
    years = np.array([10, 10**15, -(10**15)], dtype="M8[Y]")
    assert as_seconds(years, "date")[0].tolist() == [
        315_532_800.0,
        31_556_952.0 * 10**15,
        -31_556_952.0 * 10**15,
    ]
    months = np.array(["NaT", 10**17], dtype="m8[M]")
    found, _ = as_seconds(months, "duration")
    assert np.isnan(found[0])
    assert found[1] == 2_629_746.0 * 10**17


@given(st.timedeltas())
def test_durations_in_microseconds_are_pythons(duration):
    microseconds = duration // datetime.timedelta(microseconds=1)
    if abs(microseconds) < 2**62:
        assert times_as_objects(np.array([microseconds], dtype="m8[us]"))[0] == duration


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (1, "0:00:00.000000001"),
        (-1, "-1 day, 23:59:59.999999999"),
        (86_400_000_000_001, "1 day, 0:00:00.000000001"),
    ],
)
def test_durations_in_nanoseconds(nanoseconds, text):
    assert str(times_as_objects(np.array([nanoseconds], dtype="m8[ns]"))[0]) == text


def test_missing_times_are_none_in_any_shape():
    values = np.array([["NaT", "2020-01-01"]], dtype="M8[ns]")
    assert times_as_objects(values).tolist() == [[None, datetime.datetime(2020, 1, 1)]]
    assert times_as_objects(np.array("NaT", dtype="m8[s]")).item() is None


def test_levels_a_nanosecond_apart_are_two_levels():
    values = np.array(
        ["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000002"], dtype="M8[ns]"
    )
    for table in (
        values[:, None],
        pd.DataFrame({"t": values}),
        pd.DataFrame({"t": pd.to_datetime(values).astype(object)}),
        [[value] for value in values],
    ):
        encoder = fit_encoder(table)
        assert codes_of(encoder, table) == [0, 1]
        assert codes_of(encoder, values[:, None]) == [0, 1]


# Times as numbers


@pytest.mark.parametrize("unit", UNITS)
def test_seconds_of_every_unit_are_those_of_python(unit):
    if unit == "as":
        return  # ten seconds, all in all
    dates = ["1999-12-31", "1970-01-01", "NaT", "2020-02-29"]
    values = np.array(dates[1:3] if unit in ("ps", "fs") else dates, dtype="M8[s]").astype(
        f"M8[{unit}]"
    )
    found, odd = as_seconds(values, "date")
    expected = [
        np.nan if cell is None else (cell - datetime.datetime(1970, 1, 1)).total_seconds()
        for cell in times_as_objects(values)
    ]
    np.testing.assert_array_equal(found, expected)
    assert not odd.any()
    np.testing.assert_array_equal(as_seconds(times_as_objects(values), "date")[0], expected)


def test_dates_are_continuous_and_keep_their_order():
    days = np.arange("2020-01-01", "2021-01-01", dtype="M8[D]")
    forms = {
        "array": days[:, None],
        "naive": pd.DataFrame({"x0": days}),
        "aware": pd.DataFrame(
            {"x0": pd.DatetimeIndex(days).tz_localize("UTC").tz_convert("Asia/Tokyo")}
        ),
        "dates": np.array(days.tolist(), dtype=object)[:, None],
        "moments": [[moment] for moment in days.astype("M8[us]").tolist()],
    }
    encoders = {name: fit_encoder(form, num_bins=4) for name, form in forms.items()}
    for name, encoder in encoders.items():
        (column,) = encoder.columns
        assert (column.kind, column.num_categories) == ("date", 4), name
        assert column.edges == encoders["array"].columns[0].edges
        assert column.describe() == (
            "'x0': date, 4 bins cut at 2020-04-01, 2020-07-02, 2020-10-01; values beyond the training range "
            "[2020-01-01, 2020-12-31] fall into the outermost bins; missing is -1"
        )
        for form in forms.values():
            codes, report = encoder.encode(form)
            assert np.bincount(codes[:, 0]).tolist() == [91, 92, 91, 92]
            assert report.num_out_of_range.tolist() == [0]
    later, report = encoder.encode([[datetime.datetime(2030, 1, 1)], [None], [pd.NaT]])
    assert (later[:, 0].tolist(), report.num_out_of_range.tolist()) == ([3, -1, -1], [1])
    back = encoder.decode([[0], [1], [2], [3]])
    assert all(isinstance(cell, datetime.datetime) for cell in back[:, 0])
    assert encoder.encode(back)[0][:, 0].tolist() == [0, 1, 2, 3]
    assert encoder.encode([["2020-01-01"], ["2020-12-31T10:00Z"], ["31.12.2020"]])[0][
        :, 0
    ].tolist() == [0, 3, 3]
    for text in ("2020-02-30", "01/02/2020", "soon", "20200101"):
        with pytest.raises(TypeError, match=f"column 'x0' holds '{text}', expected a date"):
            encoder.encode([[text]])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([datetime.timedelta(hours=i) for i in range(8)], "duration"),
        (np.arange(8).astype("m8[h]").tolist(), "duration"),
        ([datetime.time(i) for i in range(8)], "time"),
        ([np.timedelta64(i, "h") for i in range(8)], "duration"),
    ],
)
def test_durations_and_times_of_the_day(cells, kind):
    table = [[cell] for cell in [*cells, None]]
    encoder = fit_encoder(table, num_bins=2)
    (column,) = encoder.columns
    assert (column.kind, column.edges, column.low, column.high) == (
        kind,
        (4 * 3600.0,),
        0.0,
        7 * 3600.0,
    )
    assert codes_of(encoder, table) == [0] * 4 + [1] * 4 + [-1]
    assert codes_of(encoder, encoder.decode([[0], [1]])) == [0, 1]


def test_a_single_date_is_a_level_and_dates_asked_for_as_categories_are():
    table = [[datetime.date(2020, 1, 1)], [datetime.date(2020, 1, 2)]]
    assert fit_encoder(table[:1]).columns[0].levels == ("2020-01-01",)
    assert fit_encoder(table, categorical=[0]).columns[0].levels == ("2020-01-01", "2020-01-02")
    mixed = fit_encoder([*table, ["yesterday"]])
    assert mixed.columns[0].levels == ("2020-01-01", "2020-01-02", "yesterday")


@given(st.floats(-1e11, 1e11) | st.floats(-2, 2))
def test_what_python_writes_is_not_before_the_number(seconds):
    for kind in ("date", "duration"):
        cell = from_seconds(seconds, kind)
        if isinstance(cell, str):
            continue
        again = as_seconds(np.array([cell], dtype=object), kind)[0][0]
        assert 0 <= again - seconds <= 1e-6 + 1e-15 * abs(seconds)


def test_milliseconds_stay_what_they_are():
    for milliseconds in range(20_000):
        assert from_seconds(milliseconds / 1000, "duration") == datetime.timedelta(
            milliseconds=milliseconds
        )
    assert time_text(4.463, "duration") == "0:00:04.463000"


def test_a_time_is_never_before_its_seconds():
    rng = np.random.default_rng(0)
    for seconds in [*rng.uniform(-100, 100, 500), *rng.uniform(0, 4e9, 500)]:
        step = from_seconds(seconds, "duration").total_seconds()
        assert seconds <= step <= seconds + 1.5e-6


@pytest.mark.parametrize(
    "nanoseconds", [0, 1, 999, 1000, 1001, -1, 10**9 + 7, 86_400 * 10**9 * 50 + 3]
)
def test_texts_of_durations_are_right_to_the_nanosecond(nanoseconds):
    seconds = nanoseconds / 1e9
    assert as_seconds(np.array([duration_text(seconds)], dtype=object), "duration")[0][0] == seconds
    assert str(pd.Timedelta(duration_text(seconds))) == str(pd.Timedelta(nanoseconds, "ns"))


def test_durations_that_microseconds_do_not_tell_apart_are_shown_to_the_nanosecond():
    """All of some hundred nanoseconds had been 0:00:00.000001."""
    assert time_texts([1.15e-7, 7.32e-7], "duration") == ["0:00:00.000000115", "0:00:00.000000732"]
    assert time_texts([0.005, 0.0050005], "duration") == ["0:00:00.005000", "0:00:00.0050005"]
    assert time_texts([1e-6, 2e-6], "duration") == ["0:00:00.000001", "0:00:00.000002"]
    assert time_texts([0.123456789, 1.5], "duration") == ["0:00:00.123457", "0:00:01.500000"]
    assert time_texts([1e30, 0.0, 1e-7], "duration")[0] == "1e+30 s"


def test_the_time_of_a_bin_is_in_it():
    bins = [(1e-7, 2e-7), (5.0, 5.0000001), (0.0, 10.0), (5.0, 5.0)]
    times = [time_in_bin(a, 0.5 * a + 0.5 * b, b, "duration") for a, b in bins]
    assert times == ["0:00:00.00000015", *(datetime.timedelta(seconds=5),) * 3]


@pytest.mark.parametrize(
    "days",
    [
        [datetime.date(2026, 1, day) for day in range(1, 20)],
        [f"2026-01-{day:02d}" for day in range(1, 20)],
    ],
    ids=["dates", "texts"],
)
def test_a_number_among_dates_makes_levels_of_them_and_a_hole_of_any_type_does_not(days):
    encoder = fit_encoder({"when": [*days, 3.5]})
    assert encoder.columns[0].kind == "categorical"
    assert encoder.encode({"when": [*days, 3.5]})[0].ravel().tolist() == [*range(1, 20), 0]
    for hole in (None, np.float64("nan"), np.float32("nan"), pd.NaT):
        encoder = fit_encoder({"when": [*days, hole]})
        assert encoder.columns[0].kind == "date"
        assert encoder.encode({"when": [*days, hole]})[0][-1] == -1


def test_dates_beyond_the_seconds_of_64_bits_have_a_text():
    assert [from_seconds(seconds, "date") for seconds in (1e30, -(2.0**63))] == [
        "1e+30 s",
        f"{-(2.0**63)} s",
    ]
    assert from_seconds(2.0**62, "date") == str(np.datetime64(2**62, "s")).replace("T", " ")
    years = np.array([[0], [10**12]], dtype="M8[Y]")  # far beyond the seconds of 64 bits
    assert (
        "values beyond the training range [1970-01-01, 3.1556952e+19 s]"
        in fit_encoder(years).describe()
    )


@pytest.mark.parametrize(("unit", "kind"), [("M8[D]", "date"), ("m8[D]", "duration")])
def test_arrays_among_times_are_of_another_type_and_decimals_that_are_none_missing(unit, kind):
    encoder = fit_encoder({"at": np.arange(20).astype(unit)})
    cells = [
        np.array([1, 2]),
        [1],
        Decimal("sNaN"),
        Decimal("NaN"),
        Decimal(1),
        np.arange(3).astype(unit)[2],
    ]
    codes, quality = encoder.check({"at": cells})
    assert codes.ravel().tolist() == [-1] * 5 + [1]
    assert (quality.columns[0].num_odd, quality.columns[0].num_missing) == (3, 5)
    with pytest.raises(
        TypeError, match=rf"column 'at' holds array\(\[1, 2\]\), expected a {kind}, as in training"
    ):
        encoder.encode({"at": cells})
