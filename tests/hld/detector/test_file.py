"""The page of the format names every array that a file holds."""

import pathlib
import re

import numpy as np
import pandas as pd
import pytest

import hld
from hld.detector.file import JUDGES, judge_parts, read_judge
from pcircuit.io.archive import read_archive

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "file-format.md"


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({}, {}),
        ({"reference": "circuit"}, {}),
        ({}, {"groups": np.repeat(np.arange(40), 10)}),
        ({}, {"order": "time"}),
        ({"covariates": ["c"]}, {}),
    ],
    ids=["default", "circuit", "groups", "time", "covariates"],
)
def test_every_array_of_a_file_is_on_the_page_of_the_format(options, given, tmp_path):
    """By its own name, or by one with I and J for numbers, or with a star for all that begins in this way."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.integers(0, 3, 400), "b": rng.normal(size=400), "c": rng.integers(0, 2, 400)}
    )
    hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99, **options).fit(
        table, **given
    ).save(tmp_path / "m")
    _, arrays = read_archive(tmp_path / "m", "hld.detector", 1)
    named = re.findall(r"`([a-z][\w.*]*)`", PAGE.read_text(encoding="utf-8"))
    patterns = [
        re.sub(r"\b[IJ]\b", r"\\d+", name.replace(".", r"\.").replace("*", ".*")) for name in named
    ]
    assert [
        name for name in arrays if not any(re.fullmatch(pattern, name) for pattern in patterns)
    ] == []


ROWS = np.random.default_rng(0).integers(0, 2, (120, 2))
FITTED = {
    "groups": ({}, {"groups": np.repeat(np.arange(20), 6)}),
    "time": ({}, {"order": "time"}),
    "covariates": ({"covariates": [0], "metric": "euclidean"}, {}),
}


@pytest.fixture(scope="module")
def detectors():
    """A detector for each kind of judge, and one without any."""
    made = {
        kind: hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99, **options).fit(
            ROWS, **fitting
        )
        for kind, (options, fitting) in FITTED.items()
    }
    return made | {"none": hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(ROWS)}


@pytest.mark.parametrize("kind", sorted(JUDGES))
def test_a_judge_that_is_read_judges_as_the_one_that_was_written(detectors, kind):
    detector = detectors[kind]
    header, arrays = judge_parts(detector.judge_, detector.test_)
    assert header == {"judge": kind}
    found = read_judge(header, arrays, detector.test_)
    assert type(found) is JUDGES[kind] is type(detector.judge_)
    again = judge_parts(found, detector.test_)
    assert again[0] == header
    assert again[1].keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[1][name], array)
    codes = detector.encoder_.encode(ROWS[:30] // 2)[0]
    assert found(codes, 0.05).pvalue == detector.judge_(codes, 0.05).pvalue


def test_where_the_test_judges_itself_nothing_is_written(detectors):
    test = detectors["none"].test_
    assert judge_parts(detectors["none"].judge_, test) == ({}, {})
    assert read_judge({"other": 1}, {}, test) is test
    with pytest.raises(ValueError, match="means"):
        read_judge({}, {"means": np.zeros(3)}, test)


@pytest.mark.parametrize("kind", ["rows", "", None, 3, ["groups"], {"groups": 1}, "x" * 500])
def test_what_is_no_judge_is_refused(detectors, kind):
    with pytest.raises(
        ValueError, match="'judge' must be one of groups, time, covariates, found "
    ) as refused:
        read_judge({"judge": kind}, {}, detectors["none"].test_)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("kind", sorted(JUDGES))
def test_a_judge_without_its_arrays_or_with_those_of_another_is_refused(detectors, kind):
    test = detectors[kind].test_
    for other in sorted({*JUDGES} - {kind}):
        arrays = judge_parts(detectors[other].judge_, detectors[other].test_)[1]
        for wrong in ({}, arrays):
            with pytest.raises(ValueError, match=r"(array '\w+' (is missing|must hold)| lacks \[)"):
                read_judge({"judge": kind}, wrong, test)
