"""The data sets of the study: rows, columns, archives, bins and divisions."""

import gzip
import hashlib
import io
import zipfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from paper_table import small_table

import pcircuit
from benchmarks.paper import (
    archives,
    datasets,
)

pytestmark = pytest.mark.thorough


COUNTS = {
    "adult": (14, {"<=50K": 37_155, ">50K": 11_687}),
    "connect4": (42, {"win": 44_473, "loss": 16_635, "draw": 6_449}),
    "covertype": (
        10,
        {
            "spruce/fir": 211_840,
            "lodgepole": 283_301,
            "ponderosa": 35_754,
            "cottonwood": 2_747,
            "aspen": 9_493,
            "Douglas fir": 17_367,
            "krummholz": 20_510,
        },
    ),
    "census": (34, {"<50K": 280_717, ">=50K": 18_568}),
}


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_counts_of_rows_and_columns(name, data_folder):
    table = datasets.load_table(name)
    V, counts = COUNTS[name]
    labels, found = np.unique(table.labels, return_counts=True)
    assert table.values.shape == (sum(counts.values()), V)
    assert dict(zip(labels.tolist(), found.tolist(), strict=True)) == counts
    assert set(datasets.ID_CLASSES[name]) <= set(labels)
    assert {ood for pairs in datasets.PAIRS[name].values() for ood in pairs} <= set(labels)
    assert np.isfinite(table.values).all()


def test_sensorless_is_partial_and_says_so(data_folder):
    table = datasets.load_table("sensorless")
    assert table.values.shape == (7_731, 48)
    assert np.sum(table.labels == "healthy") == 5_319
    assert "partial" in table.remark
    stand_in = table.labels[table.bin_rows]
    assert (
        np.unique(stand_in, return_counts=True)[1].tolist() == [200] * 11
    )  # balanced, as the full set is
    head = np.ascontiguousarray(table.values[: archives.SENSORLESS_HEAD[0]])
    assert hashlib.sha256(head.tobytes()).hexdigest() == archives.SENSORLESS_HEAD[1]


def test_digits(data_folder):
    table = datasets.load_table("mnist7")
    assert table.values.shape == (70_000, 49)
    assert np.bincount(table.labels.astype(int)).tolist() == [
        6903,
        7877,
        6990,
        7141,
        6824,
        6313,
        6876,
        7293,
        6825,
        6958,
    ]
    split = datasets.split_class(table, "3", ("5",), datasets.Choices())
    assert (len(split.train), len(split.held_out), split.ood["5"].shape) == (3570, 3571, (6313, 49))
    assert set(np.unique(split.train)) == {0, 1}


def test_unit_counts_pin_the_columns_down(data_folder):
    """The paper's numbers of input and sum units follow from the columns and the Chow-Liu trees."""
    for name, inputs, sums in (("adult", 56, 25), ("covertype", 40, 25), ("census", 136, 57)):
        id_class = {"adult": "<=50K", "covertype": "lodgepole", "census": ">=50K"}[name]
        split = datasets.split_class(datasets.load_table(name), id_class, (), datasets.Choices())
        kinds = pcircuit.hclt(split.train[:20_000], 4, split.num_categories).nodes.kind.tolist()
        assert (kinds.count("input"), kinds.count("sum")) == (inputs, sums)
    split = datasets.split_class(datasets.load_table("adult"), ">50K", (), datasets.Choices())
    for K, units in (
        (4, 101),
        (8, 201),
        (16, 401),
    ):  # the capacity sweep has one inner variable less
        assert pcircuit.hclt(split.train, K, split.num_categories).num_nodes == units


def test_quantile_bins_are_balanced_and_codes_fit():
    table = small_table()
    choices = datasets.Choices(num_bins=5)
    split = datasets.split_class(table, "<=50K", (">50K", "other"), choices)
    assert split.num_categories == (3, 3, 5, 5)
    codes = np.concatenate([split.train, split.held_out, *split.ood.values()])
    assert np.bincount(codes[:, 2]).tolist() == [36] * 5  # all 180 rows, cut at their quintiles
    assert (codes < split.num_categories).all()
    train = datasets.split_class(table, "<=50K", (), replace(choices, bin_rows="train")).train
    assert np.bincount(train[:, 2]).tolist() == [6] * 5
    uniform = datasets.cut_points(table, slice(None), replace(choices, bin_rule="uniform"))[2]
    assert np.diff(uniform) == pytest.approx(np.ptp(table.values[:, 2]) / 5)


def test_split_is_a_partition_and_follows_its_seed():
    table = small_table()
    first, again, other = (
        datasets.split_class(table, "<=50K", (), datasets.Choices(split_seed=s)) for s in (0, 0, 1)
    )
    assert len(first.train) == len(first.held_out) == 30
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    whole = datasets.encode(
        table,
        table.labels == "<=50K",
        datasets.cut_points(table, slice(None), datasets.Choices()),
        datasets.Choices(),
    )
    joined = np.concatenate([first.train, first.held_out])
    assert np.array_equal(
        np.sort(joined.view([("", joined.dtype)] * 4), axis=0),
        np.sort(np.ascontiguousarray(whole).view([("", whole.dtype)] * 4), axis=0),
    )


def test_archive_of_adult_is_parsed_as_the_local_copy(data_folder, monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    for part in ("data", "test"):
        with gzip.open(data_folder / "adult" / f"adult.{part}.gz") as file:
            (tmp_path / f"adult.{part}").write_bytes(file.read())

    def retrieve(url, known_hash, fname, path):
        found = hashlib.md5((tmp_path / fname).read_bytes()).hexdigest()
        assert (
            known_hash == f"md5:{found}"
        )  # the checksum that is asked for is that of the published file
        return tmp_path / fname

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    downloaded, local = datasets.adult_table(*archives.adult()), datasets.load_table("adult")
    assert np.array_equal(downloaded.values, local.values)
    assert np.array_equal(downloaded.labels, local.labels)


def uci_text(num_columns, classes):
    """Lines of a file of UCI: cells "1", and the class at the end."""
    return "".join(", ".join(["1"] * num_columns + [name]) + "\n" for name in classes).encode()


def small_archives():
    """Archives with a few rows in the format of the published ones, and their rows of each class."""
    classes = {
        "adult.data": ["<=50K", "<=50K", ">50K"],
        "adult.test": ["<=50K.", ">50K."],
        "connect-4.data": ["win", "win", "loss"],
        "covtype.data": ["1", "2", "2"],
        "census-income.data": ["- 50000.", "50000+."],
        "census-income.test": ["- 50000."],
        "Sensorless_drive_diagnosis.txt": ["1", "1", "2"],
        "train-labels": [3, 3, 5],
        "t10k-labels": [5],
    }
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for name in ("census-income.data", "census-income.test"):
            archive.writestr(f"folder/{name}", uci_text(41, classes[name]))
    files = {
        "adult.data": uci_text(14, classes["adult.data"]) + b"\n",
        "adult.test": b"|1x3 Cross validator\n" + uci_text(14, classes["adult.test"]),
        "connect-4.data.Z": gzip.compress(uci_text(42, classes["connect-4.data"])),
        "covtype.data.gz": gzip.compress(uci_text(54, classes["covtype.data"])),
        "census.zip": zipped.getvalue(),
        "sensorless.txt": uci_text(48, classes["Sensorless_drive_diagnosis.txt"]).replace(
            b",", b""
        ),
    }
    for part in ("train", "t10k"):
        digits = classes[f"{part}-labels"]
        files[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(bytes(8) + bytes(digits))
        files[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(bytes(16 + 784 * len(digits)))
    return files, {
        name: Counter(int(label) if str(label).isdigit() else label.rstrip(".") for label in labels)
        for name, labels in classes.items()
    }


@pytest.fixture
def small_archive_files(monkeypatch):
    """The small archives in place of the published ones; tests may change the files."""
    files, counts = small_archives()
    unpacked = gzip.decompress(files["connect-4.data.Z"])
    head = np.loadtxt(io.BytesIO(files["sensorless.txt"]))[:2, :48].tobytes()
    monkeypatch.setattr(archives, "_fetch", files.__getitem__)
    monkeypatch.setattr(archives, "CLASS_ROWS", counts)
    monkeypatch.setattr(
        archives, "CONTENTS", {"connect-4.data": hashlib.sha256(unpacked).hexdigest()}
    )
    monkeypatch.setattr(archives, "SENSORLESS_HEAD", (2, hashlib.sha256(head).hexdigest()))
    return files


def test_small_archives_are_parsed(small_archive_files):
    tables = {name: load() for name, load in datasets.DOWNLOADED.items()}
    assert {name: table.values.shape for name, table in tables.items()} == {
        "adult": (5, 14),
        "connect4": (3, 42),
        "covertype": (3, 10),
        "census": (3, 34),
        "sensorless": (3, 48),
    }
    assert tables["adult"].labels.tolist() == ["<=50K", "<=50K", ">50K", "<=50K", ">50K"]
    assert tables["covertype"].labels.tolist() == ["spruce/fir", "lodgepole", "lodgepole"]
    assert tables["sensorless"].labels.tolist() == ["healthy", "healthy", "fault-02"]
    images, digits = archives.mnist()
    assert images.shape == (4, 28, 28)
    assert digits.tolist() == [3, 3, 5, 5]


@pytest.mark.parametrize(
    ("loader", "name", "change", "match"),
    [
        (
            "adult",
            "adult.data",
            lambda file: file.replace(b"1, ", b"", 1),
            r"lines of \[14, 15\] columns, expected 15",
        ),
        (
            "connect4",
            "connect-4.data.Z",
            lambda file: b"<html>",
            "something that gzip cannot unpack",
        ),
        (
            "covertype",
            "covtype.data.gz",
            lambda file: gzip.compress(b"<html>"),
            "covtype.data .*not a table of numbers",
        ),
        (
            "census",
            "census.zip",
            lambda file: b"<html>",
            "found something else, expected a zip file",
        ),
        ("sensorless", "sensorless.txt", lambda file: b"<html>", "not a table of numbers"),
        ("sensorless", "sensorless.txt", lambda file: b"1 2 3\n", "found 3 columns, expected 49"),
        (
            "sensorless",
            "sensorless.txt",
            lambda file: file.replace(b"1", b"7", 1),
            r"first 2 rows\) .* found SHA-256",
        ),
        (
            "mnist",
            "train-images-idx3-ubyte.gz",
            lambda file: gzip.compress(bytes(16 + 784)),
            "train-images .* found 784 pixels, expected 28 x 28 for each of 3 digits",
        ),
    ],
)
def test_broken_archives_are_refused(loader, name, change, match, small_archive_files):
    small_archive_files[name] = change(small_archive_files[name])
    with pytest.raises(OSError, match=match):
        getattr(archives, loader)()
