"""Files of every form, by pyarrow and by pandas: the same rows, whole and in chunks."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tables import file_codes

from hld.tables.factored import whole_cells
from hld.tables.files import files
from hld.tables.files.dialect import ReadOptions
from hld.tables.schemas.learn_schema import fit_encoder

pa = pytest.importorskip("pyarrow")


def frame(N=300, seed=0):
    """Text, flags, whole numbers, numbers and dates, with holes in each."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "word": rng.choice(["red", "tan", "NY"], N).astype(object),
            "flag": (rng.random(N) < 0.5).astype(object),
            "count": rng.integers(0, 4, N).astype(object),
            "size": rng.normal(size=N).round(3),
            "code": rng.choice(["1", "2", "z"], N).astype(object),
        }
    )
    for v, name in enumerate(table.columns):
        table.loc[rng.random(N) < 0.05 * v, name] = None
    return table.assign(
        day=np.datetime64("2020-01-01", "us") + rng.integers(0, 1000, N).astype("m8[h]")
    )


@pytest.fixture
def paths(tmp_path):
    """The same table in many files."""
    table = frame()
    table.to_csv(tmp_path / "t.csv", index=False)
    text = (tmp_path / "t.csv").read_bytes()
    for ending, compress in (
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.Codec("zstd").compress(data, asbytes=True)),
    ):
        (tmp_path / f"t.csv{ending}").write_bytes(compress(text))
    table.to_csv(tmp_path / "index.csv")
    table.to_csv(tmp_path / "tab.txt", index=False, sep="\t")
    table.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    table.to_csv(tmp_path / "latin.csv", index=False, encoding="utf-16")
    return table, tmp_path


def test_every_text_file_is_the_same_table(paths):
    table, folder = paths
    read, total = files.read_training(str(folder / "t.csv"))
    encoder = fit_encoder(read, num_bins=4)
    kinds = [column.kind for column in encoder.columns]
    assert (total, kinds) == (
        300,
        ["categorical", "boolean", "integer", "continuous", "categorical", "date"],
    )
    expected = encoder.encode(read)[0]
    assert (expected == -1).sum(axis=0).tolist() == table.isna().sum().tolist()
    compressed = [f"t.csv{ending}" for ending in ("", ".gz", ".bz2", ".xz", ".zst")]
    for name in (*compressed, "index.csv", "tab.txt", "comma.csv", "latin.csv"):
        options = ReadOptions(encoding="utf-16" if name == "latin.csv" else "utf-8")
        again = fit_encoder(files.read_training(str(folder / name), options)[0], num_bins=4)
        assert again == encoder, name
        np.testing.assert_array_equal(file_codes(encoder, folder / name, options), expected, name)


@pytest.mark.parametrize(
    "written", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ", "%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M"]
)
def test_dates_are_dates_in_files_of_any_kind_and_in_frames(tmp_path, written):
    table = frame()
    texts = table.assign(day=table["day"].dt.strftime(written))
    texts.to_csv(tmp_path / "t.csv", index=False)
    texts.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    texts.to_parquet(tmp_path / "t.parquet")
    encoder = fit_encoder(table, num_bins=4)
    expected = encoder.encode(table)[0]
    assert fit_encoder(texts, num_bins=4) == encoder
    np.testing.assert_array_equal(encoder.encode(texts)[0], expected)
    np.testing.assert_array_equal(encoder.encode(texts[:1])[0], expected[:1])
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        assert fit_encoder(files.read_training(str(tmp_path / name))[0], num_bins=4) == encoder, (
            name
        )
        np.testing.assert_array_equal(file_codes(encoder, tmp_path / name), expected, name)


def test_parquet_and_json_lines(tmp_path):
    table = frame()
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(arrow, tmp_path / "t.parquet", row_group_size=70)
    table.assign(day=table["day"].astype(str)).to_json(
        tmp_path / "t.jsonl", orient="records", lines=True
    )
    encoder = fit_encoder(table, num_bins=4)
    expected = encoder.encode(table)[0]
    read, total = files.read_training(str(tmp_path / "t.parquet"))
    assert (total, fit_encoder(read, num_bins=4)) == (300, encoder)
    np.testing.assert_array_equal(file_codes(encoder, tmp_path / "t.parquet"), expected)
    np.testing.assert_array_equal(file_codes(encoder, tmp_path / "t.jsonl"), expected)
    chosen = ReadOptions(columns=("word", "size"))
    assert files.read_training(str(tmp_path / "t.parquet"), chosen)[0].column_names == [
        "word",
        "size",
    ]
    (tmp_path / "no.parquet").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"no\.parquet' is not a table in parquet"):
        files.read_training(str(tmp_path / "no.parquet"))


def test_chunks_are_the_whole(paths, monkeypatch):
    _, folder = paths
    encoder = fit_encoder(files.read_training(str(folder / "t.csv"))[0])
    whole = file_codes(encoder, folder / "t.csv")
    monkeypatch.setattr(files, "BLOCK", 1000)
    assert len(list(files.read_chunks(str(folder / "t.csv"), encoder))) > 5
    np.testing.assert_array_equal(file_codes(encoder, folder / "t.csv"), whole)


def test_files_without_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,x\n2,y\n1,y\n")
    options = ReadOptions(has_header=False)
    read, total = files.read_training(str(tmp_path / "t.csv"), options)
    assert (list(read), total) == (["x0", "x1"], 3)
    (chunk,) = files.read_chunks(str(tmp_path / "t.csv"), fit_encoder(read), options)
    assert [whole_cells(cells).tolist() for cells in chunk.values()] == [[1, 2, 1], ["x", "y", "y"]]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.json", "t.jsonl"])
def test_without_pyarrow_it_is_said_what_to_install(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(
        ImportError, match=r"needs pyarrow, .* not installed: pip install 'hld\[cli"
    ):
        files.read_training(str(tmp_path / name))


def test_a_text_file_with_the_names_of_an_array_is_matched_by_them(tmp_path):
    encoder = fit_encoder(np.array([["a", 0.5], ["b", 1.5], ["a", 2.5]], dtype=object))
    (tmp_path / "t.csv").write_text("x1,x0\n0.5,b\n2.5,a\n")
    assert file_codes(encoder, tmp_path / "t.csv").tolist() == [[1, 0], [0, 2]]
    (tmp_path / "t.csv").write_text("p,q\nb,0.5\na,2.5\n")
    assert file_codes(encoder, tmp_path / "t.csv").tolist() == [[1, 0], [0, 2]]


def test_a_long_table_is_learned_from_a_uniform_sample(tmp_path):
    """Each row is as likely as any other, whatever chunk it is in, and the order is kept."""
    chunks = [
        pd.DataFrame({"row": np.arange(start, min(start + 37, 200))}) for start in range(0, 200, 37)
    ]
    trials, hits = 120, np.zeros(200, dtype=int)
    for seed in range(trials):
        held, total = files.sampled(iter(chunks), 50, seed)
        rows = held["row"].to_numpy()
        assert (len(rows), total) == (50, 200)
        assert (np.diff(rows) > 0).all()
        hits[rows] += 1
    low, high = binom.ppf([1e-6 / 400, 1 - 1e-6 / 400], trials, 50 / 200)
    assert low <= hits.min() <= hits.max() <= high
    all_of_it, _ = files.sampled(iter(chunks), 1000, 0)
    assert all_of_it["row"].tolist() == list(range(200))


def test_of_a_long_series_the_last_rows_are_learned():
    chunks = [
        pd.DataFrame({"row": np.arange(start, min(start + 37, 200))}) for start in range(0, 200, 37)
    ]
    for most in (1, 30, 50, 199, 200, 1000):
        held, total = files.sampled(iter(chunks), most, 0, is_series=True)
        assert (held["row"].tolist(), total) == (list(range(max(200 - most, 0), 200)), 200)


@pytest.mark.parametrize("max_rows", [None, 50])
def test_nothing_to_learn_from(max_rows):
    with pytest.raises(ValueError, match="has no rows, expected some to learn from"):
        files.sampled(iter([]), max_rows, 0)


@pytest.mark.parametrize(("columns", "expected"), [(1, 40), (10, 20), (30, 10)])
def test_wide_tables_are_learned_from_fewer_rows(monkeypatch, columns, expected):
    for name, value in {"MOST_ROWS": 40, "LEAST_ROWS": 10, "MOST_CELLS": 200}.items():
        monkeypatch.setattr(files, name, value)
    chunks = [pd.DataFrame(np.zeros((25, columns))) for _ in range(3)]
    held, total = files.sampled(iter(chunks), None, 0)
    assert (held.shape, total) == ((expected, columns), 75)
