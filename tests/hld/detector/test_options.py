"""Options of a detector: what cannot be used names itself before anything is learned; JSON gives back the others."""

import json
import re

import numpy as np
import pytest

import hld
from hld.detector.estimator import REFERENCES, check_options, plain_params, read_params
from hld.laws.named import NULLS
from hld.witnesses.metrics.named import METRICS


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
        *({"null": null, "metric": "euclidean", "reference": "circuit"} for null in NULLS),
        *({"reference": reference} for reference in REFERENCES),
        *({"metric": metric} for metric in (*METRICS, list(METRICS))),
    ],
    ids=lambda changed: re.sub(" at 0x.*", "", str(changed)),
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


@pytest.mark.parametrize("metric", ["auto", "likelihoods", ("euclidean", "standardized")])
def test_a_null_of_one_metric_is_not_for_several(metric):
    with pytest.raises(ValueError, match="`null` 'normal' needs a single `metric`, found"):
        check_options(options(null="normal", metric=metric))


def test_a_null_that_draws_from_the_circuit_needs_it_as_reference():
    for reference in set(REFERENCES) - {"circuit"}:
        with pytest.raises(
            ValueError, match=f"`null` 'monte-carlo' draws from.* found reference='{reference}'"
        ):
            check_options(options(null="monte-carlo", metric="euclidean", reference=reference))


@pytest.mark.parametrize(
    "params",
    [
        {"num_latents": np.int16(4), "tolerance": np.float32(0.5), "missingness": np.bool_(True)},
        {"kinds": ("input", "sum"), "metric": ("euclidean", "score")},
        {"metric": np.array([0.5, 2.0])},
        {"rng": 2**70},
        {"rng": np.uint64(2**64 - 1)},
        {"schema": hld.TableSchema(hld.calendar_columns("t"))},
        {"categorical": ["a", np.str_("b")], "continuous": np.array([3, 4]), "covariates": None},
    ],
    ids=lambda one: ", ".join(one),
)
def test_what_json_holds_is_read_as_it_was(params):
    defaults = hld.HLDDetector().get_params()
    form = plain_params(defaults | params)
    back = read_params(json.loads(json.dumps(form)), defaults)
    assert plain_params(back) == form
    assert {name: value for name, value in back.items() if name not in params} == {
        name: value for name, value in defaults.items() if name not in params
    }


def test_a_generator_as_seed_is_not_kept():
    assert plain_params({"rng": np.random.default_rng(0)}) == {"rng": None}
    table = np.random.default_rng(0).integers(0, 2, size=(40, 2))
    detector = hld.HLDDetector(
        num_latents=2, num_epochs=1, num_resamples=19, rng=np.random.default_rng(0)
    ).fit(table)
    assert detector.test(table[:9]).pvalue > 0


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (
            {"tolerance": 1},
            ValueError,
            "`tolerance` must be .* found 1",
        ),
        (
            {"categorical": "name"},
            TypeError,
            "`categorical` is 'name', expected a sequence of column names or positions",
        ),
        (
            {"categorical": iter(["a"])},
            TypeError,
            "`categorical` is <list_iterator.*>, expected a sequence of",
        ),
        ({"categorical": [2.5]}, TypeError, "`categorical` holds 2.5, expected column names"),
        ({"num_epochs": 2**31}, ValueError, "`num_epochs` must be"),
    ],
)
def test_what_no_file_can_hold_is_refused_by_name(params, error, message):
    with pytest.raises(error, match=message):
        plain_params(params)


@pytest.mark.parametrize("form", [None, [], {}, {"unknown": 1}])
def test_parameters_of_a_file_are_those_that_there_are(form):
    with pytest.raises(ValueError, match="'params' must be a mapping of "):
        read_params(form, hld.HLDDetector().get_params())
