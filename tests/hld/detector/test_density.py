"""The distribution of a table as an estimator: what scikit-learn does with it, and rows like those learned."""

import numpy as np
import pandas as pd
import pytest

import hld
import pcircuit


def table(n, seed):
    """Levels, numbers and an amount, which depend on each other."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "kind": np.array(["a", "b", "c"])[kind],
            "size": kind + rng.normal(0, 0.3, n),
            "count": kind * 2 + rng.integers(0, 2, n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def density():
    return hld.CircuitDensity(num_latents=3, num_epochs=20).fit(table(600, 0))


def test_scores_are_those_of_the_circuit_and_fresh_rows_score_higher_than_shuffled_ones(density):
    rows = table(300, 1)
    codes = density.encoder_.encode(rows)[0]
    scores = density.score_samples(rows)
    np.testing.assert_array_equal(scores, pcircuit.log_likelihood(density.circuit_, codes))
    assert density.score(rows) == scores.mean()
    mixed = rows.assign(kind=rows["kind"].sample(frac=1, random_state=0).to_numpy())
    assert density.score(mixed) < density.score(rows) - 0.5


def test_rows_are_a_frame_of_the_names_and_types_that_were_learned(density):
    rows = density.sample(400, rng=0)
    assert [*rows] == ["kind", "size", "count", "day"]
    assert [one.kind for one in rows.dtypes][1:] == ["f", "i", "M"]
    assert set(rows["kind"]) == {"a", "b", "c"}
    assert set(density.sample(20, where="kind == 'b'", rng=0)["kind"]) == {"b"}
    assert hld.CircuitDensity(num_epochs=1).fit(rows[["count"]].to_numpy()).sample(2).shape == (
        2,
        1,
    )
    detector = hld.HLDDetector(num_latents=3, num_epochs=20).fit(table(600, 0))
    assert not detector.test(rows).reject
    assert detector.score(rows) == pytest.approx(detector.score_samples(rows).mean())


def test_cross_validation_grids_pipelines_and_clones():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    rows = table(300, 2)
    for estimator in (hld.CircuitDensity(num_epochs=3), hld.HLDDetector(num_epochs=3)):
        scores = cross_val_score(estimator, rows, cv=3)
        assert np.isfinite(scores).all()
        assert (scores < 0).all()
    grid = GridSearchCV(hld.CircuitDensity(num_epochs=10), {"num_latents": [1, 3]}, cv=3).fit(rows)
    assert grid.best_params_ == {"num_latents": 3}  # which sees the dependence
    pipeline = make_pipeline(hld.CircuitDensity(num_epochs=3)).fit(rows)
    assert pipeline.score(rows) == pipeline[-1].score(rows)
    again = sklearn.base.clone(pipeline[-1])
    assert again.get_params() == pipeline[-1].get_params()
    assert repr(again) == "CircuitDensity(num_latents=4, not fitted)"
    with pytest.raises(
        ValueError, match=r"this CircuitDensity is not fitted: call `fit\(table\)` first$"
    ):
        again.score(rows)
