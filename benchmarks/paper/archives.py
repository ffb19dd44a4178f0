"""The original archives of the data sets, downloaded with `pooch` (extra ``data``) and checked.

    adult, connect4, covertype, census, sensorless, mnist      arrays or lines, as `datasets` expects them

A file whose checksum is known is refused unless it has it.  Of the files that can be had as several archives with
equal contents (zip of the day, .Z, .gz) the *contents* are checked: `CONTENTS` holds the SHA-256 of the unpacked text
where that is known, and the parsed tables are compared with the published numbers of rows and of each class.
pooch keeps what it downloaded in its cache, so a second call downloads nothing.
"""
from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import subprocess
import zipfile

import numpy as np

UCI = "https://archive.ics.uci.edu/"
MNIST_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {  # url and checksum of the archive, None where the archive is packed anew from time to time
    "adult.data": (UCI + "ml/machine-learning-databases/adult/adult.data", "md5:5d7c39d7b8804f071cdd1f2a7c460872"),
    "adult.test": (UCI + "ml/machine-learning-databases/adult/adult.test", "md5:35238206dfdf7f1fe215bbb874adecdc"),
    "connect-4.data.Z": (UCI + "ml/machine-learning-databases/connect-4/connect-4.data.Z", None),
    "covtype.data.gz": ("https://ndownloader.figshare.com/files/5976039",
                        "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771"),
    "census.zip": (UCI + "static/public/117/census+income+kdd.zip", None),
    "sensorless.txt": (UCI + "ml/machine-learning-databases/00325/Sensorless_drive_diagnosis.txt", None),
    "train-images-idx3-ubyte.gz": (MNIST_MIRROR + "train-images-idx3-ubyte.gz",
                                   "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    "train-labels-idx1-ubyte.gz": (MNIST_MIRROR + "train-labels-idx1-ubyte.gz",
                                   "md5:d53e105ee54ea40749a09fcbcd1e9432"),
    "t10k-images-idx3-ubyte.gz": (MNIST_MIRROR + "t10k-images-idx3-ubyte.gz", "md5:9fb629c4189551a2d022fa330f9573f3"),
    "t10k-labels-idx1-ubyte.gz": (MNIST_MIRROR + "t10k-labels-idx1-ubyte.gz", "md5:ec29112dd5afa0611ce80d1b7f02629c"),
}
CONTENTS = {"connect-4.data": "063152e6eadbb424c7ef4645df76e493a43812edd9c992400983da4fa54f8cba"}
CENSUS_NUMERIC = (0, 5, 16, 17, 18, 29, 38)  # of the 40 columns that remain without the instance weight
CENSUS_WEIGHT = 24  # its position among the 41 columns of the file
SENSORLESS_HEAD = (5_748, "be4dafa375a7dcb9385d3a39d6b25f72c20d09f8ff7a6dd83c7817364fbdba1e")  # of float64 values


def adult():
    """Lines of the training and of the test file."""
    return tuple(_fetch(name).decode().splitlines() for name in ("adult.data", "adult.test"))


def connect4():
    """Lines of the file, which is packed with the old Unix program `compress`."""
    packed = _fetch("connect-4.data.Z")
    program = shutil.which("gzip")
    if program is None:
        raise OSError("connect-4.data.Z needs the program gzip to be unpacked: install it, or set HLD_DATA")
    text = subprocess.run([program, "-dc"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    _check(hashlib.sha256(text).hexdigest() == CONTENTS["connect-4.data"], "connect-4.data", "its SHA-256 differs")
    return text.decode().splitlines()


def covertype():
    """(581012, 10) quantitative columns and (581012,) classes 1..7."""
    rows = np.loadtxt(io.StringIO(gzip.decompress(_fetch("covtype.data.gz")).decode()), delimiter=",", dtype=np.int16,
                      usecols=(*range(10), 54))
    _check(rows.shape == (581_012, 11), "covtype.data", f"it has {len(rows)} rows")
    return rows[:, :10], rows[:, 10]


def census():
    """Values, numeric columns, number of labels of each nominal column, and whether the income is over 50,000."""
    with zipfile.ZipFile(io.BytesIO(_fetch("census.zip"))) as archive:
        lines = [line for part in ("data", "test") for line in _member(archive, f"census-income.{part}").splitlines()]
    return parse_census(lines)


def parse_census(lines):
    """The arrays of `census` from the lines of both files."""
    fields = np.array([[cell.strip() for cell in line.rstrip(". \r").split(",")] for line in lines if line.strip()])
    _check(fields.shape[1] == 42, "census-income", f"it has {fields.shape[1]} columns, expected 42")
    rich = np.char.startswith(fields[:, 41], "50000")
    fields = np.delete(fields[:, :41], CENSUS_WEIGHT, axis=1)
    values, levels = np.empty(fields.shape), np.zeros(40, int)
    numeric = np.isin(np.arange(40), CENSUS_NUMERIC)
    for v in range(40):
        if numeric[v]:
            values[:, v] = fields[:, v].astype(float)
        else:
            names, values[:, v] = np.unique(fields[:, v], return_inverse=True)
            levels[v] = max(len(names), 2)
    return values, numeric, levels, rich


def sensorless():
    """(58509, 48) values and (58509,) classes 1..11."""
    rows = np.loadtxt(io.BytesIO(_fetch("sensorless.txt")))
    _check(rows.shape == (58_509, 49), "Sensorless_drive_diagnosis.txt", f"its shape is {rows.shape}")
    _check((np.bincount(rows[:, 48].astype(int))[1:] == 5_319).all(), "Sensorless_drive_diagnosis.txt",
           "its classes do not have 5,319 rows each")
    count, digest = SENSORLESS_HEAD
    head = np.ascontiguousarray(rows[:count, :48])
    _check(hashlib.sha256(head.tobytes()).hexdigest() == digest, "Sensorless_drive_diagnosis.txt",
           f"the SHA-256 of its first {count} rows differs")
    return rows[:, :48], rows[:, 48].astype(int)


def mnist():
    """(70000, 28, 28) uint8 images and (70000,) digits, training rows first."""
    images = [np.frombuffer(gzip.decompress(_fetch(f"{part}-images-idx3-ubyte.gz")), np.uint8, offset=16)
              for part in ("train", "t10k")]
    digits = [np.frombuffer(gzip.decompress(_fetch(f"{part}-labels-idx1-ubyte.gz")), np.uint8, offset=8)
              for part in ("train", "t10k")]
    return np.concatenate(images).reshape(-1, 28, 28), np.concatenate(digits)


def _fetch(name) -> bytes:
    """Contents of an archive, from pooch's cache or the network."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloading data needs pooch (pip install 'hld[data]'); with local copies, set the "
                          "environment variable HLD_DATA to their folder instead") from error
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


def _check(good, name, finding):
    """Refuse a file that is not the published one."""
    if not good:
        raise OSError(f"{name} is not the published file: {finding}; delete it from pooch's cache and try again")
