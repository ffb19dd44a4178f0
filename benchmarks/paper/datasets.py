"""The data sets of the paper, its pairs of classes, and the choices that it leaves open.

A `Table` holds a data set as numbers: nominal columns as codes 0, 1, ... of their labels, numeric columns as they
are.  `encode` turns it into categories,

    nominal column:  its code;        numeric column:  the number of cut points at or below the value,

where the cut points of B bins are the k/B quantiles (k = 1..B-1) of some rows, equal ones merged.  The paper says
"we discretize the continuous columns" and no more; `Choices` names every decision, with the reason where the
paper's own unit counts settle it:

* Covertype: four times ten input units, so the ten quantitative columns, not the 54 of its table of data sets.
* Census-Income: 4 x 34 input units, so 34 columns.  `CENSUS_COLUMNS` are the 33 nominal ones and age, the first of
  the seven numeric ones and the only one that is not mostly zero or constant inside a class.
* Adult, Connect-4, Sensorless: all 14, 42 and 48 columns (56, 168 and 192 input units).

Files come from the folder named by the environment variable HLD_DATA, else from the original archives (`archives`).
"""

import gzip
import os
import pathlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import archives

TABULAR = ("adult", "connect4", "covertype", "census", "sensorless")
IMAGES = ("mnist7", "mnist28")
ID_CLASSES = {
    "adult": ("<=50K", ">50K"),
    "connect4": ("win", "loss"),
    "covertype": ("lodgepole", "ponderosa"),
    "census": ("<50K", ">=50K"),
    "sensorless": ("healthy",),
    "mnist7": tuple("0123456789"),
    "mnist28": tuple("0123456789"),
}
PAIRS = {
    "adult": {"<=50K": (">50K",), ">50K": ("<=50K",)},
    "connect4": {"win": ("loss", "draw"), "loss": ("win",)},
    "covertype": {"lodgepole": ("aspen", "spruce/fir"), "ponderosa": ("cottonwood", "Douglas fir")},
    "census": {"<50K": (">=50K",), ">=50K": ("<50K",)},
    "sensorless": {"healthy": tuple(f"fault-{k:02}" for k in range(2, 12))},
    **{
        name: {d: tuple(e for e in "0123456789" if e != d) for d in "0123456789"} for name in IMAGES
    },
}
COVER_TYPES = (
    "spruce/fir",
    "lodgepole",
    "ponderosa",
    "cottonwood",
    "aspen",
    "Douglas fir",
    "krummholz",
)
CENSUS_NUMERIC_LEFT_OUT = (
    5,
    16,
    17,
    18,
    29,
    38,
)  # positions among the 40 columns without the instance weight


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open about data.

    Attributes
    ----------
    num_bins : int
        B, bins of a numeric column.
    bin_rule : str
        "quantile", or "uniform": bins of equal width between smallest and largest value.
    bin_rows : str
        Rows that fix the cut points: "train", the ID training half alone, or "all", every row of the data set.
    pixel_threshold : float
        A pixel, or a mean of pixels, of at least this is 1 (of 255).
    split_seed : int
        Seed of the 50/50 split of the ID pool.
    """

    num_bins: int = 10
    bin_rule: str = "quantile"
    bin_rows: str = "all"
    pixel_threshold: float = 127.5
    split_seed: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """A data set as numbers.

    Attributes
    ----------
    values : (N, V) float or uint8 array
        Codes of nominal columns, values of numeric ones; pixels 0..255.
    is_numeric : (V,) bool array
    labels : (N,) str array
        Class of each row, in the words of the paper.
    num_levels : (V,) int array
        Labels of each nominal column; 0 for numeric ones.
    remark : str
        What is not as in the original, for the tables.
    bin_rows : int array, optional
        Rows that stand for the whole data set where bins are cut; by default all of them.
    """

    values: np.ndarray
    is_numeric: np.ndarray
    labels: np.ndarray
    num_levels: np.ndarray
    remark: str = ""
    bin_rows: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """One ID class and its OOD classes, as categories: `train` (A), `held_out` (B), `ood` by class name."""

    train: np.ndarray
    held_out: np.ndarray
    ood: dict
    num_categories: tuple
    remark: str


def load_table(name: str) -> Table:
    """The table of a data set, from HLD_DATA if it is set, else from the original archive; the last one is kept."""
    return _table(name, os.environ.get("HLD_DATA"))


@lru_cache(maxsize=1)
def _table(name, folder) -> Table:
    """Read a table."""
    if name in IMAGES:
        images, digits = archives.mnist(
            folder and (lambda file: pathlib.Path(folder, "mnist", file).read_bytes())
        )
        side = int(name.removeprefix("mnist"))
        pixels = images.reshape(len(images), side, 28 // side, side, 28 // side).mean(axis=(2, 4))
        pixels = pixels.reshape(len(images), -1).astype(np.float32)
        V = side * side
        return Table(pixels, np.zeros(V, bool), digits.astype(str), np.full(V, 2))
    if folder:
        return LOCAL[name](pathlib.Path(folder))
    return DOWNLOADED[name]()


def split_class(table: Table, id_class: str, ood_classes, choices: Choices) -> Split:
    """Cut the ID pool in halves at random, and turn all rows that are needed into categories."""
    pool = np.flatnonzero(table.labels == id_class)
    pool = pool[np.random.default_rng(choices.split_seed).permutation(len(pool))]
    train, held_out = pool[: len(pool) // 2], pool[len(pool) // 2 :]
    every_row = slice(None) if table.bin_rows is None else table.bin_rows
    cut_rows = train if choices.bin_rows == "train" else every_row
    cuts = cut_points(table, cut_rows, choices)
    categories = tuple(
        len(c) + 1 if numeric else int(n)
        for c, numeric, n in zip(cuts, table.is_numeric, table.num_levels, strict=True)
    )
    rows = {ood: np.flatnonzero(table.labels == ood) for ood in ood_classes}
    return Split(
        encode(table, train, cuts, choices),
        encode(table, held_out, cuts, choices),
        {ood: encode(table, index, cuts, choices) for ood, index in rows.items()},
        categories,
        table.remark,
    )


def cut_points(table: Table, rows, choices: Choices) -> list:
    """Ascending cut points of each numeric column, None for nominal ones; at least one, so that C >= 2."""
    cuts = []
    for v, numeric in enumerate(table.is_numeric):
        if not numeric:
            cuts.append(None)
            continue
        column = table.values[rows, v]
        if choices.bin_rule == "uniform":
            points = np.linspace(column.min(), column.max(), choices.num_bins + 1)[1:-1]
        else:
            points = np.quantile(
                column, np.arange(1, choices.num_bins) / choices.num_bins, method="higher"
            )
        points = np.unique(points)
        points = points[points > column.min()]
        cuts.append(points if len(points) else np.nextafter([column.min()], np.inf))
    return cuts


def encode(table: Table, rows, cuts, choices: Choices) -> np.ndarray:
    """(N, V) uint8 categories of some rows."""
    values = table.values[rows]
    if not table.is_numeric.any() and values.dtype == np.float32:  # pixels
        return (values >= choices.pixel_threshold).astype(np.uint8)
    codes = np.empty(values.shape, np.uint8)
    for v, points in enumerate(cuts):
        codes[:, v] = (
            values[:, v] if points is None else np.searchsorted(points, values[:, v], side="right")
        )
    return codes


def table_of_texts(fields, numeric, labels) -> Table:
    """A table from text columns: (N, V) str `fields`, positions `numeric` parsed, the others numbered by label."""
    V = fields.shape[1]
    values, levels, is_numeric = (
        np.empty(fields.shape),
        np.zeros(V, int),
        np.isin(np.arange(V), numeric),
    )
    for v in range(V):
        if is_numeric[v]:
            values[:, v] = fields[:, v].astype(float)
        else:
            names, values[:, v] = np.unique(fields[:, v], return_inverse=True)
            levels[v] = max(len(names), 2)
    return Table(values, is_numeric, labels, levels)


def adult_table(train, test) -> Table:
    """Adult from the lines of its two files: 14 columns, six numeric, "?" one more label."""
    fields = np.char.strip(
        np.array([line.split(",") for line in [*train, *test] if line.count(",") == 14])
    )
    labels = np.char.strip(fields[:, 14], ".")
    return table_of_texts(fields[:, :14], (0, 2, 4, 10, 11, 12), labels)


def connect4_table(lines) -> Table:
    """Connect-4 from its lines: 42 squares b, o, x."""
    fields = np.array([line.strip().split(",") for line in lines if line.strip()])
    return table_of_texts(fields[:, :42], (), fields[:, 42])


def covertype_table(quantitative, classes) -> Table:
    """Covertype from its ten quantitative columns and the classes 1..7."""
    labels = np.array(COVER_TYPES)[np.asarray(classes) - 1]
    return Table(np.asarray(quantitative, float), np.ones(10, bool), labels, np.zeros(10, int))


def census_table(values, is_numeric, num_levels, is_rich) -> Table:
    """Census-Income from its 40 columns without the weight: 34 of them."""
    keep = np.setdiff1d(np.arange(40), CENSUS_NUMERIC_LEFT_OUT)
    labels = np.where(is_rich, ">=50K", "<50K")
    return Table(values[:, keep], is_numeric[keep], labels, num_levels[keep])


def sensorless_table(values, classes, remark="", bin_rows=None) -> Table:
    """Sensorless from its 48 columns and the classes 1..11, the first of them healthy."""
    labels = np.array(["healthy", *PAIRS["sensorless"]["healthy"]])[np.asarray(classes, int) - 1]
    return Table(
        np.asarray(values, float), np.ones(48, bool), labels, np.zeros(48, int), remark, bin_rows
    )


def _local_lines(path):
    """Lines of a compressed text."""
    with gzip.open(path, "rt") as file:
        return file.read().splitlines()


def _local_covertype(folder) -> Table:
    with np.load(folder / "covertype" / "covertype.npz", allow_pickle=False) as arrays:
        return covertype_table(arrays["X"][:, :10], arrays["y"])


def _local_census(folder) -> Table:
    with np.load(
        folder / "census_income_kdd" / "census_income_kdd.npz", allow_pickle=False
    ) as arrays:
        values = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
        rich = np.concatenate([arrays["y_train"], arrays["y_test"]]) == 1
        numeric = ~arrays["is_categorical"].astype(bool)
        levels = np.array(
            [0 if numeric[v] else max(len(arrays[f"cat_{v:02}"]), 2) for v in range(40)]
        )
    return census_table(values, numeric, levels, rich)


def _local_sensorless(folder) -> Table:
    """The 7,731 rows of which all 48 features are there: class 1 complete, the others in part.

    Bins are cut on the 2,200 of them that are a random sample, 200 of each class, of all 58,509.
    """
    with np.load(folder / "sensorless" / "sensorless_partial.npz", allow_pickle=False) as arrays:
        new = arrays["row_sample"] >= len(arrays["y_first"])
        sampled = np.concatenate(
            [arrays["row_sample"][~new], len(arrays["y_first"]) + np.arange(new.sum())]
        )
        values = np.concatenate([arrays["X_first_48"], arrays["X_sample_48"][new]])
        classes = np.concatenate([arrays["y_first"], arrays["y_sample"][new]])
    remark = (
        f"partial: class 1 (the ID class) complete, of the OOD classes {np.sum(classes > 1)} rows in all, "
        f"{np.bincount(classes)[2:].min()} to {np.bincount(classes)[2:].max()} each, instead of 5,319"
    )
    return sensorless_table(values, classes, remark, sampled)


LOCAL = {
    "adult": lambda folder: adult_table(
        *[_local_lines(folder / "adult" / f"adult.{part}.gz") for part in ("data", "test")]
    ),
    "connect4": lambda folder: connect4_table(
        _local_lines(folder / "connect4" / "connect-4.data.gz")
    ),
    "covertype": _local_covertype,
    "census": _local_census,
    "sensorless": _local_sensorless,
}
DOWNLOADED = {
    "adult": lambda: adult_table(*archives.adult()),
    "connect4": lambda: connect4_table(archives.connect4()),
    "covertype": lambda: covertype_table(*archives.covertype()),
    "census": lambda: census_table(*archives.census()),
    "sensorless": lambda: sensorless_table(*archives.sensorless()),
}
