"""``hld sample`` and ``hld demo``: rows drawn from a model, and the method on handwritten digits."""

from __future__ import annotations

import argparse
import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

ENGINE = "PCIRCUIT_ENGINE"  # environment variable
MANY_EMPTY, LEAST_EMPTY = (
    0.02,
    5,
)  # share and number of the cells of a column from which they are told
MOST = 8  # columns that are named


def sample(args: argparse.Namespace) -> int:
    """Write rows drawn from a model as CSV, and how good they are."""
    from hld.command.console.csv_files import write_rows
    from hld.command.console.output import check_outputs
    from hld.command.console.reading import load_model
    from hld.command.console.steps import step

    output = None if args.output == "-" else args.output
    check_outputs(
        [path for path in (output, args.report) if path is not None],
        (args.model, args.real, args.training),
    )
    if args.report is None and (args.real or args.training):
        raise ValueError("--real and --training are for the page of --report: give it, too")
    if args.report is not None and args.where is not None:
        raise ValueError(
            "--report compares with the whole table, and --where draws a part of it: leave one out"
        )
    detector = load_model(args.model)
    with step(f"drawing {args.num_rows} rows"):
        rows = detector.sample(args.num_rows, where=args.where, rng=args.seed)
    _warn_of_empty(detector.encoder_.columns, rows)
    if args.report is not None:
        _write_report(args, detector, rows)
    write_rows(detector.encoder_.names, rows, output, args.sep or ",")
    return 0


def _warn_of_empty(columns: tuple[Any, ...], rows: Any) -> None:
    """Warn of columns with many empty cells, which would be taken for missing; not of those that training had empty."""
    counts = {
        column.name: sum(cell is None for cell in cells)
        for column, cells in zip(columns, rows.T, strict=True)
        if getattr(column, "levels", None) != ()
    }
    empty = [
        f"{name!r} ({100 * count / len(rows):.0f}%)"
        for name, count in counts.items()
        if count >= max(LEAST_EMPTY, MANY_EMPTY * len(rows))
    ]
    if empty:
        warnings.warn(
            "rare levels and new ones, of which the model holds no text, are drawn as empty cells: in "
            f"{', '.join(empty[:MOST])}{' and others' if len(empty) > MOST else ''}",
            UserWarning,
            stacklevel=3,
        )


def _write_report(args: argparse.Namespace, detector: Any, rows: Any) -> None:
    """The page on how good drawn rows are."""
    import pathlib

    from hld.command.console.csv_files import read_batch
    from hld.command.console.steps import step
    from hld.reports.page import write_page
    from hld.reports.quality import sample_quality
    from hld.reports.quality_report import quality_report
    from hld.table_files.dialect import ReadOptions

    real, training = (
        None if path is None else read_batch(path, detector.encoder_, ReadOptions(args.sep))
        for path in (args.real, args.training)
    )
    with step(f"comparing, and writing {args.report}"):
        quality = sample_quality(detector, rows, real=real, training=training, rng=args.seed)
        write_page(quality_report(quality, model_name=pathlib.Path(args.model).name), args.report)


def demo(args: Any) -> int:
    """Train on one handwritten digit, test batches of all, draw a picture."""
    from hld.command.console.output import check_output, print_json, print_table, print_text
    from hld.command.models.demo import draw, run, summary

    check_output(args.output)
    with _plain_engine():
        shown = run(args.digit, args.seed, progress=True)
    draw(shown, args.output)
    if args.json:
        print_json(shown.to_dict() | {"picture": args.output})
        return 0
    print_table(
        ("digit", "T", "distance", "threshold", "p-value", "verdict"),
        [
            (
                digit,
                result.num_samples,
                result.statistic,
                result.threshold,
                result.pvalue,
                ("shift" if result.reject else "no shift") + ("" if right else "  (wrong)"),
            )
            for digit, result, right in shown.trials
        ],
    )
    print_text(f"{summary(shown)}\npicture in {args.output}")
    return 0


@contextlib.contextmanager
def _plain_engine() -> Iterator[Any]:
    """NumPy instead of Numba, unless the user has chosen: for 90 rows, compiling would take longest."""
    if ENGINE in os.environ:
        yield
        return
    os.environ[ENGINE] = "numpy"
    try:
        yield
    finally:
        del os.environ[ENGINE]
