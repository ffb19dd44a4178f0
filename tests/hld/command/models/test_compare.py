"""`hld diff`: what the library says of two models, as text and as JSON."""

import json

import hld
from hld.answers.column_shifts import percent
from hld.answers.models import compare_models


def test_diff(run, folder):
    status, out, err = run("diff", "model.hld", "other.hld")
    assert (status, err) == (0, "")
    assert "income differs most" in out.splitlines()[0]
    status, out, err = run("diff", "model.hld", "model.hld", "--json")
    assert (status, err) == (0, "")
    same = json.loads(out)
    assert [column["distance"] for column in same["columns"]] == [0, 0, 0]


def test_text_and_json_are_what_the_library_says(run, folder):
    found = compare_models(*(hld.load(folder / name) for name in ("model.hld", "other.hld")))
    assert json.loads(run("diff", "model.hld", "other.hld", "--json")[1]) == json.loads(
        json.dumps(found.to_dict())
    )
    lines = run("diff", "model.hld", "other.hld")[1].splitlines()
    header, *shown = lines[-1 - len(found.columns) :]
    assert "\n".join(lines[: -1 - len(found.columns)]) == found.headline()
    assert header.split() == ["column", "rows", "that", "differ", "where", "most"]
    for line, one in zip(shown, found.columns, strict=True):
        assert line.startswith(one.name)
        assert f" {percent(one.distance)} " in line
        assert line.endswith(one.describe())


def test_columns_that_cannot_be_compared_have_a_dash(run, run_here, folder, tmp_path):
    table = {"colour": ["red", "blue"] * 20, "new": [1, 2, 3, 4] * 10}
    hld.HLDDetector(num_latents=1, num_epochs=1, num_resamples=19).fit(table).save(
        tmp_path / "new.hld"
    )
    status, out, _ = run_here("diff", str(folder / "model.hld"), "new.hld")
    assert status == 0
    assert [
        line.split()[1] for line in out.splitlines() if line.startswith(("new", "visits", "income"))
    ] == ["-"] * 3
