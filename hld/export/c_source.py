"""A test as one file of C99 that needs only the mathematics library.

Numbers are written in hexadecimal, which C99 reads without rounding.  Names of columns and levels appear in comments,
escaped so that they are ASCII and cannot end a comment.  The program itself is `program.c`.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

import numpy as np

import pcircuit
from hld.export.plan import Plan, plan_of
from hld.nulls.joint import RESOLVED

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
    """The source of a fitted detector's test; see `hld.export.plan` for what it computes."""
    plan = plan_of(detector)
    program = (
        importlib.resources.files("hld.export").joinpath("program.c").read_text(encoding="ascii")
    )
    return "\n".join([*_head(plan), *_data(plan), "", program])


def _head(plan: Plan) -> list[Any]:
    """What the file is, and what the codes of each column mean."""
    lines = [
        f"/* Written by hld {pcircuit.__version__}.  Compile: cc -std=c99 -O2 -c FILE.c, and link with -lm.",
        " *",
        " * Columns and their codes:",
    ]
    for v, column in enumerate(plan.columns):
        lines.append(
            f" * {v}  {_quoted(column.name)} ({column.kind}): {column.num_categories} codes"
        )
        levels = getattr(column, "levels", None)
        if levels is not None:
            lines += [f" *      {code}: {_quoted(level)}" for code, level in enumerate(levels)]
        edges = getattr(column, "edges", None)
        if edges is not None:
            lines.append(
                f" *      bins between {', '.join(f'{edge!r}' for edge in np.asarray(edges).tolist())}"
            )
    return [*lines, " */", "#include <math.h>", ""]


def _quoted(value: Any) -> str:
    """A value in ASCII that can stand in a comment: no trigraph, no end of it."""
    text = json.dumps(value if isinstance(value, (str, int, float, bool)) else str(value))
    return text.replace("*/", "*\\u002f").replace("?", "\\u003f").replace("/*", "\\u002f*") + " "


def _data(plan: Plan) -> list[Any]:
    """The arrays."""
    most = max([1, *(len(one.eigenvalues) for one in plan.metrics)])
    sizes = {
        "COLUMNS": len(plan.columns),
        "NODES": len(plan.kinds),
        "MEANS": len(plan.chosen),
        "METRICS": len(plan.metrics),
        "TRAIN": plan.num_train,
        "LEAST_ROWS": plan.least_rows,
        "DRAWS": len(plan.joint),
        "RESOLVED": RESOLVED,
        "MOST_EIGENVALUES": most,
        "POINTS": POINTS,
    }
    lines = [f"#define HLD_{name} {value}" for name, value in sizes.items()]
    lines += [
        f"#define HLD_{name} {value!r}"
        for name, value in (("REACH", REACH), ("COS", COS), ("SIN", SIN), ("WIDEST", WIDEST))
    ] + [""]
    lines += _array("int", "HLD_CATEGORIES", [column.num_categories for column in plan.columns])
    lines += _array("signed char", "HLD_KINDS", plan.kinds)
    lines += _array("int", "HLD_STARTS", plan.starts)
    lines += _array("int", "HLD_CHILDREN", plan.children)
    lines += _array("double", "HLD_WEIGHTS", plan.weights)
    lines += _array("int", "HLD_CHOSEN", plan.chosen)
    lines += _array("double", "HLD_MEAN", plan.mean)
    if len(plan.joint):
        lines += _array("float", "HLD_JOINT", plan.joint)
    lines += [
        "struct hld_metric { const char *name; int rows, eigenvalues; const int *start, *place;",
        "    const double *value, *eigenvalue, *multiplicity; double round_off, excess, most_scale; };",
    ]
    for i, one in enumerate(plan.metrics):
        for kind, name, values in (
            ("int", "START", one.starts),
            ("int", "PLACE", one.places),
            ("double", "VALUE", one.values),
            ("double", "EIGENVALUE", one.eigenvalues),
            ("double", "MULTIPLICITY", one.multiplicities),
        ):
            lines += _array(kind, f"HLD_{name}_{i}", values)
    lines.append("static const struct hld_metric HLD_METRIC[] = {")
    for i, one in enumerate(plan.metrics):
        numbers = ", ".join(_number(float(x)) for x in (one.round_off, one.excess, one.most_scale))
        arrays = ", ".join(
            f"HLD_{name}_{i}" for name in ("START", "PLACE", "VALUE", "EIGENVALUE", "MULTIPLICITY")
        )
        lines.append(
            f'    {{"{one.name}", {len(one.starts) - 1}, {len(one.eigenvalues)}, {arrays}, {numbers}}},'
        )
    return [*lines, "};"]


def _array(kind: str, name: str, values: Any) -> list[Any]:
    """The definition of an array; one without entries gets one, as C has no empty ones."""
    texts = [_number(x) for x in np.asarray(values).tolist()] or ["0"]
    rows = [
        ", ".join(texts[start : start + ON_A_LINE]) for start in range(0, len(texts), ON_A_LINE)
    ]
    return [f"static const {kind} {name}[] = {{", *(f"    {row}," for row in rows), "};"]


def _number(x: Any) -> str:
    """A number that C reads as it is."""
    return x.hex() if isinstance(x, float) else str(x)
