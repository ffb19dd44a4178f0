"""`hld test --sql`: counts of a database, verdict and status."""

import json
import pathlib
import re

import numpy as np
import pytest

from hld.apps.command import main

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
import duckdb
import pandas as pd


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sql")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"kind": rng.choice(["it's", "b"], size=900), "size": rng.normal(size=900)}
    )
    table[:600].to_csv(folder / "train.csv", index=False)
    assert (
        main(["fit", str(folder / "train.csv"), "-o", str(folder / "m.hld"), "--num-epochs", "3"])
        == 0
    )
    with duckdb.connect(str(folder / "orders.db")) as connection:
        connection.register("later", table[600:])
        connection.execute("CREATE TABLE orders AS SELECT * FROM later")
    return folder


def test_status_and_json(model, capsys):
    command = ["test", str(model / "m.hld"), "--database", f"duckdb://{model}/orders.db", "--sql"]
    assert main([*command, "orders"]) == 0
    assert "\nno shift: p = " in "\n" + capsys.readouterr().out
    assert main([*command, "SELECT kind, size + 1 AS size FROM orders", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["num_samples"] == 300
    assert found["columns"][0]["name"] == "size"
    assert found["num_queries"] == 1


def test_a_query_reads_files_without_a_database(model, capsys):
    query = f"SELECT * FROM '{model}/train.csv'"
    assert main(["test", str(model / "m.hld"), "--sql", query]) == 0
    assert "no shift" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--sql", "no_such_table"], "cannot be read"),
        (["--database", "duckdb:///orders.db", "--sql", "orders"], "absolute with a third slash"),
    ],
)
def test_errors_are_one_line(model, capsys, more, said):
    assert main(["test", str(model / "m.hld"), *more]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/x.csv", "s3://bucket/x.parquet"])
@pytest.mark.parametrize("database", ["", "orders.db"])
def test_no_extension_is_fetched_for_a_query(model, capsys, monkeypatch, place, database):
    """DuckDB had installed one from its server, into a new folder of the home directory."""
    monkeypatch.chdir(model)
    monkeypatch.setenv("HOME", str(model / "home"))
    command = ["test", "m.hld", "--sql", f"SELECT * FROM '{place}'", "--database", database]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "httpfs" in err
    assert err.count("\n") == 1
    assert not (model / "home").exists()


@pytest.mark.parametrize("document", ["README.md", "docs/sql.md"])
def test_commands_of_the_documents_open_a_file_of_the_current_folder(
    model, capsys, monkeypatch, document
):
    monkeypatch.chdir(model)
    text = (pathlib.Path(__file__).resolve().parents[3] / document).read_text(encoding="utf-8")
    urls = re.findall(r"--database (duckdb:\S+shop\.db)", text)
    assert urls
    for url in urls:
        assert (
            main(["test", "m.hld", "--database", url.replace("shop", "orders"), "--sql", "orders"])
            == 0
        )
    assert "no shift" in capsys.readouterr().out
