"""Times as levels: one text for each, exact, whatever form the table has it in."""

import datetime

import numpy as np
import pandas as pd
import pytest

from hld.schemas.encoder import fit_encoder
from hld.tables.time_levels import other_forms, same_time, time_level

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
        encoder = fit_encoder(table, categorical=["x"])
        if fitted_name not in ("text", "JSON", "dotted"):  # texts stay as they are in the table
            assert encoder.columns[0].levels == ("2020-01-01", "2020-01-02", "2020-01-03"), (
                fitted_name
            )
        for name, batch in forms.items():
            assert encoder.encode(batch)[0].ravel().tolist() == [0, 1, 2], (fitted_name, name)


def test_a_constant_date_is_the_same_in_every_form():
    forms = {
        name: table.slice(0, 1) if hasattr(table, "slice") else pd.DataFrame(table).iloc[:1]
        for name, table in forms_of_days().items()
    }
    for name, table in forms.items():
        encoder = fit_encoder(table)
        assert [encoder.encode(batch)[0].item() for batch in forms.values()] == [0] * len(forms), (
            name
        )


def test_other_times_are_other_levels():
    encoder = fit_encoder(pd.DataFrame({"x": pd.to_datetime(DAYS)}), categorical=["x"])
    for other in (
        "2020-01-01 00:00:00.000000001",
        "2020-01-01T00:00:00-01:00",
        "2020-01-04",
        "2020-01-32",
        "1:00",
    ):
        assert encoder.encode({"x": [other]})[0].item() == 3, other


def test_durations_and_times_of_the_day():
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


def test_levels_of_older_model_files_are_matched_by_their_time():
    for levels in (
        ("2020-01-01 00:00:00", "2020-01-02 00:00:00"),
        ("2020-01-01 00:00:00+00:00", "x"),
        ("2020-01-01 01:00:00+01:00",),
    ):
        encoder = fit_encoder({"x": list(levels)}, categorical=["x"])
        for batch in forms_of_days().values():
            assert encoder.encode(batch)[0].ravel()[0] == 0, levels


def test_texts_that_differ_stay_different_levels():
    encoder = fit_encoder({"x": ["1:30", "01:30", "x"]}, categorical=["x"])
    assert encoder.encode({"x": ["1:30", "01:30", "x"]})[0].ravel().tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("levels", "others"),
    [
        (
            ["1:30", "2:00", "none"],
            ["01:30:00", "1:30:00", "01:30", "0 days 01:30:00", datetime.timedelta(minutes=90)],
        ),
        (
            ["1.2.2024", "2.0-beta"],
            ["01.02.2024", "1.02.2024", "2024-02-01", datetime.date(2024, 2, 1)],
        ),
        (["10:30", "2024", "x"], ["10:30:00", "2024-01-01", " 10:30"]),
        (["1:30", 5], ["01:30", "0:05"]),
    ],
)
def test_texts_that_look_like_times_are_texts_where_others_are_none(levels, others):
    encoder = fit_encoder({"x": levels}, categorical=["x"])
    unseen = encoder.columns[0].num_categories - 1
    assert sorted(encoder.encode({"x": levels})[0].ravel().tolist()) == list(range(len(levels)))
    assert [encoder.encode({"x": [one]})[0].item() for one in others] == [unseen] * len(others)


def test_rare_texts_that_look_like_times_are_texts_where_others_are_none():
    levels = ["a"] * 40 + ["b"] * 30 + ["3:00:00", "01:30:00", "2024-02-01"]
    encoder = fit_encoder({"x": levels}, categorical=["x"], max_categories=3)
    column = encoder.columns[0]
    assert column.levels == ("a", "b")
    batch = ["3:00:00", "01:30:00", "2024-02-01", "1.2.2024", "3:00", "1:30"]
    rare, unseen = len(column.levels), column.num_categories - 1
    assert encoder.encode({"x": batch})[0].ravel().tolist() == [rare] * 4 + [unseen] * 2


def test_a_column_of_times_finds_every_text_for_them():
    encoder = fit_encoder({"x": ["1:30", "2:00"]}, categorical=["x"])
    assert encoder.encode({"x": ["01:30:00", "02:00", "3:00"]})[0].ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-31T12:30", "2026-01-31 12:30:00"),
        ("2026-01-31 00:30:00.120+0100", "2026-01-30 23:30:00.120000"),
        ("2026-01-31T00:00:00.0000001Z", "2026-01-31 00:00:00.0000001"),
        ("2026-02-30", None),
        ("0001-01-01T00:00+01:00", None),
        ("-1:00:00.000000001", "-1 day, 22:59:59.999999999"),
        ("999999999999 days", None),
        ("99999999 days", "99999999 days, 0:00:00"),
        ("12", None),
        ("", None),
        ("+", None),
        ("1.5", None),
        ("\uff13:00", None),
    ],
)
def test_the_text_that_a_time_shares(text, same):
    assert same_time(text) == same
    if same is not None:
        assert same_time(same) == same
        assert same in other_forms(text)


def test_moments_at_the_ends_of_time_have_a_text():
    first = datetime.datetime(1, 1, 1, tzinfo=BERLIN)
    assert time_level(first) == str(first)
    assert (
        time_level(pd.Timestamp("2020-01-01 00:00:00.000000100")) == "2020-01-01 00:00:00.0000001"
    )


def test_a_rare_time_of_the_day_with_a_fraction_is_found_by_every_text_for_it():
    times = [datetime.time(1)] * 9 + [datetime.time(3, 0, 0, 500_000)] * 2 + [datetime.time(4)] * 2
    encoder = fit_encoder({"at": times}, max_categories=2, categorical=["at"])
    batch = {"at": [datetime.time(3, 0, 0, 500_000), "03:00:00.5", "3:00:00.500", "03:00:00.6"]}
    assert encoder.encode(batch)[0].ravel().tolist() == [1, 1, 1, 2]
