"""What a batch, a stream or a training table may look like: every form, and the odd ones."""

import numpy as np
import pandas as pd
import pytest
import representations
import zoo

import hld
import pcircuit
from hld import baselines

CIRCUIT = zoo.mixed_categories()
TABLE = zoo.rows_with_holes(CIRCUIT, np.random.default_rng(3), 15)
FULL = pcircuit.sample(CIRCUIT, 15, rng=1).astype(np.int64)


@pytest.fixture(scope="module")
def readers():
    """Name -> what a function of hld makes of evidence."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PCIRCUIT_ENGINE", "numpy")
    test, drawn = (
        hld.HLDTest(CIRCUIT),
        hld.HLDTest(CIRCUIT, null="monte-carlo", num_resamples=19, rng=0),
    )
    summed = hld.HLDTest(CIRCUIT, missing="exact")
    mmd = hld.MMDTest(CIRCUIT, num_resamples=9, rng=0)
    root = baselines.root_likelihood_test(CIRCUIT, num_resamples=9, rng=0)
    yield {
        "HLDTest": lambda rows: test(rows).to_dict(),
        "HLDTest, drawn": lambda rows: drawn(rows).to_dict(),
        "HLDTest, summed out": lambda rows: summed(rows).to_dict(),
        "training_data": lambda rows: hld.HLDTest(
            CIRCUIT, reference="training", training_data=rows, rng=0
        ).mean.tolist(),
        "MMDTest": lambda rows: mmd(rows).to_dict(),
        "Monitor": lambda rows: hld.Monitor(CIRCUIT).update(rows).log_e_values.tolist(),
        "distance": lambda rows: hld.distance(CIRCUIT, rows),
        "likelihood_vectors": lambda rows: hld.likelihood_vectors(CIRCUIT, rows).tolist(),
        "root_likelihood_test": lambda rows: root(rows).to_dict(),
        "dropout_scores": lambda rows: baselines.dropout_scores(CIRCUIT, rows).tolist(),
    }
    patch.undo()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "HLDTest",
        "HLDTest, drawn",
        "HLDTest, summed out",
        "training_data",
        "MMDTest",
        "Monitor",
        "distance",
        "likelihood_vectors",
        "root_likelihood_test",
        "dropout_scores",
    ],
)
def test_every_form_of_evidence_is_read_alike(name, readers, tmp_path):
    for table, forms in (
        (FULL, representations.complete(FULL, tmp_path)),
        (TABLE, representations.with_holes(TABLE)),
    ):
        expected = readers[name](table)
        for form_name, form in forms.items():
            written = repr(form)
            assert readers[name](form) == expected, form_name
            assert repr(form) == written, f"{form_name} was modified"


def test_batches_of_which_nothing_is_known():
    nothing = np.full((8, 6), np.nan)
    for test in (
        hld.HLDTest(CIRCUIT, rng=0),
        hld.HLDTest(CIRCUIT, null="monte-carlo", num_resamples=19, rng=0),
        hld.MMDTest(CIRCUIT, num_resamples=9, rng=0),
    ):
        result = test(nothing)
        assert 0 < result.pvalue <= 1
        assert result.num_missing == 48
    summed = hld.HLDTest(CIRCUIT, missing="exact")(nothing)  # no node can move
    assert (summed.pvalue, summed.reject, summed.num_missing) == (1.0, False, 48)
    assert hld.Monitor(CIRCUIT).update(nothing).num_missing == 48


def small_detector(**options):
    return hld.HLDDetector(**{"num_latents": 2, "num_epochs": 3, "num_resamples": 19} | options)


def test_tables_of_one_row_are_refused_and_of_two_are_learned():
    with pytest.raises(ValueError, match="`table` has 1 row: one sample is too few to learn"):
        small_detector().fit([[0, 1]])
    detector = small_detector(reference="training").fit([[0, 1], [1, 0]])
    assert 0 < detector.test([[0, 1], [1, 0]]).pvalue <= 1


def test_constant_columns_and_columns_of_which_nothing_is_known():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"same": 3, "half": 0.5, "text": "a", "none": None, "x": rng.integers(0, 3, 200)}
    )
    detector = small_detector(categorical=["none"]).fit(table)
    assert detector.encoder_.num_categories == (2, 2, 2, 1, 4)
    batch = table.head(40)
    assert not detector.test(batch).reject
    for column, value in (("same", 4), ("half", 0.25), ("text", "b")):
        assert detector.test(batch.assign(**{column: value})).reject
    known = detector.test(
        batch.assign(none="now known")
    )  # the only category there is: no evidence of anything
    assert 0 < known.pvalue <= 1
    assert detector.encoder_.encode(batch.assign(none="now known"))[1].num_unseen.tolist() == [
        0,
        0,
        0,
        40,
        0,
    ]


@pytest.mark.parametrize("holes", [0, 1, 500])
def test_rounding_of_long_sums_of_constants_is_no_shift(holes):
    """A mean of many equal numbers is off in its last digits, and the law of a constant has no width."""
    detector = small_detector().fit(np.full((60, 3), 7))
    assert detector.test(np.full((1, 3), 7)).pvalue == 1
    for size in (333, 2_000, 30_000):
        batch = pd.DataFrame(np.full((size, 3), 7.0), columns=["x0", "x1", "x2"])
        batch.iloc[: min(holes, size // 2), 0] = None
        found, summed = detector.test(batch), detector.test(detector.summarize(batch))
        assert set(found.pvalues) == set(summed.pvalues) == {1.0}, size
        batch.iloc[-1, 1] = 8  # but one row of another level is no rounding
        assert detector.test(batch).pvalues[0] < 1, size
        batch.iloc[-size // 2 :, 1] = 8
        assert detector.test(batch).reject, size
        assert detector.test(detector.summarize(batch)).reject, size


@pytest.mark.thorough
def test_more_columns_than_have_their_spectrum_computed():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, size=(60, 1600))
    detector = small_detector(
        num_latents=1, num_epochs=1, metric="marginals", reference="training"
    ).fit(table)
    assert detector.circuit_.num_variables == 1600
    same, other = (
        detector.test(rng.integers(0, 2, size=(30, 1600))),
        detector.test(np.ones((30, 1600), dtype=int)),
    )
    assert 0 < same.pvalue <= 1
    assert other.reject
    assert len(other.localize().variable_scores) == 1600


def _small(table, **options):
    return hld.HLDDetector(num_epochs=2, num_latents=2, num_resamples=99, **options).fit(table)


def test_columns_of_too_many_levels_are_named():
    levels = [f"k{i}" for i in range(12_000)] * 4
    with pytest.raises(
        ValueError, match=r"column 'k' has 1[12][0-9]{3} levels, expected at most 11000"
    ):
        _small({"k": levels, "x": np.arange(48_000) % 7}, categorical=["k"], max_categories=50_000)


def test_infinities_that_come_or_go_are_seen():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=400), "h": rng.normal(size=400)})
    table.loc[rng.random(400) < 0.3, "h"] = np.inf
    detector, batch = _small(table), table[:100]
    assert not detector.test(batch).reject
    for h in (batch["h"].replace(np.inf, 1.0), np.inf, -np.inf, 1e9):
        result = detector.test(batch.assign(h=h))
        assert result.reject
        assert result.columns[0].name == "h"
