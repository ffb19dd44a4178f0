"""Which part of a distribution moved, given covariates: each case in its words, with both p-values, and in JSON."""

import json

import pytest

from hld.conditional.context import CovariateContext


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ("nothing", "neither the covariates nor the rest given them moved"),
        ("covariates", "the covariates moved, the rest given them is as learned (covariate shift)"),
        (
            "conditional",
            "the rest given the covariates changed (concept drift), the covariates are as learned",
        ),
        ("both", "the covariates moved, and the rest given them changed (concept drift)"),
    ],
)
def test_what_moved_is_said_with_both_p_values(moved, said):
    context = CovariateContext("covariates", moved, 0.25, 0.5, 1.5)
    assert context.lines() == [f"{said}: rest given covariates p = 0.25, covariates p = 0.5"]


def test_it_is_ready_for_json_and_says_where_p_values_of_columns_come_from():
    context = CovariateContext("covariates", "both", 1e-20, 0.5, 1.5)
    saved = json.loads(json.dumps(context.to_dict(), allow_nan=False))
    assert saved == {
        "kind": "covariates",
        "moved": "both",
        "conditional_pvalue": 1e-20,
        "covariate_pvalue": 0.5,
        "effect": 1.5,
    }
    assert CovariateContext(**saved) == context
    assert context.procedure == "given the covariates, Holm"
