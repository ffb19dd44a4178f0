"""Files of earlier formats: what a version of before wrote, and the p-values that it gave, are read as they were."""
import json
import pathlib

import pandas as pd
import pytest

import hld

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
EXPECTED = json.loads((FIXTURES / "detector-v1-expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_version_1_give_the_results_of_then(name, tmp_path):
    old = hld.load(FIXTURES / f"detector-v1-{name}.hld")
    old.save(tmp_path / "now.hld")
    batch = pd.read_csv(FIXTURES / "detector-v1-batch.csv")
    for detector in (old, hld.load(tmp_path / "now.hld")):
        for T, result in EXPECTED[name].items():
            found = detector.test(batch.head(int(T))).to_dict()
            assert found.keys() == result.keys() | {"effect"}
            for key, value in result.items():
                assert found[key] == pytest.approx(value, rel=1e-9, abs=0.0) if isinstance(value, float) else (
                    found[key] == value if key != "pvalues" else found[key] == pytest.approx(value, rel=1e-9, abs=0.0))
