"""Files of earlier formats: what a version of before wrote, and the p-values that it gave, are read as they were."""

import json
import pathlib
import re

import numpy as np
import pandas as pd
import pytest

import hld
from pcircuit.files.archive import read_archive

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "file-format.md"


def expected():
    """(name, version, batch, results by number of rows) of every fixture."""
    for version in (1, 2):
        found = json.loads(
            (FIXTURES / f"detector-v{version}-expected.json").read_text(encoding="utf-8")
        )
        for name, results in found.items():
            yield pytest.param(name, version, results, id=f"v{version}-{name}")


@pytest.mark.parametrize(("name", "version", "results"), list(expected()))
def test_older_files_give_the_results_of_then(name, version, results, tmp_path):
    old = hld.load(FIXTURES / f"detector-v{version}-{name.removesuffix('-complete')}.hld")
    old.save(tmp_path / "now.hld")
    again = hld.load(tmp_path / "now.hld")
    assert again.schema_ == old.schema_
    batch = pd.read_csv(FIXTURES / f"detector-v{version}-batch.csv")
    batch = batch.dropna() if name.endswith("-complete") else batch
    for detector in (old, again):
        for T, result in results.items():
            found = detector.test(batch.head(int(T)))
            assert (
                found.data_quality.missingness is None
            )  # what was missing in training is not in the file
            values = found.to_dict()
            for key, value in result.items():
                assert (
                    values[key] == pytest.approx(value, rel=1e-9, abs=0.0)
                    if (isinstance(value, float) or key == "pvalues")
                    else (values[key] == value)
                )
    with pytest.raises(
        ValueError, match="`offset_` is not known, as the model file is of an older format"
    ):
        old.predict(batch)


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
    _, arrays = read_archive(tmp_path / "m", "hld.detector", 3)
    named = re.findall(r"`([a-z][\w.*]*)`", PAGE.read_text(encoding="utf-8"))
    patterns = [
        re.sub(r"\b[IJ]\b", r"\\d+", name.replace(".", r"\.").replace("*", ".*")) for name in named
    ]
    assert [
        name for name in arrays if not any(re.fullmatch(pattern, name) for pattern in patterns)
    ] == []
