"""What `HLDDetector.fit` computes, in the order in which it is computed.

    table -> columns                   `hld.tables.cells`              read once
          -> rows to learn from, kept  `variation.dividing`            nothing below sees the kept ones but the test
          -> schema, encoder           `schemas.learn_schema`      from the rows to learn from
          -> tree, start values, EM    `pcircuit`                      from the same rows
          -> test, judge               `hld.testing`                   against the kept rows

The table is read once, one tree is learned, and the codes are checked once, by the tree.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.table_facts import table_facts
from hld.answers.words import least_text
from hld.detector.odd_columns import examine_columns, warn_of_repeated
from hld.detector.options import BINS
from hld.features.odd_rows import log_typicality
from hld.features.row_scores import watched_rows
from hld.references.group_statistics import Cells, group_statistics
from hld.tables.cells import Columns, read_table
from hld.tables.schemas.counts import reference_rows
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.learn_schema import learn_schema
from hld.tables.schemas.schema import GROUPING, LEFT_OUT, ColumnSchema
from hld.tables.shown_names import listed
from hld.tables.values import is_binned
from hld.testing.conditional.conditional_test import build_judge
from hld.testing.conditional.covariates import covariate_mask, row_events
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.variation.dividing import divide
from hld.witnesses.count_law import with_laws
from hld.witnesses.largest_dependence import with_associations
from hld.witnesses.metrics.named import COMBINATIONS, default_metrics
from pcircuit.arguments import check_generator, check_seed, check_whole_number
from pcircuit.inference.densities import bounded
from pcircuit.learning.densities import with_families
from pcircuit.leaves.choice import NAMES, families_of

Learner = Callable[
    [pcircuit.Circuit, np.ndarray, TableEncoder], tuple[pcircuit.Circuit, np.ndarray, int]
]
SHOWN_NAMES = 5
SUPPORTED_LEVEL = 0.05  # below the smallest p-value of a single row `fit` warns
ODD_SHARE = 0.05  # of rows that follow the reference, at most, which `predict` calls odd
ROUNDED = 1e-9  # of a log-likelihood: its last digits differ from one engine, and from one processor, to the next


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
            role: without_column(options[role], role, columns, at)
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
    if labels is None and order is None:  # groups and stretches of time may hold equal rows
        warn_of_repeated(data)
    kept, new = reference_rows(encoder, columns, data, kept_rows)
    learned = data[learned_rows]
    show(f"dependences of {len(encoder.columns)} columns")
    tree = pcircuit.chow_liu_tree(
        learned, num_categories=encoder.num_categories, pseudocount=options["pseudocount"]
    )
    known = table_facts(encoder, columns, learned_rows, learned if kept is None else kept, tree)
    known["profile"] = with_laws(known["profile"], encoder.columns, kept, covariates)
    epochs = {"num_epochs": options["num_epochs"], "pseudocount": options["pseudocount"]}
    start = pcircuit.hclt(
        learned,
        options["num_latents"],
        encoder.num_categories,
        options["pseudocount"],
        rng,
        tree=tree,
    )
    show("")
    if learner is None:
        circuit, history = pcircuit.fit_em(start, learned, progress=progress, **epochs)
        num_learned = len(learned)
    else:
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
        values = encoder.values(learned, numbers[learned_rows])
        begun = _with_densities(options["leaves"], encoder, circuit, learned, values)
        densities, _ = pcircuit.fit_em(begun, values, **epochs)
        tested, num_fitted = bounded(densities), len(learned)
        rows = None if kept is None else encoder.values(kept, numbers[chosen])
    test = build_test(options, tested, rows, num_fitted, check_seed(rng), encoder.ordered)
    num_train = len(data) + num_learned - len(learned)
    labels = None if labels is None else labels[kept_rows]
    judge = build_judge(test, kept, labels, covariates, order, **further)
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
    ways = {"groups": groups, "order": order, "covariates": options["covariates"]}
    named = [name for name, value in ways.items() if value is not None]
    if len(named) > 1 and "covariates" in named:
        raise ValueError(
            f"`{named[0]}` and `covariates` answer different questions: fit one detector for each"
        )
    for name, usual in (("leaves", BINS), ("tolerance", 0.0)):
        if named and options[name] != usual:
            raise ValueError(
                f"`{name}` is for batches of independent rows, found {options[name]!r} with `{named[0]}`: "
                "leave one of the two out"
            )
    return columns


def _place(columns: Columns, groups: Any) -> int | None:
    """The position of the column of a table that names the groups; None if none does."""
    names = columns.names or ()
    at = names.index(groups) if isinstance(groups, str) and groups in names else groups
    is_place = isinstance(at, (int, np.integer)) and not isinstance(at, bool)
    return int(at) if is_place and 0 <= at < len(columns.arrays) else None


def without_column(chosen: Any, argument: str, columns: Columns, at: int) -> list[Any] | None:
    """Columns that are chosen in a table, as they are chosen in the table without one of its columns."""
    if chosen is None:
        return None
    rest: list[Any] = []
    for one in chosen:
        if not isinstance(one, str):
            check_whole_number(one, f"{argument}[{len(rest)}]", 0, len(columns.arrays) - 1)
            if one == at:
                raise ValueError(
                    f"`{argument}` holds position {one}, the column of `groups`, which is not learned: leave "
                    "it out"
                )
            one = one - (one > at) if columns.names is None else columns.names[one]
        rest.append(one)
    return rest


def _with_densities(
    leaves: str, encoder: TableEncoder, circuit: pcircuit.Circuit, codes: np.ndarray, values: Any
) -> pcircuit.Circuit:
    """The circuit with densities in place of bins; shapes codes, values (n, V)."""
    family = NAMES["atoms" if leaves == "auto" else leaves]  # or no atoms
    given = [
        family if is_binned(column) else region.leaves
        for column, region in zip(encoder.columns, circuit.inputs, strict=True)
    ]
    return with_families(circuit, values, codes, families_of(given, values))


def build_test(
    options: Mapping[str, Any],
    circuit: pcircuit.Circuit,
    kept: np.ndarray,
    num_learned: int,
    seed: int,
    ordered: tuple[Any, ...],
) -> HLDTest:
    """The test of a fitted circuit against the rows `kept` (k, V), or, if these are None, against the circuit."""
    nodes, metric = pcircuit.select_nodes(circuit, options["kinds"]), options["metric"]
    if isinstance(metric, str) and metric in COMBINATIONS:
        fresh = None if kept is None or options["reference"] == "training" else len(kept)
        scores = metric == "auto" and options["covariates"] is None
        metric = default_metrics(circuit, nodes, fresh, scores=scores)
    return HLDTest(
        circuit,
        nodes=nodes,
        metric=metric,
        null=options["null"],
        reference="circuit" if kept is None else "training",
        training_data=kept,
        num_train=num_learned if options["estimation_error"] and kept is None else None,
        rng=seed,
        num_resamples=options["num_resamples"],
        tolerance=options["tolerance"],
        ordered=ordered,
    )


def warn_of_few(judge: Any, num_rows: int, names: Sequence[str]) -> None:
    """A warning if there is too little to compare with, so that nothing can be rejected."""
    kind, said = getattr(judge, "kind", None), ""
    if kind == "time" and (judge.is_too_short or judge.dependent_columns):
        slow = [names[v] for v in judge.dependent_columns]
        least = judge.least_pvalue() if judge.is_too_short else judge.least_of_columns()
        said = (
            f"`order`='time' compares with stretches of up to {judge.reference.longest} of "
            f"{judge.reference.num_rows} rows, which are still dependent"
            f"{'' if judge.is_too_short else f' in {listed(slow, SHOWN_NAMES)}'}, so p-values of these are at "
            f"least {least_text(least)}, and more for long batches: give a longer series"
        )
    elif kind == "groups" and judge.least_pvalue() >= SUPPORTED_LEVEL and not judge.law:
        said = (
            f"`groups` leaves {judge.num_groups} groups to compare with, so p-values are at least "
            f"{least_text(judge.least_pvalue())}: a test at a lower level never rejects, and of several segments "
            "tested together one that is odd cannot be called"
        )
    elif kind is None and judge.least_pvalue(1) > SUPPORTED_LEVEL:
        said = (
            f"`table` has {num_rows} rows, so the smallest p-value of a single row is {judge.least_pvalue(1):.2g}: a "
            "test at a lower level never rejects one; `describe()` lists the smallest p-values of larger batches"
        )
    if said:
        warnings.warn(said, UserWarning, stacklevel=4)


def row_offset(scores: np.ndarray) -> float:
    """The largest log-likelihood that at most a twentieth of the rows after k reference rows fall below.

    It is the r-th smallest of the k scores, r = floor((k + 1) / 20): the rank of a fresh row among k + 1 exchangeable
    ones is uniform, so it falls below with probability r / (k + 1) at most.  With fewer than 19 rows it is -inf.
    """
    rank = int(ODD_SHARE * (len(scores) + 1) + 1e-9)
    if not rank:
        return -np.inf
    score = float(np.sort(scores)[rank - 1])
    return min(score - ROUNDED * max(1.0, abs(score)), 0.0)
