"""What a batch has that the schema does not know: counted in the result, and tested where a test can be."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import hld


def table(N, seed, holes=0.1):
    """A number with holes, text, and a date."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Lima", "Pune"], size=N, p=[0.5, 0.3, 0.2]).astype(object)
    frame = pd.DataFrame(
        {
            "city": city,
            "heat": rng.normal(size=N),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 365, size=N).astype("m8[D]"),
        }
    )
    frame.loc[rng.random(N) < holes, "heat"] = np.nan
    return frame


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(table(1000, 0))


def test_a_column_that_is_suddenly_empty_is_found(detector):
    batch = table(60, 1)
    before = detector.test(batch)
    for name in batch.columns:
        result = detector.test(batch.assign(**{name: None}))
        assert result.pvalue < 1e-20
        assert result.reject
        found = next(column for column in result.data_quality.columns if column.name == name)
        assert (found.num_missing, found.pvalue < 1e-20) == (60, True)
        assert result.statistic == pytest.approx(-np.log10(result.pvalue))
    assert not before.reject
    assert (
        detector.test(batch.assign(heat=batch["heat"].fillna(0.1))).data_quality.missingness.pvalue
        < 0.05
    )


def test_no_rows_are_counted_without_a_word_on_shares(detector):
    assert (
        str(detector.schema_.check(table(0, 1))) == "0 rows, nothing that the schema does not know"
    )


def test_every_difference_is_counted_and_the_check_goes_on(detector):
    batch = table(50, 2, holes=0).assign(more=1, other="x").drop(columns="day")
    batch["heat"] = batch["heat"].astype(object)
    batch.loc[:2, "heat"] = "warm"
    batch.loc[3, "heat"] = 99.0
    batch.loc[:4, "city"] = "Rome"
    quality = detector.test(batch).data_quality
    city, heat, day = quality.columns
    assert (quality.extra, quality.absent) == (("more", "other"), ("day",))
    assert (city.num_unseen, city.num_missing, city.is_absent) == (5, 0, False)
    assert (heat.num_odd, heat.num_missing, heat.num_out_of_range) == (3, 3, 1)
    assert (day.is_absent, day.num_missing, day.train_missing) == (True, 50, 0.0)
    assert heat.train_missing == detector.schema_["heat"].num_missing / 1000
    form = json.loads(json.dumps(quality.to_dict()))
    assert form["columns"][1]["num_odd"] == 3
    assert form["absent"] == ["day"]
    text = str(quality)
    assert "2 columns were not in training: ignored ('more', 'other')" in text
    assert "column 'day' is not there" in text
    assert "column 'heat': 3 of 50 values of another type" in text
    assert "column 'city': 5 of 50 values that training did not have" in text
    assert str(detector.schema_.check(table(1, 3, holes=0))).startswith("1 rows")
    with pytest.raises(ValueError, match="`batch` has none of the fitted columns"):
        detector.test(pd.DataFrame({"a": [1]}))


def test_text_among_numbers_of_a_column_of_levels_is_unseen_and_of_another_type():
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(
        [[i % 3, i % 2] for i in range(60)]
    )
    quality = detector.test([["a", 0], [1, 1], [7, 1]]).data_quality
    assert (quality.columns[0].num_odd, quality.columns[0].num_unseen) == (1, 2)


def test_nearly_unique_columns_are_named_and_left_out():
    frame = table(300, 0).assign(person=[f"person {i}" for i in range(300)], row=np.arange(300))
    with pytest.warns(
        UserWarning, match=r"'person' \(nearly unique: 300 of 300.*'row' \(row numbers"
    ):
        detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(frame)
    assert detector.encoder_.names == ("city", "heat", "day")
    assert [column.name for column in detector.schema_.left_out] == ["person", "row"]
    assert detector.n_features_in_ == 5
    assert "nearly unique" in detector.describe()
    batch = table(40, 1)
    for same in (batch, batch.assign(person="x", row=0)):
        assert detector.test(same).data_quality.extra == ()
        assert detector.test(same).pvalue == detector.test(batch).pvalue
        assert len(detector.score_samples(same)) == 40


def test_values_of_columns_left_out_are_not_in_the_file(tmp_path):
    frame = table(300, 0).assign(person=[f"secret {i}" for i in range(300)])
    with pytest.warns(UserWarning, match="'person'"):
        hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(frame).save(
            tmp_path / "m.hld"
        )
    assert b"secret" not in (tmp_path / "m.hld").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = hld.TableSchema([hld.ColumnSchema("person", "left out")])
        told = hld.HLDDetector(num_latents=1, num_epochs=1, num_resamples=99, schema=known).fit(
            frame
        )
    assert "person" not in told.encoder_.names


def test_a_table_without_columns_has_none():
    with pytest.raises(ValueError, match=r"expected at least one: it has none$"):
        hld.learn_schema({"a": [1, 2]}).check(pd.DataFrame(index=range(3)))


def test_a_schema_by_hand_is_learned_kept_and_saved(tmp_path):
    given = hld.TableSchema(
        [
            hld.ColumnSchema(
                "city", levels=("Pune", "Oslo", "Lima", "Rome"), kind="categorical", policy="refuse"
            ),
            hld.ColumnSchema("day", "date", edges=("2020-04-01", "2020-07-01")),
            hld.ColumnSchema("heat", policy="missing"),
        ]
    )
    options = {"num_latents": 2, "num_epochs": 2, "num_resamples": 99, "schema": given}
    detector = hld.HLDDetector(**options).fit(table(300, 0))
    city, heat, day = (detector.schema_[name] for name in ("city", "heat", "day"))
    assert city.levels == ("Lima", "Oslo", "Pune", "Rome")
    assert len(day.edges) == 2
    assert (
        day.edges[0]
        == (np.datetime64("2020-04-01") - np.datetime64("1970-01-01")).astype(int) * 86400
    )
    assert heat.policy == "missing"
    batch = table(30, 1, holes=0)
    batch.loc[0, "heat"] = 1e9
    codes, report, *_ = detector.encoder_.encode_counting(batch)
    assert (codes[0, 1], report.num_out_of_range[1]) == (-1, 1)
    with pytest.raises(
        ValueError, match=r"column .city. holds 30 values that training did not show, the first"
    ):
        detector.test(batch.assign(city="Bern"))
    detector.save(tmp_path / "m.hld")
    again = hld.load(tmp_path / "m.hld")
    assert (again.schema_, again.schema) == (detector.schema_, given)
    assert again.get_params() == detector.get_params()
    assert again.test(batch).to_dict() == detector.test(batch).to_dict()
    with pytest.raises(ValueError, match="`schema` has the column 'land', which the table lacks"):
        hld.HLDDetector(schema=hld.TableSchema([hld.ColumnSchema("land")])).fit(table(20, 0))
    with pytest.raises(TypeError, match="`schema` must be a TableSchema, found dict"):
        hld.HLDDetector(schema={}).fit(table(20, 0))


def test_a_column_in_which_a_few_cells_are_left_is_not_told_to_be_missing_throughout():
    schema = hld.learn_schema({"x": [1.0, 2.0, 3.0] * 2000, "y": [1, 2, None] + [None] * 5997})
    found = schema.check({"x": [1.0] + [None] * 2499, "y": [None] * 2500})
    assert "column 'x': 99.96% of the values are missing, 0% in training" in str(found)
    assert "column 'y': 100% of the values are missing, 99.97% in training" in str(found)


def test_p_values_that_doubles_round_to_zero_are_not_shown_as_zero():
    """5,000 missing cells of 5,000 beside none of 6,000 had (p = 0)."""
    schema = hld.learn_schema({"x": [1.0, 2.0, 3.0] * 2000, "y": [0, 1] * 3000})
    found = schema.check({"x": [None] * 5000, "y": [1] * 5000})
    assert found.columns[0].pvalue == 0
    assert found.columns[0].lines(5000) == [
        "column 'x': 100% of the values are missing, 0% in training (p < 1e-300)"
    ]
