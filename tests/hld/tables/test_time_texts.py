"""Texts that stand for times: every form that is read, and what stays text."""

import datetime
import json

import numpy as np
import pytest

from hld.tables.time_levels import same_time
from hld.tables.time_texts import in_iso, seconds_of_text, text_kind, times_of_texts
from hld.tables.times import as_seconds

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
        (["P0D", "PT3H"], "duration"),
        (["P0DT3H4M5S", "-PT75600S"], "duration"),
        (["P1D", "P2D"], None),
        (["PT1H", "P1Y"], None),
        (["PT", "PT1H"], None),
        (["P", "PT1H"], None),
        (["P1DT", "PT1H"], None),
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
        ("PT\u0663H", "duration"),
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


@pytest.mark.parametrize(
    "step",
    [
        0 * DAY,
        DAY,
        3 * DAY + datetime.timedelta(hours=2, microseconds=7),
        -DAY / 8,
        -2 * DAY,
        DAY / 64,
        400 * DAY + datetime.timedelta(milliseconds=1500),
    ],
)
def test_durations_are_read_as_data_frames_write_them_into_json(step):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    by_pandas = pandas.DataFrame({"x": [step]}).to_json(orient="records", date_format="iso")
    texts = [
        json.loads(data)[0]["x"]
        for data in (by_pandas, polars.DataFrame({"x": [step]}).write_json())
    ]
    texts += [pandas.Timedelta(step).isoformat(), "P1M"]
    assert all("P" in text[:2] for text in texts)
    assert times_of_texts(texts, "duration").tolist() == [step, step, step, "P1M"]
    assert [seconds_of_text(text, "duration") for text in texts] == [step.total_seconds()] * 3 + [
        None
    ]
    assert [same_time(text) for text in texts] == [same_time(str(step))] * 3 + [None]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P2W", 2 * 7 * 86400),
        ("PT-3H", -10800),
        ("-P-1DT3H", 86400 - 10800),
        ("PT0.000000001S", 1e-9),
        ("PT1,5S", 1.5),
    ],
)
def test_signs_weeks_and_fractions_of_durations(text, seconds):
    assert seconds_of_text(text, "duration") == seconds


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


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00+05:00",
        "9999-12-31T23:00-05:00",
        "9999-12-31T23:59:59.9999999",
        "31.12.9999 23:59:59.9999999",
        "2026-01-31T12:30:00.1234567",
        "0000-01-01",
    ],
)
def test_a_date_at_the_ends_of_time_is_read_in_files_as_in_tables(text):
    found = times_of_texts([text, "2026-01-31"], "date")
    assert found.tolist()[1] == datetime.datetime(2026, 1, 31)
    seconds, odd = as_seconds(np.array([text], dtype=object), "date")
    assert odd.tolist() == [text == "0000-01-01"]
    np.testing.assert_array_equal(as_seconds(found[:1], "date")[0], seconds)
    assert isinstance(found[0], str if odd[0] else (datetime.datetime, np.datetime64))
