"""A test as one file of C99 that needs only the mathematics library.

Numbers are written in hexadecimal, which C99 reads without rounding.  Names of columns and levels appear in comments,
escaped so that they are ASCII and cannot end a comment.  The program itself is `program.c`.
"""

import importlib.resources
import json
from typing import Any

import numpy as np

import pcircuit
from hld.apps.export.plan import MetricPlan, Plan, plan_of
from hld.laws.joint import RESOLVED

POINTS, REACH = (
    320,
    20.0,
)  # of the integral: halving the step, or going further, changes nothing but rounding
COS, SIN, WIDEST = (
    0.5,
    0.75**0.5,
    8**0.5,
)  # of the angle of its hyperbola; most of its size over the gap to the cut
ON_A_LINE = 8


def c_source(detector: Any) -> str:
    """The source of a fitted detector's test; see `hld.apps.export.plan` for what it computes."""
    plan = plan_of(detector)
    program = (
        importlib.resources.files("hld.apps.export")
        .joinpath("program.c")
        .read_text(encoding="ascii")
    )
    return "\n".join([*_head(plan), *_data(plan), "", program])


def _head(plan: Plan) -> list[Any]:
    """What the file is, and what the codes of each column mean."""
    lines = [
        f"/* Written by hld {pcircuit.__version__}.  Compile: cc -std=c99 -O2 -c FILE.c, and link with -lm.",
        " *",
        f" * Witnesses: {', '.join(plan.witnesses)}.",
        " *",
        " * Columns and their codes; -1 is a cell that is missing:",
    ]
    for v, column in enumerate(plan.columns):
        lines.append(
            f" * {v}  {_quoted(column.name)} ({column.kind}): {column.num_categories} codes"
        )
        levels = getattr(column, "levels", None)
        if levels is not None:
            lines += [f" *      {code}: {_quoted(level)}" for code, level in enumerate(levels)]
            if column.rare:
                lines.append(f" *      {len(levels)}: one of the rare levels of training")
            lines.append(f" *      {column.num_categories - 1}: any other")
        edges = getattr(column, "edges", None)
        if edges is not None:
            lines.append(
                f" *      bins between {', '.join(f'{edge!r}' for edge in np.asarray(edges).tolist())}; "
                f"{column.num_categories}: less than {column.marks[0]!r}, "
                f"{column.num_categories + 1}: more than {column.marks[-1]!r}"
            )
    return [*lines, " */", "#include <math.h>", "#include <stdlib.h>", ""]


def _quoted(value: Any) -> str:
    """A value in ASCII that can stand in a comment: no trigraph, no end of it."""
    text = json.dumps(value if isinstance(value, (str, int, float, bool)) else str(value))
    return text.replace("*/", "*\\u002f").replace("?", "\\u003f").replace("/*", "\\u002f*") + " "


def _data(plan: Plan) -> list[str]:
    """Constants and arrays, and those of the metrics in one array of structures."""
    constants = {
        **plan.numbers,
        "resolved": RESOLVED,
        "points": POINTS,
        "reach": REACH,
        "cos": COS,
        "sin": SIN,
        "widest": WIDEST,
    }
    lines = [f"#define HLD_{name.upper()} {_number(x)}" for name, x in constants.items()]
    lines.append(f'#define HLD_WITNESSES "{", ".join(plan.witnesses)}"')
    for name, values in plan.arrays.items():
        lines.append(f"#define HLD_NUM_{name.upper()} {len(values)}")
        if values.ndim == 2:  # symmetric
            values = values[np.tril_indices(len(values))]
        if len(values) or name != "joint":
            lines += _array(f"HLD_{name.upper()}", values)
    first, entries = plan.metrics[0], []
    lines += [
        "struct hld_metric {",
        "    const char *name;",
        "    int rows, eigenvalues;",
        *(f"    const {_kind(values)} *{name};" for name, values in _arrays_of(first).items()),
        *(
            f"    {'int' if isinstance(x, int) else 'double'} {name};"
            for name, x in first.numbers.items()
        ),
        "};",
    ]
    for i, one in enumerate(plan.metrics):
        sizes = f'"{one.name}", {len(one.matrix)}, {len(one.arrays["eigenvalue"])}'
        arrays = {f"HLD_{name.upper()}_{i}": values for name, values in _arrays_of(one).items()}
        for name, values in arrays.items():
            lines += _array(name, values)
        entries.append(
            f"    {{{', '.join([sizes, *arrays, *map(_number, one.numbers.values())])}}},"
        )
    return [*lines, "static const struct hld_metric HLD_METRIC[] = {", *entries, "};"]


def _arrays_of(metric: MetricPlan) -> dict[str, np.ndarray]:
    """The arrays of a metric, and the entries of its matrix that are not 0, row by row."""
    rows, places = np.nonzero(metric.matrix)
    starts = np.searchsorted(rows, np.arange(len(metric.matrix) + 1))
    entries = {"start": starts, "place": places, "value": metric.matrix[rows, places]}
    return entries | metric.arrays


def _kind(values: np.ndarray) -> str:
    """The type of an array in C."""
    return "int" if values.dtype.kind in "iu" else "float" if values.itemsize == 4 else "double"


def _array(name: str, values: np.ndarray) -> list[str]:
    """The definition of an array; one without entries gets one, as C has no empty ones."""
    texts = [_number(x) for x in values.tolist()] or ["0"]
    rows = [
        ", ".join(texts[start : start + ON_A_LINE]) for start in range(0, len(texts), ON_A_LINE)
    ]
    return [f"static const {_kind(values)} {name}[] = {{", *(f"    {row}," for row in rows), "};"]


def _number(x: float) -> str:
    """A number that C reads as it is."""
    return x.hex() if isinstance(x, float) else str(x)
