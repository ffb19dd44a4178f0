"""``hld fit`` and ``hld info``: make a model file, and say what is in one."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any


def fit(args: argparse.Namespace) -> int:
    """Learn a table and write the model file."""
    from hld.command.console.csv_files import read_training
    from hld.command.console.output import check_output, print_text
    from hld.command.console.reading import reading_options
    from hld.command.console.steps import LOG, step
    from hld.detector import HLDDetector

    target = check_output(args.output, (args.table, args.schema))
    detector = HLDDetector(
        num_latents=args.num_latents,
        num_epochs=args.num_epochs,
        num_bins=args.num_bins,
        categorical=args.categorical,
        continuous=args.continuous,
        rng=args.seed,
        metric=args.metric,
        covariates=args.covariates,
        schema=(given := _schema(args)),
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
            kinds=_kinds(args, given),
        )
    LOG.info("learning %d of %d rows", len(table), num_rows)
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
    from hld.schemas.learn_schema import calendar_columns
    from hld.schemas.schema import LEFT_OUT, ColumnSchema, TableSchema

    given = None if args.schema is None else _read_schema(args.schema)
    dates = [column for name in args.calendar or () for column in calendar_columns(name)]
    if not dates and not args.drop:
        return given
    known = () if given is None else given.columns
    left_out = [
        ColumnSchema(name, LEFT_OUT, note="not read (--drop)") for name in args.drop
    ]  # batches may have them
    about: dict[str, Any] = {}
    for column in (*known, *left_out, *dates):
        about[column.name] = column  # what is said last holds
    return TableSchema(tuple(about.values()))


def _kinds(args: argparse.Namespace, given: Any) -> dict[str, str]:
    """What columns are said to be."""
    known = () if given is None else given.columns
    return {
        **{one.name: one.kind for one in known},
        **dict.fromkeys(args.continuous or (), "continuous"),
        **dict.fromkeys(args.categorical or (), "categorical"),
    }


def _read_schema(path: Any) -> Any:
    """The schema in a JSON file."""
    from hld.schemas.schema import TableSchema
    from hld.tables.column_names import distinct_names

    try:
        with open(path, encoding="utf-8-sig") as file:
            return TableSchema.from_dict(json.load(file, object_pairs_hook=distinct_names))
    except RecursionError:
        raise ValueError(f"cannot read the schema {path!r}: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"cannot read the schema {path!r}: {error}") from None


def info(args: argparse.Namespace) -> int:
    """Print what a model file holds."""
    from hld.command.console.output import print_json, print_text
    from hld.command.console.reading import load_model

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
