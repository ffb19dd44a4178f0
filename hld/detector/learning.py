"""What `HLDDetector.fit` computes, in the order in which it is computed.

    table -> columns                   `hld.tables.cells`              read once
          -> rows to learn from, kept  `variation.clock`        nothing below sees the kept ones but the test
          -> schema, encoder           `schemas.learn_schema`      from the rows to learn from
          -> tree, start values, EM    `pcircuit`                      from the same rows
          -> test, judge               `hld.detector.own_test`          against the kept rows

The table is read once, one tree is learned, and the codes are checked once, by the tree.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.table_facts import table_facts
from hld.detector.estimator import row_offset
from hld.detector.file import check_storable
from hld.detector.odd_columns import examine_columns, warn_of_repeated
from hld.detector.options import BINS
from hld.detector.own_test import build_test, warn_of_few
from hld.features.odd_rows import log_typicality
from hld.features.row_scores import watched_rows
from hld.references.group_statistics import Cells, group_statistics
from hld.tables.cells import Columns, read_table
from hld.tables.column_names import is_sequence
from hld.tables.schemas.counts import reference_rows
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.learn_schema import learn_schema
from hld.tables.schemas.schema import GROUPING, LEFT_OUT, ColumnSchema
from hld.tables.values import is_binned
from hld.testing.conditional.conditional_test import build_judge
from hld.testing.conditional.covariates import covariate_mask
from hld.testing.conditional.held_counts import row_events
from hld.testing.variation.dividing import divide
from hld.witnesses.count_law import with_laws
from hld.witnesses.largest_dependence import with_associations
from pcircuit.arguments import check_generator, check_seed
from pcircuit.inference.densities import bounded
from pcircuit.learning.densities import with_families
from pcircuit.leaves.choice import NAMES, families_of

Learner = Callable[
    [pcircuit.Circuit, np.ndarray, TableEncoder], tuple[pcircuit.Circuit, np.ndarray, int]
]


def learn_detector(
    options: Mapping[str, Any],
    table: Any,
    groups: Any,
    order: str | None,
    progress: bool,
    learner: Learner | None,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """All that a fitted detector holds, by name; `show` is told what is done."""
    rng = check_generator(options["rng"])
    show("reading columns")
    columns = _read(table, groups, order, options)
    at, given = _place(columns, groups), options["schema"]
    grouping: tuple[ColumnSchema, ...] = ()
    # the column of groups takes no part: a batch may have it, and a given schema may be of the whole table
    if at is not None:
        if columns.names is not None:
            grouping = (ColumnSchema(columns.names[at], LEFT_OUT, note=GROUPING, optional=True),)
        if given is not None:
            names = {one.name for one in grouping}
            given = replace(
                given, columns=tuple(one for one in given.columns if one.name not in names)
            )
        roles = {
            role: without_column(options[role], role, columns.names, len(columns.arrays), at)
            for role in ("categorical", "continuous")
        }
        options = {**options, "schema": given, **roles}
    columns, (learned_rows, kept_rows), labels = divide(
        columns, groups, order, options["reference"], rng
    )
    schema = learn_schema(
        columns,
        num_bins=options["num_bins"],
        max_categories=options["max_categories"],
        rows=learned_rows,
        categorical=options["categorical"],
        continuous=options["continuous"],
        given=options["schema"],
    )
    encoder = schema.encoder()
    check_storable(options, schema)
    examine_columns(
        schema, columns, options["schema"], options["categorical"], options["continuous"]
    )
    covariates = covariate_mask(
        encoder.names,
        options["covariates"],
        options["reference"],
        encoder.table_names,
        encoder.derived,
    )
    data, _ = encoder.encode_training(columns)
    if (
        labels is None and order is None
    ):  # whole groups, and stretches of time, may hold rows that are alike
        warn_of_repeated(data)
    kept, new = reference_rows(encoder, columns, data, kept_rows)
    learned = data[learned_rows]
    show(f"dependences of {len(encoder.columns)} columns")
    tree = pcircuit.chow_liu_tree(
        learned, num_categories=encoder.num_categories, pseudocount=options["pseudocount"]
    )
    known = table_facts(encoder, columns, learned_rows, learned if kept is None else kept, tree)
    known["profile"] = with_laws(known["profile"], encoder.columns, kept, covariates)
    learner = _fit_here(options, progress) if learner is None else learner
    start = pcircuit.hclt(
        learned,
        options["num_latents"],
        encoder.num_categories,
        options["pseudocount"],
        rng,
        tree=tree,
    )
    show("")
    circuit, history, num_learned = learner(start, learned, encoder)
    show("rows held out, and what they show of each column and pair")
    known["profile"] = with_associations(known["profile"], circuit, kept)
    further: dict[str, Any] = {}
    watched, own = None, None
    chosen = kept_rows if kept is None or len(kept) < len(data) else np.arange(len(data))
    if kept is not None:
        marks = np.zeros((columns.num_rows, len(encoder.columns)), np.uint8)
        encoder.encode_counting(columns, marks)
        own = marks[chosen]
        watched = watched_rows(circuit, tree, learned, kept, marks=own, ordered=encoder.ordered)
        if covariates is not None:
            odd = watched.scores.odd_bins(kept, own * ~covariates)
            further = {"events": row_events(kept, own, odd)}
        if labels is not None or order is not None:
            numbers = encoder.numbers(columns)
            further = {
                "cells": Cells(numbers[kept_rows], marks[kept_rows]),
                "statistics": group_statistics(
                    encoder.columns,
                    learned,
                    numbers[learned_rows],
                    encoder.ordered,
                    known["profile"].edges,
                    counts_missing=options["missingness"],
                    circuit=circuit,
                ),
            }
    show(f"means, spread and law of {circuit.num_nodes} units")
    densities, tested, rows, num_fitted = None, circuit, kept, num_learned
    if options["leaves"] != BINS:
        numbers = encoder.numbers(columns)
        densities = _densities(options, encoder, circuit, learned, numbers[learned_rows])
        tested, num_fitted = bounded(densities), len(learned)
        rows = None if kept is None else encoder.values(kept, numbers[chosen])
    test = build_test(options, tested, rows, num_fitted, check_seed(rng), encoder.ordered)
    num_train = len(data) + num_learned - len(learned)
    judge = build_judge(
        test, kept, None if labels is None else labels[kept_rows], covariates, order, **further
    )
    warn_of_few(judge, num_train, encoder.names)
    history = np.array(history, dtype=np.float64)  # a learner keeps its own
    history.flags.writeable = False
    offset = row_offset(log_typicality(circuit, learned if kept is None else kept, own))
    schema = replace(schema, columns=schema.columns + grouping)
    return {
        "schema": schema,
        "circuit": circuit,
        "densities": densities,
        "test": test,
        "judge": judge,
        "history": history,
        "num_train": num_train,
        "offset": offset,
        "new_values": new,
        "watched": watched,
        **known,
    }


def _read(table: Any, groups: Any, order: str | None, options: Mapping[str, Any]) -> Columns:
    """The columns of a table of two or more rows, if the requested options are compatible."""
    columns = read_table(table)
    if columns.num_rows == 1:
        raise ValueError(
            "`table` has 1 row: one sample is too few to learn a distribution of, give at least two"
        )
    if (groups is not None or order is not None) and options["covariates"] is not None:
        raise ValueError(
            f"`{'order' if groups is None else 'groups'}` and `covariates` answer different questions"
            ": fit one detector for each"
        )
    named = [
        name
        for name, value in (
            ("groups", groups),
            ("order", order),
            ("covariates", options["covariates"]),
        )
        if value is not None
    ]
    if options["leaves"] != BINS and named:
        raise ValueError(
            f"`{named[0]}` is for leaves={BINS!r}, found leaves={options['leaves']!r}: densities test batches "
            "of independent rows"
        )
    if options["tolerance"] and named:
        raise ValueError(
            f"`tolerance` is for batches of independent rows: with `{named[0]}` no drift is tolerated, so "
            f"leave one of the two out, found tolerance={options['tolerance']!r}"
        )
    return columns


def _place(columns: Columns, groups: Any) -> int | None:
    """The position of the column of a table that names the groups; None if none does."""
    names = columns.names or ()
    at = names.index(groups) if isinstance(groups, str) and groups in names else groups
    is_place = isinstance(at, (int, np.integer)) and not isinstance(at, bool)
    return int(at) if is_place and 0 <= at < len(columns.arrays) else None


def _densities(
    options: Mapping[str, Any],
    encoder: TableEncoder,
    circuit: pcircuit.Circuit,
    codes: np.ndarray,
    numbers: np.ndarray,
) -> pcircuit.Circuit:
    """The circuit with densities in place of bins, fitted by EM; shapes codes, numbers (n, V)."""
    values = encoder.values(codes, numbers)
    leaves = NAMES["atoms" if options["leaves"] == "auto" else options["leaves"]]  # or no atoms
    given = [
        leaves if is_binned(column) else region.leaves
        for column, region in zip(encoder.columns, circuit.inputs, strict=True)
    ]
    start = with_families(circuit, values, codes, families_of(given, values))
    found, _ = pcircuit.fit_em(
        start, values, num_epochs=options["num_epochs"], pseudocount=options["pseudocount"]
    )
    return found


def _fit_here(options: Mapping[str, Any], progress: bool) -> Learner:
    """A learner that fits the parameters by EM in this process."""

    def learner(
        start: pcircuit.Circuit, learned: np.ndarray, encoder: TableEncoder
    ) -> tuple[pcircuit.Circuit, np.ndarray, int]:
        circuit, history = pcircuit.fit_em(
            start,
            learned,
            num_epochs=options["num_epochs"],
            progress=progress,
            pseudocount=options["pseudocount"],
        )
        return circuit, history, len(learned)

    return learner


def without_column(
    chosen: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int
) -> Any:
    """Columns that are chosen in a table, as they are chosen in the table without one of its columns."""
    if chosen is None or not is_sequence(chosen):
        return chosen
    return [_position_without(one, argument, names, num_columns, at) for one in chosen]


def _position_without(
    one: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int
) -> Any:
    """One of them: a position, or a name where the table has names."""
    if isinstance(one, (str, bool, np.bool_)):
        return one
    try:
        position = operator.index(one)
    except TypeError:
        return one
    if not 0 <= position < num_columns:
        raise ValueError(
            f"`{argument}` holds position {position}, expected 0..{num_columns - 1}: whole numbers are "
            "positions, names are given as text"
        )
    if position == at:
        raise ValueError(
            f"`{argument}` holds position {position}, the column of `groups`, which is not learned: leave "
            "it out"
        )
    return names[position] if names is not None else position - (position > at)
