"""Files on the command line: what they say whatever the order of their rows, and what is refused in one sentence."""

import pandas as pd
import pytest
from command_line import amounts

import hld


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.jsonl", '[{"a": 1}, {"a": 2}]', "read it as one JSON value (--format json)"),
        ("t.csv", "# comment, with comma\na,b,c\n1,2,3\n", "remove lines that precede the names"),
        ("t.csv", "a,b", "'t.csv' has no rows, expected some to learn from"),
        (
            "t.csv",
            "sep=;\na;b\n1;2\n3;4\n",
            "begins with a line for spreadsheets ('sep=;'), expected names of columns: "
            "remove that line",
        ),
        ("t.csv", '\ufeff"SEP=\t"\r\na\tb\r\n1\t2\r\n', "begins with a line for spreadsheets"),
    ],
)
def test_files_that_are_refused_are_told_what_to_do(run_here, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    status, out, err = run_here("fit", name, "-o", "m.hld")
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("t.csv", "visits,size\n"), ("t.jsonl", ""), ("t.jsonl", "\n\n"), ("t.parquet", None)],
)
def test_a_batch_without_rows_is_called_by_the_name_of_its_file(run_here, tmp_path, name, text):
    table = pd.DataFrame({"visits": [0, 1] * 100, "size": ["a", "b"] * 100})
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table).save(tmp_path / "m.hld")
    if text is None:
        table[:0].to_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_text(text)
    wanted = "one object on each line" if name == "t.jsonl" else "at least one"
    for command in ("test", "explain", "audit"):
        status, out, err = run_here(command, "m.hld", name)
        assert (status, out) == (2, "")
        assert (
            err
            == f"hld: error: '{name}' has no rows, expected {wanted}: check the program that wrote it\n"
        )
    status, _, err = run_here("fit", name, "-o", "n.hld")
    assert status == 2
    assert (
        f"'{name}' has no rows, expected {wanted if name == 't.jsonl' else 'some to learn from'}"
        in err
    )
    status, _, err = run_here("summarize", "m.hld", name, "-o", "s.json")
    assert (status, err) == (0, "") or f"'{name}' has no rows, expected one object" in err


def test_options_that_would_do_nothing_are_refused(run_here, tmp_path):
    table = amounts(200, 0)
    table.to_csv("train.csv", index=False)
    table.to_parquet("t.parquet")
    table.to_json("t.jsonl", orient="records", lines=True)
    assert (
        run_here("fit", "train.csv", "-o", "model.hld", "--num-epochs", "2", "--num-latents", "2")[
            0
        ]
        == 0
    )
    assert run_here("summarize", "model.hld", "train.csv", "-o", "s.json")[0] == 0
    assert run_here(
        "test", "model.hld", "t.parquet", "--columns", "amount,k", "--format", "parquet"
    )[0] in (0, 1)
    for argv, said in (
        (
            ["test", "model.hld", "--summary", "s.json", "--drop", "amount"],
            "--drop is for tables in files, found",
        ),
        (
            ["test", "model.hld", "--sql", "SELECT 1", "--sep", ";"],
            "--sep is for tables in files, found --sql",
        ),
        (
            ["test", "model.hld", "t.parquet", "--na-values", "-999"],
            "--na-values is for CSV, and 't.parquet' is",
        ),
        (
            ["explain", "model.hld", "t.jsonl", "--no-header"],
            "--no-header is for CSV, and 't.jsonl' is read",
        ),
        (
            ["fit", "t.parquet", "-o", "m", "--decimal", ","],
            "--decimal is for CSV, and 't.parquet' is read as par",
        ),
    ):
        status, _, err = run_here(*argv)
        assert (status, said in err) == (2, True), err
