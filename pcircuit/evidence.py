"""Evidence: the integer table (N, V) that every query takes.

Entry (n, v) is the category 0..C_v-1 of variable v in row n, or -1 where the value is missing; a missing value
is integrated out exactly.  Any integer dtype will do, and the array is never copied to another one nor modified:
unsigned dtypes simply cannot hold a missing value.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.array_types import Evidence
from pcircuit.circuit import Circuit


def check_evidence(circuit: Circuit, data: ArrayLike, *, name: str = "data") -> Evidence:
    """Return `data` as an integer array (N, V) after checking it against a circuit.

    Parameters
    ----------
    circuit : Circuit
        Says how many variables and categories there are.
    data : (N, V) integer or boolean array_like
        Evidence; -1 is missing.  N may be 0.
    name : str
        What errors call it.

    Returns
    -------
    (N, V) integer array
        `data` itself where it is an integer array already; booleans are viewed as 0 and 1.

    Raises
    ------
    TypeError
        If the entries are not integers (NaN cannot mark a missing value here: use -1).
    ValueError
        If the shape is not (N, V), or an entry is below -1 or not below the number of categories: the message
        names the row, the column and the value.

    Notes
    -----
    Costs one pass over the data.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.4, 0.6]])])
    >>> check_evidence(coin, [[1], [-1]])
    array([[ 1],
           [-1]])
    """
    table = as_integer_table(circuit, data, name)
    refuse_out_of_range(circuit, table, name)
    return table


def as_integer_table(circuit: Circuit, data: ArrayLike, name: str = "data") -> Evidence:
    """`data` as an (N, V) integer array; its entries are not looked at."""
    array = np.asarray(data)
    if array.dtype.kind not in "iu":
        if array.dtype.kind == "b":
            array = array.view(np.uint8)
        elif array.size == 0 and array.ndim == 2:
            array = array.astype(np.int64)
        else:
            raise TypeError(f"`{name}` must hold integers (categories 0, 1, ..., and -1 for missing), found "
                            f"{array.dtype}: encode it first" + (", NaN as -1" if array.dtype.kind == "f" else ""))
    if array.ndim != 2 or array.shape[1] != circuit.num_variables:
        hint = f": give one row as {name}[None, :]" if array.ndim == 1 and len(array) == circuit.num_variables else ""
        raise ValueError(f"`{name}` must have shape (N, {circuit.num_variables}), one column per variable, "
                         f"found {array.shape}{hint}")
    return array


def refuse_out_of_range(circuit: Circuit, data: Evidence, name: str = "data") -> None:
    """Raise for the first entry below -1 or not below its variable's number of categories."""
    categories = np.asarray(circuit.num_categories)
    if not len(data) or ((data.max(axis=0) < categories).all() and int(data.min()) >= -1):
        return
    row, column = np.argwhere((data < -1) | (data >= categories))[0]
    raise ValueError(f"`{name}` holds {data[row, column]} at row {row}, column {column}: expected a category "
                     f"0..{categories[column] - 1}, or -1 for a missing value")
