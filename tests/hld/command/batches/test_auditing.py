"""`hld audit`: status, JSON and page are those of the audit of the library."""


def test_an_audit_as_a_page(run, folder):
    arguments = "audit", "model.hld", "calm.csv", "--sizes", "5,20", "--num-batches", "15", "--report", "audit.html"
    assert run(*arguments)[0] == 0
    page = (folder / "audit.html").read_text(encoding="utf-8")
    assert "<h1>Level kept</h1>" in page
    assert run("audit", "model.hld", "calm.csv", "--sizes", "9999")[0] == 2
