"""Evidence: the table (N, V) of categories that every query takes.

Entry (n, v) is the category 0..C_v-1 of variable v in row n, or it is missing; a missing value is integrated out
exactly.  These entries are missing:

    -1        in a table of integers,
    NaN       in a table of floats, whose other entries must be whole numbers,
    None      in a table of Python objects, as are NaN, NaT and pandas.NA,
    masked    in a `numpy.ma` table of any kind, whatever lies under the mask,

In each of the latter three forms -1 marks a missing entry as well.  A mapping such as {0: 1} is a row in which variable
0 has category 1 and all others are missing.

Nothing else is turned into a category: 2.5 and "2" are refused.  Integers of any dtype, byte order and memory layout
will do; unless they have to be read in another form, the array is neither copied nor modified.  Unsigned dtypes simply
cannot hold a missing value: 2**64 - 1 is a number, not -1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcircuit.arguments import (
    Evidence,
    Floats,
    Ints,
    as_array,
    at,
    check_integers,
    check_numbers,
    first,
    is_listing,
    is_real,
    memory_for,
    shown,
)
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.regions import LeafError

MISSING = -1
LARGEST = 1e150  # of a number: sums of squares stay finite
MOST_WEIGHT = 1e100  # of a row: sums and squares of weights stay finite
WHOLE = (
    "expected whole numbers (categories 0, 1, ...), and NaN, None or -1 for missing values: "
    "`fit_encoder` of hld makes categories of other tables"
)


def check_evidence(circuit: Circuit, data: ArrayLike, *, name: str = "data") -> Evidence:
    """Return `data` as an integer array (N, V) after checking it against a circuit.

    Shapes: data (N, V) -> (N, V).
    Costs one pass over the data.
    """
    table = as_integer_table(circuit, data, name)
    refuse_out_of_range(circuit, table, name)
    return table


def check_row(circuit: Circuit, row: ArrayLike, name: str = "row") -> NDArray[Any]:
    """(V,) evidence of one row, int64 or float64, as a fresh array, after the checks of `checked`."""
    check_circuit(circuit)
    given: Any = _plain_row(circuit, row, name)
    array = as_array(
        given[0] if given is not row else row, name, f"one row of {circuit.num_variables} values"
    )
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must be one row of {circuit.num_variables} values, found shape {array.shape}"
        )
    table = checked(circuit, array[None], name)
    return np.array(table[0], dtype=np.int64 if circuit.is_categorical else np.float64)


def checked(circuit: Circuit, data: ArrayLike, name: str = "data") -> Evidence:
    """`data` as `check_evidence` has it, or, where some leaves are no tables, as `check_values` does."""
    check_circuit(circuit)
    return (check_evidence if circuit.is_categorical else check_values)(circuit, data, name=name)


def all_missing(circuit: Circuit, num_rows: int = 1) -> Evidence:
    """(N, V) rows without any entry."""
    hole = MISSING if circuit.is_categorical else np.nan
    return np.full((num_rows, circuit.num_variables), hole)


def is_missing(table: Evidence) -> NDArray[np.bool_]:
    """Which entries of checked evidence are missing."""
    return np.isnan(table) if table.dtype.kind == "f" else table < 0


def as_integer_table(circuit: Circuit, data: ArrayLike, name: str = "data") -> Evidence:
    """`data` as an (N, V) integer array; whether its entries are categories of the circuit is not looked at."""
    check_circuit(circuit)
    if not circuit.is_categorical:
        v = circuit.num_categories.index(0)
        raise LeafError(
            f"variable {v} has leaves of the family {type(circuit.inputs[v].leaves).__name__}, and this query is "
            "for tables of categories only"
        )
    entries = integer_entries(_plain_row(circuit, data, name), name)
    table: Evidence = _with_columns(circuit, entries, name)
    return table


def _with_columns(circuit: Circuit, table: Any, name: str) -> Any:
    """The table (N, V), refused unless it has a column for each variable."""
    V = circuit.num_variables
    if table.ndim != 2 or table.shape[1] != V:
        hint = f": give one row as {name}[None, :]" if table.shape == (V,) else ""
        raise ValueError(
            f"`{name}` must have shape (N, {V}), one column per variable, found {table.shape}{hint}"
        )
    return table


def check_values(circuit: Circuit, data: ArrayLike, name: str = "data") -> Floats:
    """`data` as an (N, V) float table, NaN where missing, for circuits of which some leaves are no tables.

    Columns with categories are checked like those of `check_evidence`, -1 among them; others may hold any number whose
    square is one.

    Shapes: data (N, V) -> (N, V).
    """
    check_circuit(circuit)
    expected = f"numbers, and NaN for missing values, of shape (N, {circuit.num_variables})"
    entries = _float_entries(_plain_row(circuit, data, name), name, expected)
    table: Floats = _with_columns(circuit, entries, name)
    _refuse_large(table, name)
    coded = np.flatnonzero(circuit.num_categories)
    if len(coded):
        table[:, coded] = _codes_as_floats(circuit, table, coded, name)
    return table


def float_table(data: ArrayLike, name: str = "data") -> Floats:
    """`data` as an (N, V) table of finite floats, NaN where missing, to learn from; a new array."""
    expected = "a table of numbers, NaN where missing, of at least one row and one column"
    table = _float_entries(data, name, expected)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"`{name}` must be {expected}, found shape {table.shape}")
    _refuse_large(table, name)
    return table


def _refuse_large(table: Floats, name: str) -> None:
    """Raise for the first entry whose square is no finite number."""
    wrong = np.abs(table) > LARGEST
    if wrong.any():
        row, column = first(wrong)
        raise ValueError(
            f"`{name}` holds {table[row, column]} at row {row}, column {column}, expected a number of at most "
            f"{LARGEST:g} in size, whose square is a finite number too, or NaN where it is missing"
        )


def _codes_as_floats(circuit: Circuit, table: Floats, coded: Ints, name: str) -> Floats:
    """The columns with categories, NaN where missing; refused unless they hold categories."""
    codes = np.where(table[:, coded] == MISSING, np.nan, table[:, coded])
    categories = np.asarray(circuit.num_categories)[coded]
    wrong = ~(np.isnan(codes) | ((codes >= 0) & (codes < categories) & (codes == np.floor(codes))))
    if wrong.any():
        row, place = first(wrong)
        raise ValueError(
            f"`{name}` holds {codes[row, place]} at row {row}, column {coded[place]}, expected a category "
            f"0..{categories[place] - 1}, or NaN or -1 for a missing value"
        )
    return codes


def _float_entries(data: Any, name: str, expected: str) -> Floats:
    """`data` as a new array of float64, NaN where it is missing."""
    array = as_array(data.toarray() if hasattr(data, "tocsr") else data, name, expected)
    if array.dtype.kind in "biuf":
        return np.array(array, dtype=np.float64)
    if array.dtype.kind != "O" and array.size:
        raise TypeError(f"`{name}` must be {expected}, found {array.dtype}: encode it first")
    table = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        is_hole = _is_hole(entry)
        if not is_hole and not is_real(entry) and not isinstance(entry, np.bool_):
            raise TypeError(f"`{name}` holds {shown(entry)}{at(place)}, expected {expected}")
        table[place] = np.nan if is_hole else entry
    return table


def _plain_row(circuit: Circuit, row: Any, name: str) -> Any:
    """The table of one row that a mapping of variables to categories stands for; anything else as it is."""
    if not isinstance(row, Mapping):
        return row
    V = circuit.num_variables
    expected = f"a row, or a mapping from variables 0..{V - 1} to categories"
    variables = check_integers(list(row), name, expected, 0, V - 1)
    entries: list[Any] = [MISSING if circuit.is_categorical else np.nan] * V
    for v, category in zip(variables.tolist(), row.values(), strict=True):
        if is_listing(category):
            raise ValueError(
                f"`{name}` has several categories for variable {v}, expected one: sets are for events, "
                "of `condition` and `log_probability`"
            )
        entries[v] = category
    return [entries]


def refuse_out_of_range(circuit: Circuit, data: Evidence, name: str = "data") -> None:
    """Raise for the first entry below -1 or not below its variable's number of categories; shapes data (N, V)."""
    categories = np.asarray(circuit.num_categories)
    if not len(data) or ((data.max(axis=0) < categories).all() and int(data.min()) >= MISSING):
        return
    row, column = first((data < MISSING) | (data >= categories))
    wraps = data.dtype.kind == "u" and data[row, column] == np.iinfo(data.dtype).max
    hint = (
        ": NumPy makes it of -1 in an unsigned type, that of drawn rows, so convert these first"
        if wraps
        else ""
    )
    raise ValueError(
        f"`{name}` holds {data[row, column]} at row {row}, column {column}, expected a category "
        f"0..{categories[column] - 1}, or -1 for a missing value{hint}"
    )


def integer_entries(data: object, name: str = "data") -> Evidence:
    """`data` as an array of integers in the machine's byte order, -1 where missing; of any shape."""
    if hasattr(data, "tocsr"):
        return _of_sparse(data, name)
    array = as_array(data, name, "a table of categories of shape (N, V)")
    kind = array.dtype.kind
    if kind in "iu":
        return _native(array, name)
    if kind == "b":
        return array.view(np.uint8)
    if kind == "f":
        return _whole(array, name)
    if kind == "O" or array.size == 0:
        return _of_objects(array, name)
    raise TypeError(
        f"`{name}` must hold integers (categories 0, 1, ..., and -1 for missing), found {array.dtype}: "
        "encode it first"
    )


def row_weights(weights: ArrayLike | None, num_rows: int) -> Floats:
    """(N,) weights of rows, ones by default; refused unless they are finite and at least 0."""
    if weights is None:
        return np.broadcast_to(1.0, (num_rows,))  # takes no memory
    expected = f"{num_rows} numbers from 0 to {MOST_WEIGHT:g}, one per row of `data`"
    return check_numbers(weights, "weights", expected, (num_rows,), least=0, most=MOST_WEIGHT)


def _of_sparse(data: Any, name: str) -> Evidence:
    """A sparse table of SciPy, filled up with zeros: one byte an entry where the categories allow."""
    table = data.tocsr(copy=True)
    table.sum_duplicates()
    stored = integer_entries(table.data, name)
    lowest, highest = int(stored.min(initial=0)), int(stored.max(initial=0))
    kind = np.min_scalar_type(min(lowest, -1 - highest) if lowest < 0 else highest)
    table.data = stored.astype(kind)
    size = table.shape[0] * table.shape[1] * kind.itemsize
    with memory_for(f"the sparse `{name}`, filled up with zeros,", size, "give fewer rows"):
        return np.asarray(table.toarray())


def _native(array: NDArray[Any], name: str) -> Evidence:
    """Integers in the machine's byte order and alignment, none of which is beyond int64."""
    if not array.dtype.isnative or not array.flags.aligned:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype != np.uint64:
        return array
    if array.size and int(array.max()) >= 2**63:
        place = first(array >= 2**63)
        raise ValueError(
            f"`{name}` holds {array[place]}{at(place)}, which is no category; in an unsigned type -1 "
            "cannot mark a missing value"
        )
    return array.view(np.int64)


def _whole(array: NDArray[Any], name: str) -> Ints:
    """Floats that are whole numbers as integers, NaN as -1."""
    if array.dtype.itemsize < 4:
        array = array.astype(np.float32)  # half precision cannot hold the limit
    is_missing = np.isnan(array)
    wrong = ~(is_missing | ((array == np.floor(array)) & (np.abs(array) < 2.0**63)))
    if wrong.any():
        place = first(wrong)
        raise ValueError(f"`{name}` holds {array[place]}{at(place)}, {WHOLE}")
    return np.where(is_missing, array.dtype.type(MISSING), array).astype(np.int64)


def _of_objects(array: NDArray[Any], name: str) -> Ints:
    """Python objects as integers: whole numbers, and what marks a missing value."""
    codes = np.empty(array.shape, dtype=np.int64)
    for place, entry in np.ndenumerate(array):
        number: Any = -1 if _is_hole(entry) else entry
        is_number = is_real(number) or isinstance(number, np.bool_)
        if not (is_number and -(2**63) <= number < 2**63 and int(number) == number):
            wrong = ValueError if is_number else TypeError
            raise wrong(f"`{name}` holds {shown(entry)}{at(place)}, {WHOLE}")
        codes[place] = int(number)
    return codes


def _is_hole(entry: object) -> bool:
    """Whether a Python object marks a missing value: None, NaN, NaT, pandas.NA."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, (float, np.generic)) and bool(entry != entry)
