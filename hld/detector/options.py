"""The constructor parameters of a detector: checked before anything is learned, and in the form that JSON can hold.

What a detector is fitted with must also fit into its file, so one check serves both: `plain_params` gives text,
numbers, flags, lists and None, or says which parameter has a value that is none of these.  NumPy scalars become plain
numbers.  A seed of more than 20 digits, which JSON readers refuse or round, becomes hexadecimal text; a generator as
seed is not kept.
"""

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from numbers import Integral
from typing import Any

from hld.laws.drawn import MOST_RESAMPLES
from hld.laws.named import NULLS, check_null_choice
from hld.tables.schemas.schema import TableSchema
from hld.witnesses.metrics.named import COMBINATIONS, DEFAULT, METRICS, names_in
from pcircuit.arguments import (
    check_choice,
    check_flag,
    check_generator,
    check_number,
    check_numbers,
    check_whole_number,
)
from pcircuit.inference.unit_likelihoods import check_kinds

REFERENCES = ("auto", "training", "held-out", "circuit")
BINS = "bins"
LEAVES = (BINS, "auto", "gaussian", "atoms", "histogram")
COUNTS = {
    "num_latents": 1,
    "num_epochs": 0,
    "num_bins": 2,
    "max_categories": 2,
    "num_resamples": 1,
}  # and the least
LONGEST_SEED = 20  # characters of a whole number as such


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a TypeError or a ValueError for the first option of an `HLDDetector` that cannot be used."""
    plain_params(options)
    check_generator(options["rng"])
    metric = options["metric"]
    names = DEFAULT if isinstance(metric, str) and metric in COMBINATIONS else metric
    several = isinstance(names, (list, tuple)) and all(isinstance(one, str) for one in names)
    check_null_choice(options["null"], options["reference"], len(names) if several else 1)
    if options["leaves"] != BINS and options["covariates"] is not None:
        raise ValueError(
            f"`covariates` are for leaves={BINS!r}, found leaves={options['leaves']!r}: leave one of the two out"
        )


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor parameters of a detector as JSON holds them."""
    return {name: _CHECKS[name](value, name) for name, value in params.items()}


def read_params(form: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters from what `plain_params` gave; raises ValueError or TypeError for anything else."""
    if not isinstance(form, dict) or form.keys() != defaults.keys():
        raise ValueError(
            f"'params' must be a mapping of {', '.join(defaults)}, found {reprlib.repr(form)}"
        )
    params = dict(form)
    for name in ("kinds", "metric"):
        params[name] = tuple(params[name]) if isinstance(params[name], list) else params[name]
    if isinstance(params["rng"], str) and params["rng"].startswith("0x"):
        params["rng"] = int(params["rng"], 16)
    if isinstance(params["schema"], dict):
        params["schema"] = TableSchema.from_dict(params["schema"])
    return params


def _count(value: int, name: str) -> int:
    """A whole number in the range of the parameter."""
    most = MOST_RESAMPLES if name == "num_resamples" else 2**31 - 1
    return check_whole_number(value, name, COUNTS[name], most)


def _choice(known: Iterable[str]) -> Callable[..., Any]:
    """A check for one of some words."""
    return lambda value, name: str(check_choice(value, name, tuple(known)))


def _columns(value: Any, name: str) -> list[Any] | None:
    """Names and positions of columns; whether there are such columns is for the encoder to say."""
    if value is None:
        return None
    if (
        isinstance(value, (str, Iterator))
        or not hasattr(value, "__iter__")
        or getattr(value, "ndim", 1) == 0
    ):
        raise TypeError(f"`{name}` is {value!r}, expected a sequence of column names or positions")
    entries = [
        str(one) if isinstance(one, str) else int(one) if _is_whole(one) else one for one in value
    ]
    odd = [
        one
        for one in entries
        if not isinstance(one, (str, int)) or (isinstance(one, int) and abs(one) >= 2**53)
    ]
    if odd:
        raise TypeError(
            f"`{name}` holds {odd[0]!r}, expected column names (text) or positions (whole numbers)"
        )
    return entries


def _kinds(value: Any, name: str) -> list[str]:
    """Kinds of units; what can be read once is refused, as options are read again and again."""
    if isinstance(value, Iterator):
        raise TypeError(f"`{name}` is {value!r}, expected a sequence of kinds: give a list")
    return [str(kind) for kind in check_kinds(value)]


def _metric(value: Any, name: str) -> Any:
    """A combination, names of metrics, or node weights; whether these fit the nodes is seen later."""
    if isinstance(value, str) and value in COMBINATIONS:
        return str(value)
    expected = (
        f"'auto', 'likelihoods', one of {', '.join(map(repr, METRICS))}, several different ones, or positive "
        "node weights"
    )
    names = names_in(value, expected)
    if names is not None:
        return str(value) if isinstance(value, str) else [str(one) for one in names]
    weights = check_numbers(value, name, expected, above=0)
    if weights.ndim != 1 or not weights.size:
        raise ValueError(f"`{name}` must be {expected}, found shape {weights.shape}")
    return weights.tolist()


def _seed(value: int, name: str) -> Any:
    """A seed that can be kept; None for a generator, and for no seed."""
    if not _is_whole(value):
        return None
    if value < 0:
        raise ValueError(f"`{name}` must be at least 0, found {reprlib.repr(int(value))}")
    return hex(value) if value >= 10**LONGEST_SEED else int(value)


def _schema(value: Any, name: str) -> dict[str, Any] | None:
    """A schema as JSON holds it."""
    if value is not None and not isinstance(value, TableSchema):
        raise TypeError(f"`{name}` must be a TableSchema, found {type(value).__name__}")
    return None if value is None else value.to_dict()


def _is_whole(value: int) -> bool:
    """Whether a value is a whole number, of Python or NumPy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(COUNTS, _count),
    "pseudocount": partial(check_number, least=0),
    # whose product with a distance is finite, too, as that is what a file holds
    "tolerance": partial(check_number, least=0, below=1),
    "estimation_error": check_flag,
    "missingness": check_flag,
    "schema": _schema,
    "categorical": _columns,
    "continuous": _columns,
    "covariates": _columns,
    "kinds": _kinds,
    "metric": _metric,
    "null": _choice(NULLS),
    "reference": _choice(REFERENCES),
    "leaves": _choice(LEAVES),
    "rng": _seed,
}
