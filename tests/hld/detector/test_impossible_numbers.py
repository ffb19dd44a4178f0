"""Files of detectors in which one number cannot be: refused when read, so that no verdict is reached with it."""

import numpy as np
import pandas as pd
import pytest

from hld.detector.detector import HLDDetector
from pcircuit.io.archive import read_archive

OPTIONS = {"num_latents": 2, "num_epochs": 2, "num_resamples": 39, "metric": ("euclidean", "score")}
KINDS = {
    "rows": ({}, {}),
    "groups": ({}, {"groups": "g"}),
    "time": ({}, {"order": "time"}),
    "covariates": ({"covariates": ["c"], "metric": ("euclidean", "standardized")}, {}),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Kind -> header and arrays of a detector of a table with holes."""
    rng, found = np.random.default_rng(0), {}
    table = pd.DataFrame(
        {"a": rng.integers(0, 3, 400), "b": rng.normal(size=400), "c": rng.integers(0, 2, 400)}
    )
    table.loc[::5, "b"] = np.nan
    for kind, (options, given) in KINDS.items():
        path = tmp_path_factory.mktemp("models") / kind
        own = table.assign(g=np.repeat(np.arange(40), 10)) if kind == "groups" else table
        HLDDetector(**OPTIONS | options).fit(own, **given).save(path)
        found[kind] = read_archive(path, "hld.detector", 1)
    return found


@pytest.mark.parametrize(
    ("kind", "name", "place", "factor", "message"),
    [
        (
            "rows",
            "test.kept.norms",
            0,
            1.01,
            "norms of the reference rows' covariance are not those of the laws",
        ),
        (
            "rows",
            "test.kept.norms",
            1,
            1e149,
            "norms of the reference rows' covariance are not those of the laws",
        ),
        (
            "rows",
            "test.kept.covariance",
            0,
            1.01,
            "covariance of the reference rows does not have the deviations",
        ),
        (
            "rows",
            "test.kept.covariance",
            1,
            1e300,
            "covariance of the reference rows does not have the deviations",
        ),
        (
            "rows",
            "test.kept.shared",
            1,
            1e300,
            "rows that show two nodes must be from 0 to 200 together",
        ),
        (
            "rows",
            "test.kept.shared",
            1,
            -1,
            "rows that show two nodes must be from 0 to 200 together",
        ),
        ("rows", "test.feature.factors", 0, 1e10, "more than the 31.6228 that its numbers can be"),
        ("rows", "test.mean", -1, 1e10, "array 'mean' holds"),
        ("groups", "judge.means", -1, 1e10, "array 'means' holds"),
        ("groups", "judge.within", 0, 1e10, "array 'within' holds"),
        ("groups", "judge.fill", 0, 1e10, "array 'fill' holds"),
        ("time", "judge.means", -1, 1e10, "array 'means' holds"),
        ("time", "judge.mean", -1, 1e10, "array 'mean' holds"),
        (
            "covariates",
            "judge.beta",
            0,
            1e90,
            "array 'beta' of the test given covariates is not that",
        ),
        (
            "covariates",
            "judge.inverse",
            0,
            1e90,
            "array 'inverse' of the test given covariates is not that",
        ),
        (
            "covariates",
            "judge.stds",
            1,
            1e90,
            "array 'stds' of the test given covariates is not that",
        ),
        (
            "covariates",
            "judge.norms",
            1,
            0.0,
            "of the test given covariates is not that of any rows",
        ),
        (
            "covariates",
            "judge.norms",
            2,
            1e-5,
            "of the test given covariates is not that of any rows",
        ),
        (
            "covariates",
            "judge.norms",
            0,
            1e300,
            "of the test given covariates is not that of any rows",
        ),
        (
            "covariates",
            "judge.fourth",
            0,
            1e300,
            "of the test given covariates is not that of any rows",
        ),
    ],
)
def test_one_number_that_cannot_be_is_refused(parts, kind, name, place, factor, message):
    header, arrays = parts[kind]
    array = arrays[name].copy()
    places = np.flatnonzero(array)
    array.reshape(-1)[places[place]] *= factor
    with pytest.raises(ValueError, match=message):
        HLDDetector.from_parts(header, arrays | {name: array})
