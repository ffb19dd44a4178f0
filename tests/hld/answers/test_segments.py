"""Segments: groups, false discoveries, hidden columns, and results in all forms."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import hld
import hld.answers.segments as segments_module
from hld.answers.reports import batch_report


def table(rng, n):
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "kind": np.array(list("abc"))[kind],
            "x": rng.normal(2 * kind),
            "n": kind + rng.integers(0, 2, n),
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=5, num_latents=3).fit(table(np.random.default_rng(0), 1200))


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(1)
    found = table(rng, 1800)
    found["shop"] = rng.integers(0, 30, 1800)
    found.loc[found["shop"] == 7, "x"] += 4
    return found


@pytest.mark.parametrize("procedure", ["bh", "by"])
def test_the_shifted_segment_is_found(detector, visits, procedure):
    found = detector.test_by(visits, "shop", procedure=procedure)
    assert found.labels == tuple(map(str, range(30)))
    assert found.reject.tolist() == [shop == 7 for shop in range(30)]
    np.testing.assert_allclose(
        found.adjusted, false_discovery_control(found.pvalues, method=procedure), rtol=1e-12
    )
    assert found.results[7].pvalue == found.pvalues[7]
    assert found.results[7].columns[0].name == "x"
    assert found.num_rows.sum() == 1800
    assert str(found).startswith("1 of 30 segments of shop shifted")
    assert str(found).splitlines()[1].split()[0] == "7"


def test_segments_of_a_covariate_are_compared_with_what_was_learned_for_them():
    rng = np.random.default_rng(4)

    def rows(n, moved=0.0):
        kind = rng.choice(["a", "b", "c"], n)
        return pd.DataFrame(
            {
                "x": rng.normal(size=n) + 4 * (kind == "b") + moved * (kind == "c"),
                "n": rng.integers(0, 4, n),
                "kind": kind,
            }
        )

    fitted = hld.HLDDetector(num_epochs=5, covariates=["kind"]).fit(rows(2000))
    batch = rows(600, 2.0)
    found = fitted.test_by(
        batch, "kind", alpha=0.001
    )  # three tests, of which none but the last is of a shift
    assert found.reject.tolist() == [False, False, True]
    assert found.pvalues.tolist() == [
        fitted.test(batch[batch["kind"] == kind]).pvalue for kind in "abc"
    ]


def odd_table(rng, n):
    """A table with holes, and columns of every kind."""
    kind = rng.integers(0, 4, n)
    names = np.array(["ann", "bob", "eve", "jim"], dtype=object)[kind]
    names[rng.random(n) < 0.1] = None
    many = np.array(
        [f"v{i}" for i in rng.geometric(0.1, n)], dtype=object
    )  # more levels than are kept
    days = pd.to_timedelta(rng.integers(0, 90, n), "D")
    return pd.DataFrame(
        {
            "name": names,
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(kind)),
            "n": kind,
            "many": many,
            "day": pd.Timestamp("2026-01-01") + days,
        }
    )


def odd_segments(rng):
    """Twelve segments: some as training, others with more or fewer holes, new levels, numbers out of range, shifts."""
    found = (
        odd_table(rng, 600).assign(shop=rng.permutation(np.arange(600) % 12)).astype({"n": object})
    )
    shop = found["shop"]
    found.loc[(shop == 1), "x"] = np.nan
    found.loc[(shop == 2), "name"] = found.loc[shop == 2, "name"].fillna("ann")
    found.loc[(shop == 3) & (rng.random(600) < 0.5), "name"] = "zoe"
    found.loc[(shop == 4) & (rng.random(600) < 0.3), "x"] = 1e6
    found.loc[(shop == 5), "x"] += 2
    found.loc[(shop == 6) & (rng.random(600) < 0.3), "n"] = "text"
    found.loc[(shop == 7) & (rng.random(600) < 0.3), "many"] = "new"
    found.loc[(shop == 8), "day"] += pd.Timedelta(days=60)
    strange = (shop == 9) & (found["x"] > 1)
    found["x"] = found["x"].astype(object)
    found.loc[strange, "x"] = "text"
    return found


@pytest.fixture(
    scope="module",
    params=["rows", "circuit", "new values not tested", "policy", "covariates", "groups"],
)
def fitted(request):
    options = {
        "circuit": {"reference": "circuit"},
        "new values not tested": {"missingness": False},
        "covariates": {"covariates": ["n"]},
        "policy": {
            "schema": hld.TableSchema(
                (
                    hld.ColumnSchema("name", policy="missing"),
                    hld.ColumnSchema("x", policy="missing"),
                )
            )
        },
    }
    rng = np.random.default_rng(2)
    rows, detector = (
        odd_table(rng, 800),
        hld.HLDDetector(
            num_epochs=1,
            num_latents=2,
            max_categories=12,
            num_resamples=99,
            **options.get(request.param, {}),
        ),
    )
    return detector.fit(
        rows, **({"groups": np.arange(800) // 20} if request.param == "groups" else {})
    )


def test_every_segment_has_the_p_value_of_its_rows_alone(fitted):
    """Missing cells, new levels, numbers out of range, cells of another type, single counts: all as in a batch."""
    segments = odd_segments(np.random.default_rng(3))
    found = fitted.test_by(segments, "shop")
    for shop, own in enumerate(found.results):
        alone = fitted.test(segments[segments["shop"] == shop].drop(columns="shop"))
        assert own.pvalue == found.pvalues[shop] == alone.pvalue
        assert own.data_quality == alone.data_quality
        assert own.largest_count == alone.largest_count
        assert own.threshold == alone.threshold
    assert len({one.data_quality for one in found.results}) == 12
    if fitted.judge_ is fitted.test_ and fitted.missingness:
        assert found.reject[[1, 5]].all()
        assert fitted.new_values_ is None or found.results[3].data_quality.new_values.pvalue < 1e-3
        assert [one.num_odd > 0 for one in found.results[9].data_quality.columns] == [
            False,
            True,
            False,
            False,
            False,
        ]


def test_a_hidden_column_is_in_no_test(detector):
    """Of segments by a column that was learned, as of a batch without it whose missing cells are not asked for."""
    rng = np.random.default_rng(4)
    segments = table(rng, 300).astype({"n": float})
    segments.loc[rng.random(300) < 0.1, "n"] = 77.0
    found, shown = detector.test_by(segments, "kind"), [1, 2]
    for kind, own in zip("abc", found.results, strict=True):
        quality, rest = own.data_quality, segments[segments["kind"] == kind].drop(columns="kind")
        alone = detector.test(rest).data_quality
        assert quality.columns == tuple(alone.columns[v] for v in shown)
        assert quality.new_values.pvalues == tuple(alone.new_values.pvalues[v] for v in shown)
        assert quality.missingness.pvalue == 1
        assert [one.num_rows for one in (quality, alone)] == [len(rest)] * 2
        assert {one.name for one in own.columns} == {"x", "n"}
        assert not any("kind" in one.names for one in own.pairs)
    assert found.reject.all()


def test_a_dependence_is_that_of_its_columns_also_where_one_before_them_is_hidden():
    """The first column is hidden: names by the places of the others were wrong, or led to an IndexError."""
    rng = np.random.default_rng(0)

    def rows(n, share):
        first = rng.integers(0, 2, n)
        return pd.DataFrame(
            {
                "shop": rng.integers(0, 2, n),
                "a": first,
                "b": np.where(rng.random(n) < share, first, 0),
                "c": rng.integers(0, 3, n),
            }
        )

    detector = hld.HLDDetector(num_epochs=5, num_latents=2, num_resamples=99).fit(rows(1000, 1.0))
    found = detector.test_by(
        pd.concat([rows(16, 0.3).assign(shop=1), rows(40, 1.0).assign(shop=0)]), "shop"
    )
    assert found.reject.tolist() == [False, True]
    shifted = found.results[1]
    assert shifted.largest_dependence.columns == (1, 2)
    assert "the dependence of a and b is not that of the reference: " in str(shifted)
    assert "The dependence of a and b is not that" in batch_report(detector, shifted)


def test_forms(detector, visits):
    found = detector.test_by(visits, "shop")
    values = found.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert [one["columns"] for one in values["segments"][7]["moved"]] == [["x"]]
    assert found.to_frame()["reject"].tolist() == found.reject.tolist()
    from hld.answers.plots import new_figure

    assert found.plot(new_figure((4, 3)).add_subplot()).get_ylabel() == "adjusted p-value"


def test_labels_can_be_given_and_be_missing(detector, visits):
    plain, labels = (
        visits.drop(columns="shop"),
        [None if shop == 3 else f"s{shop % 2}" for shop in visits["shop"]],
    )
    found = detector.test_by(plain, labels)
    assert found.labels == ("s0", "s1", "(missing)")
    assert found.num_rows[2] == (visits["shop"] == 3).sum()
    assert (
        detector.test_by(visits, 3).pvalues.tolist()
        == detector.test_by(visits, "shop").pvalues.tolist()
    )


def test_of_many_shifted_segments_those_of_the_smallest_p_values_tell_their_columns(
    detector, monkeypatch
):
    """Not those of the first labels: a line of a segment that comes first said nothing of its columns."""
    monkeypatch.setattr(segments_module, "MOST_EXPLAINED", 1)
    rows = table(np.random.default_rng(3), 300)
    rows["x"] += np.repeat([1.5, 0.0, 9.0], 100)
    found = detector.test_by(rows, np.repeat([1, 2, 3], 100))
    assert found.reject.tolist() == [True, False, True]
    assert found.adjusted[2] < found.adjusted[0]
    assert [len(one.columns) > 0 for one in found.results] == [False, False, True]
    assert str(found).splitlines()[2].startswith("    x: higher")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "nothing"}, "`by` names the column 'nothing'"),
        ({"by": 9}, "`by` is position 9"),
        ({"by": 4}, r"`by` is position 4, expected 0\.\.3"),
        ({"by": -1}, "`by` is position -1"),
        ({"by": [1, 2]}, r"`by` has shape \(2,\)"),
        ({"by": iter("ab")}, "`by` is <.*, in a list"),
        ({"by": "shop", "procedure": "x"}, "`procedure`"),
        ({"by": "shop", "every": "week"}, "`every`"),
        ({"by": "shop", "alpha": 2}, "`alpha`"),
    ],
)
def test_mistakes(detector, visits, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        detector.test_by(visits, **options)
    with pytest.raises(ValueError, match="no rows"):
        detector.test_by(visits[:0], "shop")


def test_segments_of_the_only_column_have_nothing_to_compare():
    rows = pd.DataFrame({"shop": ["a", "b"] * 20})
    detector = hld.HLDDetector(num_epochs=2, num_latents=2).fit(rows)
    with pytest.raises(ValueError, match="`by` is 'shop', and the model knows nothing else"):
        detector.test_by(rows, "shop")
    assert detector.test_by(rows, [1, 2] * 20).labels == ("1", "2")


@pytest.fixture(scope="module")
def by_place():
    """A detector of an array whose second column, row numbers, is left out; and a batch."""
    rng = np.random.default_rng(7)
    rows = np.column_stack([rng.integers(0, 4, 400), np.arange(400), rng.integers(0, 3, 400)])
    schema = hld.TableSchema([hld.ColumnSchema("x1", "left out")])
    return hld.HLDDetector(num_epochs=1, num_latents=2, schema=schema).fit(rows), rows[:60]


def test_rows_without_names_are_grouped_by_any_column_by_its_place(by_place):
    """One that is left out had its place taken away; one that the model has not was taken for x0, which it is not."""
    detector, rows = by_place
    assert detector.encoder_.names == ("x0", "x2")
    weeks = rows % [9, 3, 9]
    expected = detector.test_by(rows, rows[:, 1] % 3)
    assert np.array_equal(detector.test_by(weeks, 1).pvalues, expected.pvalues)
    for at in range(4):
        found = detector.test_by(np.insert(rows, at, weeks[:, 1], axis=1), at)
        assert np.array_equal(found.pvalues, expected.pvalues)
        assert [one.name for one in found.results[0].data_quality.columns] == ["x0", "x2"]
    hidden = detector.test_by(rows, 0)
    assert [one.name for one in hidden.results[0].data_quality.columns] == ["x2"]


def days(first, count, seed):
    """Forty rows a day: the day, what follows from it, a number that runs, a currency and two more."""
    rng = np.random.default_rng(seed)
    day = pd.date_range(first, periods=count).repeat(40)
    n = len(day)
    return pd.DataFrame(
        {
            "day": day.strftime("%Y-%m-%d"),
            "weekday": day.strftime("%a"),
            "month": day.month,
            "number": 1000 * (day - pd.Timestamp("2026-01-01")).days + np.arange(n) % 40,
            "currency": "EUR",
            "a": rng.integers(0, 3, n),
            "b": rng.choice(["x", "y"], n),
        }
    )


def test_what_the_segments_determine_is_hidden_and_named_and_a_new_currency_is_not():
    detector = hld.HLDDetector(
        num_latents=2,
        num_epochs=5,
        categorical=["weekday", "month", "currency"],
        continuous=["number"],
        schema=hld.TableSchema([hld.ColumnSchema("day", "left out")]),
    ).fit(days("2026-01-01", 31, 0))
    table = days("2026-02-01", 14, 1)
    table.loc[table["day"] == "2026-02-05", "currency"] = "USD"
    found = detector.test_by(table, "day")
    assert found.determined == ("weekday", "month", "number")
    assert [found.labels[i] for i in np.flatnonzero(found.reject)] == ["2026-02-05"]
    assert "not tested, as the segments determine them: 'weekday', 'month', 'number'" in str(found)
    assert "    currency: " in str(found)
    assert found.to_dict()["determined"] == list(found.determined)
    assert "2026-02-05" in found._repr_html_()
    one = detector.test_by(table[table["day"] == "2026-02-03"], "day")
    assert one.determined == ("weekday", "month")  # by the date alone
    labels = np.arange(len(table)) % 7  # segments of all days determine nothing
    assert detector.test_by(table.drop(columns="day"), labels).determined == ()


def test_segments_ascend_descend_or_neither():
    n = segments_module.FEWEST
    starts, rising = 3 * np.arange(n), np.repeat(np.arange(1.0 * n), 3)
    assert segments_module._ascends(rising, starts)
    assert segments_module._ascends(-rising, starts)
    assert not segments_module._ascends(np.ones(3 * n), starts)
    assert not segments_module._ascends(rising % (n - 1), starts)
