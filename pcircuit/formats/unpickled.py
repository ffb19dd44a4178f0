"""Reading a pickle without running it: plain containers, numbers, strings and arrays; everything else is a name.

A pickle is a program for a stack machine, and Python's own reader calls whatever the program names.  This one runs the
same program over plain values: lists, tuples, dicts, numbers, strings and bytes are built, NumPy arrays are made from
their stored bytes after checking type and size, and any other object becomes a `Named`, which holds its name and what
the pickle says about it and does nothing.  No name is ever looked up, so nothing in a file can be executed.

`pickletools.genops` only cuts the bytes into operations.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_OPERATIONS = 20_000_000
MARK = object()
DTYPES = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
STRINGS = {
    "SHORT_BINUNICODE",
    "BINUNICODE",
    "BINUNICODE8",
    "UNICODE",
    "SHORT_BINBYTES",
    "BINBYTES",
    "BINBYTES8",
    "BYTEARRAY8",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
}
EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass
class Named:
    """Something that a pickle names: a class, a function, or the object that it would have made."""

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = field(default=None)


def read_pickle(data: bytes) -> Any:
    r"""The value that a pickle describes.

    Time and memory are bounded by a multiple of the size of the data.
    """
    machine = _Machine(len(data))
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
            if count > MOST_OPERATIONS:
                raise ValueError("the pickle has too many operations")
            machine.step(operation.name, argument)
        return machine.result
    except (
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ValueError(f"the pickle is damaged ({type(error).__name__}: {error})") from None


class _Machine:
    """Stack and memo of one pickle of so many bytes."""

    def __init__(self, size: int) -> None:
        self.stack: list[Any] = []
        self.memo: dict[Any, Any] = {}
        self.places: dict[int, int] = {}  # id of something named -> where it is in the memo
        self.uncopied = (
            size  # bytes of texts that may still be made bytes: a pickle does it once for each text
        )
        self.result: Any = None

    def step(self, name: str, argument: Any) -> None:
        """Carry out one operation."""
        if name in ("PROTO", "FRAME"):
            return
        if name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in NUMBERS or name in STRINGS:
            self.stack.append(argument)
        elif name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name in TUPLES:
            self.stack[-TUPLES[name] :] = [tuple(self._last(TUPLES[name]))]
        else:
            method = getattr(self, f"_{name.lower()}", None)
            if method is None:
                raise ValueError(
                    f"the pickle uses the operation {name}, which plain data do not need"
                )
            method(argument)

    def _last(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("the pickle takes more from its stack than is there")
        return self.stack[-count:]

    def _to_mark(self) -> list[Any]:
        """What was put on the stack since the last mark, taken off with it."""
        place = len(self.stack) - 1
        while place >= 0 and self.stack[place] is not MARK:
            place -= 1
        if place < 0:
            raise ValueError("the pickle has no mark where it needs one")
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def _stop(self, _: Any) -> None:
        if len(self.stack) != 1:
            raise ValueError(f"the pickle ends with {len(self.stack)} values, expected one")
        self.result = self.stack[0]

    def _mark(self, _: Any) -> None:
        self.stack.append(MARK)

    def _pop(self, _: Any) -> None:
        self.stack.pop()

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._to_mark()))

    def _list(self, _: Any) -> None:
        self.stack.append(self._to_mark())

    def _dict(self, _: Any) -> None:
        values = self._to_mark()
        self.stack.append({})
        self._update(values)

    def _append(self, _: Any) -> None:
        value = self.stack.pop()
        _list_on(self.stack).append(value)

    def _appends(self, _: Any) -> None:
        values = self._to_mark()
        _list_on(self.stack).extend(values)

    def _setitem(self, _: Any) -> None:
        key, value = self._last(2)
        del self.stack[-2:]
        self._update([key, value])

    def _setitems(self, _: Any) -> None:
        self._update(self._to_mark())

    def _update(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            if not all(
                isinstance(key, (str, int, float, bytes)) for key in values[::2]
            ):  # tuples can be too deep
                raise ValueError(
                    "the pickle has a dictionary whose keys are neither texts nor numbers"
                )
            target.update(zip(values[::2], values[1::2], strict=True))
        elif not isinstance(target, Named):  # an ordered dictionary of a module: not needed
            raise ValueError("the pickle stores items in what is not a dictionary")

    def _memoize(self, _: Any) -> None:
        self._put(len(self.memo))

    def _put(self, place: Any) -> None:
        self.memo[int(place)] = self.stack[-1]
        if isinstance(self.stack[-1], Named):
            self.places[id(self.stack[-1])] = int(place)

    _binput = _long_binput = _put

    def _get(self, place: Any) -> None:
        self.stack.append(self.memo[int(place)])

    _binget = _long_binget = _get

    def _global(self, names: str) -> None:
        self.stack.append(Named(".".join(names.split(" "))))

    def _stack_global(self, _: Any) -> None:
        module, name = self._last(2)
        self.stack[-2:] = [Named(f"{module}.{name}")]

    def _reduce(self, _: Any) -> None:
        function, arguments = self._last(2)
        made = _made(function, arguments)
        if isinstance(made, bytes):
            self.uncopied -= len(made)
            if self.uncopied < 0:
                raise ValueError("the pickle copies its texts again and again")
        self.stack[-2:] = [made]

    _newobj = _reduce

    def _build(self, _: Any) -> None:
        target, state = self._last(2)
        self.stack.pop()
        if not isinstance(target, Named):
            raise ValueError("the pickle sets the state of plain data")
        target.state = state
        if target.name.endswith("._reconstruct"):
            self._finish(target, _array_of_state(state))

    def _finish(self, old: Named, new: np.ndarray) -> None:
        """Put the finished array where the unfinished one is: on the stack and in the memo."""
        self.stack[-1] = new
        place = self.places.get(id(old), -1)
        if self.memo.get(place) is old:
            self.memo[place] = new


def _list_on(stack: list[Any]) -> list[Any]:
    if not isinstance(stack[-1], list):
        raise ValueError("the pickle appends to what is not a list")
    return stack[-1]


def _made(function: Any, arguments: Any) -> Any:
    """What a call in a pickle stands for."""
    if not isinstance(function, Named) or not isinstance(arguments, tuple):
        raise ValueError("the pickle calls what is not a name")
    short = function.name.rpartition(".")[2]
    if function.name == "_codecs.encode" and len(arguments) == 2 and isinstance(arguments[0], str):
        return arguments[0].encode("latin-1")  # how protocols 0 to 2 hold bytes
    if short == "_frombuffer" and len(arguments) == 4:
        data, dtype, shape, order = arguments
        return _array(data, _dtype(dtype), shape, order == "F")
    return Named(function.name, arguments)


def _dtype(named: Any) -> np.dtype:
    """A plain number type."""
    if (
        not isinstance(named, Named)
        or not named.name.endswith(".dtype")
        or named.arguments[0] not in DTYPES
    ):
        raise ValueError("the pickle holds an array of something else than plain numbers")
    state = named.state
    order = (
        state[1] if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">") else "="
    )
    dtype: np.dtype[Any] = np.dtype(named.arguments[0]).newbyteorder(order)
    return dtype


def _array_of_state(state: Any) -> np.ndarray:
    """The array whose state is (version, shape, dtype, is Fortran order, bytes)."""
    if not isinstance(state, tuple) or len(state) != 5:
        raise ValueError("the pickle holds a damaged array")
    return _array(state[4], _dtype(state[2]), state[1], bool(state[3]))


def _array(data: Any, dtype: np.dtype, shape: Any, is_fortran: bool) -> np.ndarray:
    if not isinstance(data, (bytes, bytearray)):
        raise ValueError("the pickle holds an array without its bytes")
    array = np.frombuffer(data, dtype)  # of the bytes of the pickle, which are not copied
    array.flags.writeable = False
    shaped: np.ndarray = array.reshape(shape, order="F" if is_fortran else "C")
    return shaped
