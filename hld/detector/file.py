"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the schema (names, levels, bin edges), the circuit, and the
mean, standard deviations, eigenvalues and quantiles of the test, so that loading computes nothing.  It holds no
training rows; its numbers are averages and counts over them, which tell less than the rows but are no formal privacy
guarantee.  An array's name is that of the part it belongs to, a dot, and its name there:

    circuit, densities       the arrays of a circuit
    test                     mean, stds, nodes, and under names of their own: features of the score (feature),
                             maps (metric.I), the null, sums over the rows of a reference (kept)
    judge                    what judges batches, where that is more than the test
    profile, values, new_values, watched      counts and quantiles of training rows

Writing is atomic and reading trusts nothing, see `pcircuit.io.archive`.  Each part checks itself when it is read, and
here the parts are checked against one another: moments are those of numbers in [0, 1], means those of the circuit where
that is the reference, unless computing them would take too long, and the null is of the kind that the test names.
Then what was read is written again, in memory: every entry must come back as it was, so that nothing in a file is
overlooked, rounded, cut or taken for something else.
"""

from __future__ import annotations

import pkgutil
import reprlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

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
from hld.testing.goodness_of_fit import Calibration, HLDTest, Settings, refuse_scale
from pcircuit.circuit import check_distribution
from pcircuit.inference.densities import bounded
from pcircuit.io.archive import (
    check_names,
    finite_array,
    header_text,
    saved_count,
    under_prefix,
    with_prefix,
)
from pcircuit.io.circuit_file import from_arrays, to_arrays
from pcircuit.moments.means import means_cost, unit_means

FORMAT, FORMAT_VERSION = "hld.detector", 1
LONGEST_ERROR = 500  # characters of what is said about a file
KEYS = ("format", "version", "library", "params", "schema", "num_train", "test")  # of the header
CIRCUITS = ("circuit", "densities")
COUNTED = ("profile", "values", "new_values", "watched")
PARTS = ("schema", *CIRCUITS, "test", "judge", "history", "num_train", "offset", *COUNTED)
JUDGES = {  # imported where one is read
    "groups": "hld.testing.variation.group_test:GroupTest",
    "time": "hld.testing.variation.time_test:TimeTest",
    "covariates": "hld.testing.conditional.conditional_test:ConditionalTest",
}
MOST_WORK = 4096  # operations for each number of a circuit that computing the means again may take
SLACK = 1e-6


def detector_parts(params: dict[str, Any], fitted: dict[str, Any]) -> tuple[Any, ...]:
    """Header and arrays of a fitted detector."""
    test, judge = fitted["test"], fitted["judge"]
    calibration, arrays = calibration_parts(test.calibration)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": plain_params(params),
        "schema": fitted["schema"].to_dict(),
        "num_train": fitted["num_train"],
        "test": {**asdict(test.settings), "calibration": calibration},
    }
    arrays = with_prefix("test.", arrays)
    if judge is not test:
        header["judge"] = judge.kind
        arrays |= with_prefix("judge.", judge.to_arrays())
    for name in CIRCUITS:
        if fitted[name] is not None:
            arrays |= with_prefix(f"{name}.", to_arrays(fitted[name]))
    for name in COUNTED:
        if fitted[name] is not None:
            arrays |= with_prefix(f"{name}.", fitted[name].to_arrays())
    return header, arrays | {"history": fitted["history"], "offset": np.array([fitted["offset"]])}


def read_parts(
    header: dict[str, Any], arrays: dict[str, Any], defaults: dict[str, Any]
) -> tuple[Any, ...]:
    """Constructor parameters and fitted parts, each checked: the inverse of `detector_parts`."""
    try:
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            params, fitted = _read_parts(header, arrays, defaults)
            check_same(header, arrays, *detector_parts(params, fitted))
    except (KeyError, TypeError, ValueError) as error:
        said = str(error)  # which may quote names of any length
        raise ValueError(
            said if len(said) <= LONGEST_ERROR else f"{said[:LONGEST_ERROR]}..."
        ) from error
    return params, fitted


def _read_parts(
    header: dict[str, Any], arrays: dict[str, Any], defaults: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `read_parts` returns; TypeError or ValueError where the parts do not fit together."""
    check_names(set(header) - {"judge"}, KEYS, "the header")
    own = {
        name: under_prefix(f"{name}.", arrays) for name in ("test", "judge", *CIRCUITS, *COUNTED)
    }
    num_train = saved_count(header, "num_train", 2)
    schema = TableSchema.from_dict(header["schema"])
    if schema.num_rows not in (None, num_train):
        raise ValueError(f"the schema is of {schema.num_rows} rows, expected {num_train}")
    encoder = schema.encoder()
    circuit = _read_circuit(own["circuit"], "circuit", encoder.num_categories)
    tested, densities = circuit, None
    if own["densities"]:
        sizes = [0 if is_binned(one) else one.num_categories for one in encoder.columns]
        densities = _read_circuit(own["densities"], "densities", sizes)
        tested = bounded(densities)
    test = _read_test(tested, header["test"], own["test"], num_train)
    judge = test
    if "judge" in header:
        kind = header["judge"]
        if kind not in list(JUDGES):
            raise ValueError(
                f"'judge' must be one of {', '.join(JUDGES)}, found {reprlib.repr(kind)}"
            )
        judge = pkgutil.resolve_name(JUDGES[kind]).from_arrays(test, own["judge"])
    profile = Profile.from_arrays(own["profile"], encoder.num_categories)
    if profile.num_rows > num_train:
        raise ValueError(
            f"the profile counts {profile.num_rows} rows, but the detector learned from {num_train}"
        )
    new, watched = own["new_values"], own["watched"]
    fitted = {
        "schema": schema,
        "circuit": circuit,
        "densities": densities,
        "test": test,
        "judge": judge,
        "history": _log_likelihoods(arrays, "history"),
        "num_train": num_train,
        "offset": float(_log_likelihoods(arrays, "offset")[0]),
        "profile": profile,
        "values": ValueTables.from_arrays(own["values"], sum(map(is_binned, encoder.columns))),
        "new_values": KeptValues.from_arrays(new, len(encoder.columns), num_train) if new else None,
        "watched": WatchedRows.from_arrays(circuit, watched) if watched else None,
    }
    return read_params(header["params"], defaults), fitted


def check_same(
    header: dict[str, Any], arrays: dict[str, Any], written: dict[str, Any], same: dict[str, Any]
) -> None:
    """Raise unless header and arrays of a file are what is written again of what was read."""
    check_names(arrays, same, "the file")
    for name, array in same.items():
        if arrays[name].dtype != array.dtype or not np.array_equal(arrays[name], array):
            raise ValueError(f"array {name!r} is not what a file of this format holds")
    for name, entry in written.items():
        if header_text({name: header[name]}) != header_text({name: entry}):
            found = reprlib.repr(header[name])
            raise ValueError(f"{name!r} is not what a file of this format holds: {found}")


def _read_circuit(arrays: dict[str, Any], name: str, num_categories: Any) -> pcircuit.Circuit:
    """A circuit of a file, over variables with so many categories, 0 for numbers."""
    circuit = check_distribution(from_arrays(arrays), name)
    if tuple(circuit.num_categories) != tuple(num_categories):
        raise ValueError(f"encoder and {name} disagree about the numbers of categories")
    return circuit


def _log_likelihoods(arrays: dict[str, Any], name: str) -> np.ndarray:
    """Mean log-likelihoods of a file, -inf where rows are impossible."""
    found: np.ndarray = arrays[name]
    if found.ndim != 1 or not len(found) or not (found <= SLACK).all():  # NaN fails
        raise ValueError(f"array {name!r} must hold mean log-likelihoods, numbers of at most 0")
    return found


def _read_test(
    circuit: pcircuit.Circuit, saved: Any, arrays: dict[str, Any], num_train: int
) -> HLDTest:
    """The test of a file, its parts checked against one another."""
    options = dict(saved)
    scalars = options.pop("calibration")
    settings = Settings(**options)
    from_rows = settings.reference in FROM_ROWS
    if from_rows or settings.num_train is not None:
        saved_count(saved, "num_train", 2 if from_rows else 1, num_train)
    calibration = read_calibration(circuit, scalars, arrays, settings.seed)
    nodes, m = calibration.nodes, len(calibration.nodes)
    mean, stds = calibration.mean[:m], calibration.stds[:m]  # of likelihoods
    # the variance of numbers in [0, 1], and twice that as the sample variance of two rows
    most = 2 * mean * np.maximum(1 - mean, 0.0)
    if (stds**2 > most * (1 + SLACK) + (SLACK * mean) ** 2).any():
        raise ValueError("'stds' holds numbers that are no standard deviations of likelihoods")
    numbers = sum(array.size for array in to_arrays(circuit).values())
    if not from_rows and means_cost(circuit) <= MOST_WORK * numbers:
        exact = unit_means(circuit)[nodes]
        if (np.abs(mean - exact) > 1e-9 * exact + 1e-290).any():
            raise ValueError("'mean' is not the mean of the node likelihoods under the circuit")
    _check_null(calibration.null, settings.null, from_rows)
    return HLDTest.from_parts(circuit, settings, calibration)


def _check_null(null: Any, name: str, from_rows: bool) -> None:
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


def calibration_parts(calibration: Calibration) -> tuple[dict[str, Any], dict[str, Any]]:
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
    circuit: pcircuit.Circuit, scalars: Mapping[str, Any], arrays: dict[str, Any], seed: int
) -> Calibration:
    """A calibration from its parts; raises ValueError where they do not fit together."""
    nodes = finite_array(arrays, "nodes", (None,), np.int64)
    m = len(nodes)
    if not m or nodes[0] < 0 or nodes[-1] >= circuit.num_nodes or (np.diff(nodes) <= 0).any():
        raise ValueError("the nodes of the test must ascend, and be nodes of the circuit")
    features, size = None, m
    if "feature.places" in arrays:
        features = _read_features(circuit, arrays)
        size += features.num_features
    mean = bounded_array(arrays, "mean", (size,), RowVectors(circuit, nodes, features).bounds)
    stds = finite_array(arrays, "stds", (size,))
    if (mean[:m] < 0).any() or (stds < 0).any() or (mean[:m] > 1.001).any() or (stds[:m] > 1).any():
        raise ValueError("'mean' and 'stds' must be those of likelihoods, numbers from 0 to 1")
    metrics = tuple(
        read_map(own, under_prefix(f"metric.{i}.", arrays), size)
        for i, own in enumerate(scalars["metrics"])
    )
    if not metrics or len({metric.name for metric in metrics}) < len(metrics):
        raise ValueError("the test must have metrics, of different names")
    for metric in metrics:
        refuse_scale(metric, stds, mean)
    context = Context(CircuitReference(circuit, nodes, mean[:m]), metrics, stds, seed)
    null = context.read(scalars["null"], under_prefix("null.", arrays))
    kept = None
    if scalars["kept"] is not None:
        own = under_prefix("kept.", arrays)
        kept = KeptRows.from_parts(scalars["kept"], own, size, len(metrics))
        kept.check_fits(stds, null.laws)
    return Calibration(nodes, mean, stds, metrics, null, kept, features)


def _read_features(circuit: pcircuit.Circuit, arrays: dict[str, Any]) -> ScoreFeatures:
    """The features of the score that a file holds."""
    P = circuit.num_parameters
    places = finite_array(arrays, "feature.places", (P,), np.int64)
    most = FLOOR**-0.5  # where the variance is zero
    factors = bounded_array(arrays, "feature.factors", (P,), most)
    r = int(places.max()) + 1
    if places.min() < 0 or r > P or not np.bincount(places).all():
        raise ValueError("every feature of the score must be the place of a parameter")
    return ScoreFeatures(places, factors, r)
