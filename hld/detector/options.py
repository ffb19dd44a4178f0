"""The constructor parameters of a detector: checked before anything is learned, and in the form that JSON can hold.

What a detector is fitted with must also fit into its file, so one check serves both: `plain_params` gives text,
numbers, flags, lists and None, or says which parameter has a value that is none of these.  NumPy scalars become plain
numbers.  A generator as seed is not kept, nor a seed of more than 64 bits, which JSON readers refuse or round.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from numbers import Integral
from typing import Any

from hld.laws.drawn import MOST_RESAMPLES
from hld.laws.named import NULLS, check_null_choice
from hld.tables.column_names import is_sequence
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
MOST = 2**31 - 1


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a TypeError or a ValueError for the first option of an `HLDDetector` that cannot be used."""
    plain_params(options)
    check_generator(options["rng"])
    metric = options["metric"]
    names = DEFAULT if isinstance(metric, str) and metric in COMBINATIONS else metric
    several = isinstance(names, (list, tuple)) and all(isinstance(one, str) for one in names)
    check_null_choice(options["null"], options["reference"], len(names) if several else 1)


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor parameters of a detector as JSON holds them."""
    return {name: CHECKS[name](value, name) for name, value in params.items()}


def read_params(form: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters from what `plain_params` gave; raises ValueError or TypeError for anything else."""
    if not isinstance(form, dict) or form.keys() != defaults.keys():
        raise ValueError(
            f"'params' must be a mapping of {', '.join(defaults)}, found {reprlib.repr(form)}"
        )
    params = dict(form)
    for name in ("kinds", "metric"):
        params[name] = tuple(params[name]) if isinstance(params[name], list) else params[name]
    if params["schema"] is not None:
        params["schema"] = TableSchema.from_dict(params["schema"])
    return params


def _columns(value: Any, name: str) -> list[Any] | None:
    """Names and positions of columns; whether there are such columns is for the encoder to say."""
    if value is None:
        return None
    if isinstance(value, Iterator) or not is_sequence(value):
        raise TypeError(f"`{name}` is {value!r}, expected a sequence of column names or positions")
    for one in value:
        if not isinstance(one, str) and not _is_whole(one):
            raise TypeError(
                f"`{name}` holds {one!r}, expected column names (text) or positions (whole numbers)"
            )
    return [str(one) if isinstance(one, str) else int(one) for one in value]


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


def _seed(value: Any, name: str) -> int | None:
    """A seed that can be kept; None for a generator, and for no seed."""
    return int(value) if _is_whole(value) and value < 2**64 else None


def _schema(value: Any, name: str) -> dict[str, Any] | None:
    """A schema as JSON holds it."""
    if value is not None and not isinstance(value, TableSchema):
        raise TypeError(f"`{name}` must be a TableSchema, found {type(value).__name__}")
    return None if value is None else value.to_dict()


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or NumPy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


CHECKS: dict[str, Callable[..., Any]] = {
    "num_latents": partial(check_whole_number, least=1, most=MOST),
    "num_epochs": partial(check_whole_number, least=0, most=MOST),
    "num_bins": partial(check_whole_number, least=2, most=MOST),
    "max_categories": partial(check_whole_number, least=2, most=MOST),
    "num_resamples": partial(check_whole_number, least=1, most=MOST_RESAMPLES),
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
    "null": lambda value, name: check_choice(value, name, tuple(NULLS)),
    "reference": partial(check_choice, options=REFERENCES),
    "leaves": partial(check_choice, options=LEAVES),
    "rng": _seed,
}
