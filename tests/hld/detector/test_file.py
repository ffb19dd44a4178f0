"""The page of the format names every array that a file holds."""

import copy
import pathlib
import re

import numpy as np
import pandas as pd
import pytest
from fuzz_checks import parts_of

import hld
from hld.detector.file import JUDGES, calibration_parts, read_calibration, read_parts
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, rat_spn
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
def files():
    """Header and arrays of a detector for each kind of judge, and the detector."""
    found = {}
    for kind, (options, fitting) in FITTED.items():
        made = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99, **options)
        header, arrays = parts_of(made.fit(ROWS, **fitting))
        found[kind] = (header | {"library": "hld"}, arrays, made)
    return found


def test_a_judge_that_is_read_judges_as_the_one_that_was_written(files):
    assert set(JUDGES) == set(FITTED)
    for header, arrays, detector in files.values():
        found = read_parts(header, arrays, detector.get_params())[1]["judge"]
        assert type(found) is type(detector.judge_)
        codes = detector.encoder_.encode(ROWS[:30] // 2)[0]
        assert found(codes, 0.05).pvalue == detector.judge_(codes, 0.05).pvalue


@pytest.mark.parametrize("kind", ["rows", "", None, 3, ["groups"], {"groups": 1}, "x" * 500])
def test_what_is_no_judge_is_refused(files, kind):
    header, arrays, detector = files["groups"]
    with pytest.raises(
        ValueError, match="'judge' must be one of groups, time, covariates, found "
    ) as refused:
        read_parts(header | {"judge": kind}, arrays, detector.get_params())
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("kind", sorted(JUDGES))
def test_a_judge_without_its_arrays_or_with_those_of_another_is_refused(files, kind):
    header, arrays, detector = files[kind]
    own = {name for name in arrays if name.startswith("judge.")}
    rest = {name: array for name, array in arrays.items() if name not in own}
    others = [files[other][1] for other in sorted({*JUDGES} - {kind})]
    for wrong in ({}, *others):
        judge = {name: array for name, array in wrong.items() if name.startswith("judge.")}
        with pytest.raises(ValueError, match=r"(array '\w+' (is missing|must hold)| lacks \[)"):
            read_parts(header, rest | judge, detector.get_params())


def test_what_is_not_read_is_not_overlooked(files):
    header, arrays, detector = files["time"]
    params = detector.get_params()
    for name in ("circuit", "test.more", "judge.more", "profile.more", "more"):
        with pytest.raises(ValueError, match=f"the file has \\['{name}'\\], which are unknown"):
            read_parts(header, arrays | {name: np.zeros(3)}, params)
    without = {name: entry for name, entry in header.items() if name != "judge"}
    with pytest.raises(ValueError, match=r"the file has .*judge.* which are unknown"):
        read_parts(without, arrays, params)
    header = copy.deepcopy(header)
    header["params"]["tolerance"] = 0
    with pytest.raises(ValueError, match="'params' is not what a file of this format holds"):
        read_parts(header, arrays, params)


def test_a_scale_whose_squares_leave_the_doubles_is_refused():
    """Else all laws would be of zeros, and no batch would ever look shifted."""
    V, circuit = 300, rat_spn([2, 3, 2, 4], num_units=2, depth=1, rng=7)
    faint = Circuit(
        VTree.from_nested(list(range(V))),
        [
            *(InputRegion(v, [[0.26, 0.25, 0.25, 0.24]]) for v in range(V)),
            InnerRegion([[0] * V], [[1.0]]),
        ],
    )
    with pytest.raises(
        ValueError, match=r"`nodes` have likelihoods of at most \S*e-181, whose var"
    ):
        hld.HLDTest(faint, nodes=[faint.num_nodes - 1])
    weights, rows = np.ones(len(hld.select_nodes(circuit))), np.zeros((50, 4), dtype=int)
    plain = hld.HLDTest(circuit)(rows)
    for scale in (1e-60, 1e60):
        found = hld.HLDTest(circuit, metric=scale * weights)(rows)
        assert found.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
        assert found.statistic == pytest.approx(plain.statistic * scale, rel=1e-9)
    test = hld.HLDTest(circuit, metric=2 * weights)
    scalars, arrays = calibration_parts(test.calibration)
    (name,) = (name for name in arrays if name.startswith("metric.0."))
    arrays[name] = arrays[name] * 1e-200
    with pytest.raises(ValueError, match=r"`metric` 'weights' makes deviations of .* multiply all"):
        read_calibration(circuit, scalars, arrays, test.settings.seed)
