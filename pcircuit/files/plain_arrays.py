"""Arrays of plain numbers as bytes of NumPy's .npy format, version 1.0, read without trust.

NumPy's own reader evaluates the header of a .npy file as a Python literal and can be told to unpickle; the one here
matches it against one strict pattern: booleans, integers and floating-point numbers of at most 8 bytes, at most 32
dimensions.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_DIMENSIONS = 32
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '(\|b1|[<>|][iu][1248]|[<>|]f[248])', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,15}(?:, \d{1,15}){0,31},?)?)\), \} *\n"
)


def storable_array(name: str, array: ArrayLike) -> NDArray[Any]:
    """`array` as it is stored, contiguous and little-endian; TypeError or ValueError unless it holds plain numbers."""
    if np.ma.is_masked(array):
        raise TypeError(
            f"`arrays` has {name!r} with masked entries, expected numbers alone: nothing is known about "
            "the masked ones, leave them out"
        )
    try:
        array = np.asarray(array)
    except ValueError:
        raise ValueError(
            f"`arrays` has {name!r} with rows of different lengths, expected an array"
        ) from None
    if array.ndim > MOST_DIMENSIONS:
        raise ValueError(
            f"`arrays` has {name!r} of {array.ndim} dimensions, expected at most {MOST_DIMENSIONS}: "
            "reshape it"
        )
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(
            f"`arrays` has {name!r} of {array.dtype}, expected booleans, integers or floats of "
            "at most 8 bytes"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def parsed_array(name: str, data: bytearray) -> np.ndarray:
    """The array in the bytes of a .npy file, in native byte order and without copying where that can be."""
    length = int.from_bytes(data[8:10], "little") if data.startswith(MAGIC) else 0
    match = HEADER.fullmatch(data, 10, 10 + length)
    if not match:
        raise ValueError(f"the array {name!r} is not a plain array of numbers")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(digits) for digits in re.findall(rb"\d+", match[3]))
    fits = (
        math.prod(n for n in shape if n) * dtype.itemsize < 2**63
    )  # NumPy's limit, of empty arrays too
    if not fits or math.prod(shape) * dtype.itemsize != len(data) - 10 - length:
        raise ValueError(
            f"the array {name!r} has {len(data) - 10 - length} bytes, but shape {shape} of {dtype}"
        )
    order = "F" if match[2] == b"True" else "C"
    array: NDArray[Any] = np.frombuffer(data, dtype, offset=10 + length).reshape(shape, order=order)  # type: ignore
    if dtype.kind == "b":  # bytes other than 0 and 1 would be no booleans
        array = array.view(np.uint8) != 0
        return array
    return array.astype(dtype.newbyteorder("="), copy=False)
