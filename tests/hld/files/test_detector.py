"""The page of the format names every array that a file holds."""

import pathlib
import re

import numpy as np
import pandas as pd
import pytest

import hld
from pcircuit.files.archive import read_archive

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
