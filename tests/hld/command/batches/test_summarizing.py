"""`hld summarize`: the sums of a table, and the sum of several files of them."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command.batches.summarizing import read_summaries


def test_summaries_of_sites_are_tested_together(run, folder):
    for name in ("calm", "moved"):
        status, out, err = run("summarize", "model.hld", f"{name}.csv", "-o", f"{name}.json")
        assert (status, err) == (0, "")
        assert out.startswith(f"wrote {name}.json: 400 rows")
    assert run("test", "model.hld", "--summary", "calm.json")[0] == 0
    status, out, _ = run("test", "model.hld", "--summary", "calm.json", "moved.json")
    assert (status, "800 rows" in out, "income" in out) == (1, True, True)
    for argv, said in (
        (["calm.csv", "--summary", "calm.json"], "found a table and --summary"),
        ([], "found neither"),
        (["--summary", "model.hld"], ""),
        (["--summary", "calm.csv"], "cannot read 'calm.csv'"),
        (["--summary", "calm.json", "--by", "colour"], "--summary goes neither"),
    ):
        status, _, err = run("test", "model.hld", *argv)
        assert (status, said in err, err.count("\n")) == (2, True, 1)


def test_the_file_is_the_summary_that_the_library_makes(run, folder):
    detector, table = hld.load(folder / "model.hld"), pd.read_csv(folder / "calm.csv")
    status, out, err = run("summarize", "model.hld", "calm.csv", "-o", "sums.json")
    expected = detector.summarize(table)
    assert (status, err, out) == (
        0,
        "",
        f"wrote sums.json: 400 rows as {len(expected.sums)} sums\n",
    )
    found = hld.BatchSummary.from_json((folder / "sums.json").read_text())
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    assert (found.num_rows, found.model, found.table.extra) == (400, expected.model, ())


def test_several_files_are_one_batch_in_any_order(run, folder):
    detector, table = hld.load(folder / "model.hld"), pd.read_csv(folder / "moved.csv")
    for name, rows in (("a", table[:100]), ("b", table[100:250]), ("c", table[250:])):
        (folder / f"{name}.json").write_text(
            detector.summarize(rows).to_json(), encoding="utf-8-sig"
        )
    paths = [str(folder / f"{name}.json") for name in "abc"]
    whole = detector.summarize(table)
    for order in (paths, paths[::-1]):
        found = read_summaries(order)
        assert found.num_rows == 400
        np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
    assert read_summaries(paths[:1]).num_rows == 100
    (folder / "again.json").symlink_to(paths[0])
    for path in (
        paths[0],
        str(folder / "again.json"),
        str(folder / "." / ".." / folder.name / "a.json"),
    ):
        with pytest.raises(
            ValueError, match=r"--summary names the file '.*' twice, and its rows would count twice"
        ):
            read_summaries([*paths, path])


@pytest.mark.parametrize(
    "text", ["", "[1", "[]", "{}", "[" * 100_000, '{"format": "hld.summary"}', "\xff"]
)
def test_a_file_that_is_no_summary_is_named(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=f"^cannot read '{path}': "):
        read_summaries([str(path)])


def test_summaries_of_two_models_are_refused_by_the_name_of_the_file(folder):
    table = pd.read_csv(folder / "calm.csv")
    for name in ("model", "other"):
        (folder / f"of-{name}.json").write_text(
            hld.load(folder / f"{name}.hld").summarize(table).to_json()
        )
    paths = [str(folder / f"of-{name}.json") for name in ("model", "other")]
    with pytest.raises(ValueError, match=f"^{paths[1]!r} is "):
        read_summaries(paths)
