"""Circuits as files: one uncompressed zip archive of plain arrays and a short header.

The arrays are the tables of the regions, concatenated in post-order.  With R regions, A_r children, and K_r
units in a table with C_r columns (categories at a leaf, products at an inner region):

    parents, variables       (R,)  the v-tree
    kind                     (R,)  0 input region, 1 inner region with dense weights, 2 with CSR weights
    num_units, num_columns   (R,)  K_r and C_r
    probs                    sum of K_r C_r over input regions
    products                 sum of C_r A_r over inner regions
    weights                  dense: K_r C_r each; CSR: the stored entries
    columns, row_starts      CSR: column of each stored entry; K_r + 1 row starts each, the first of them 0

A file is written under a temporary name beside its place, forced to disk and then renamed: whoever reads sees
the old file or the new one, never half of one.  Nothing in it depends on the clock: equal circuits give equal
bytes.

A file may come from anywhere, so reading trusts nothing.  No member is compressed and all sizes must fit the
real size of the file, hence the memory that reading takes is bounded by a fixed multiple of that size.
Nothing in a file is ever evaluated as code.  Every defect raises a `ValueError` that names the file.

    save, load                      a circuit and a file
    to_arrays, from_arrays          a circuit and the arrays above, to embed a circuit in another file
    write_archive, read_archive     any header and arrays, and a file
"""
from __future__ import annotations

import json
import math
import os
import re
import reprlib
import secrets
import stat
import struct
import zipfile

import numpy as np

from . import __version__
from .circuit import Circuit, InnerRegion, InputRegion
from .vtree import VTree

FORMAT, FORMAT_VERSION = "pcircuit.circuit", 1
INPUT, DENSE, SPARSE = range(3)
INTEGERS, FLOATS = "iu", "f"
ARRAYS = {"parents": INTEGERS, "variables": INTEGERS, "kind": INTEGERS, "num_units": INTEGERS,
          "num_columns": INTEGERS, "probs": FLOATS, "products": INTEGERS, "weights": FLOATS,
          "columns": INTEGERS, "row_starts": INTEGERS}
LARGEST = 2**53  # of an integer in a file: float64 holds all up to here exactly
HEADER, HEADER_LIMIT, DEPTH_LIMIT = "header.json", 2**24, 32
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
NPY_MAGIC = b"\x93NUMPY\x01\x00"
NPY_HEADER = re.compile(rb"\{'descr': '(\|b1|[<>|][iu][1248]|[<>|]f[248])', 'fortran_order': (True|False), "
                        rb"'shape': \(((?:\d{1,15}(?:, \d{1,15}){0,31},?)?)\), \} *\n")
CHUNK = 2**20
# what zipfile makes of damaged archives, negative positions and wrong encodings included
DAMAGE = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, OverflowError, struct.error, ValueError)


def save(circuit: Circuit, path, *, provenance: dict | None = None) -> None:
    """Write a circuit to a file, whole or not at all.

    Parameters
    ----------
    circuit : Circuit
        Any circuit; zeros, CSR weights and rows that are not normalised are kept exactly.
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.
    provenance : dict, default None
        Where the circuit comes from: whatever JSON can hold.  Kept in the header, see `read_archive`.

    Raises
    ------
    TypeError
        If `path` is not a path or `provenance` holds what JSON cannot.
    ValueError
        If `path` is a folder or a device, or `provenance` is nested too deeply, too long, or holds a NaN.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    Costs O(number of parameters); about 8 bytes per parameter and 4 per factor of a product.

    Examples
    --------
    >>> import os, tempfile
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(coin, os.path.join(folder, "coin.pc"))
    ...     load(os.path.join(folder, "coin.pc")) == coin
    True
    """
    header = {"format": FORMAT, "version": FORMAT_VERSION, "provenance": provenance or {}}
    write_archive(path, header, to_arrays(circuit))


def load(path) -> Circuit:
    """Read a circuit that `save` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    Circuit
        Equal to the one that was saved, bit by bit.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or of a newer format version: its name and what is wrong.
    OSError
        If there is no such file (`FileNotFoundError`) or it cannot be opened.

    Notes
    -----
    Costs O(size of the file) time and memory.

    Examples
    --------
    >>> import os, tempfile
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(coin, os.path.join(folder, "coin.pc"))
    ...     load(os.path.join(folder, "coin.pc"))
    Circuit(1 variables, 1 regions, 1 units, 2 parameters)
    """
    _, arrays = read_archive(path, FORMAT, FORMAT_VERSION)
    try:
        return from_arrays(arrays)
    except ValueError as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error


def to_arrays(circuit: Circuit) -> dict[str, np.ndarray]:
    """The circuit as ten one-dimensional arrays, listed in the module's first lines.

    Parameters
    ----------
    circuit : Circuit
        Any circuit.

    Returns
    -------
    dict of str to array
        Integers as int32 where they fit, else int64; probabilities and weights as float64.

    Notes
    -----
    Costs O(number of parameters).

    Examples
    --------
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> to_arrays(coin)["probs"]
    array([0.5, 0.5])
    """
    if not isinstance(circuit, Circuit):
        raise TypeError(f"`circuit` must be a Circuit, found {type(circuit).__name__}")
    inputs = [region for region in circuit.regions if isinstance(region, InputRegion)]
    inner = [region for region in circuit.regions if not isinstance(region, InputRegion)]
    sparse = [region.weights for region in inner if region.is_sparse]
    tables = [region.probs if isinstance(region, InputRegion) else region.weights
              for region in circuit.regions]
    return {
        "parents": _integers([circuit.vtree.parents]), "variables": _integers([circuit.vtree.variables]),
        "kind": np.array([INPUT if isinstance(region, InputRegion) else SPARSE if region.is_sparse else DENSE
                          for region in circuit.regions], dtype=np.int8),
        "num_units": _integers([[table.shape[0] for table in tables]]),
        "num_columns": _integers([[table.shape[1] for table in tables]]),
        "probs": np.concatenate([region.probs.ravel() for region in inputs]),
        "products": _integers([region.products.ravel() for region in inner]),
        "weights": np.concatenate([np.zeros(0), *[
            region.weights.data if region.is_sparse else region.weights.ravel() for region in inner]]),
        "columns": _integers([weights.indices for weights in sparse]),
        "row_starts": _integers([weights.indptr for weights in sparse]),
    }


def from_arrays(arrays: dict) -> Circuit:
    """The circuit that `to_arrays` took apart.

    Parameters
    ----------
    arrays : dict of str to array
        Exactly the arrays of `to_arrays`, of any integer and floating-point types.

    Returns
    -------
    Circuit
        Equal to the original, bit by bit.

    Raises
    ------
    ValueError
        If an array is missing or unknown, or the arrays contradict each other: which, and how.

    Notes
    -----
    Costs O(total length).  Counts are compared with the lengths of the arrays before anything is allocated.

    Examples
    --------
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> from_arrays(to_arrays(coin)) == coin
    True
    """
    arrays = _checked_arrays(arrays)
    vtree = VTree(arrays["parents"], arrays["variables"])
    kind, K, C = arrays["kind"], arrays["num_units"], arrays["num_columns"]
    _check_regions(vtree, kind, K, C)
    arity = np.bincount(vtree.parents[:-1], minlength=vtree.num_nodes)
    row_ends = np.cumsum(_sizes(arrays, "row_starts", kind == SPARSE, K + 1, 1))
    stored = np.zeros(len(kind), dtype=np.int64)
    stored[kind == SPARSE] = arrays["row_starts"][row_ends[kind == SPARSE] - 1]
    _check_csr(arrays, stored, row_ends)
    ends = {"probs": np.cumsum(_sizes(arrays, "probs", kind == INPUT, K, C)).tolist(),
            "products": np.cumsum(_sizes(arrays, "products", kind != INPUT, C, arity)).tolist(),
            "weights": np.cumsum(_sizes(arrays, "weights", kind != INPUT, np.where(kind == DENSE, K, stored),
                                        np.where(kind == DENSE, C, 1))).tolist(),
            "columns": np.cumsum(stored).tolist(), "row_starts": row_ends.tolist()}
    position = dict.fromkeys(ends, 0)

    def take(name, r):  # the next part of an array: what belongs to region r
        start, position[name] = position[name], ends[name][r]
        return arrays[name][start:position[name]]

    regions = []
    for r, (code, units, width) in enumerate(zip(kind.tolist(), K.tolist(), C.tolist(), strict=True)):
        if code == INPUT:
            regions.append(InputRegion(vtree.variables[r], take("probs", r).reshape(units, width)))
            continue
        weights = take("weights", r)
        if code == DENSE:
            weights = weights.reshape(units, width)
        else:
            import scipy.sparse
            parts = (weights, take("columns", r), take("row_starts", r))
            weights = scipy.sparse.csr_array(parts, shape=(units, width))
        regions.append(InnerRegion(take("products", r).reshape(width, -1), weights))
    return Circuit(vtree, regions)


def _integers(parts) -> np.ndarray:
    """Concatenated parts as int32, or as int64 if they do not fit."""
    whole = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    fits = whole.size == 0 or (whole.min() >= -2**31 and whole.max() < 2**31)
    return whole.astype(np.int32 if fits else np.int64)


def _checked_arrays(arrays: dict) -> dict:
    """The arrays of a circuit with known types: int64 and float64, finite and not negative."""
    if set(arrays) != set(ARRAYS):
        missing, unknown = set(ARRAYS) - set(arrays), set(arrays) - set(ARRAYS)
        raise ValueError(f"the arrays of a circuit are {', '.join(ARRAYS)}: missing are {sorted(missing)}, "
                         f"unknown are {reprlib.repr(list(unknown))}")
    checked = {}
    for name, kinds in ARRAYS.items():
        array = np.asarray(arrays[name])
        if array.ndim != 1 or array.dtype.kind not in kinds:
            expected = "integers" if kinds == INTEGERS else "floating-point numbers"
            raise ValueError(f"the array `{name}` must be one-dimensional of {expected}, "
                             f"found shape {array.shape} of {array.dtype}")
        lowest = -1 if name in ("parents", "variables") else 0
        highest = LARGEST if kinds == INTEGERS else np.finfo(np.float64).max
        if array.size and not (array.min() >= lowest and array.max() <= highest):  # false for a NaN
            raise ValueError(f"the array `{name}` reaches from {array.min()} to {array.max()}, "
                             f"expected numbers from {lowest} to {highest}")
        checked[name] = array.astype(np.int64 if kinds == INTEGERS else np.float64, copy=False)
    return checked


def _check_regions(vtree: VTree, kind, num_units, num_columns) -> None:
    """Raise unless kinds and counts, each (R,), are such that every region can exist."""
    for name, array in (("kind", kind), ("num_units", num_units), ("num_columns", num_columns)):
        if len(array) != vtree.num_nodes:
            raise ValueError(f"the array `{name}` has {len(array)} entries, expected {vtree.num_nodes}, one "
                             "for each v-tree node")
    wrong = np.flatnonzero((kind > SPARSE) | ((kind == INPUT) != (vtree.variables >= 0)))
    if wrong.size:
        raise ValueError(f"region {wrong[0]} is of kind {kind[wrong[0]]}, expected 0 at a v-tree leaf and "
                         "1 or 2 elsewhere")
    empty = np.flatnonzero((num_units < 1) | (num_columns < 1))
    if empty.size:
        raise ValueError(f"region {empty[0]} has {num_units[empty[0]]} units and {num_columns[empty[0]]} "
                         "columns, expected one or more of each")


def _sizes(arrays: dict, name: str, applies, rows, columns) -> np.ndarray:
    """(R,) rows times columns where `applies`, else 0; raises unless they add up to the array's length."""
    # in floating point nothing overflows, and what fits a file is exact
    sizes = np.where(applies, np.multiply(rows, columns, dtype=np.float64), 0.0)
    if sizes.sum() != len(arrays[name]):
        raise ValueError(f"the array `{name}` has {len(arrays[name])} entries, but the counts of the regions "
                         f"ask for {sizes.sum():.0f}")
    return sizes.astype(np.int64)


def _check_csr(arrays: dict, stored, row_ends) -> None:
    """Raise unless row starts and columns are canonical: rows in order, columns ascending and in range."""
    starts, columns, is_sparse = arrays["row_starts"], arrays["columns"], arrays["kind"] == SPARSE
    _sizes(arrays, "columns", is_sparse, stored, 1)
    is_first = np.zeros(len(starts) + 1, dtype=bool)
    is_first[row_ends] = is_first[0] = True
    lengths = np.diff(starts, append=0)
    inside = ~is_first[1:]  # from a row start to the next one of the same region
    if starts[is_first[:-1]].any() or (lengths[inside] < 0).any():
        raise ValueError("the array `row_starts` must begin with 0 and not descend, in each region")
    row = np.repeat(np.arange(inside.sum()), lengths[inside])
    if (columns >= np.repeat(arrays["num_columns"][is_sparse], stored[is_sparse])).any():
        raise ValueError("the array `columns` names a column that its region does not have")
    if ((np.diff(columns) <= 0) & (np.diff(row) == 0)).any():
        raise ValueError("the array `columns` must ascend within each row")


# -- any header and arrays, in one file ----------------------------------------------------------------------


def write_archive(path, header: dict, arrays: dict) -> None:
    """Write a header and arrays to one file, whole or not at all.

    Parameters
    ----------
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.
    header : dict
        "format" (str) and "version" (int from 1) of the file, and whatever else JSON can hold.  The key
        "library" (name and version of the writer) is added if it is not there; "arrays" is reserved.
    arrays : dict of str to array
        Boolean, integer or floating-point arrays of at most 8 bytes per number, by name.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of this form.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    Costs O(size).  Equal arguments give equal bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a", {"format": "demo", "version": 1}, {"x": np.arange(3)})
    ...     header, arrays = read_archive(f"{folder}/a", "demo", 1)
    >>> header["format"], arrays
    ('demo', {'x': array([0, 1, 2])})
    """
    target = os.path.realpath(_checked_path(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"`path` is in the folder {folder!r}, which does not exist: create it first")
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"`path` {target!r} is a folder or a device, expected the name of a file")
    members = {name: _storable(name, array) for name, array in arrays.items()}
    text = _header_text(header, sorted(members))
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            with zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
                with archive.open(_member(HEADER), "w") as member:
                    member.write(text)
                for name, array in sorted(members.items()):
                    entry = _member(f"{name}.npy")
                    with archive.open(entry, "w", force_zip64=array.nbytes >= 2**30) as member:
                        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def read_archive(path, kind: str, version: int) -> tuple[dict, dict]:
    """Read a file that `write_archive` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    kind : str
        The "format" that its header must have.
    version : int
        The newest version of this format that the caller understands.

    Returns
    -------
    header : dict
        The header, without the list of arrays.
    arrays : dict of str to array
        The arrays, in native byte order.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or newer: its name and what is wrong.
    OSError
        If there is no such file (`FileNotFoundError`) or it cannot be opened.

    Notes
    -----
    Costs O(size of the file).  All sizes are checked before the arrays are read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a", {"format": "demo", "version": 1}, {})
    ...     read_archive(f"{folder}/a", "demo", 1)[0]["version"]
    1
    """
    path = _checked_path(path)
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for a writer
        raise ValueError(f"cannot read {path!r}: it is not a regular file")
    with open(path, "rb") as handle:
        try:
            return _read_checked(handle, kind, version)
        except ValueError as error:
            raise ValueError(f"cannot read {path!r}: {error}") from error


def _checked_path(path) -> str:
    """`path` as a str."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name:
        raise TypeError(f"`path` must be a non-empty str or os.PathLike, found {path!r}")
    return name


def _storable(name, array) -> np.ndarray:
    """`array` as it is stored: contiguous and little-endian."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"`arrays` has the name {name!r}: use at most 100 letters, digits, '_', '-' and '.'")
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"`arrays` has {name!r} of {array.dtype}, expected booleans, integers or floats of "
                        "at most 8 bytes")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _header_text(header: dict, names: list) -> bytes:
    """The header as JSON, refused if `_parsed_header` would refuse it."""
    if not isinstance(header, dict) or "arrays" in header:
        raise ValueError(f'`header` must be a dict without the key "arrays", found {reprlib.repr(header)}')
    try:
        complete = {"library": f"pcircuit {__version__}", **header, "arrays": names}
        text = json.dumps(complete, allow_nan=False, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`header` must hold only what JSON can: {error}") from None
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"`header` takes {len(text)} bytes as JSON, expected at most {HEADER_LIMIT}")
    _parsed_header(text.encode())
    return text.encode()


def _member(name: str) -> zipfile.ZipInfo:
    """Directory entry with a fixed date and system, so that equal contents give equal files."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _read_checked(handle, kind: str, version: int) -> tuple[dict, dict]:
    """Header and arrays of an open file; raises ValueError, without its name."""
    size = os.fstat(handle.fileno()).st_size
    with _opened(handle) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if len(members) != len(archive.infolist()):
            raise ValueError("one of its members occurs twice")
        if HEADER not in members:
            raise ValueError(f"it is a zip archive without {HEADER}, so not a file of this library")
        for info in members.values():
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError(f"its member {reprlib.repr(info.filename)} is compressed, expected plain "
                                 "bytes")
        if sum(info.file_size for info in members.values()) > size:
            raise ValueError("its members claim more bytes than the file has")
        if members[HEADER].file_size > HEADER_LIMIT:
            raise ValueError(f"its header has {members[HEADER].file_size} bytes, expected at most "
                             f"{HEADER_LIMIT}")
        header = _parsed_header(_bytes(archive, members.pop(HEADER)))
        if header["format"] != kind:
            raise ValueError(f"it is a file of kind {reprlib.repr(header['format'])}, expected {kind!r}")
        if header["version"] > version:
            raise ValueError(f"it has format version {header['version']}, written by "
                             f"{reprlib.repr(header['library'])}, but only versions up to {version} are "
                             "known here: upgrade the installed library")
        names = header.pop("arrays")
        different = set(members) ^ {f"{name}.npy" for name in names}
        if different:
            raise ValueError(f"its header and its members disagree on {reprlib.repr(sorted(different))}")
        return header, {name: _parsed_array(name, _bytes(archive, members[f"{name}.npy"])) for name in names}


def _opened(handle) -> zipfile.ZipFile:
    """The archive in an open file."""
    try:
        return zipfile.ZipFile(handle)
    except DAMAGE as error:
        raise ValueError(f"it is not a zip archive, or a damaged one ({error})") from error


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """The bytes of a member; at their end zipfile compares the checksum."""
    data = bytearray(info.file_size)
    try:
        with archive.open(info) as member, memoryview(data) as view:
            for start in range(0, len(data), CHUNK):
                wanted = view[start:start + CHUNK]
                if member.readinto(wanted) != len(wanted):
                    raise EOFError("it ends too early")
    except DAMAGE as error:
        raise ValueError(f"its member {reprlib.repr(info.filename)} is damaged ({error})") from error
    return data


def _parsed_header(data) -> dict:
    """The header as a dict with the entries that every file has."""
    try:
        header = json.loads(data.decode(), object_pairs_hook=_unique, parse_int=_short_int,
                            parse_constant=_refused)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the header is not valid JSON ({error})") from error
    _check_header(header)
    return header


def _check_header(header) -> None:
    """Raise unless the header has format, version, library and a list of array names, and is not deep."""
    wanted = {"format": str, "version": int, "library": str, "arrays": list}
    if not isinstance(header, dict) or any(type(header.get(key)) is not of for key, of in wanted.items()):
        raise ValueError('the header must be a mapping with "format" (str), "version" (int), "library" (str) '
                         'and "arrays" (list)')
    if header["version"] < 1:
        raise ValueError(f'the header has "version" {header["version"]}, expected 1 or more')
    names = header["arrays"]
    well_named = all(isinstance(name, str) and NAME.fullmatch(name) for name in names)
    if not well_named or len(set(names)) < len(names):
        raise ValueError('"arrays" in the header must list different names of letters, digits, "_", "-", "."')
    level, depth = [header], 0
    while level:
        depth += 1
        if depth > DEPTH_LIMIT:
            raise ValueError(f"the header is nested more than {DEPTH_LIMIT} levels deep")
        level = [child for node in level if isinstance(node, (dict, list, tuple))
                 for child in (node.values() if isinstance(node, dict) else node)]


def _unique(pairs) -> dict:
    """A JSON object whose keys must differ."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _short_int(digits: str) -> int:
    """A JSON integer, refused if it is long: the time to read one is quadratic in its length."""
    return int(digits) if len(digits) <= 20 else _refused(digits[:20] + "...")


def _refused(constant: str):
    """Refuse NaN, the infinities and long numbers."""
    raise ValueError(f"the number {constant} is not allowed")


def _parsed_array(name: str, data: bytearray) -> np.ndarray:
    """The array in the bytes of a .npy file.

    NumPy's own reader evaluates the header as a Python literal; the pattern here knows only plain numbers.
    """
    length = int.from_bytes(data[8:10], "little") if data.startswith(NPY_MAGIC) else 0
    match = NPY_HEADER.fullmatch(data, 10, 10 + length)
    if not match:
        raise ValueError(f"the array {name!r} is not a plain array of numbers")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(digits) for digits in re.findall(rb"\d+", match[3]))
    fits = math.prod(n for n in shape if n) * dtype.itemsize < 2**63  # NumPy's limit, of empty arrays too
    if not fits or math.prod(shape) * dtype.itemsize != len(data) - 10 - length:
        raise ValueError(f"the array {name!r} has {len(data) - 10 - length} bytes, but shape {shape} of "
                         f"{dtype}")
    order = "F" if match[2] == b"True" else "C"
    array = np.frombuffer(data, dtype, offset=10 + length).reshape(shape, order=order)
    if dtype.kind == "b":  # bytes other than 0 and 1 would be no booleans
        return array.view(np.uint8) != 0
    return array.astype(dtype.newbyteorder("="), copy=False)
