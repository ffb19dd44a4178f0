"""The scripts in examples/ run, say what they find, and are all listed."""

import os
import pathlib
import re
import runpy

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
# what each prints, among other things
EXPECTED = {
    "build_a_circuit.py": [
        r"P\(rain, umbrella, late\)   = 0\.04[12]",
        r"most probable day         = \[0 0 0\]",
    ],
    "compare_models.py": [r"hidden Chow-Liu tree, 4 states +\d+", r"divergence KL"],
    "learn_and_sample.py": [r"fresh rows: -\d+", r"#"],
    "monitor_a_stream.py": [r"hour 19: no alarm", r"hour 2\d: alarm"],
    "real_batches.py": [
        r"a new soil: p = 0\.\d+ among 30 soils, [\d.]+e-\d+",
        r"alarm False in 3,000 rows .* at row 30\d\d once",
        r"older people: covariates moved; poorer ones of the same ages: conditional",
        r"sums of two sites: p = (0\.\d+|1), \d+ characters; men and women: p = 0\.001",
    ],
    "serve_with_threads.py": [
        r"'status': 200, 'shift': False",
        r"'status': 400",
        r"1 of 8 requests shifted",
    ],
    "test_in_a_database.py": [
        r"^no shift: ",
        r"^shift: ",
        r"1 query; ",
        r"dependence changed in 1 of 2 pairs",
    ],
    "test_a_table.py": [r"^no shift: ", r"^shift: ", r"1 of 3 batches shifted", r"\d+ kB; shift"],
}


@pytest.mark.thorough
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    if "sklearn" in script.read_text(encoding="utf-8"):
        pytest.importorskip("sklearn")
    if "duckdb" in script.read_text(encoding="utf-8"):
        pytest.importorskip("duckdb")
        pytest.importorskip("ibis")
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")  # in this process, where a warning is an error
    out, err = capsys.readouterr()
    assert err == ""
    if script.name == "real_batches.py" and "HLD_DATA" not in os.environ:
        assert out.startswith("set HLD_DATA to a folder with")
        return
    for pattern in EXPECTED[script.name]:
        assert re.search(pattern, out, re.MULTILINE), f"{pattern!r} is not in\n{out}"
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_examples_are_listed():
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert (
        set(re.findall(r"\]\((\w+\.py)\)", page))
        == {script.name for script in SCRIPTS}
        == set(EXPECTED)
    )
