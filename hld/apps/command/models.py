"""The commands that make a model file, and those that ask one: fit, info, plan, sample, diff, export."""

import argparse
import json
import warnings
from dataclasses import replace
from typing import Any

from hld.answers.column_shifts import percent
from hld.answers.models import compare_models
from hld.apps.command.output import (
    LOG,
    check_output,
    print_json,
    print_result,
    print_table,
    print_text,
    step,
)
from hld.apps.command.reading import (
    check_edits,
    load_model,
    reading_options,
    write_rows,
)
from hld.apps.export.c_source import c_source
from hld.apps.export.onnx_graph import onnx_model
from hld.detector.detector import HLDDetector
from hld.tables.drawing import as_learned, draw_rows
from hld.tables.files.files import read_training
from hld.tables.schemas.learn_schema import calendar_columns
from hld.tables.schemas.schema import LEFT_OUT, ColumnSchema, TableSchema
from hld.tables.shown_names import listed
from hld.testing.planning.of_tables import plan as planned
from pcircuit.io.archive import distinct_names
from pcircuit.io.whole_file import replace_file

MANY_EMPTY = 0.02  # share of the cells of a column from which they are told
LEAST_EMPTY = 5  # number of them
MOST = 8  # columns that are named


def fit(args: argparse.Namespace) -> int:
    """Learn a table and write the model file."""
    target = check_output(args.output, (args.table, args.schema))
    detector = HLDDetector(
        num_latents=args.num_latents,
        num_epochs=args.num_epochs,
        num_bins=args.num_bins,
        leaves=args.leaves,
        categorical=args.categorical,
        continuous=args.continuous,
        rng=args.seed,
        metric=args.metric,
        covariates=args.covariates,
        schema=_schema(args),
    )
    options = reading_options(args)
    # dates that give their calendar are read for it, and not learned, so that --drop says nothing new of them
    options = replace(
        options, drop=tuple(name for name in options.drop if name not in (args.calendar or ()))
    )
    with step(f"reading {args.table}"):
        table, num_rows = read_training(
            args.table,
            options,
            max_rows=args.max_rows,
            seed=args.seed,
            is_series=args.order is not None,
        )
    LOG.info("learning from %d rows", num_rows)
    detector.fit(table, groups=args.groups, order=args.order, progress=True)
    with step(f"writing {args.output}"):
        detector.save(target)
    count = len(detector.encoder_.columns)
    which = "a sample" if args.order is None else "the last"
    sampled = f" ({which} of {num_rows})" if num_rows > detector.num_train_ else ""
    print_text(
        f"fitted {detector.num_train_} rows{sampled} of {count} column{'s' * (count != 1)}: mean "
        f"log-likelihood {detector.history_[-1]:.4f} nats per row, model in {args.output}"
    )
    return 0


def _schema(args: argparse.Namespace) -> Any:
    """What is known of the columns before the table is read; None for nothing."""
    given: tuple[ColumnSchema, ...] = ()
    if args.schema is not None:
        try:
            with open(args.schema, encoding="utf-8-sig") as file:
                found = json.load(file, object_pairs_hook=distinct_names)
            given = TableSchema.from_dict(found).columns
        except (RecursionError, ValueError) as error:
            raise ValueError(f"cannot read the schema {args.schema!r}: {error}") from None
    dates = [column for name in args.calendar or () for column in calendar_columns(name)]
    # batches may have columns that are not read
    left_out = [ColumnSchema(name, LEFT_OUT, note="not read (--drop)") for name in args.drop]
    about = {one.name: one for one in (*given, *left_out, *dates)}  # what is said last holds
    return TableSchema(tuple(about.values())) if about else None


def info(args: argparse.Namespace) -> int:
    """Print what a model file holds."""
    detector = load_model(args.model)
    if not args.json:
        print_text(detector.describe())
        return 0
    columns, circuit, test = detector.encoder_.columns, detector.circuit_, detector.test_
    print_json(
        {
            "num_train": detector.num_train_,
            "log_likelihood": detector.history_[-1],
            "columns": [
                {"name": column.name, "kind": column.kind, "num_categories": column.num_categories}
                for column in columns
            ],
            "circuit": {"num_variables": circuit.num_variables, "num_units": circuit.num_nodes},
            "test": {
                "num_nodes": len(test.nodes),
                "null": test.null,
                "reference": test.reference,
                "num_train": test.num_train,
            },
            "params": detector.get_params(),
        }
    )
    return 0


def plan(args: Any) -> int:
    """What a model will find with a given number of rows a day, and when."""
    detector = load_model(args.model)
    edits = check_edits(args.edit, detector)
    found = planned(detector, args.rows_per_day, edits, args.power, args.alpha, progress=True)
    print_result(found, args.json)
    return 0


def diff(args: argparse.Namespace) -> int:
    """Compare two model files."""
    found = compare_models(load_model(args.first), load_model(args.second))
    if args.json:
        print_json(found.to_dict())
        return 0
    print_text(found.headline())
    print_table(
        ("column", "rows that differ", "where most"),
        [
            (one.name, "-" if one.distance is None else percent(one.distance), one.describe())
            for one in found.columns
        ],
    )
    return 0


def export(args: Any) -> int:
    """Write the file, or both."""
    wanted = [path for path in (args.c, args.onnx) if path is not None]
    if not wanted:
        raise ValueError("nothing to write: give --c FILE.c, --onnx FILE.onnx, or both")
    targets = [check_output(path, [args.model]) for path in wanted]
    detector, contents = load_model(args.model), []
    with step(f"writing {' and '.join(wanted)}"):
        if args.c is not None:
            contents.append(c_source(detector).encode("ascii"))
        if args.onnx is not None:
            contents.append(onnx_model(detector).SerializeToString())
    for path, content in zip(targets, contents, strict=True):
        with replace_file(path) as file:
            file.write(content)
        print_text(f"wrote {path}: {len(content):,} bytes")
    return 0


def sample(args: argparse.Namespace) -> int:
    """Write rows drawn from a model as CSV."""
    output = None if args.output == "-" else args.output
    if output is not None:
        check_output(output, [args.model])
    detector = load_model(args.model)
    with step(f"drawing {args.num_rows} rows"):
        rows = draw_rows(
            detector.circuit_,
            detector.encoder_.columns,
            detector.values_,
            args.num_rows,
            where=args.where,
            rng=args.seed,
        )
    _warn_of_empty(detector.encoder_.columns, rows)
    names, cells = as_learned(detector.encoder_, detector.values_, rows)
    write_rows(names, cells, output)
    return 0


def _warn_of_empty(columns: tuple[Any, ...], rows: Any) -> None:
    """Warn of columns with many empty cells, which would be taken for missing; not of those that training had empty."""
    least = max(LEAST_EMPTY, MANY_EMPTY * len(rows))
    counts = [sum(cell is None for cell in cells) for cells in rows.T]
    empty = [
        one.name
        for one, count in zip(columns, counts, strict=True)
        if count >= least and getattr(one, "levels", None) != ()
    ]
    if empty:
        warnings.warn(
            "rare levels and new ones, of which the model holds no text, are drawn as empty cells: in "
            f"{listed(empty, MOST)}",
            UserWarning,
            stacklevel=3,
        )
