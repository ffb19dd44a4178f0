"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the encoder (names, levels, bin edges), the circuit, and the
mean, standard deviations, eigenvalues and quantiles of the test, so that loading computes nothing.  It holds no
training rows; its numbers are averages and counts over them, which tell less than the rows but are no formal privacy
guarantee.

Writing is atomic and reading trusts nothing, see `pcircuit.io.archive`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

import pcircuit
from hld.answers.profile import Profile
from hld.conditional.conditional_test import ConditionalTest
from hld.detector.calibration_file import calibration_parts, read_calibration
from hld.detector.file_checks import check_calibration, check_history, check_same, check_settings
from hld.detector.options import plain_params, read_params
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.schema import TableSchema
from hld.tables.values import ValueTables, is_binned
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.settings import Settings
from hld.variation.group_test import GroupTest
from hld.variation.time_test import TimeTest
from hld.vectors.row_scores import WatchedRows
from pcircuit.circuit import check_distribution
from pcircuit.inference.densities import bounded
from pcircuit.io.archive import (
    check_header,
    check_names,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
)
from pcircuit.io.circuit_file import from_arrays, to_arrays

FORMAT, FORMAT_VERSION = "hld.detector", 1
LONGEST_ERROR = 500  # characters of what is said about a file
KEYS = {
    "format",
    "version",
    "library",
    "params",
    "schema",
    "num_train",
    "offset",
    "test",
}  # of the header
SETTINGS = tuple(field.name for field in fields(Settings))
PARTS = (
    "schema",
    "circuit",
    "densities",
    "test",
    "judge",
    "history",
    "num_train",
    "offset",
    "profile",
    "values",
    "new_values",
    "watched",
)  # of a fitted detector
CIRCUIT = "circuit."  # prefix of the circuit's arrays
DENSITIES = "densities."  # prefix of those of the circuit of densities, where there is one
TEST = "test."  # prefix of the arrays of its test
PROFILE = "profile."  # prefix of the counts of the rows that batches are compared with
VALUES = "values."  # prefix of the quantiles of continuous columns
JUDGE = "judge."  # prefix of the arrays of what judges batches, where that is more than the test
NEW = "new."  # prefix of how often held-out rows have new values

WATCHED = "watched."  # prefix of what streams are compared with


def detector_parts(params: dict[str, Any], fitted: dict[str, Any]) -> tuple[Any, ...]:
    """Header and arrays of a fitted detector."""
    test = fitted["test"]
    scalars, arrays = calibration_parts(test.calibration)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": plain_params(params),
        "schema": fitted["schema"].to_dict(),
        "num_train": fitted["num_train"],
        "offset": "-inf" if fitted["offset"] == -np.inf else fitted["offset"],
        "test": {**asdict(test.settings), "calibration": scalars},
    }
    arrays = with_prefix(TEST, arrays) | with_prefix(CIRCUIT, to_arrays(fitted["circuit"]))
    if fitted["densities"] is not None:
        arrays |= with_prefix(DENSITIES, to_arrays(fitted["densities"]))
    arrays |= with_prefix(PROFILE, fitted["profile"].to_arrays())
    arrays |= with_prefix(VALUES, fitted["values"].to_arrays())
    if fitted["new_values"] is not None:
        arrays |= with_prefix(NEW, fitted["new_values"].to_arrays())
    if fitted["watched"] is not None:
        arrays |= with_prefix(WATCHED, fitted["watched"].to_arrays())
    more, own = judge_parts(fitted["judge"], test)
    header, arrays = header | more, arrays | with_prefix(JUDGE, own)
    return header, arrays | {"history": fitted["history"]}


def check_storable(params: Mapping[str, Any], schema: TableSchema) -> None:
    """Raise unless parameters and schema fit into a file: before anything is learned, not after."""
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": plain_params(params),
        "schema": schema.to_dict(),
    }
    try:
        check_header(header)
    except ValueError as error:
        raise ValueError(
            f"`table` has more levels than a model file can hold ({error}): lower `max_categories`, or "
            "leave out columns of free text"
        ) from None


def read_parts(
    header: dict[str, Any], arrays: dict[str, Any], defaults: dict[str, Any]
) -> tuple[Any, ...]:
    """Constructor parameters and fitted parts, each checked: the inverse of `detector_parts`."""
    try:
        with np.errstate(
            all="ignore"
        ):  # numbers of a file may be anything, and what comes of them is checked
            return _read_parts(header, arrays, defaults)
    except (KeyError, TypeError, ValueError) as error:
        said = str(error)  # which may quote names of any length
        raise ValueError(
            said if len(said) <= LONGEST_ERROR else f"{said[:LONGEST_ERROR]}..."
        ) from error


def _read_parts(
    header: dict[str, Any], arrays: dict[str, Any], defaults: dict[str, Any]
) -> tuple[Any, ...]:
    """What `read_parts` returns; TypeError or ValueError where the parts do not fit together."""
    check_names(header, KEYS | ({"judge"} & set(header)), "the header")
    parts = (CIRCUIT, DENSITIES, TEST, PROFILE, VALUES, NEW, WATCHED, JUDGE)
    check_names([name for name in arrays if not name.startswith(parts)], {"history"}, "the file")
    schema = TableSchema.from_dict(header["schema"])
    encoder = schema.encoder()
    circuit = check_distribution(from_arrays(under_prefix(CIRCUIT, arrays)), "circuit")
    if tuple(encoder.num_categories) != tuple(circuit.num_categories):
        raise ValueError("encoder and circuit disagree about the numbers of categories")
    num_train = saved_count(header, "num_train", 2)
    own = under_prefix(DENSITIES, arrays)
    densities = _read_densities(encoder, own) if own else None
    tested = circuit if densities is None else bounded(densities)
    test = _read_test(tested, header, under_prefix(TEST, arrays), num_train)
    check_history(arrays["history"])
    counts, values, new, watched = (
        under_prefix(prefix, arrays) for prefix in (PROFILE, VALUES, NEW, WATCHED)
    )
    check_names(
        counts,
        {"counts", "edges", "pairs"} | ({"laws", "associations"} & set(counts)),
        "the profile",
    )
    check_names(values, {"quantiles", "units"}, "the values")
    check_names(new, {"shown", "new"} if new else (), "the new values")
    profile = Profile.from_arrays(counts, encoder.num_categories)
    if profile.num_rows > num_train:
        raise ValueError(
            f"the profile counts {profile.num_rows} rows, but the detector learned from {num_train}"
        )
    params = read_params(header["params"], defaults)
    if schema.num_rows not in (None, num_train):
        raise ValueError(f"the schema is of {schema.num_rows} rows, expected {num_train}")
    fitted = {
        "schema": schema,
        "circuit": circuit,
        "densities": densities,
        "test": test,
        "judge": read_judge(header, under_prefix(JUDGE, arrays), test),
        "history": arrays["history"],
        "num_train": num_train,
        "offset": _read_offset(header["offset"]),
        "profile": profile,
        "values": ValueTables.from_arrays(values, sum(map(is_binned, encoder.columns))),
        "new_values": KeptValues.from_arrays(new, len(encoder.columns), num_train) if new else None,
        "watched": WatchedRows.from_arrays(circuit, watched) if watched else None,
    }
    written, _ = detector_parts(params, fitted)
    for name in ("params", "schema"):
        check_same(header[name], written[name], name)
    return params, fitted


def _read_densities(encoder: Any, arrays: dict[str, Any]) -> pcircuit.Circuit:
    """The circuit of densities of a file."""
    densities = check_distribution(from_arrays(arrays), "densities")
    expected = tuple(0 if is_binned(one) else one.num_categories for one in encoder.columns)
    if tuple(densities.num_categories) != expected:
        raise ValueError("encoder and densities disagree about which columns are numbers")
    return densities


def _read_offset(value: Any) -> Any:
    """The offset of single rows: a log-likelihood."""
    if value == "-inf":
        return -np.inf
    return -saved_number({"offset": -value if type(value) is float else value}, "offset")


def _read_test(
    circuit: pcircuit.Circuit, header: dict[str, Any], arrays: dict[str, Any], num_train: int
) -> HLDTest:
    """The test of a file, its parts checked against one another."""
    if not isinstance(header["test"], dict):
        raise ValueError(f"'test' must be a mapping, found {reprlib.repr(header['test'])}")
    saved = dict(header["test"])
    check_names(saved, {"calibration", *SETTINGS}, "the test")
    calibration = saved.pop("calibration")
    check_settings(saved, num_train)
    settings = Settings(**saved)
    found = read_calibration(circuit, calibration, arrays, settings.seed)
    written, same = calibration_parts(found)
    check_same(calibration, written, "calibration")
    check_names(arrays, same, "the test")
    check_same(arrays, same, "test")
    check_calibration(circuit, settings, found)
    return HLDTest.from_parts(circuit, settings, found)


JUDGES: dict[str, Any] = {"groups": GroupTest, "time": TimeTest, "covariates": ConditionalTest}


def judge_parts(judge: Any, test: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Entries of the header and arrays; none where the test itself judges."""
    if judge is test:
        return {}, {}
    return {"judge": judge.kind}, judge.to_arrays()


def read_judge(header: dict[str, Any], arrays: dict[str, Any], test: Any) -> Any:
    """What judges batches, from what `judge_parts` gave; raises ValueError where it is no judge."""
    if "judge" not in header:
        check_names(arrays, (), "the file")
        return test
    kind = header["judge"]
    if not isinstance(kind, str) or kind not in JUDGES:
        raise ValueError(f"'judge' must be one of {', '.join(JUDGES)}, found {reprlib.repr(kind)}")
    return JUDGES[kind].from_arrays(test, arrays)
