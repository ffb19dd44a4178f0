"""Dates and durations as objects: exact, in every unit, within Python's range and beyond it."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import codes_of

from hld.tables.schemas.learn_schema import fit_encoder
from hld.tables.times import (
    in_iso,
    seconds_of_text,
    text_kind,
    times_as_objects,
    times_of_texts,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2020-01-02", "2020-01-02 00:00:00"),
        ("2020-01-02T03:04:05.000006", "2020-01-02 03:04:05.000006"),
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


@given(st.timedeltas())
def test_durations_in_microseconds_are_pythons(duration):
    microseconds = duration // datetime.timedelta(microseconds=1)
    if abs(microseconds) < 2**62:
        assert times_as_objects(np.array([microseconds], dtype="m8[us]"))[0] == duration


# Times as numbers


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
        assert column.texts(column.marks) == [
            *("2020-01-01", "2020-04-01", "2020-07-02", "2020-10-01", "2020-12-31")
        ]
        for form in forms.values():
            codes, report = encoder.encode(form)
            assert np.bincount(codes[:, 0]).tolist() == [91, 92, 91, 92]
            assert report.num_out_of_range.tolist() == [0]
    later, report = encoder.encode([[datetime.datetime(2030, 1, 1)], [None], [pd.NaT]])
    assert (later[:, 0].tolist(), report.num_out_of_range.tolist()) == ([3, -1, -1], [1])
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


def test_a_single_date_is_a_level_and_dates_asked_for_as_categories_are():
    table = [[datetime.date(2020, 1, 1)], [datetime.date(2020, 1, 2)]]
    assert fit_encoder(table[:1]).columns[0].levels == ("2020-01-01",)
    assert fit_encoder(table, categorical=[0]).columns[0].levels == ("2020-01-01", "2020-01-02")
    mixed = fit_encoder([*table, ["yesterday"]])
    assert mixed.columns[0].levels == ("2020-01-01", "2020-01-02", "yesterday")


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


DAYS = [datetime.date(2020, 1, k) for k in (1, 2, 3)]
BERLIN = datetime.timezone(datetime.timedelta(hours=1))


def forms_of_days():
    """Name -> the three days as a column of a table, in every form."""
    stamps = pd.Series(pd.to_datetime(DAYS))
    forms = {
        "date": pd.Series(DAYS, dtype=object),
        "datetime": pd.Series(list(stamps.dt.to_pydatetime()), dtype=object),
        "M8[D]": np.array(DAYS, "M8[D]"),
        "M8[ns]": np.array(DAYS, "M8[ns]"),
        "stamps": stamps.astype(object),
        "UTC": stamps.dt.tz_localize("UTC"),
        "Berlin": pd.Series(
            [datetime.datetime(2020, 1, k, 1, tzinfo=BERLIN) for k in (1, 2, 3)], dtype=object
        ),
        "categories": stamps.astype("category"),
        "text": ["2020-01-01", "2020-01-02", "2020-01-03"],
        "JSON": [f"2020-01-0{k}T00:00:00.000" for k in (1, 2, 3)],
        "dotted": ["01.01.2020", "02.01.2020", "03.01.2020"],
    }
    pa = pytest.importorskip("pyarrow")
    column = pa.array(DAYS, pa.date32())
    forms |= {
        "date32": column,
        "timestamp": column.cast(pa.timestamp("ms")),
        "dictionary": column.dictionary_encode(),
    }
    return {
        name: pa.table({"x": values})
        if isinstance(values, pa.Array)
        else {"x": values}
        if isinstance(values, list)
        else pd.DataFrame({"x": values})
        for name, values in forms.items()
    }


def test_a_level_is_the_same_time_in_every_form():
    forms = forms_of_days()
    for fitted_name, table in forms.items():
        if fitted_name in ("JSON", "dotted"):  # texts stay as they are in the table
            continue
        encoder = fit_encoder(table, categorical=["x"])
        assert encoder.columns[0].levels == ("2020-01-01", "2020-01-02", "2020-01-03"), fitted_name
        for name, batch in forms.items():
            assert encoder.encode(batch)[0].ravel().tolist() == [0, 1, 2], (fitted_name, name)


def test_other_times_are_other_levels():
    encoder = fit_encoder(pd.DataFrame({"x": pd.to_datetime(DAYS)}), categorical=["x"])
    for other in (
        "2020-01-01T00:00:00-01:00",
        "2020-01-04",
        "2020-01-32",
        "1:00",
    ):
        assert encoder.encode({"x": [other]})[0].item() == 3, other


def test_durations_and_times_of_the_day_as_levels():
    steps = pd.Series(pd.to_timedelta(["3h", "1D 30min", "-1h"]))
    encoder = fit_encoder(pd.DataFrame({"x": steps}), categorical=["x"])
    assert encoder.columns[0].levels == ("-1 day, 23:00:00", "1 day, 0:30:00", "3:00:00")
    for batch in (
        steps.astype(object),
        steps.astype(str),
        ["0 days 03:00:00", "24:30", "-1:00"],
        [
            datetime.timedelta(hours=3),
            datetime.timedelta(days=1, minutes=30),
            datetime.timedelta(hours=-1),
        ],
    ):
        assert encoder.encode({"x": list(batch)})[0].ravel().tolist() == [2, 1, 0]
    clock = fit_encoder(
        {"x": [datetime.time(3), datetime.time(12, 30, 0, 500_000)]}, categorical=["x"]
    )
    assert clock.columns[0].levels == ("03:00:00", "12:30:00.500000")
    assert clock.encode({"x": ["3:00", "12:30:00.5"]})[0].ravel().tolist() == [0, 1]


DAY = datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["2026-01-31", "2026-02-01T12:30:00.5+01:00"], "date"),
        (["31.01.2026", "1.2.2026 12:30"], "date"),
        (["2026/01/31", "2026/2/1"], "date"),
        (["01/31/2026", "02/01/2026"], None),
        (["2026-01-31"], None),
        (["12:30", "23:59:59.5"], "time"),
        (["12:30", "24:00"], "duration"),
        (["1 days", "12:30:00"], "duration"),
        (["0 days 00:00:01", "-1 days +23:00:00"], "duration"),
        (["1 day, 0:00:01", "2 days, 1:00:00"], "duration"),
        (["12:30", "12:75"], None),
        (["12:30", ""], None),
        (["1.5", "2.5"], None),
        (["1.2.3", "3.2.1"], None),
    ],
)
def test_kinds_of_texts(cells, kind):
    assert text_kind(cells) == kind


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("2026-01-\u0663\u0661", "date"),
        ("\uff13.1.2026", "date"),
        ("2026/\u0661/3", "date"),
        ("1 days 0:00:0\u0663", "duration"),
        ("12:3\u0663", "time"),
    ],
)
def test_digits_of_other_scripts_are_text(cell, kind):
    assert seconds_of_text(cell, kind) is None
    assert times_of_texts([cell], kind).tolist() == [cell]
    assert text_kind([cell, "2026-01-31" if kind == "date" else "12:30"]) is None


@pytest.mark.parametrize(
    "step", [DAY, 3 * DAY + datetime.timedelta(hours=2, microseconds=7), -DAY / 3, DAY / 7]
)
def test_durations_are_read_as_python_and_data_frames_write_them(step):
    pandas = pytest.importorskip("pandas")
    texts = [str(step), str(pandas.Timedelta(step)), "no duration"]
    assert times_of_texts(texts, "duration").tolist() == [step, step, "no duration"]


def test_times_of_the_day_and_dates_are_read_or_left():
    found = times_of_texts(["23:59:59.25", "24:00", "-1:00", "x"], "time").tolist()
    assert found == [datetime.time(23, 59, 59, 250000), "24:00", "-1:00", "x"]
    found = times_of_texts(
        ["31.1.2026", "2026-01-31 01:00+01:00", "30.02.2026", "01/02/2026"], "date"
    ).tolist()
    assert found == [
        datetime.datetime(2026, 1, 31),
        datetime.datetime(2026, 1, 31),
        "30.02.2026",
        "01/02/2026",
    ]
    assert times_of_texts(["99999999 days"], "duration").tolist() == [
        datetime.timedelta(days=99999999)
    ]
    assert in_iso("1.2.2026 12:30") == "2026-02-01 12:30"


@pytest.mark.parametrize("text", ["20240501", "2024-05", "2024", "2024-W18-3", "20240501T1200"])
def test_columns_and_single_cells_take_the_same_texts_for_dates(text):
    """Other forms of ISO 8601 may be numbers: they are none in files and in frames."""
    assert times_of_texts([text, "2024-05-01"], "date").tolist() == [
        text,
        datetime.datetime(2024, 5, 1),
    ]
    assert seconds_of_text(text, "date") is None
