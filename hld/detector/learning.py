r"""What `HLDDetector.fit` computes, in the order in which it is computed.

    table -> columns                   `hld.tables.cells`              read once
          -> rows to learn from, kept  `variation.dividing`            nothing below sees the kept ones but the test
          -> schema, encoder           `schemas.learn_schema`      from the rows to learn from
          -> tree, start values, EM    `pcircuit`                      from the same rows
          -> test, judge               `hld.testing`                   against the kept rows

The table is read once, one tree is learned, and the codes are checked once, by the tree.

**Repeated rows.** A table may repeat whole rows more often than independent rows would.  The test counts every row as
a draw of its own.  Where each row was written twice, a row that is held out has its copy among those that were learned
from, and k held-out rows tell no more than k / 2: p-values of later batches, whose rows are new, are too small.  Few
levels make independent rows equal, too, so that copies alone say nothing; how many rows occur once, twice, three
times, ... does.  Let f_k be the number of different rows that occur k times.  If n rows are independent draws of any
distribution whatever, and lambda_x is the expected count of row x, then, as nearly as counts are Poisson,

.. math:: a_k = k!\, E f_k = \sum_x \lambda_x^k e^{-\lambda_x}

are moments of one measure, and by the inequality of Cauchy and Schwarz

.. math:: a_k^2 \le a_{k-1} a_{k+1}, \qquad (E f_k)^2 \le \frac{k+1}{k}\, E f_{k-1}\, E f_{k+1}.

Rows of which all occur twice break it at k = 2: many pairs, and none alone.  Each expectation is bounded by the
quantiles of the Poisson law, whose tails are no thinner than those of f_k (Anderson and Samuels 1967); a fixed n makes
an event at most e sqrt(n) times as likely as that law does, and the bounds of all k together fail with a probability of
at most `CHANCE`.

References
----------
Good (1953), The population frequencies of species and the estimation of population parameters, Biometrika 40, 237.
"""

import math
import re
import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.profile import profile_of, tree_edges, values_of
from hld.answers.words import least_text
from hld.detector.estimator import BINS
from hld.features.odd_rows import log_typicality
from hld.features.row_scores import watched_rows
from hld.references.group_statistics import Cells, group_statistics
from hld.tables.cells import Columns, distinct_values, read_table, reads_as_number
from hld.tables.column_names import column_names, column_roles
from hld.tables.derived import UNIT
from hld.tables.factored import whole_cells
from hld.tables.schemas.counts import kept_values
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.learn_schema import (
    AS_TEXT,
    EMPTY,
    NEARLY_ALL,
    ORDERING,
    ROW_NUMBERS,
    learn_schema,
)
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
CHOSEN = ("num_bins", "max_categories", "categorical", "continuous")  # by the user, of columns
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
    options, grouping = _without_groups(options, columns, groups)
    columns, (learned_rows, kept_rows), labels = divide(
        columns, groups, order, options["reference"], rng
    )
    given, chosen = options["schema"], {name: options[name] for name in CHOSEN}
    schema = learn_schema(columns, rows=learned_rows, given=given, **chosen)
    encoder = schema.encoder()
    examine_columns(schema, columns, given, options["categorical"], options["continuous"])
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
    learned = data[learned_rows]
    marks = np.zeros((columns.num_rows, len(encoder.columns)), np.uint8)
    kept: Any = None
    own, new = kept, None
    if kept_rows is not None:
        codes, report, _, _ = encoder.encode_counting(columns, marks)
        kept, own = data[kept_rows], marks[kept_rows]
        if len(kept) < len(data):  # nothing was learned from these: they are read as a batch is
            kept = codes[kept_rows]
            new = kept_values(kept, report)
    reference = learned if kept is None else kept
    show(f"dependences of {len(encoder.columns)} columns")
    sizes, pseudocount = encoder.num_categories, options["pseudocount"]
    tree = pcircuit.chow_liu_tree(learned, num_categories=sizes, pseudocount=pseudocount)
    profile = profile_of(reference, sizes, tree_edges(tree, sizes))
    profile = with_laws(profile, encoder.columns, kept, covariates)
    start = pcircuit.hclt(learned, options["num_latents"], sizes, pseudocount, rng, tree=tree)
    epochs = {"num_epochs": options["num_epochs"], "pseudocount": pseudocount}
    show("")
    if learner is None:
        circuit, history = pcircuit.fit_em(start, learned, progress=progress, **epochs)
        num_learned = len(learned)
    else:
        circuit, history, num_learned = learner(start, learned, encoder)
    show("rows held out, and what they show of each column and pair")
    profile = with_associations(profile, circuit, kept)
    further: dict[str, Any] = {}
    watched = None
    if kept is not None:
        watched = watched_rows(circuit, tree, learned, kept, marks=own, ordered=encoder.ordered)
        if covariates is not None:
            odd = watched.scores.odd_bins(kept, own * ~covariates)
            further = {"events": row_events(kept, own, odd)}
        if labels is not None or order is not None:
            numbers = encoder.numbers(columns)
            further = {
                "cells": Cells(numbers[kept_rows], own),
                "statistics": group_statistics(
                    encoder.columns,
                    learned,
                    numbers[learned_rows],
                    encoder.ordered,
                    profile.edges,
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
        rows = None if kept is None else encoder.values(kept, numbers[kept_rows])
    test = build_test(options, tested, rows, num_fitted, check_seed(rng), encoder.ordered)
    num_train = len(data) + num_learned - len(learned)
    labels = None if labels is None else labels[kept_rows]
    judge = build_judge(test, kept, labels, covariates, order, **further)
    warn_of_few(judge, num_train, encoder.names)
    history = np.array(history, dtype=np.float64)  # a learner keeps its own
    history.flags.writeable = False
    return {
        "schema": replace(schema, columns=schema.columns + grouping),
        "circuit": circuit,
        "densities": densities,
        "test": test,
        "judge": judge,
        "history": history,
        "num_train": num_train,
        "offset": row_offset(log_typicality(circuit, reference, own)),
        "profile": profile,
        "values": values_of(encoder, columns, learned_rows),
        "new_values": new,
        "watched": watched,
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


def _without_groups(
    options: Mapping[str, Any], columns: Columns, groups: Any
) -> tuple[Mapping[str, Any], tuple[ColumnSchema, ...]]:
    """The options without the column of groups, which takes no part though a batch may have it, and its schema."""
    names = columns.names or ()
    at = names.index(groups) if isinstance(groups, str) and groups in names else groups
    if not isinstance(at, (int, np.integer)) or isinstance(at, bool):
        return options, ()
    if not 0 <= at < len(columns.arrays):  # for `divide` to refuse
        return options, ()
    named = names[at : at + 1]
    grouping = tuple(ColumnSchema(one, LEFT_OUT, note=GROUPING, optional=True) for one in named)
    given = options["schema"]
    if given is not None:  # perhaps of the whole table
        left = tuple(one for one in given.columns if one.name not in named)
        given = replace(given, columns=left)
    roles = {
        role: without_column(options[role], role, columns, int(at))
        for role in ("categorical", "continuous")
    }
    return {**options, "schema": given, **roles}, grouping


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
        slow = listed([names[v] for v in judge.dependent_columns], SHOWN_NAMES)
        least = judge.least_pvalue() if judge.is_too_short else judge.least_of_columns()
        said = (
            f"`order`='time' compares with stretches of up to {judge.reference.longest} of "
            f"{judge.reference.num_rows} rows, which are still dependent"
            f"{'' if judge.is_too_short else f' in {slow}'}, so p-values of these are at "
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


MOST_WARNED = 8  # columns that a warning names
MOST_LEVELS = 11_000  # of a column
FEWEST_TEXTS = 10  # levels of a text column that is reported to hold numbers, or dates
MOST_ODD = 0.01  # of the cells of a column of fewer texts
UNREAD_DATE = re.compile(r"\d{1,2}([/-])\d{1,2}\1(19|20)\d\d(?=$|[ T])", re.ASCII)
CAUSES = (EMPTY, ORDERING, AS_TEXT, NEARLY_ALL, ROW_NUMBERS)  # for which columns are left out
SHOWN = 3  # texts among numbers that a warning shows
TEXTS = (
    "of text most of which are numbers: {}; each text is learned as a level of its own: convert them to numbers (rows "
    "are counted from 0), or name them in `categorical`"
)
AMOUNTS = (
    "of amounts that are text, which are read as numbers: {}; their units are columns of their own"
)
DATES = "of dates in a form that is not read, as 01/02/2026 may be one of two days: {}; write them as 2026-02-01"
LEFT = (
    "that are left out: {}; to keep numbers and dates name them in `continuous`, others in `categorical`; for weekdays "
    "and hours of dates: `calendar_columns`"
)
SAID = (TEXTS, AMOUNTS, DATES, LEFT)


def examine_columns(
    schema: Any, columns: Columns, given: Any, categorical: Any, continuous: Any
) -> None:
    """Warnings that name columns left out without having been asked for, numbers and dates that are text."""
    for column in schema.columns:
        if len(column.levels or ()) > MOST_LEVELS:
            raise ValueError(
                f"`table` column {column.name!r} has {len(column.levels)} levels, expected at most "
                f"{MOST_LEVELS}: lower `max_categories`, the rarest then share a category"
            )
    names = column_names(None, columns.names, len(columns.arrays))
    arrays = dict(zip(names, columns.arrays, strict=True))
    asked = {*column_roles(names, categorical, continuous)}
    asked |= {one.name for one in given.columns} if given is not None else set()
    found: dict[str, list[str]] = {said: [] for said in SAID}
    for column in schema.columns:
        name = column.name
        if name in asked:
            continue
        if column.part == UNIT:
            first = next(one for one in arrays[column.source].tolist() if isinstance(one, str))
            found[AMOUNTS].append(f"{column.source!r} (such as {reprlib.repr(first)})")
        elif column.source is None and (date := _unread_date(column, arrays[name])):
            found[DATES].append(f"{name!r} (such as {date!r})")
        elif column.kind == LEFT_OUT and column.note.startswith(CAUSES):
            odd = ""
            if column.note.startswith(AS_TEXT):
                odd = f"; {_texts_among_numbers(name, arrays[name])}"
            found[LEFT].append(f"{name!r} ({column.note}{odd})")
        elif column.source is None and _are_numbers(column, arrays[name]):
            found[TEXTS].append(f"{name!r} ({_texts_among_numbers(name, arrays[name])})")
    for said, some in found.items():
        if some:
            more = f" and {len(some) - MOST_WARNED} more" if len(some) > MOST_WARNED else ""
            named = said.format(", ".join(some[:MOST_WARNED]) + more)
            warnings.warn(f"`table` has columns {named}", UserWarning, stacklevel=4)


def _are_numbers(column: Any, values: Any) -> bool:
    """Whether a person would read most levels of a column of text as numbers: of many, or in all rows but few."""
    levels = column.levels if column.kind == "categorical" else ()
    num_texts = sum(isinstance(level, str) for level in levels)
    if not num_texts or sum(map(_reads, levels)) <= len(levels) / 2:
        return False
    if num_texts >= FEWEST_TEXTS:
        return True
    levels, counts = distinct_values(values, column.name)
    total, reads = counts.sum(), np.array(list(map(_reads, levels)))
    return total > FEWEST_TEXTS and 0 < counts[~reads].sum() <= max(1, MOST_ODD * total)


def _reads(level: Any) -> bool:
    """Whether a level is a number, or a text that a person would read as one."""
    return reads_as_number(level) if isinstance(level, str) else not isinstance(level, bool)


def _unread_date(column: Any, values: Any) -> str:
    """The first text of a column most of whose texts are dates with slashes or dashes, the year behind; else none."""
    is_left = column.kind == LEFT_OUT and column.note.startswith(NEARLY_ALL)
    levels = distinct_values(values, column.name)[0] if is_left else column.levels
    found = [one for one in levels or () if isinstance(one, str) and UNREAD_DATE.match(one)]
    return found[0] if len(found) >= max(FEWEST_TEXTS, len(levels or ()) / 2 + 0.5) else ""


def _texts_among_numbers(name: str, values: Any) -> str:
    """What makes the numbers of a column text: the other cells and the first row of each, or the first number."""
    levels, counts = distinct_values(values, name)
    odd = [levels[i] for i in np.argsort(-counts, kind="stable").tolist() if not _reads(levels[i])]
    if not odd:
        return f"such as {reprlib.repr(levels[0])}"
    cells = whole_cells(values).tolist()
    shown = [f"{reprlib.repr(one)} in row {cells.index(one)}" for one in odd[:SHOWN]]
    return f"others are {', '.join(shown)}{', ...' * (len(odd) > SHOWN)}"


CHANCE = 1e-4  # probability of a warning about independent rows


def warn_of_repeated(rows: np.ndarray) -> None:
    """A warning if rows (n, V) occur together that independent rows would not, so that p-values are too small."""
    counts = multiplicities(rows)
    if is_repeated(counts):
        warnings.warn(
            f"`table` has copies of rows: of {len(rows):,} rows {len(counts):,} are different (numbers by "
            "their bins), and they are repeated as independent rows are not; copies count as rows of their "
            "own, so p-values are too small: leave out those that are errors, and keep one row of each "
            "customer",
            UserWarning,
            stacklevel=4,
        )


def multiplicities(rows: np.ndarray) -> np.ndarray:
    """How often each of the different rows (n, V) occurs, told apart by a random linear hash modulo 2^64."""
    rng, sums = np.random.default_rng(0), np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        sums += column.astype(np.int64).view(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    return np.unique(sums, return_counts=True)[1]


def is_repeated(counts: np.ndarray) -> bool:
    """Whether rows occur so often as no independent rows do, but for a probability of at most `CHANCE`."""
    from scipy.special import gammainccinv, gammaincinv

    found = np.append(np.bincount(counts, minlength=2), 0)
    for k in (np.flatnonzero(found[2:]) + 2).tolist():
        chance = CHANCE / (3 * k * (k - 1) * math.e * math.sqrt(counts.sum()))
        least = gammaincinv(found[k], chance)  # expectations with which counts as far are as rare
        most = gammainccinv(found[[k - 1, k + 1]] + 1, chance)
        if least**2 > (k + 1) / k * most.prod():
            return True
    return False
