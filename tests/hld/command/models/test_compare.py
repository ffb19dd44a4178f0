"""`hld diff`: what the library says of two models, as text and as JSON."""
import json


def test_diff(run, folder):
    status, out, err = run("diff", "model.hld", "other.hld")
    assert (status, err) == (0, "")
    assert "income differs most" in out.splitlines()[0]
    status, out, err = run("diff", "model.hld", "model.hld", "--json")
    assert (status, err) == (0, "")
    same = json.loads(out)
    assert [column["distance"] for column in same["columns"]] == [0, 0, 0]
