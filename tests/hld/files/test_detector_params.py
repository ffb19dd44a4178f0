"""Parameters of a detector are refused before anything is learned, and come back from the form that JSON holds."""

import json

import numpy as np
import pytest

import hld
from hld.files.detector_params import plain_params, read_params


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
            {"kinds": ("sum", "sum")},
            ValueError,
            "`kinds` must name one or more kinds, each once, found",
        ),
        ({"kinds": ()}, ValueError, "`kinds` must name one or more kinds, each once, found"),
        ({"kinds": 3}, TypeError, "`kinds` must be"),
        ({"rng": -1}, ValueError, "`rng` must be at least 0, found -1"),
        ({"schema": {"columns": []}}, TypeError, "`schema` must be a TableSchema, found dict"),
        (
            {"tolerance": 1e308},
            ValueError,
            r"`tolerance` must be .* at most 1e\+100, found 1e\+308",
        ),  # its margins are not
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
        ({"metric": [1.0, -1.0]}, ValueError, "`metric` "),
        ({"num_epochs": 2**31}, ValueError, "`num_epochs` must be"),
    ],
)
def test_what_no_file_can_hold_is_refused_by_name(params, error, message):
    with pytest.raises(error, match=message):
        plain_params(params)


def test_columns_that_can_be_read_only_once_are_refused_before_anything_is_learned():
    """They were used and then kept, in the detector and in its file, as no columns at all."""
    table, progress = {"a": [0, 1, 2, 3] * 20, "b": [0.5, 1.5] * 40}, []
    for name in ("categorical", "continuous"):
        detector = hld.HLDDetector(num_latents=2, num_epochs=1, **{name: (one for one in ["a"])})
        with pytest.raises(
            TypeError,
            match=f"`{name}` is <generator object .*>, expected a sequence of column names",
        ):
            detector.fit(table, learner=lambda *parts: progress.append(parts))
    assert not progress


@pytest.mark.parametrize("form", [None, [], {}, {"unknown": 1}])
def test_parameters_of_a_file_are_those_that_there_are(form):
    with pytest.raises(ValueError, match="'params' must be a mapping of "):
        read_params(form, hld.HLDDetector().get_params())
