"""The commands on a batch: test, explain, audit, summarize.

What ``hld explain`` says: the squared distance d^2 = sum_j delta_j^2 is a sum over nodes, and by
`witnesses.localization` also a sum over variables.  A share is the part of one of them in that sum, between 0 and 1.
Beside the shares of the columns are the counts of unusual cells, before any test.  The distance weighs all nodes alike,
so a node with small likelihoods can depart clearly by itself and yet hardly move it: that is why the number of such
nodes is given, whatever the test finds.
"""

import argparse
import hashlib
import os
import pathlib
from typing import Any

from hld.apps.command.arguments import OF_FILES
from hld.apps.command.output import (
    check_output,
    print_json,
    print_result,
    print_table,
    print_text,
    step,
)
from hld.apps.command.reading import (
    check_edits,
    judge_file,
    load_model,
    read_batch,
    reading_options,
    refuse_options,
)
from hld.tables.files import files
from hld.tables.schemas.schema import GROUPING
from hld.tables.shown_names import listed
from hld.testing.summaries.of_tables import summarize_chunks
from hld.testing.summaries.summary import BatchSummary
from pcircuit.io.whole_file import replace_file

SHIFT, BLIND = 1, 3  # exit status; the latter where no odd segment could have been called
OF_NODES = ("zscore", "own_zscore", "pvalue")
OF_COLUMNS = ("num_missing", "num_unseen", "num_out_of_range")
SHOWN_NAMES = 6  # columns named for the scope of a node


def test(args: argparse.Namespace) -> int:
    """Test a batch, or each segment of it: the verdict."""
    if args.report is not None:
        check_output(args.report, (args.model, args.table))
    _check_options(args)
    if args.by is None:
        detector, result = _tested(args)
    else:
        detector, table = read_inputs(args)
        with step("testing segments"):
            result = detector.test_by(table, args.by, args.alpha, every=args.every)
    if args.report is not None:
        _write_report(args, detector, result)
    print_result(result, args.json)
    if args.by is not None:
        return SHIFT if result.reject.any() else 0 if result.can_call else BLIND
    return SHIFT if is_large(result, args.min_effect) else 0


def _check_options(args: argparse.Namespace) -> None:
    """Raise unless there is one batch, of rows where rows are needed, and options go together."""
    batches = (("a table", args.table), ("--summary", args.summary), ("--sql", args.sql))
    given = [name for name, value in batches if value is not None]
    found, least = " and ".join(given) or "neither", args.min_effect
    is_wrong = {
        f"a batch is either a table or given by --summary or --sql, found {found}": len(given) != 1,
        f"{found} goes neither with --by nor with --report, which need rows": args.table is None
        and (args.by or args.report),
        "--database is for --sql: say which table of it, or which query": args.database
        and not args.sql,
        "--min-effect is for one batch, not with --by": args.by and least is not None,
        f"--min-effect must be a share of rows, from 0 to 1, found {least}": least is not None
        and not 0 <= least <= 1,
        "--every is for segments of time: give their column with --by": args.every and not args.by,
    }
    for why in filter(is_wrong.get, is_wrong):
        raise ValueError(why)
    if args.table is None:
        refuse_options(args, OF_FILES, f"is for tables in files, found {found}")


def is_large(result: Any, least: float | None) -> bool:
    """Whether a batch is called shifted and, if asked for, surely at least such a share of its rows are others."""
    if not result.reject or least is None:
        return bool(result.reject)
    return (result.effect if result.effect_interval is None else result.effect_interval[0]) >= least


test.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def explain(args: argparse.Namespace) -> int:
    """Test a batch: the verdict, and the nodes and columns that carry the shift."""
    detector, result = _tested(args)
    found = explanation(detector, result, args.top)
    if args.json:
        print_json(found)
    else:
        print_explanation(result, found)
    return SHIFT if result.reject else 0


def _tested(args: argparse.Namespace) -> tuple[Any, ...]:
    """The detector of a model file and the result of the batch, which is read in chunks."""
    detector = load_model(args.model)
    if getattr(args, "summary", None):
        return detector, detector.test(read_summaries(args.summary), args.alpha)
    if getattr(args, "sql", None) is not None:
        from hld.sql import judge

        with step("counting in the database"):
            return detector, judge(detector, args.database, args.sql, args.alpha)
    with step(f"reading and testing {args.table}"):
        return detector, judge_file(
            detector, args.table, args.alpha, reading_options(args, detector.encoder_)
        )


def read_inputs(args: argparse.Namespace) -> tuple[Any, ...]:
    """The detector of a model file and the batch as a data frame."""
    detector = load_model(args.model)
    with step(f"reading {args.table}"):
        table = read_batch(args.table, detector.encoder_, reading_options(args, detector.encoder_))
    return detector, table


def _write_report(args: Any, detector: Any, result: Any) -> None:
    """The page about a test, or about segments."""
    from hld.answers.reports import batch_report, segments_report, write_page

    model = pathlib.Path(args.model)
    report = batch_report if args.by is None else segments_report
    with step(f"writing {args.report}"):
        text = report(
            detector,
            result,
            batch_name="standard input" if args.table == "-" else pathlib.Path(args.table).name,
            model_name=model.name,
            commands=[args.command_line],
            digest=hashlib.sha256(model.read_bytes()).hexdigest(),
        )
        write_page(text, args.report)


def explanation(detector: Any, result: Any, top: int) -> dict[str, Any]:
    """The result of a test with its localisation, in names of columns."""
    names = detector.encoder_.names
    found = result.localize(top=top)
    total = float(result.deltas @ result.deltas) or 1.0  # all shares are 0 where nothing differs
    odd = result.data_quality.columns
    nodes = [
        {name: getattr(shift, name) for name in ("node", "kind", "delta", *OF_NODES)}
        | {
            "variables": [names[v] for v in shift.scope],
            "share": shift.delta**2 / total,
        }
        for shift in found.nodes
    ]
    variables = [
        {"name": names[v], "share": float(found.variable_scores[v]) / total}
        | {name: getattr(odd[v], name) for name in OF_COLUMNS}
        for v in (-found.variable_scores).argsort(kind="stable")[:top].tolist()
    ]
    return result.to_dict() | {
        "num_nodes": len(result.node_pvalues),
        "num_nodes_shifted": int((result.node_pvalues <= result.alpha).sum()),
        "nodes": nodes,
        "variables": variables,
    }


def print_explanation(result: Any, found: Any) -> None:
    """Print the verdict, the columns, and the nodes that shifted by themselves."""
    shifted = [entry for entry in found["nodes"] if entry["pvalue"] <= result.alpha]
    print_text(f"{result}\n\ncolumns, by their share of the squared distance")
    print_table(
        ("column", "share", "missing", "unseen", "out of range"),
        [tuple(entry.values()) for entry in found["variables"]],
    )
    print_text(
        f"\n{found['num_nodes_shifted']} of {found['num_nodes']} nodes shifted by themselves at level "
        f"{result.alpha:g} (p-values adjusted for their number){', by their share' * bool(shifted)}"
    )
    if not shifted:
        return
    told = ("node", "kind", "delta", *OF_NODES, "share")
    print_table(
        ("node", "kind", "delta", "z", "own z", "p (adj.)", "share", "columns"),
        [
            (*map(one.get, told), listed(one["variables"], SHOWN_NAMES, is_quoted=False))
            for one in shifted
        ],
    )


def audit(args: Any) -> int:
    """Measure level, power and drift."""
    from hld.answers.reports import audit_report, write_page
    from hld.detector.audit import audit as audited

    if args.report is not None:
        check_output(args.report, (args.model, args.table))
    detector, table = read_inputs(args)
    named = check_edits(args.edit, detector)
    result = audited(
        {pathlib.Path(args.model).name: detector},
        table,
        args.sizes,
        named,
        args.alpha,
        num_batches=args.num_batches,
        rng=args.seed,
        progress=True,
        groups=_group_column(detector, args.groups),
    )
    if args.report is not None:
        name = pathlib.Path(args.table).name
        page = audit_report(result, table_name=name, commands=[args.command_line])
        write_page(page, args.report)
    print_result(result, args.json)
    return 0 if all(result.keeps_level.values()) else 1


def _group_column(detector: Any, given: str | None) -> str | None:
    """The column of whole groups: the one that is given, else that of the fit; None if groups are not asked for."""
    from hld.detector.audit import kind_of

    known = [column.name for column in detector.schema_.left_out if column.note == GROUPING]
    if given is None and kind_of(detector) == "groups":
        if not known:
            raise ValueError(
                "--groups is missing: the model was fitted with groups, and only whole groups tell its "
                "level, so name the column that has them"
            )
        return known[0]
    return given


def summarize(args: Any) -> int:
    """Write the summary of a table."""
    detector, path = load_model(args.model), check_output(args.output, (args.model, args.table))
    options = reading_options(args, detector.encoder_)
    chunks = files.read_chunks(args.table, detector.encoder_, options)
    found = summarize_chunks(detector, chunks)
    with replace_file(path) as file:
        file.write(found.to_json().encode())
    print_text(f"wrote {path}: {found.num_rows} rows as {len(found.sums)} sums")
    return 0


def read_summaries(paths: Any) -> Any:
    """The sum of the summaries of some files, each of which counts once."""
    total, known = None, set[str]()
    for path in paths:
        if (place := os.path.realpath(path)) in known:
            raise ValueError(
                f"--summary names the file {path!r} twice, and its rows would count twice: name each "
                "file once"
            )
        known.add(place)
        with open(path, encoding="utf-8-sig") as file:
            try:
                found = BatchSummary.from_json(file.read())
                total = found if total is None else total + found
            except ValueError as error:
                raise ValueError(f"cannot use {path!r}: {error}") from error
    return total
