"""Distances of models: against counts of rows, and between bins and levels that differ."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.answers.models import compare_models, headline, where_most


def table(rng, number, shift=0.0):
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {"kind": np.array(list("abc"))[kind], "x": rng.normal(kind + shift), "n": kind}
    )


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    first, second = table(rng, 2000), table(rng, 2000, 1.0)
    second["kind"] = second["kind"].replace("c", "d")
    second = second.rename(columns={"n": "m"})
    second["x"] = second["x"].clip(-1, 4)
    return [
        hld.HLDDetector(num_epochs=8, num_latents=3, num_bins=b).fit(t)
        for b, t in ((8, first), (5, second))
    ]


def shares(column):
    """Of its cells in the first and in the second model."""
    return np.array([[cell["first"], cell["second"]] for cell in column["cells"]]).T


@pytest.mark.thorough
def test_columns(models):
    found = compare_models(*models)
    columns = {one["name"]: one for one in found["columns"]}
    assert columns["kind"]["distance"] == pytest.approx(1 / 3, abs=0.05)
    assert columns["n"]["distance"] is None
    assert columns["n"]["note"] == where_most(columns["n"]) == "only in the first model"
    assert columns["m"]["note"] == "only in the second model"
    for name in ("kind", "x"):
        first, second = shares(columns[name])
        assert sum(first) == pytest.approx(1, abs=1e-9)
        assert sum(second) == pytest.approx(1, abs=1e-9)
        assert columns[name]["distance"] == pytest.approx(
            np.abs(first - second).sum() / 2, abs=1e-12
        )
    assert "%" in where_most(columns["x"])
    assert headline(found).startswith("2 columns in common that can be compared; ")
    assert {tuple(pair["columns"]) for pair in found["pairs"]} == {("kind", "x")}


def test_a_model_is_at_no_distance_from_itself(models):
    found = compare_models(models[0], models[0])
    assert [one["distance"] for one in found["columns"]] == [0, 0, 0]
    assert all(pair["distance"] == 0 for pair in found["pairs"])


def test_times_and_numbers_with_bins_are_not_compared():
    """Cells of seconds and of numbers have nothing in common, though both are cut into bins."""
    rng = np.random.default_rng(2)
    numbers = pd.DataFrame({"when": rng.normal(size=200), "k": rng.integers(0, 2, 200)})
    times = numbers.assign(
        when=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, 200), unit="s")
    )
    found = compare_models(
        *(hld.HLDDetector(num_epochs=2, continuous=["when"]).fit(one) for one in (numbers, times))
    )
    when = next(one for one in found["columns"] if one["name"] == "when")
    assert when["distance"] is None
    assert when["note"] == "continuous in the first model, date in the second"
    assert headline(found).startswith("1 column in common that can be compared; ")
    alone = headline(found | {"columns": [when]})
    assert alone == "the models have no column in common that can be compared"


def test_cells_of_a_cut_bin_have_the_probabilities_that_the_model_tells():
    """Bins of days had been cut in the middle of the day at which the other model has an edge."""
    rng = np.random.default_rng(6)
    models = [
        hld.HLDDetector(num_latents=2, num_epochs=3).fit(
            pd.DataFrame(
                {
                    "day": pd.Timestamp("2026-01-01")
                    + pd.to_timedelta(rng.integers(0, days, 2000), unit="D"),
                    "size": rng.normal(size=2000).round(1),
                }
            )
        )
        for days in (60, 47)
    ]
    column = next(one for one in compare_models(*models)["columns"] if one["name"] == "day")
    labels = [cell["label"] for cell in column["cells"]]
    edges = [label.split(" to ")[-1].removeprefix("< ") for label in labels[:-1]]
    assert len(edges) > len(
        models[0].encoder_.columns[0].edges
    )  # some are of the other model alone
    for model, own in zip(models, shares(column), strict=True):
        told = [model.probability(f'day < "{edge}"') for edge in edges]
        np.testing.assert_allclose(np.cumsum(own)[:-1], told, atol=1e-12)


def test_a_level_that_is_called_rare_is_not_the_cell_of_rare_levels():
    words = ["b"] * 240 + ["(rare)"] * 160, ["b"] * 240 + [f"w{k % 40}" for k in range(160)]
    models = [
        hld.HLDDetector(num_epochs=2, num_latents=2, max_categories=2, categorical=["c"]).fit(
            pd.DataFrame({"c": own, "d": [0, 1] * 200})
        )
        for own in words
    ]
    (found,) = [one for one in compare_models(*models)["columns"] if one["name"] == "c"]
    labels = [cell["label"] for cell in found["cells"] if "rare" in cell["label"]]
    assert labels == ["'(rare)'", "(rare)"]
    assert found["distance"] > 0.3
