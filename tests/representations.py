"""One table of evidence in every form in which somebody may hold it: what all functions must read alike.

`complete(table)` and `with_holes(table)` map a name to the table in another dtype, byte order, memory layout or
container.  `table` is an int64 array, -1 where missing.
"""

import numpy as np

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8", "g"]


def complete(table, folder=None):
    """Name -> the same rows, for a table without missing entries; `folder` is for a memory map."""
    forms = {
        f"{order}{dtype}": table.astype(f"{order}{dtype}")
        for dtype in INTEGERS + FLOATS
        for order in "<>"
    }
    forms |= {
        "object": table.astype(object),
        "lists": table.tolist(),
        "tuple of arrays": tuple(table),
        "NumPy scalars": [[np.int16(x) for x in row] for row in table],
        "whole floats in lists": table.astype(float).tolist(),
    }
    forms |= {
        "mask of nothing": np.ma.array(table, mask=False),
        "masked without mask": np.ma.array(table),
    }
    if table.max(initial=0) <= 1:
        forms |= {"bool": table.astype(bool), "bool lists": table.astype(bool).tolist()}
    return forms | _layouts(table, folder) | _frames(table)


def with_holes(table):
    """Name -> the same rows, for a table in which -1 marks missing entries."""
    hole, filled = table == -1, np.where(table == -1, 0, table)
    forms = {
        f"{order}{dtype}": table.astype(f"{order}{dtype}")
        for dtype in INTEGERS[::2] + FLOATS
        for order in "<>"
    }
    for dtype in FLOATS:
        forms[f"NaN in {dtype}"] = np.where(hole, np.nan, filled).astype(dtype)
    objects = table.astype(object)
    for name, marker in (
        ("None", None),
        ("NaN", float("nan")),
        ("NumPy NaN", np.float32("nan")),
        ("-1.0", -1.0),
    ):
        forms[f"{name} in objects"] = np.where(hole, marker, objects)
    forms["None in lists"] = np.where(hole, None, objects).tolist()
    # what lies under a mask must not matter, be it a category, a number that is none, or no number
    for name, below in (("0", 0), ("7777", 7777), ("-5", -5), ("largest", np.iinfo(np.int64).max)):
        forms[f"{name} under the mask"] = np.ma.array(np.where(hole, below, table), mask=hole)
    for dtype in ("u1", ">u4", "u8"):
        below = np.where(hole, np.iinfo(dtype).max, filled.astype(dtype))
        forms[f"largest {dtype} under the mask"] = np.ma.array(below, mask=hole, dtype=dtype)
    forms["2.5 under the mask"] = np.ma.array(np.where(hole, 2.5, table), mask=hole)
    forms["text under the mask"] = np.ma.array(np.where(hole, "x", objects), mask=hole)
    forms["list of masked rows"] = [
        np.ma.array(np.where(h, 1, t), mask=h) for h, t in zip(hole, table, strict=True)
    ]
    forms["masked constants in lists"] = [
        [np.ma.masked if h else int(x) for h, x in zip(*row, strict=True)]
        for row in zip(hole, table, strict=True)
    ]
    forms["hard mask"] = np.ma.array(filled, mask=hole, hard_mask=True)
    forms["mask and -1"] = np.ma.array(table, mask=hole & (np.arange(len(table))[:, None] % 2 == 0))
    return forms | _layouts(table) | _frames_with_holes(table)


def _layouts(table, folder=None):
    """The table in other memory layouts."""
    N, V = table.shape
    wide = np.full((2 * N, 3 * V), 99, dtype=np.int64)
    wide[::2, 1::3] = table
    packed = np.zeros(
        N, dtype=np.dtype([("flag", "i1"), ("row", "i8", (V,))])
    )  # unaligned: one byte before each row
    packed["row"] = table
    read_only = table.copy()
    read_only.flags.writeable = False
    forms = {
        "Fortran": np.asfortranarray(table),
        "strided": wide[::2, 1::3],
        "reversed": table[::-1, ::-1].copy()[::-1, ::-1],
        "unaligned": packed["row"],
        "read-only": read_only,
        "subclass": table.view(np.matrix),
    }
    if folder is not None:
        mapped = np.memmap(folder / "table.bin", dtype="<i4", mode="w+", shape=table.shape)
        mapped[:] = table
        mapped.flush()
        forms["memory map"] = np.memmap(
            folder / "table.bin", dtype="<i4", mode="r", shape=table.shape
        )
    return forms


def _frames(table):
    """The table as data frames, of the libraries that are installed."""
    forms = {}
    try:
        import pandas

        frame = pandas.DataFrame(table)
        forms |= {
            "pandas": frame,
            "pandas mixed": frame.astype({0: "uint8"}),
            "pandas nullable": frame.astype("Int64"),
            "pandas float": frame.astype(float),
        }
    except ImportError:
        pass
    try:
        import polars

        forms["polars"] = polars.DataFrame(table, schema=[f"x{v}" for v in range(table.shape[1])])
    except ImportError:
        pass
    return forms


def _frames_with_holes(table):
    """The same with null values."""
    forms, hole = {}, table == -1
    try:
        import pandas

        frame = pandas.DataFrame(table)
        forms |= {
            "pandas NaN": frame.astype(float).mask(hole),
            "pandas NA": frame.astype("Int64").mask(hole),
        }
    except ImportError:
        pass
    try:
        import polars

        columns = {
            f"x{v}": [None if x == -1 else x for x in table[:, v].tolist()]
            for v in range(table.shape[1])
        }
        forms["polars null"] = polars.DataFrame(
            columns, schema=dict.fromkeys(columns, polars.Int64)
        )
    except ImportError:
        pass
    return forms
