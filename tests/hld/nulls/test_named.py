"""The nulls by name: each does what the protocol asks and comes back from its parts; what is none is refused."""

import numpy as np
import pytest
import zoo
from dense_maps import dense_map

import hld
from hld.features.linear_maps import Scaled
from hld.laws.named import KINDS, NULLS, Context
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]


def made(null, metric="euclidean"):
    return hld.HLDTest(CIRCUIT, null=null, metric=metric, num_resamples=99, rng=0)


def context_of(test, **changes):
    parts = {
        "reference": getattr(
            getattr(test.calibration.null, "tails", test.calibration.null), "reference", None
        ),
        "metrics": test.calibration.metrics,
        "stds": test.stds,
        "seed": test.settings.seed,
    }
    return Context(**parts | changes)


@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "whitened")], ids=["one", "two"])
@pytest.mark.parametrize("name", NULLS)
def test_each_null_keeps_the_protocol_and_comes_back_from_its_parts(name, metric):
    if not NULLS[name].takes_several and metric != "euclidean":
        with pytest.raises(ValueError, match=f"'{name}'"):
            made(name, metric)
        return
    test = made(name, metric)
    null, names = test.calibration.null, test.metric_names
    if NULLS[name].draws_later:
        null = type(null)(**vars(null))  # draws of its own
    scalars, arrays = null.to_parts()
    if not NULLS[name].draws_later:
        assert scalars["kind"] == {"exact": "limit" if len(names) == 1 else "joint"}.get(name, name)
        assert isinstance(null, KINDS[scalars["kind"]])
        null = context_of(test).read(scalars, arrays)
    for T in (1, 7, 400):
        squared = np.array([0.3, 9.0][: len(names)]) / T
        found = null.pvalue(squared, T)
        assert found == test.calibration.null.pvalue(squared, T)
        assert null.least(T) <= found.value <= 1
        assert len(found.each) == len(names)
        assert null.pvalue(squared * 4, T).value <= found.value
        if len(names) == 1:
            draws = null.pvalue(np.array([null.threshold(0.1, T, found.draws)]), T).draws
            edge = null.threshold(0.1, T, draws)
            below, above = (null.pvalue(np.array([edge * one]), T) for one in (1 - 1e-6, 1 + 1e-6))
            assert above.value <= 0.1 + 1e-6 or above.draws != draws
            assert below.value > 0.1 - 1e-6 or below.draws != draws
    assert all(isinstance(line, str) for line in null.describe(names))


@pytest.mark.parametrize("scalars", [{"kind": "gauss"}, {"kind": ["limit"]}, {}, None, "limit"])
def test_what_is_no_null_of_a_file_is_refused(scalars):
    with pytest.raises(
        ValueError, match=r"the null must be one of limit, normal, joint, auto, found"
    ):
        context_of(made("exact")).read(scalars, {})


@pytest.mark.parametrize(
    ("metric", "least"),
    [
        (Scaled("weights", np.array([2.0, 1.0])), 13.0),
        (dense_map("sum", np.array([[2.0, 1.0]])), 0.0),
    ],
)
def test_the_mean_of_a_law_is_that_of_the_deviations_or_at_most_that(metric, least):
    """Of 2 z_1 and z_2 with deviations 1 and 3 the squares have the mean 13; of their sum from 0 to 25."""
    context, most = Context(None, (metric,), np.array([1.0, 3.0]), 0), 13.0 if least else 25.0
    for mean in (least, most, most * (1 + 1e-7)):
        context.check_mean(mean)
    for mean in (least * 0.999 - 1e-6, most * 1.001, np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match=f"the null of metric '{metric.name}' has the mean"):
            context.check_mean(mean)


def test_against_rows_nulls_that_are_checked_are_checked():
    rows = sample(CIRCUIT, 30, rng=0)
    for name in (name for name, null in NULLS.items() if null.is_checked):
        test = hld.HLDTest(
            CIRCUIT, null=name, reference="training", training_data=rows, num_resamples=99, rng=0
        )
        far = np.array([[2, 2, 2, 2, 2, 2]] * 4)
        assert test(far).pvalue > test.judge(test.vectors.mean(far)[: len(test.nodes)], 4).pvalue
