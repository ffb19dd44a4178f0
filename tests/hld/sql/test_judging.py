"""A counted table judged: which tests apply, their parts of the level, and one p-value for all of them."""

import json
import pathlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_most
from sql_tables import OPTIONS, counted, odd_table

import hld
import pcircuit
from hld.sql.judging import judge, judge_counts
from hld.witnesses.distances import count_distances
from hld.witnesses.witnesses import combined


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**OPTIONS, continuous=["when; --"]).fit(odd_table(700, 0))


@pytest.mark.thorough
@pytest.mark.parametrize("reference", ["auto", "circuit"])
def test_level_and_power(reference):
    """Tables drawn from a circuit: at most as many false alarms as the level allows, and a shift is found."""
    rng = np.random.default_rng(7)
    source = pcircuit.hclt(np.repeat(rng.integers(3, size=(60, 1)), 6, axis=1), 3, rng=0)

    def draw(n, seed):
        return pd.DataFrame(pcircuit.sample(source, n, rng=seed)).rename(columns=str)

    options = {"num_latents": 2, "num_epochs": 10, "num_resamples": 99, "rng": 1}
    detector = hld.HLDDetector(**options, reference=reference).fit(draw(1000, 0))
    trials, rejected = 45 if reference == "auto" else 6, 0
    for seed in range(trials):
        rejected += judge_counts(
            detector, counted(detector, draw(400 if seed % 15 else 80, 100 + seed)), 0.1
        ).reject
    assert rejected <= at_most(trials, 0.1)
    shifted = draw(1500, 1)
    shifted["2"] = shifted["2"].to_numpy()[rng.permutation(1500)]
    result = judge_counts(detector, counted(detector, shifted), 0.05)
    assert result.reject
    assert "2" in result.pairs[0].names
    assert "dependence changed" in str(result)


def test_few_rows_have_exact_tests_alone(detector):
    found = counted(detector, odd_table(20, 8))
    result = judge_counts(detector, found, 0.05)
    assert result.metrics == ()
    assert result.largest_count.share
    assert result.largest_dependence.share
    older = replace(detector.profile_, laws=None, associations=None)
    assert count_distances(detector, found.profile) is None
    assert older.to_arrays().keys() == {"counts", "edges", "pairs"}


def test_the_largest_change_of_a_dependence_is_that_of_the_rows():
    rng = np.random.default_rng(12)
    first = rng.integers(0, 3, size=(3000, 1))
    rows = np.where(rng.random((3000, 5)) < 0.7, first, rng.integers(0, 3, size=(3000, 5)))
    table = pd.DataFrame(rows, columns=list("abcde")).astype(str)
    detector = hld.HLDDetector(**OPTIONS).fit(table[:1500])
    batch = table[1500:1700].assign(c=table["c"][1700:1900].to_numpy())
    found, expected = judge_counts(detector, counted(detector, batch), 0.05), detector.test(batch)
    assert found.largest_dependence == expected.largest_dependence
    assert found.largest_count == expected.largest_count
    assert found.not_heard == ("magnitude", "likelihood")
    assert "c" in {"abcde"[v] for v in found.largest_dependence.columns}
    assert found.largest_dependence.is_weaker
    assert found.reject
    assert found.to_dict()["witnesses"]["largest_dependence"]["columns"] == list(
        found.largest_dependence.columns
    )


def test_tolerance_is_a_share_of_rows():
    rng = np.random.default_rng(9)
    table = pd.DataFrame(rng.integers(3, size=(2000, 4))).rename(columns=str)
    shifted = table[:1000].assign(**{"0": np.where(rng.random(1000) < 0.15, 0, table["0"][:1000])})
    strict, loose = (
        hld.HLDDetector(**OPTIONS, tolerance=tolerance).fit(table) for tolerance in (0.0, 0.15)
    )
    result = judge_counts(strict, counted(strict, shifted), 0.05)
    assert result.reject
    assert 0.02 < result.effect < 0.15  # a tenth of the rows have another value
    assert not judge_counts(loose, counted(loose, shifted), 0.05).reject


@pytest.mark.parametrize(("num_rows", "new"), [(20, False), (300, False), (300, True)])
def test_one_p_value_is_that_of_both_distances_and_of_the_witnesses(detector, num_rows, new):
    found = judge_counts(detector, counted(detector, odd_table(num_rows, 4, new=new)), 0.05)
    laws = count_distances(detector, counted(detector, odd_table(num_rows, 4, new=new)).profile)
    assert found.pvalues == tuple(one.pvalue for one in laws or ())
    distance = 2 * min(found.pvalues) if laws else np.inf
    assert found.pvalue == combined(min(distance, 1.0) if laws else np.inf, *found.beside)
    assert {one.share for one in found.beside} >= {0.35, 0.1}
    assert found.reject == (found.pvalue <= 0.05) == new == (found.effect_interval[0] > 0)


def test_a_small_move_of_all_columns_is_found_by_their_distance_at_its_part_of_the_level():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 3, size=(1200, 12)), columns=[f"c{v}" for v in range(12)])
    detector = hld.HLDDetector(**OPTIONS).fit(rows[:800])
    found = judge_counts(
        detector, counted(detector, rows[800:].mask(rng.random((400, 12)) < 0.12, 0)), 0.05
    )
    assert found.reject
    rest = 1 - sum(one.share for one in found.beside)
    assert 2 * found.pvalues[0] / rest < min(one.pvalue / one.share for one in found.beside)
    assert found.pvalue <= 2 * found.pvalues[0] / rest * (1 + 1e-9)


def test_a_detector_without_held_out_rows_has_the_distances_alone():
    rows = np.random.default_rng(0).integers(0, 3, size=(400, 3))
    table = pd.DataFrame(rows, columns=list("abc"))
    plain = hld.HLDDetector(**OPTIONS, reference="circuit", missingness=False).fit(table[:300])
    found = judge_counts(plain, counted(plain, table[300:]), 0.05)
    assert found.metrics == ("columns", "pairs")
    assert found.pvalue == pytest.approx(min(2 * min(found.pvalues), 1))
    assert (found.largest_count, found.largest_dependence) == (None, None)
    learned = hld.HLDDetector(**OPTIONS, reference="training", missingness=False).fit(table[:300])
    with pytest.raises(
        ValueError,
        match="the table has 20 rows, too few to compare with a detector that kept no rows",
    ):
        judge_counts(learned, counted(learned, table[300:320]), 0.05)


def test_what_counts_cannot_tell_is_refused(detector):
    table = pd.DataFrame(np.random.default_rng(1).integers(0, 3, size=(200, 2)), columns=["a", "b"])
    for fitting in ({"groups": np.arange(200) // 10}, {"order": "time"}):
        other = hld.HLDDetector(num_latents=2, num_epochs=1, metric="euclidean", null="exact").fit(
            table, **fitting
        )
        with pytest.raises(
            ValueError,
            match="`detector` judges groups, a series, or rows given covariates, which c",
        ):
            judge(other, "", "t")
    with pytest.raises(ValueError, match="`alpha` must be"):
        judge(detector, "", "t", alpha=1.5)


def test_the_result_is_one_of_json(detector, tmp_path):
    pytest.importorskip("ibis")
    duckdb, jsonschema = pytest.importorskip("duckdb"), pytest.importorskip("jsonschema")
    import hld.sql

    connection = duckdb.connect()
    connection.register("t", odd_table(100, 10))
    result = hld.sql.test(detector, connection, "t")
    schema = json.loads(pathlib.Path("docs/json/test.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(result.to_dict())), schema)
    assert len(result.to_frame()) == len(detector.encoder_.columns)
    assert repr(result).startswith(("no shift", "shift"))
    detector.save(tmp_path / "m.hld")
    again = hld.sql.test(hld.load(tmp_path / "m.hld"), connection, "t")
    assert again.pvalue == result.pvalue
