"""What arguments of public functions may be: each kind is checked in one place and refused in one form of words.

    `name` must be <what is expected>, found <what was given>

The rule behind all of them: a value is taken only if nothing about it is lost.  So 3 and a NumPy integer are whole
numbers, 3.0 and True are not; numbers may come in any numeric dtype, byte order and memory layout, text that looks
like a number is refused, and so are complex numbers, NaN, and masked entries, whose value is not known.  A value of
the wrong kind is a TypeError, a value of the right kind but out of range a ValueError.

    check_whole_number    counts and sizes
    check_number          one real number in an interval
    check_fraction        one strictly between 0 and 1
    check_choice          one of several names
    check_flag            true or false
    check_generator       seeds and generators
    check_seed            the same, of which one number is kept

    check_numbers         an array of real numbers in an interval
    check_integers        an array of whole numbers in a range, such as node ids
    memory_for            around the making of one array
    check_memory          before the making of many that are as large together

What may be missing, evidence, is checked in `pcircuit.evidence`.  Types in annotations have no shapes, which docstrings
give: NumPy's do not carry them.  When memory runs out, a MemoryError says what did not fit, how large it is, and what
would fit.  Only results can be that large: intermediate arrays are cut into blocks of fixed size.

Values that cannot change: v-trees, regions, circuits, mixtures.

Their arrays are read-only, so each is its own copy, deep or not.  A pickle holds what the constructor takes, and what
comes out of one has gone through the constructor: it is checked and read-only again, and derives anew what it needs.
Left to itself, a pickle would bring back arrays that can be written.
"""

import math
import operator
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Value = TypeVar("Value", bound="Immutable")


class Immutable:
    """Base of frozen dataclasses with read-only arrays, which their constructors check and take by position."""

    __match_args__: ClassVar[
        tuple[str, ...]
    ]  # what the constructor takes; quicker to go through than all fields

    def __copy__(self: Value) -> Value:
        return self

    def __deepcopy__(self: Value, memo: dict[int, Any]) -> Value:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(map(self.__getattribute__, self.__match_args__))


def unchecked(kind: type[Value], **fields: Any) -> Value:
    """A region, or a circuit, from fields in their order that are known to be right."""
    new = object.__new__(kind)
    for (
        name,
        value,
    ) in (
        fields.items()
    ):  # not by its dictionary: to make one is more work, now and for the collector
        object.__setattr__(new, name, value)
    return new


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Evidence: TypeAlias = NDArray[Any]  # integers of any size, signed or not
Weights: TypeAlias = Any  # Floats, or scipy.sparse.csr_array, which has no type information
Seed: TypeAlias = int | np.random.Generator | None
INT64 = np.iinfo(np.int64)
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
MOST_BITS = 1000  # of a size that is written out: larger ones are not even floats


@overload
def check_whole_number(
    value: object, name: str, least: int | None = None, most: int | None = None
) -> int: ...


@overload
def check_whole_number(
    value: object, name: str, least: int | None = None, most: int | None = None, *, none: str
) -> int | None: ...


def check_whole_number(
    value: object,
    name: str,
    least: int | None = None,
    most: int | None = None,
    *,
    none: str | None = None,
) -> int | None:
    """`value` as an int, refused unless it is a whole number in a range."""
    if value is None and none is not None:
        return None
    try:
        if isinstance(value, (bool, np.bool_)) or is_masked(value):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
        if (least is None or number >= least) and (most is None or number <= most):
            return number
        wrong: type[Exception] = ValueError
    except TypeError:
        wrong, number = TypeError, value  # type: ignore[assignment]
    expected = (
        "a whole number"
        + bounds(least, None, most, None)
        + (f", or None for {none}" if none else "")
    )
    raise wrong(f"`{name}` must be {expected}, found {shown(number)}")


def check_number(
    value: object,
    name: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """`value` as a float, refused unless it is a finite real number in an interval."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    wrong: type[Exception] = TypeError
    if is_real(value) and not isinstance(value, bool):
        wrong = ValueError
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if (
            math.isfinite(number)
            and (least is None or number >= least)
            and (above is None or number > above)
            and (most is None or number <= most)
            and (below is None or number < below)
        ):
            return number
    raise wrong(
        f"`{name}` must be a finite number{bounds(least, above, most, below)}, found {shown(value)}"
    )


def check_fraction(value: object, name: str) -> float:
    """`value` as a float, refused unless it is strictly between 0 and 1, such as a level, a power, a confidence."""
    return check_number(value, name, above=0, below=1)


def check_choice(value: object, name: str, options: Sequence[str]) -> str:
    """`value`, refused unless it is one of several names."""
    if isinstance(value, str) and value in options:
        return value
    wrong = ValueError if isinstance(value, str) else TypeError
    raise wrong(f"`{name}` must be one of {', '.join(map(repr, options))}, found {shown(value)}")


def check_flag(value: object, name: str) -> bool:
    """`value` as a bool, refused unless it is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False, found {shown(value)}")
    return bool(value)


def check_generator(rng: object, name: str = "rng") -> np.random.Generator:
    """A random generator from a seed or a generator."""
    wrong: type[Exception] = TypeError
    try:
        if not isinstance(rng, (bool, np.bool_)) and not is_masked(rng):
            return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        wrong = type(error) if type(error) is ValueError else TypeError
    raise wrong(
        f"`{name}` must be a seed (a whole number of at least 0) or a numpy.random.Generator, found "
        f"{shown(rng)}"
    )


def check_seed(rng: object) -> int:
    """The one number below 2^53 that everything drawn later depends on, for objects that draw again and again."""
    return int(check_generator(rng).integers(2**53))


# -- arrays ------------------------------------------------------------------------------------------------


def check_numbers(
    values: ArrayLike,
    name: str,
    expected: str,
    shape: tuple[int, ...] | None = None,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    finite: bool = True,
) -> NDArray[np.float64]:
    """`values` as an array of doubles, refused unless all are finite real numbers in an interval."""
    array = as_array(values, name, expected)
    if array.dtype.kind not in "biuf":
        array = _numbers_of_objects(array, name, expected)
    if shape is not None and array.shape != shape:
        raise ValueError(f"`{name}` must be {expected}, found shape {array.shape}")
    numbers = array
    if not finite:
        return numbers.astype(np.float64)
    if array.dtype != np.float64 or not array.dtype.isnative:
        with np.errstate(over="ignore"):  # becomes infinite and is refused
            numbers = array.astype(np.float64)
    if numbers.size and not _inside(
        numbers.min(), numbers.max(), least, above, most
    ):  # false for a NaN
        place = next(i for i, x in np.ndenumerate(numbers) if not _inside(x, x, least, above, most))
        raise ValueError(f"`{name}` must be {expected}, found {array[place]!s}{at(place)}")
    return numbers


def check_integers(
    values: ArrayLike, name: str, expected: str, least: int | None = None, most: int | None = None
) -> NDArray[np.int64]:
    """`values` as an array of int64, refused unless all are whole numbers in a range."""
    array = as_array(values, name, expected)
    if array.dtype.kind == "f" and isinstance(values, (list, tuple)):
        entries = np.asarray(values, dtype=object)  # doubles where uint64 and signed types meet
        if entries.size and all(map(_is_whole_number, entries.flat)):
            array = entries
    if array.dtype.kind not in "iu":
        if array.size and array.dtype.kind != "O":
            hint = (
                ": turn a mask into numbers with np.flatnonzero" if array.dtype.kind == "b" else ""
            )
            raise TypeError(
                f"`{name}` must be {expected}, found {array.dtype} instead of integers{hint}"
            )
        for place, entry in np.ndenumerate(array):
            if not _is_whole_number(entry):
                raise TypeError(f"`{name}` must be {expected}, found {shown(entry)}{at(place)}")
    least, most = INT64.min if least is None else least, INT64.max if most is None else most
    if array.size and (array.min() < least or array.max() > most):
        place = first(np.asarray((array < least) | (array > most), dtype=bool))
        raise ValueError(
            f"`{name}` must be {expected}, found {shown(int(array[place]))}{at(place)}"
        )
    return array.astype(np.int64, copy=False)


def as_array(values: object, name: str, expected: str) -> np.ndarray:
    """`values` as a plain array, masked entries as None; what NumPy cannot make an array of is refused."""
    if type(values) is np.ndarray:
        return values
    if hasattr(values, "tocsr"):
        raise TypeError(
            f"`{name}` must be {expected}, found a sparse {type(values).__name__}: give `.toarray()` of it"
        )
    try:
        return np.asarray(without_masks(values))
    except ValueError:
        raise ValueError(f"`{name}` must be {expected}, found rows of different lengths") from None


def is_masked(value: object) -> bool:
    """Whether a value is a masked array; asking does not import NumPy's module of these."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def without_masks(values: Any) -> Any:
    """Masked arrays, also in lists, with None in place of masked entries; anything else as it is."""
    if isinstance(values, (list, tuple)):
        if any(isinstance(part, (list, tuple)) or is_masked(part) for part in values):
            return [without_masks(part) for part in values]
        return values
    if not is_masked(values):
        return values
    mask = np.ma.getmaskarray(values)
    found: Any = np.where(mask, None, values.data) if mask.any() else values.data
    return found if found.ndim else found.item()


def _is_whole_number(entry: object) -> bool:
    """Whether an entry is an integer of Python or NumPy, and neither a boolean nor a duration."""
    return isinstance(entry, Integral) and is_real(entry) and not isinstance(entry, bool)


def _inside(
    smallest: float, largest: float, least: float | None, above: float | None, most: float | None
) -> bool:
    """Whether numbers from `smallest` to `largest` are finite and in an interval."""
    return bool(
        -math.inf < smallest
        and largest < math.inf
        and (least is None or smallest >= least)
        and (above is None or smallest > above)
        and (most is None or largest <= most)
    )


def _numbers_of_objects(array: np.ndarray, name: str, expected: str) -> np.ndarray:
    """An array of Python numbers as doubles; TypeError for what is no real number."""
    if array.size and array.dtype.kind != "O":
        raise TypeError(f"`{name}` must be {expected}, found {array.dtype} instead of numbers")
    numbers = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        if not is_real(entry):
            raise TypeError(f"`{name}` must be {expected}, found {shown(entry)}{at(place)}")
        try:
            numbers[place] = float(entry)
        except OverflowError:
            numbers[place] = math.inf
    return numbers


def for_ranking(values: ArrayLike) -> np.ndarray:
    """Finite `values` as whole numbers of steps of about 2e-9 of the largest: what differs by round-off alone is a tie.

    Round-off depends on the engine and on how rows are cut into chunks; what is ranked must not.
    """
    array = np.asarray(values, dtype=np.float64)
    exponent = math.frexp(float(np.abs(array).max(initial=0.0)))[1]
    return np.asarray(np.rint(np.ldexp(array, 29 - exponent)))


@contextmanager
def memory_for(what: str, size: int, advice: str) -> Iterator[None]:
    """Context in which a MemoryError says that `what`, of `size` bytes, does not fit, and gives advice."""
    try:
        yield
    except MemoryError as error:
        power = min((max(size, 1).bit_length() - 1) // 10, len(UNITS) - 1)
        if size.bit_length() > MOST_BITS:
            taken = f"more than 2**{MOST_BITS} bytes"
        else:
            taken = f"{size / 1024**power:.3g} {UNITS[power]}"
        raise MemoryError(f"{what} takes {taken}, more than there is: {advice}") from error


def check_memory(what: str, size: int, advice: str) -> None:
    """Raise the MemoryError of `memory_for` unless so many bytes can be had, without using them."""
    with memory_for(what, size, advice):
        if size > sys.maxsize:
            raise MemoryError
        np.empty(size, np.uint8)


# -- what a sentence says: a value, its place, an interval ----------------------------------------------------


def is_real(value: object) -> bool:
    """Whether a value is a real number; NumPy counts durations among its integers."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def is_listing(value: object) -> bool:
    """Whether a value can be gone through; arrays without dimensions say so of themselves, and cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def shown(value: object) -> str:
    """A value for an error, shortened, on one line."""
    try:
        text = reprlib.repr(value)
        return " ".join(text.split()) if "\n" in text else text  # a table has several
    except (
        ValueError
    ):  # integers of more than some thousand digits, which Python does not write out
        return "a number of thousands of digits"


def first(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    """Place of the first true entry."""
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def at(place: tuple[int, ...]) -> str:
    """The place of an entry, for an error."""
    if len(place) == 2:
        return f" at row {place[0]}, column {place[1]}"
    return f" at position {', '.join(map(str, place))}" if place else ""


def bounds(
    least: float | None, above: float | None, most: float | None, below: float | None
) -> str:
    """The interval in words."""
    ends = [
        f"{words} {end}"
        for words, end in (
            ("at least", least),
            ("above", above),
            ("at most", most),
            ("below", below),
        )
        if end is not None
    ]
    if not ends:
        return ""
    return (" of " if ends[0].startswith("at") else " ") + " and ".join(ends)
