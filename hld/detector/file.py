"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the encoder (names, levels, bin edges), the circuit, and the
mean, standard deviations, eigenvalues and quantiles of the test, so that loading computes nothing.  It holds no
training rows; its numbers are averages and counts over them, which tell less than the rows but are no formal privacy
guarantee.

Writing is atomic and reading trusts nothing, see `pcircuit.io.archive`.

Whether the parts of a detector that was read from a file can belong together.

Each part checks itself when it is read: the encoder its columns, the circuit its regions, a metric its map, a null its
numbers against the metric and the standard deviations (`hld.laws.named.Context`).  Here the parts are checked against
one another:

* names    header and arrays have exactly the entries of the format
* moments  means and deviations are those of numbers in [0, 1]; where the reference is the circuit, the means are
           computed again, unless that would take too long
* null     it has the kind that the test names, and draws what its reference allows

and finally what was read is written again, in memory: every entry must come back as it was.  So nothing in a file
is overlooked, rounded, cut or taken for something else.

A calibration as JSON scalars and plain arrays, and back, everything checked.

mean, stds, nodes                    of the node likelihoods
feature.places, feature.factors      features of the score, if a metric looks at them
metric.I.*                           the map of metric I
null.*                               what the null holds
kept.*                               sums over the rows of a reference
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.profile import Profile
from hld.detector.options import plain_params, read_params
from hld.features.linear_maps import read_map
from hld.features.row_scores import WatchedRows
from hld.features.row_vectors import RowVectors, bounded_array
from hld.features.score_features import FLOOR, ScoreFeatures
from hld.laws.named import NULLS, Context
from hld.references.circuit import CircuitReference
from hld.references.kept_rows import KeptRows
from hld.references.rows import FROM_ROWS
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.schema import TableSchema
from hld.tables.values import ValueTables, is_binned
from hld.testing.calibration import Calibration, Settings, refuse_scale
from hld.testing.conditional.conditional_test import ConditionalTest
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.variation.group_test import GroupTest
from hld.testing.variation.time_test import TimeTest
from pcircuit.circuit import check_distribution
from pcircuit.inference.densities import bounded
from pcircuit.io.archive import (
    check_header,
    check_names,
    finite_array,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
)
from pcircuit.io.circuit_file import from_arrays, to_arrays
from pcircuit.moments.means import means_cost, unit_means

if TYPE_CHECKING:
    from hld.testing.calibration import Calibration, Settings


MOST_WORK = 4096  # operations for each number of a circuit that computing the means again may take
SLACK = 1e-6


def check_settings(saved: dict[str, Any], num_train: int) -> None:
    """Raise unless the settings of a test, as JSON holds them, are those of a detector of so many rows."""
    for name in ("null", "reference", "missing"):
        if not isinstance(saved.get(name), str):
            raise ValueError(f"{name!r} must be text, found {reprlib.repr(saved.get(name))}")
    saved_number(saved, "tolerance")
    saved_count(saved, "seed", 0)
    if saved["missing"] not in ("complete", "available"):
        raise ValueError(
            f"'missing' is {saved['missing']!r}: detectors complete what is missing, or leave it out"
        )
    if saved["reference"] in FROM_ROWS or saved.get("num_train") is not None:
        saved_count(saved, "num_train", 2 if saved["reference"] in FROM_ROWS else 1, num_train)


def check_calibration(
    circuit: pcircuit.Circuit, settings: Settings, calibration: Calibration
) -> None:
    """Raise unless moments and null fit the circuit and the settings of the test."""
    nodes, m = calibration.nodes, len(calibration.nodes)
    mean, stds = calibration.mean[:m], calibration.stds[:m]  # of likelihoods
    if (np.diff(nodes) <= 0).any():
        raise ValueError("the nodes of the test must ascend")
    widest = mean * np.maximum(
        1 - mean, 0.0
    )  # of numbers in [0, 1]; twice that for the sample variance of two rows
    if (stds**2 > 2 * widest * (1 + SLACK) + (SLACK * mean) ** 2).any():
        raise ValueError("'stds' holds numbers that are no standard deviations of likelihoods")
    from_rows = settings.reference in FROM_ROWS
    numbers = sum(array.size for array in to_arrays(circuit).values())
    if not from_rows and means_cost(circuit) <= MOST_WORK * numbers:
        exact = unit_means(circuit)[nodes]
        if (np.abs(mean - exact) > 1e-9 * exact + 1e-290).any():
            raise ValueError("'mean' is not the mean of the node likelihoods under the circuit")
    check_null(calibration.null, settings.null, from_rows=from_rows)


def check_null(null: Any, name: str, *, from_rows: bool) -> None:
    """Raise unless a null is of the kind that `null=` names, and draws from rows or the circuit as the test does."""
    named, tails = NULLS[name], getattr(null, "tails", None)
    drawn = ("table" if from_rows else "staged") if named.draws else None
    fits = not named.law or (  # else `from_parts` has checked it
        all(law.kind == named.law for law in null.laws)
        and getattr(tails, "kind", None) == drawn
        and not hasattr(null.limit, "tails")
        and (tails is None or (null.switch is None) == named.draws_later)
        and (named.draws or not any(getattr(law, "excess", 0.0) for law in null.laws))
    )
    if not fits:
        raise ValueError(f"the null is a {type(null).__name__}, which does not fit null={name!r}")


def check_history(history: np.ndarray) -> None:
    """Raise unless a history is one of mean log-likelihoods."""
    if history.ndim != 1 or not len(history) or history.dtype != np.float64:
        raise ValueError(
            f"the history must be one-dimensional of float64, found shape {history.shape} of "
            f"{history.dtype}"
        )
    if not (history <= SLACK).all():  # -inf, where rows are impossible; NaN fails
        raise ValueError("the history must hold mean log-likelihoods, numbers of at most 0")


def check_same(found: Any, written: Any, place: str) -> None:
    """Raise unless an entry of a file, or all in it, is what is written again of what was read."""
    if isinstance(written, np.ndarray):
        alike = found.dtype == written.dtype and np.array_equal(found, written)
    elif isinstance(written, dict) and isinstance(found, dict) and found.keys() == written.keys():
        for key in written:
            check_same(found[key], written[key], f"{place}.{key}" if place else str(key))
        return
    elif (
        isinstance(written, (list, tuple))
        and isinstance(found, list)
        and len(found) == len(written)
    ):
        for i, (one, other) in enumerate(zip(found, written, strict=True)):
            check_same(one, other, f"{place}[{i}]")
        return
    else:
        number = (
            isinstance(written, Real)
            and not isinstance(written, bool)
            and isinstance(found, (int, float))
        )
        alike = found == written and (
            type(found) is type(written) or (number and not isinstance(found, bool))
        )
    if not alike:
        raise ValueError(
            f"{place!r} is not what a file of this format holds: {reprlib.repr(found)}"
        )


def calibration_parts(calibration: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scalars, as JSON holds them, and arrays of a calibration."""
    null, null_arrays = calibration.null.to_parts()
    scalars: dict[str, Any] = {"metrics": [], "null": null, "kept": None}
    arrays = {name: getattr(calibration, name) for name in ("nodes", "mean", "stds")}
    for i, metric in enumerate(calibration.metrics):
        own, own_arrays = metric.to_parts()
        scalars["metrics"].append(own)
        arrays |= with_prefix(f"metric.{i}.", own_arrays)
    if calibration.features is not None:
        arrays |= {
            "feature.places": calibration.features.places,
            "feature.factors": calibration.features.factors,
        }
    if calibration.kept is not None:
        scalars["kept"], own_arrays = calibration.kept.to_parts()
        arrays |= with_prefix("kept.", own_arrays)
    return scalars, arrays | with_prefix("null.", null_arrays)


def read_calibration(
    circuit: pcircuit.Circuit, scalars: dict[str, Any], arrays: dict[str, np.ndarray], seed: int
) -> Calibration:
    """A calibration from its parts; raises ValueError where they do not fit together."""
    check_names(scalars, {"metrics", "null", "kept"}, "the calibration")
    nodes = saved_nodes(circuit, arrays)
    m = len(nodes)
    features = read_features(circuit, arrays)
    size = m if features is None else m + features.num_features
    mean = bounded_array(arrays, "mean", (size,), RowVectors(circuit, nodes, features).bounds)
    stds = finite_array(arrays, "stds", (size,))
    if (mean[:m] < 0).any() or (stds < 0).any() or (mean[:m] > 1.001).any() or (stds[:m] > 1).any():
        raise ValueError("'mean' and 'stds' must be those of likelihoods, numbers from 0 to 1")
    if not isinstance(scalars["metrics"], list) or not scalars["metrics"]:
        raise ValueError("the test has no metric")
    metrics = tuple(
        read_map(own, under_prefix(f"metric.{i}.", arrays), size)
        for i, own in enumerate(scalars["metrics"])
    )
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ValueError("the names of the metrics of the test must be different")
    for metric in metrics:
        refuse_scale(metric, stds, mean)
    context = Context(CircuitReference(circuit, nodes, mean[:m]), metrics, stds, seed)
    null = context.read(scalars["null"], under_prefix("null.", arrays))
    kept = None
    if scalars.get("kept") is not None:
        kept = KeptRows.from_parts(
            scalars["kept"], under_prefix("kept.", arrays), size, len(metrics)
        )
        kept.check_fits(stds, null.laws)
    return Calibration(nodes, mean, stds, metrics, null, kept, features)


def saved_nodes(circuit: pcircuit.Circuit, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """(m,) the nodes of a test in a file."""
    nodes = finite_array(arrays, "nodes", (None,), np.int64)
    if not len(nodes) or nodes.min() < 0 or nodes.max() >= circuit.num_nodes:
        raise ValueError("the nodes of the test are not nodes of the circuit")
    return nodes


def read_features(circuit: pcircuit.Circuit, arrays: dict[str, np.ndarray]) -> ScoreFeatures | None:
    """The features of the score that a file holds, if it does."""
    if "feature.places" not in arrays and "feature.factors" not in arrays:
        return None
    P = circuit.num_parameters
    places = finite_array(arrays, "feature.places", (P,), np.int64)
    factors = bounded_array(
        arrays, "feature.factors", (P,), FLOOR**-0.5
    )  # where the variance is zero
    r = int(places.max()) + 1
    if places.min() < 0 or r > P or len(np.unique(places)) < r:
        raise ValueError("every feature of the score must be the place of a parameter")
    return ScoreFeatures(places, factors, r)


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
