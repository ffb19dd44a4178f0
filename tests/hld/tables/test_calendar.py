"""Parts of dates as columns: in training, in batches of any form, in files, by position, in segments."""

import datetime

import numpy as np
import pandas as pd
import pytest

import hld
from hld.tables.cells import column_cells, read_table
from hld.tables.derived import part_of

SMALL = {"num_latents": 2, "num_epochs": 3, "num_resamples": 99}


def visits(N, first, seed, share=0.2):
    """A table of visits from a day on, of which a share is at weekends."""
    rng = np.random.default_rng(seed)
    weeks, is_late = rng.integers(0, 8, N), rng.random(N) < share
    day = np.where(is_late, rng.integers(5, 7, N), rng.integers(0, 5, N))
    when = np.datetime64(first, "s") + (
        86400 * (7 * weeks + day) + rng.integers(0, 86400, N)
    ).astype("m8[s]")
    return pd.DataFrame({"when": when, "kind": rng.choice(["a", "b"], N)})


@pytest.fixture(scope="module")
def detector():
    schema = hld.TableSchema(hld.calendar_columns("when"))
    return hld.HLDDetector(schema=schema, **SMALL).fit(visits(1500, "2026-01-05", 0))  # a Monday


def test_parts_are_those_of_python():
    rng = np.random.default_rng(0)
    moments = [
        datetime.datetime(1900, 1, 1) + datetime.timedelta(seconds=int(x))
        for x in rng.integers(0, 8e9, 300)
    ]
    cells = [*moments, None]
    for part, of in (
        ("weekday", lambda m: m.strftime("%a")),
        ("hour", lambda m: m.hour),
        ("month", lambda m: m.month),
    ):
        assert part_of(column_cells(cells), part).tolist() == [*map(of, moments), None]
        assert part_of(np.array(cells, dtype="M8[us]"), part).tolist() == [*map(of, moments), None]


def test_the_moment_is_left_out_and_its_parts_are_tested(detector, tmp_path):
    assert detector.encoder_.names == ("kind", "when_weekday", "when_hour")
    assert detector.feature_names_in_.tolist() == ["when", "kind"]
    later, shifted = visits(400, "2027-03-01", 1), visits(400, "2027-03-01", 2, share=0.5)
    assert not detector.test(later).reject
    result = detector.test(shifted)
    assert result.reject
    assert result.columns[0].name == "when_weekday"
    detector.save(tmp_path / "m.hld")
    again = hld.load(tmp_path / "m.hld")
    assert again.schema_ == detector.schema_
    assert again.test(shifted).pvalue == result.pvalue
    whole = hld.HLDDetector(**SMALL, continuous=["when"]).fit(visits(1500, "2026-01-05", 0))
    assert whole.test(later).reject  # which is why the moment is left out


def test_forms_of_tables_agree(detector):
    table = visits(50, "2026-06-01", 3)
    want = detector.encoder_.encode(table)[0]
    objects = [[when.to_pydatetime(), kind] for when, kind in table.itertuples(index=False)]
    mapping = {"when": table["when"].dt.tz_localize("UTC"), "kind": table["kind"]}
    for other in (table[["kind", "when"]], mapping, objects):
        np.testing.assert_array_equal(detector.encoder_.encode(other)[0], want)
    drawn = detector.sample(50, rng=0)
    assert detector.test(drawn).data_quality.absent == ()
    quality = detector.test(table.assign(when="no date")).data_quality
    assert [one.num_missing for one in quality.columns] == [0, 50, 50]


def test_what_is_no_part_is_refused():
    with pytest.raises(
        ValueError, match="`parts` must be a list out of 'weekday', 'hour', 'month', found 'hour'"
    ):
        hld.calendar_columns("when", "hour")
    with pytest.raises(TypeError, match="`source` must be the name of a column"):
        hld.calendar_columns(3)
    with pytest.raises(ValueError, match="`part` of column 'x' must be one of"):
        hld.ColumnSchema("x", source="when", part="minute")
    assert [one.name for one in hld.calendar_columns("when", keep=True)] == [
        "when_weekday",
        "when_hour",
    ]
    schema = hld.TableSchema(hld.calendar_columns("when"))
    assert hld.TableSchema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    "last",
    [
        np.array(["2026-01-31T23:59:59.999999999"], dtype="M8[ns]"),
        np.array(["9998-01-31T23:59:59.999999"], dtype="M8[us]"),
    ],
)
def test_the_last_moment_of_a_month_is_in_it(last):
    values = read_table({"when": last}).arrays[0]
    assert [part_of(values, part).tolist() for part in ("weekday", "hour", "month")] == [
        ["Sat"],
        [23],
        [1],
    ]


def test_the_last_moment_before_1970_is_in_1969():
    values = np.array([-1, 0], dtype="M8[ns]")
    assert part_of(values, "weekday").tolist() == ["Wed", "Thu"]
    assert part_of(values, "month").tolist() == [12, 1]
