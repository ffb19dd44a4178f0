"""`hld summarize`: the sums of a table, and the sum of several files of them."""
import hld


def test_summaries_of_sites_are_tested_together(run, folder):
    for name in ("calm", "moved"):
        status, out, err = run("summarize", "model.hld", f"{name}.csv", "-o", f"{name}.json")
        assert (status, err) == (0, "")
        assert out.startswith(f"wrote {name}.json: 400 rows")
    assert run("test", "model.hld", "--summary", "calm.json")[0] == 0
    status, out, _ = run("test", "model.hld", "--summary", "calm.json", "moved.json")
    assert (status, "800 rows" in out, "income" in out) == (1, True, True)
    assert run("summarize", "model.hld", "calm.csv", "-o", "private.json", "--epsilon", "1")[0] == 0
    assert hld.BatchSummary.from_json((folder / "private.json").read_text()).privacy.epsilon == 1.0
    for argv, said in ((["calm.csv", "--summary", "calm.json"], "found a table and --summary"), ([], "found neither"),
                       (["--summary", "model.hld"], ""), (["--summary", "calm.csv"], "cannot read 'calm.csv'"),
                       (["--summary", "calm.json", "--by", "colour"], "--summary goes neither")):
        status, _, err = run("test", "model.hld", *argv)
        assert (status, said in err, err.count("\n")) == (2, True, 1)
    status, _, err = run("test", "model.hld", "--summary", "moved.json", "private.json")  # of two kinds
    assert status == 2
    assert "'private.json' has noise for privacy" in err
