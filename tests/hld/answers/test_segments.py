"""Segments: groups, false discoveries, hidden columns, periods, and results in all forms."""
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import hld


def table(rng, n):
    kind = rng.integers(0, 3, n)
    return pd.DataFrame({"kind": np.array(list("abc"))[kind], "x": rng.normal(2 * kind),
                         "n": kind + rng.integers(0, 2, n)})


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
    np.testing.assert_allclose(found.adjusted, false_discovery_control(found.pvalues, method=procedure), rtol=1e-12)
    alone = detector.test(visits[visits["shop"] == 7].drop(columns="shop"))
    new = alone.data_quality.new_values.share  # part of the level that segments, where they are not tested, do not pay
    counts = alone.largest_count.share
    assert found.results[7].pvalue == found.pvalues[7]
    assert found.pvalues[7] * (1 - counts) == pytest.approx(alone.pvalue * (1 - counts - new), rel=1e-12)
    assert found.results[7].columns[0].name == "x"
    assert found.num_rows.sum() == 1800
    assert str(found).startswith("1 of 30 segments of shop shifted")
    assert str(found).splitlines()[1].split()[0] == "7"


def test_forms(detector, visits):
    found = detector.test_by(visits, "shop")
    values = found.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["segments"][7]["columns"] == ["x"]
    assert found.to_frame()["shift"].tolist() == found.reject.tolist()
    from hld.plots import new_figure
    assert found.plot(new_figure((4, 3)).add_subplot()).get_ylabel() == "adjusted p-value"


def test_labels_can_be_given_and_be_missing(detector, visits):
    plain, labels = visits.drop(columns="shop"), [None if shop == 3 else f"s{shop % 2}" for shop in visits["shop"]]
    found = detector.test_by(plain, labels)
    assert found.labels == ("s0", "s1", "(missing)")
    assert found.num_rows[2] == (visits["shop"] == 3).sum()
    assert detector.test_by(visits, 3).pvalues.tolist() == detector.test_by(visits, "shop").pvalues.tolist()


def test_times_are_cut_to_periods(detector, visits):
    when = pd.Timestamp("2026-01-30") + pd.to_timedelta(np.arange(1800) % 4 * 13, unit="h")
    found = detector.test_by(visits.drop(columns="shop").assign(when=when), "when", every="day")
    assert found.labels == ("2026-01-30", "2026-01-31")
    texts = visits.drop(columns="shop").assign(when=when.astype(str))
    assert detector.test_by(texts, "when", every="month").labels == ("2026-01",)


def test_a_learned_column_is_hidden(detector):
    """Its segments are not called shifted for being its segments, if the others do not depend on it."""
    rng = np.random.default_rng(3)
    free = pd.DataFrame({"flag": rng.integers(0, 2, 1500), "x": rng.normal(size=1500), "n": rng.integers(0, 3, 1500)})
    found = hld.HLDDetector(num_epochs=3).fit(free[:1000]).test_by(free[1000:], "flag", alpha=0.001)
    assert found.labels == ("0", "1")
    assert not found.reject.any()


@pytest.mark.parametrize(("options", "message"), [
    ({"by": "nothing"}, "`by` names the column 'nothing'"), ({"by": 9}, "`by` is position 9"),
    ({"by": [1, 2]}, r"`by` has shape \(2,\)"), ({"by": "shop", "procedure": "x"}, "`procedure`"),
    ({"by": "shop", "every": "week"}, "`every`"), ({"by": "shop", "alpha": 2}, "`alpha`")])
def test_mistakes(detector, visits, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        detector.test_by(visits, **options)
    with pytest.raises(ValueError, match="no rows"):
        detector.test_by(visits[:0], "shop")


@pytest.mark.thorough
def test_false_discoveries_are_few():
    """Over many tables of unshifted segments, any is called in a share of at most alpha of them."""
    rng = np.random.default_rng(5)
    detector = hld.HLDDetector(num_epochs=3, num_latents=2).fit(rng.integers(0, 3, (3000, 2)))
    called = [detector.test_by(rng.integers(0, 3, (400, 2)), np.arange(400) % 10, 0.2).reject.any() for _ in range(25)]
    from scipy.stats import binom
    assert sum(called) <= binom.ppf(1 - 1e-4, 25, 0.2)


def test_columns_that_were_not_fitted_do_not_matter():
    rng = np.random.default_rng(0)
    detector = hld.HLDDetector(num_epochs=2).fit(pd.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.normal(size=90)}))
    plain = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.normal(size=60), "site": ["x", "y"] * 30})
    found = detector.test_by(plain.assign(other=1.0), "site")
    np.testing.assert_array_equal(found.pvalues, detector.test_by(plain, "site").pvalues)
