"""What is kept of a batch when its rows are gone: sums, from which it can be tested.

The test compares mean vectors, and means are sums divided by counts.  So for T rows with vectors L(x_1)..L(x_T) of
likelihoods it is enough to keep

    T,   sum_t L(x_t)   and for each number of the vector, how many rows show it

which add up over parts of a batch, over sites and over days, in any order (up to the rounding of sums of doubles).  No
row can be read off them as soon as there are several, but this is no formal guarantee of privacy.

Besides these a summary holds, where they are known,

* how the rows vary, by which an alarm is checked where rows are the reference (`summaries.summing`)
* cells that the schema of a table does not know, and the counts of each column's categories, of the pairs of
  categories along the tree, and of odd rows (`hld.answers.profile`)

**Fingerprint.**  Which model a summary is for: a hash of everything that its sums depend on.

Sums of likelihoods mean something only with the circuit and the nodes that they were made with; with another model
they would silently give a wrong p-value.  The fingerprint is the SHA-256 of the circuit, the nodes, the reference
mean and the metrics (by which the spread is measured), so it is the same in every process that read the same file.

**JSON.**  Plain numbers with names, each checked when it is read.

JSON is one object: "format" and "version", the scalars, and "arrays", nested lists by name.  Doubles are written with
enough digits to read them back exactly.

A summary may come from anywhere, so nothing is trusted and nothing evaluated: sizes are bounded, counts are whole
numbers of at least 0 that do not exceed the rows, names of columns are text.  Whether the numbers fit is checked by the
model that they claim to be for.
"""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pcircuit
from pcircuit.arguments import check_whole_number
from pcircuit.io.archive import (
    RepeatedName,
    check_names,
    distinct_names,
    saved_count,
    with_prefix,
)
from pcircuit.io.circuit_file import to_arrays

FORMAT, VERSION = "hld.summary", 1
MOST_NUMBERS = 10_000_000
MOST_NAMES, LONGEST_NAME = 100_000, 10_000
ENTRIES = ("format", "version", "model", "num_rows", "num_missing", "absent", "extra", "arrays")
# dimensions and type of arrays; whole numbers are counts of rows
OF_ROWS: dict[str, tuple[int, type]] = {"sums": (1, float), "seen": (1, int)}
OF_SPREAD: dict[str, tuple[int, type]] = {
    "squares": (1, float),
    "fourths": (1, float),
    "odd": (1, int),
    "sketch": (3, float),
}
OF_TABLE: dict[str, tuple[int, type]] = {
    "cells": (2, int),
    "categories": (1, int),
    "pairs": (1, int),
    "odd_rows": (1, int),
}


def _read_object(text: str) -> dict[str, Any]:
    """The JSON object of a summary."""
    if not isinstance(text, str):
        raise TypeError(f"`text` must be the JSON of a summary, found {type(text).__name__}")
    try:
        form = json.loads(text, object_pairs_hook=distinct_names)
    except RepeatedName as error:
        raise ValueError(f"the summary cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError("the summary is not JSON") from error
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ValueError(
            f"the summary must be one JSON object with the format {FORMAT!r}, found {reprlib.repr(form)}"
        )
    if saved_count(form, "version") > VERSION:
        raise ValueError(
            f"the summary has version {form['version']}, newer than {VERSION}: update the library"
        )
    check_names(form, ENTRIES, "the summary")
    return form


def _read_arrays(lists: Any, num_rows: int) -> dict[str, np.ndarray]:
    """Arrays of nested lists of numbers, whose shapes fit together."""
    if not isinstance(lists, dict):
        raise ValueError("the summary has no arrays")
    known = dict(OF_ROWS)
    for part in (OF_SPREAD, OF_TABLE):
        if lists.keys() & part:
            known |= part
    check_names(lists, known, "the arrays of the summary")
    found = {name: _read_array(name, lists[name], *known[name], num_rows) for name in known}
    fits = len(found["sums"]) == len(found["seen"]) > 0
    if "sketch" in found:
        q, r, width = found["sketch"].shape
        fits &= r == width and {len(found[name]) for name in ("squares", "fourths", "odd")} == {q}
        fits &= not ((found["squares"] < 0).any() or (found["fourths"] < 0).any())
    if "cells" in found:
        fits &= len(found["cells"]) == 5
    if not fits:
        raise ValueError("the arrays of the summary do not fit together")
    return found


def _read_array(name: str, value: Any, dimensions: int, kind: type, num_rows: int) -> np.ndarray:
    """An array of nested lists of numbers; among these NumPy would make 1 and 0 of true and false."""
    try:
        cells = np.array(value, dtype=object)
        found = cells.astype(np.int64 if kind is int else np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        cells = found = np.zeros(())  # of no dimensions, as none of these arrays is
    fits = cells.ndim == dimensions and cells.size <= MOST_NUMBERS
    fits = fits and set(map(type, cells.ravel())) <= {int, kind} and bool(np.isfinite(found).all())
    if fits and kind is int:
        fits = bool(((found >= 0) & (found <= num_rows)).all())
    if not fits:
        numbers = f"counts of at most {num_rows} rows" if kind is int else "finite numbers"
        raise ValueError(
            f"array {name!r} of the summary must be {numbers}, {dimensions}-dimensional"
        )
    return found


def _read_texts(form: dict[str, Any], name: str) -> tuple[str, ...]:
    """A list of names of columns."""
    value = form[name]
    if (
        not isinstance(value, list)
        or len(value) > MOST_NAMES
        or not all(isinstance(one, str) and len(one) <= LONGEST_NAME for one in value)
    ):
        raise ValueError(
            f"{name!r} of the summary must be names of columns, found {reprlib.repr(value)}"
        )
    return tuple(value)


@dataclass(frozen=True, eq=False)
class BatchSummary:
    """Sums over the rows of a batch, from which it is tested; parts of a batch add up with ``+`` or ``sum``.

    Made by `HLDTest.summarize` and `HLDDetector.summarize`, or read from JSON.

    Attributes
    ----------
    model : str
        Fingerprint of the test or detector that it was made with; others refuse it.
    num_rows : int
        T.
    num_missing : int
        Missing cells.
    arrays : mapping of str to array
        What adds up, by name.  Always: "sums" (size,) of the likelihoods of the nodes over the rows that show them
        (after them, with the metric "score", features of the score), and "seen" (size,), how many rows these are.
        Where rows are the reference, how the rows vary in each of q metrics, by y_t = F (L(x_t) - mu): "squares" and
        "fourths" (q,), sums of |y_t|^2 and |y_t|^4; "odd" (q,), rows farther out than all of the reference; "sketch"
        (q, r, r).  Where a table was summarised: "cells" (5, V) missing, unseen, out of range, rare, odd; "categories"
        (sum C_v + V,); "pairs" (cells of all edges,) or (0,); "odd_rows" (S BINS,).
    absent, extra : tuples of str
        Columns that no part of the table had, and others, which were ignored.

    Notes
    -----
    Immutable.  A number for each node and 256 for the sketch of each metric: as JSON from some
    hundred bytes, with the circuit as reference, to some 50 kilobytes with the six metrics of `HLDDetector`.

    Examples
    --------
    >>> import hld
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> rows, test = pcircuit.sample(circuit, 100, rng=1), hld.HLDTest(circuit)
    >>> parts = test.summarize(rows[:30]) + test.summarize(rows[30:])
    >>> parts.num_rows, bool(abs(test(parts).pvalue - test(rows).pvalue) < 1e-12)
    (100, True)
    >>> BatchSummary.from_json(parts.to_json()) == parts
    True
    """

    model: str
    num_rows: int
    num_missing: int
    arrays: dict[str, np.ndarray] = field(repr=False)
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in self.arrays.values():
            array.flags.writeable = False

    def __add__(self, other: BatchSummary) -> BatchSummary:
        if not isinstance(other, BatchSummary):
            return NotImplemented
        if (other.model, other.arrays.keys()) != (self.model, self.arrays.keys()):
            raise ValueError(
                f"`other` is a summary for the model {other.model[:8]} of {', '.join(other.arrays)}, expected "
                f"{self.model[:8]} of {', '.join(self.arrays)}: only summaries that were made alike add up"
            )
        # what only some of the parts lack is missing there, and not absent
        return BatchSummary(
            self.model,
            self.num_rows + other.num_rows,
            self.num_missing + other.num_missing,
            {name: array + other.arrays[name] for name, array in self.arrays.items()},
            tuple(sorted({*self.absent} & {*other.absent})),
            tuple(sorted({*self.extra, *other.extra})),
        )

    def __radd__(self, other: object) -> BatchSummary:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchSummary) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def sums(self) -> np.ndarray:
        """Sums over the rows that show each number: (size,) float array."""
        return self.arrays["sums"]

    @property
    def seen(self) -> np.ndarray:
        """Rows that show each number: (size,) int array; T where nothing is missing."""
        return self.arrays["seen"]

    @property
    def means(self) -> np.ndarray:
        """Averages ``sums / seen`` over the rows that show each number: (size,) float array, new; 0 where none does."""
        return self.sums / np.maximum(self.seen, 1)

    @property
    def is_whole(self) -> bool:
        """Whether every row shows everything: ``seen == num_rows`` throughout (bool); true without rows."""
        return bool((self.seen == self.num_rows).all())

    def to_json(self) -> str:
        """The summary as one JSON object.

        Returns
        -------
        str
            `from_json` reads back every number exactly, to the last bit.  Only equal summaries give equal texts.
        """
        arrays = {name: array.tolist() for name, array in self.arrays.items()}
        form = {"format": FORMAT, "version": VERSION} | vars(self) | {"arrays": arrays}
        return json.dumps(form, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> BatchSummary:
        """The summary that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        BatchSummary
        """
        form = _read_object(text)
        model, T = form["model"], saved_count(form, "num_rows", 0)
        if not isinstance(model, str) or not re.fullmatch("[0-9a-f]{64}", model):
            raise ValueError(f"'model' must be 64 hexadecimal digits, found {reprlib.repr(model)}")
        return cls(
            model,
            T,
            saved_count(form, "num_missing", 0),
            _read_arrays(form["arrays"], T),
            _read_texts(form, "absent"),
            _read_texts(form, "extra"),
        )

    def __repr__(self) -> str:
        return (
            f"BatchSummary({self.num_rows} row{'s' * (self.num_rows != 1)}, {len(self.sums)} numbers, model "
            f"{self.model[:8]})"
        )


def check_summary(value: object, model: str, name: str = "summary") -> BatchSummary:
    """The argument, if it is a summary of at least one row that was made with a model."""
    if not isinstance(value, BatchSummary):
        raise TypeError(
            f"`{name}` must be a BatchSummary, found {type(value).__name__}: make one with `summarize`"
        )
    if value.model != model:
        raise ValueError(
            f"`{name}` is for the model {value.model[:8]}, expected {model[:8]}: a summary is tested by the model "
            "that it was made with"
        )
    check_whole_number(value.num_rows, f"{name}.num_rows", 1)
    return value


def test_fingerprint(circuit: pcircuit.Circuit, calibration: Any) -> str:
    """The fingerprint of a test."""
    arrays = to_arrays(circuit) | {"nodes": calibration.nodes, "mean": calibration.mean}
    scalars = []
    for i, metric in enumerate(calibration.metrics):
        own_scalars, own = metric.to_parts()
        scalars.append(own_scalars)
        arrays |= with_prefix(f"metric.{i}.", own)
    return arrays_digest(arrays, json.dumps(scalars, sort_keys=True))


def arrays_digest(arrays: dict[str, Any], text: str) -> str:
    """The SHA-256 of a text, and of arrays with their names, types and shapes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


test_fingerprint.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def detector_fingerprint(test: str, schema: Any) -> str:
    """The fingerprint of a detector: of its test, and of how it reads tables."""
    form = json.dumps(schema.to_dict(), sort_keys=True)
    return hashlib.sha256(f"{test} {form}".encode()).hexdigest()
