"""Options of a detector: each that cannot be used names itself before anything is learned."""

import numpy as np
import pytest

import hld
from hld.detector_options import REFERENCES, check_options
from hld.metrics.named import METRICS
from hld.nulls.named import NULLS


def options(**changed):
    """Those of a detector."""
    return hld.HLDDetector(**changed).get_params()


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"num_epochs": 0},
        {"num_resamples": 1},
        {"pseudocount": 0},
        {"tolerance": np.float32(0.1)},
        {"kinds": "input"},
        {"metric": "likelihoods"},
        {"metric": [1.0, 2.0]},
        {"metric": np.ones(3)},
        {"metric": ("euclidean", "score")},
        {"null": "normal", "metric": "euclidean"},
        {"null": "normal", "metric": np.ones(3)},
        {"rng": None},
        {"rng": 3},
        {"null": "monte-carlo", "reference": "circuit", "metric": "whitened"},
        {"missingness": False},
        {"rng": np.random.default_rng(0)},
        {"estimation_error": np.bool_(False)},
    ],
)
def test_what_can_be_used_is_let_through(changed):
    assert check_options(options(**changed)) is None


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("num_latents", [0, 1.5, True, "2", None]),
        ("num_epochs", [-1, 2.5]),
        ("num_bins", [1, "4"]),
        ("max_categories", [1, np.inf]),
        ("num_resamples", [0, None]),
        ("pseudocount", [-0.1, np.nan, "1"]),
        ("tolerance", [-1e-9, np.inf, None]),
        ("kinds", ["inputs", [], ["sum", "sum"], 3, iter(["sum"])]),
        ("null", ["foo", None, 3, ["exact"]]),
        ("metric", ["foo", "", ["auto"], ["euclidean", "euclidean"], None, 3]),
        (
            "metric",
            [[1.0, -1.0], [[1.0]], [], np.zeros(0), ["euclidean", 2.0], [np.nan], {"euclidean"}],
        ),
        ("reference", ["rows", None, ["auto"]]),
        ("estimation_error", [1, "yes", None]),
        ("missingness", [0, "no"]),
        ("schema", [{}, "a", []]),
        ("rng", ["a", -1, 1.5]),
    ],
)
def test_what_cannot_be_used_names_its_option(name, bad):
    for value in bad:
        with pytest.raises((TypeError, ValueError), match=f"^`{name}`"):
            check_options(options(**{name: value}))


@pytest.mark.parametrize("name", ["categorical", "continuous", "covariates", "kinds"])
def test_lists_that_can_be_read_once_are_refused_alike(name):
    """Of `kinds` nothing was left for the second look, and it was said to name none."""
    detector = hld.HLDDetector(**{name: iter(["input"])})
    with pytest.raises(
        TypeError,
        match=f"^`{name}` is <list_iterator object at 0x[0-9a-f]+>, expected a sequence of ",
    ):
        detector.fit({"input": [0, 1] * 20, "x": [0, 1, 1, 0] * 10})


def test_every_name_is_let_through_where_it_fits():
    for null in NULLS:
        check_options(options(null=null, metric="euclidean", reference="circuit"))
    for reference in REFERENCES:
        check_options(options(reference=reference))
    for metric in METRICS:
        check_options(options(metric=metric))
    check_options(options(metric=list(METRICS)))


@pytest.mark.parametrize("metric", ["auto", "likelihoods", ("euclidean", "standardized")])
def test_a_null_of_one_metric_is_not_for_several(metric):
    with pytest.raises(ValueError, match="`null` 'normal' needs a single `metric`, found metric="):
        check_options(options(null="normal", metric=metric))


def test_a_null_that_draws_from_the_circuit_needs_it_as_reference():
    for reference in set(REFERENCES) - {"circuit"}:
        with pytest.raises(
            ValueError, match=f"`null` 'monte-carlo' draws from.* found reference='{reference}'"
        ):
            check_options(options(null="monte-carlo", metric="euclidean", reference=reference))


def test_nothing_is_learned_with_an_option_that_cannot_be_used(monkeypatch):
    monkeypatch.setattr(
        "hld.detector.check_options",
        lambda given: (_ for _ in ()).throw(ValueError("checked first")),
    )
    with pytest.raises(ValueError, match="checked first"):
        hld.HLDDetector(num_latents=-1).fit(None)
