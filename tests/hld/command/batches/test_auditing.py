"""`hld audit`: status, JSON and page are those of the audit of the library."""

import html
import json
import shlex
import warnings

import pandas as pd
import pytest

import hld


def test_an_audit_as_a_page(run, folder):
    arguments = (
        "audit",
        "model.hld",
        "calm.csv",
        "--sizes",
        "5,20",
        "--num-batches",
        "15",
        "--report",
        "audit.html",
    )
    assert run(*arguments)[0] == 0
    page = (folder / "audit.html").read_text(encoding="utf-8")
    assert "<h1>Level kept</h1>" in page
    assert run("audit", "model.hld", "calm.csv", "--sizes", "9999")[0] == 2


@pytest.mark.parametrize(
    "options", [["--alpha", "0.3333333333333333"], ["--drop", "visits", "--na-values=-1,red"]]
)
def test_a_page_names_all_options_that_its_numbers_depend_on(run, folder, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the column that is not read
        first = run(
            "audit",
            "model.hld",
            "calm.csv",
            "--sizes",
            "5,20",
            "--num-batches",
            "4",
            "--seed",
            "3",
            "--edit",
            "colour=green:+0.1",
            *options,
            "--report",
            "page.html",
            "--json",
        )
        page = (folder / "page.html").read_text(encoding="utf-8")
        command = shlex.split(
            html.unescape(page.partition("How to reproduce</h2><pre>")[2].partition("\n")[0])
        )
        assert run(*command[1:], "--json")[:2] == first[:2]


@pytest.mark.parametrize(
    ("table", "alpha", "status"), [("moved.csv", "0.05", 1), ("calm.csv", "0.3", 0)]
)
def test_the_status_and_the_json_are_those_of_the_audit(run, folder, table, alpha, status):
    found = hld.audit(
        {"model.hld": hld.load(folder / "model.hld")},
        pd.read_csv(folder / table),
        [20],
        alpha=float(alpha),
        num_batches=10,
        rng=4,
    )
    told, out, err = run(
        "audit",
        "model.hld",
        table,
        "--sizes",
        "20",
        "--num-batches",
        "10",
        "--seed",
        "4",
        "--alpha",
        alpha,
        "--json",
    )
    assert (told, err, json.loads(out)) == (status, "", found.to_dict())
    assert found.keeps_level == {"model.hld": status == 0}
