"""The original archives of the data sets, downloaded with `pooch` (extra ``data``) and checked.

    adult, connect4, covertype, census, sensorless, mnist      arrays or lines, as `datasets` expects them

Three things are checked, and a file that fails one is refused with an OSError:

    checksum      of an archive (`FILES`) that never changes; pooch does it
    contents      SHA-256 of the unpacked text (`CONTENTS`), or of the first rows (`SENSORLESS_HEAD`), where the archive
                  may be packed anew: a zip made on demand, .Z, .gz
    rows          of each class in what was parsed (`CLASS_ROWS`), for every file, and its number of columns

For Census-Income neither checksum is known, so its rows and classes are checked instead.  pooch keeps what it
downloaded in its cache, so a second call downloads nothing.
"""

import gzip
import hashlib
import io
import shutil
import subprocess
import sys
import zipfile

import numpy as np

UCI = "https://archive.ics.uci.edu/"
MNIST_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {  # url and checksum of the archive, None where the archive is packed anew from time to time
    "adult.data": (
        UCI + "ml/machine-learning-databases/adult/adult.data",
        "md5:5d7c39d7b8804f071cdd1f2a7c460872",
    ),
    "adult.test": (
        UCI + "ml/machine-learning-databases/adult/adult.test",
        "md5:35238206dfdf7f1fe215bbb874adecdc",
    ),
    "connect-4.data.Z": (UCI + "ml/machine-learning-databases/connect-4/connect-4.data.Z", None),
    "covtype.data.gz": (
        "https://ndownloader.figshare.com/files/5976039",
        "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    ),
    "census.zip": (UCI + "static/public/117/census+income+kdd.zip", None),
    "sensorless.txt": (
        UCI + "ml/machine-learning-databases/00325/Sensorless_drive_diagnosis.txt",
        None,
    ),
    "train-images-idx3-ubyte.gz": (
        MNIST_MIRROR + "train-images-idx3-ubyte.gz",
        "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ),
    "train-labels-idx1-ubyte.gz": (
        MNIST_MIRROR + "train-labels-idx1-ubyte.gz",
        "md5:d53e105ee54ea40749a09fcbcd1e9432",
    ),
    "t10k-images-idx3-ubyte.gz": (
        MNIST_MIRROR + "t10k-images-idx3-ubyte.gz",
        "md5:9fb629c4189551a2d022fa330f9573f3",
    ),
    "t10k-labels-idx1-ubyte.gz": (
        MNIST_MIRROR + "t10k-labels-idx1-ubyte.gz",
        "md5:ec29112dd5afa0611ce80d1b7f02629c",
    ),
}
CONTENTS = {"connect-4.data": "063152e6eadbb424c7ef4645df76e493a43812edd9c992400983da4fa54f8cba"}
CLASS_ROWS = {  # rows of each class, as their documentation has them, file by file
    "adult.data": {"<=50K": 24_720, ">50K": 7_841},
    "adult.test": {"<=50K": 12_435, ">50K": 3_846},
    "connect-4.data": {"win": 44_473, "loss": 16_635, "draw": 6_449},
    "covtype.data": {1: 211_840, 2: 283_301, 3: 35_754, 4: 2_747, 5: 9_493, 6: 17_367, 7: 20_510},
    "census-income.data": {"- 50000": 187_141, "50000+": 12_382},
    "census-income.test": {"- 50000": 93_576, "50000+": 6_186},
    "Sensorless_drive_diagnosis.txt": dict.fromkeys(range(1, 12), 5_319),
    "train-labels": dict(enumerate((5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949))),
    "t10k-labels": dict(enumerate((980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009))),
}
CENSUS_NUMERIC = (
    0,
    5,
    16,
    17,
    18,
    29,
    38,
)  # of the 40 columns that remain without the instance weight
CENSUS_WEIGHT = 24  # its position among the 41 columns of the file
SENSORLESS_HEAD = (
    5_748,
    "be4dafa375a7dcb9385d3a39d6b25f72c20d09f8ff7a6dd83c7817364fbdba1e",
)  # of float64 values
SHOWN_CLASSES = 12  # in an error


def adult():
    """Lines of the training and of the test file."""
    files = {name: _fetch(name).decode().splitlines() for name in ("adult.data", "adult.test")}
    for name, lines in files.items():
        _rows(name, lines, 15)
    return tuple(files.values())


def connect4():
    """Lines of the file, which is packed with the old Unix program `compress`."""
    name = "connect-4.data"
    packed = _fetch("connect-4.data.Z")
    program = shutil.which("gzip")
    if program is None:
        raise OSError(
            "connect-4.data.Z needs the program gzip to be unpacked: install it, or set HLD_DATA"
        )
    unpacked = subprocess.run([program, "-dc"], input=packed, capture_output=True, check=False)
    _check(
        unpacked.returncode == 0, name, "something that gzip cannot unpack", "a file of `compress`"
    )
    _check_digest(name, unpacked.stdout, CONTENTS[name])
    lines = unpacked.stdout.decode().splitlines()
    _rows(name, lines, 43)
    return lines


def covertype():
    """(581012, 10) quantitative columns and (581012,) classes 1..7."""
    rows = _numbers(
        "covtype.data",
        gzip.decompress(_fetch("covtype.data.gz")),
        delimiter=",",
        dtype=np.int16,
        usecols=(*range(10), 54),
    )
    _check_classes("covtype.data", rows[:, 10])
    return rows[:, :10], rows[:, 10]


def census():
    """Values, numeric columns, number of labels of each nominal column, and whether the income is over 50,000."""
    packed, rows = _fetch("census.zip"), []
    _check(zipfile.is_zipfile(io.BytesIO(packed)), "census.zip", "something else", "a zip file")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for name in ("census-income.data", "census-income.test"):
            rows += _rows(name, _member(archive, name).splitlines(), 42)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    rich = columns.pop() == "50000+"
    del columns[CENSUS_WEIGHT]
    values, levels = np.empty((len(rich), 40)), np.zeros(40, int)
    numeric = np.isin(np.arange(40), CENSUS_NUMERIC)
    for v, column in enumerate(columns):
        if numeric[v]:
            values[:, v] = column.astype(float)
        else:
            names, values[:, v] = np.unique(column, return_inverse=True)
            levels[v] = max(len(names), 2)
    return values, numeric, levels, rich


def sensorless():
    """(58509, 48) values and (58509,) classes 1..11."""
    name = "Sensorless_drive_diagnosis.txt"
    rows = _numbers(name, _fetch("sensorless.txt"))
    _check(rows.shape[1] == 49, name, f"{rows.shape[1]} columns", "49")
    _check_classes(name, rows[:, 48])
    count, digest = SENSORLESS_HEAD
    _check_digest(
        f"{name} (first {count} rows)", np.ascontiguousarray(rows[:count, :48]).tobytes(), digest
    )
    return rows[:, :48], rows[:, 48].astype(int)


def mnist(read=None):
    """(70000, 28, 28) uint8 images and (70000,) digits, training rows first; `read` gives the bytes of a file."""
    images, digits = [], []
    for part in ("train", "t10k"):
        images.append(
            np.frombuffer(
                gzip.decompress((read or _fetch)(f"{part}-images-idx3-ubyte.gz")),
                np.uint8,
                offset=16,
            )
        )
        digits.append(
            np.frombuffer(
                gzip.decompress((read or _fetch)(f"{part}-labels-idx1-ubyte.gz")),
                np.uint8,
                offset=8,
            )
        )
        _check_classes(f"{part}-labels", digits[-1])
        _check(
            images[-1].size == 784 * digits[-1].size,
            f"{part}-images",
            f"{images[-1].size:,} pixels",
            f"28 x 28 for each of {digits[-1].size:,} digits",
        )
    return np.concatenate(images).reshape(-1, 28, 28), np.concatenate(digits)


def _rows(name, lines, num_columns) -> list:
    """Cells of the lines of a file of UCI, without blank lines and comments; the class is the last cell."""
    rows = [
        [
            sys.intern(cell.strip()) for cell in line.rstrip(". \r").split(",")
        ]  # millions of cells, few words
        for line in lines
        if line.strip() and not line.startswith("|")
    ]
    lengths = {len(row) for row in rows}
    _check(
        lengths == {num_columns},
        name,
        f"lines of {sorted(lengths)} columns",
        f"{num_columns} in every line",
    )
    _check_classes(name, [row[-1] for row in rows])
    return rows


def _numbers(name, text, **options) -> np.ndarray:
    """Array of numbers from the bytes of a text."""
    try:
        return np.loadtxt(io.BytesIO(text), ndmin=2, **options)
    except ValueError as error:
        raise _refusal(name, f"text that is not a table of numbers ({error})", "one") from error


def _fetch(name) -> bytes:
    """Contents of an archive, from pooch's cache or the network."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "downloading data needs pooch (pip install 'hld[data]'); with local copies, set the "
            "environment variable HLD_DATA to their folder instead"
        ) from error
    url, checksum = FILES[name]
    path = pooch.retrieve(url, known_hash=checksum, fname=name, path=pooch.os_cache("hld-paper"))
    with open(path, "rb") as file:
        return file.read()


def _member(archive, name) -> str:
    """Text of a member of a zip file, which may be packed once more, in a folder, or inside another archive."""
    for entry in archive.namelist():
        if entry.endswith(name):
            return archive.read(entry).decode()
        if entry.endswith(name + ".gz"):
            return gzip.decompress(archive.read(entry)).decode()
    import tarfile

    for entry in archive.namelist():
        if entry.endswith((".tar.gz", ".tgz")):
            with tarfile.open(fileobj=io.BytesIO(archive.read(entry))) as inner:
                for member in inner.getmembers():
                    if member.name.endswith(name):
                        return inner.extractfile(member).read().decode()
    raise OSError(f"the archive holds {archive.namelist()}, but no {name}")


def _check_classes(name, classes):
    """Refuse a file whose number of rows of each class is not the published one."""
    labels, counts = np.unique(classes, return_counts=True)
    found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    _check(found == CLASS_ROWS[name], name, _counts_text(found), _counts_text(CLASS_ROWS[name]))


def _counts_text(counts) -> str:
    """Number of rows, and of each class."""
    shown = [f"{label}: {count:,}" for label, count in list(counts.items())[:SHOWN_CLASSES]]
    return f"{sum(counts.values()):,} rows ({', '.join(shown)}{', ...' if len(counts) > SHOWN_CLASSES else ''})"


def _check_digest(name, contents, digest):
    """Refuse bytes with another SHA-256."""
    found = hashlib.sha256(contents).hexdigest()
    _check(found == digest, name, f"SHA-256 {found}", digest)


def _check(good, name, found, expected):
    """Refuse a file that is not the published one."""
    if not good:
        raise _refusal(name, found, expected)


def _refusal(name, found, expected) -> OSError:
    """The error for a file that is not the published one."""
    return OSError(
        f"{name} is not the published file: found {found}, expected {expected}; delete it from the folder "
        "hld-paper of pooch's cache and try again, or set the environment variable HLD_DATA to a folder "
        "with local copies"
    )
