"""``hld test`` and ``hld explain``: whether a batch follows a model, which segments do not, and where it departs."""

from __future__ import annotations

import argparse
import hashlib
import math
import pathlib
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

SHIFT = 1


def test(args: argparse.Namespace) -> int:
    """Test a batch, or each segment of it: the verdict."""
    from hld.command.console.output import check_output, print_result
    from hld.command.console.steps import step

    if args.report is not None:
        check_output(args.report, (args.model, args.table))
    _check_one_batch(args)
    _check_min_effect(args)
    _check_segments(args)
    if args.by is None:
        detector, result = _tested(args)
    else:
        detector, table = read_inputs(args)
        with step("testing segments"):
            result = detector.test_by(
                table, args.by, args.alpha, every=args.every, procedure=args.procedure or "bh"
            )
    if args.report is not None:
        _write_report(args, detector, result)
    print_result(result, args.json)
    return (
        SHIFT
        if (is_large(result, args.min_effect) if args.by is None else result.reject.any())
        else 0
    )


def _check_segments(args: argparse.Namespace) -> None:
    """Raise where something is said of segments, and there are none."""
    if args.by is not None:
        return
    if args.every is not None:
        raise ValueError("--every is for segments of time: give their column with --by")
    if args.procedure is not None:
        raise ValueError("--procedure is for several segments: give their column with --by")


def _check_min_effect(args: argparse.Namespace) -> None:
    """Raise unless --min-effect, if given, is a size and for one batch."""
    if args.min_effect is None:
        return
    if args.by is not None:
        raise ValueError("--min-effect is for one batch, not with --by")
    if not 0 <= args.min_effect < math.inf:
        raise ValueError(
            f"--min-effect must be a finite number of at least 0, found {args.min_effect}"
        )


def _check_one_batch(args: argparse.Namespace) -> None:
    """Raise unless there is one batch, of rows where rows are needed."""
    from hld.command.console.reading import OF_FILES, refuse_options

    given = [
        name
        for name, value in (
            ("a table", args.table),
            ("--summary", args.summary),
            ("--sql", args.sql),
        )
        if value is not None
    ]
    if len(given) != 1:
        raise ValueError(
            f"a batch is either a table or given by --summary or --sql, found "
            f"{' and '.join(given) or 'neither'}"
        )
    if args.table is None and (args.by is not None or args.report is not None):
        raise ValueError(f"{given[0]} goes neither with --by nor with --report, which need rows")
    if args.table is None:
        refuse_options(args, OF_FILES, f"is for tables in files, found {given[0]}")
    if args.database and args.sql is None:
        raise ValueError("--database is for --sql: say which table of it, or which query")


def is_large(result: Any, least: float | None) -> bool:
    """Whether a batch is called shifted and, if asked for, its effect size is surely no smaller than a number."""
    if not result.reject or least is None:
        return bool(result.reject)
    return (result.effect if result.effect_interval is None else result.effect_interval[0]) >= least


test.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def explain(args: argparse.Namespace) -> int:
    """Test a batch: the verdict, and the nodes and columns that carry the shift."""
    from hld.command.batches.explain import draw_shares, explanation, print_explanation
    from hld.command.console.output import check_output, print_json

    if args.plot is not None:
        check_output(args.plot, (args.model, args.table))
    detector, result = _tested(args)
    found = explanation(detector, result, args.top)
    if args.plot is not None:
        draw_shares(detector, result, args.top, args.plot)
    if args.json:
        print_json(found)
    else:
        print_explanation(result, found)
    return SHIFT if result.reject else 0


def _tested(args: argparse.Namespace) -> tuple[Any, ...]:
    """The detector of a model file and the result of the batch, which is read in chunks."""
    from hld.command.console.csv_files import judge_file
    from hld.command.console.reading import load_model, reading_options
    from hld.command.console.steps import step

    with step(f"reading {args.model}"):
        detector = load_model(args.model)
    if getattr(args, "summary", None):
        from hld.command.batches.summarizing import read_summaries

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
    from hld.command.console.csv_files import read_batch
    from hld.command.console.reading import load_model, reading_options
    from hld.command.console.steps import step

    with step(f"reading {args.model}"):
        detector = load_model(args.model)
    with step(f"reading {args.table}"):
        table = read_batch(args.table, detector.encoder_, reading_options(args, detector.encoder_))
    return detector, table


def _write_report(args: Any, detector: Any, result: Any) -> None:
    """The page about a test, or about segments."""
    from hld.command.console.reading import given_options
    from hld.command.console.steps import step
    from hld.reports.batch_report import batch_report
    from hld.reports.page import write_page
    from hld.reports.segments_report import segments_report

    batch = "standard input" if args.table == "-" else pathlib.Path(args.table).name
    digest = hashlib.sha256(pathlib.Path(args.model).read_bytes()).hexdigest()
    options = [] if args.alpha == 0.05 else ["--alpha", str(args.alpha)]
    for name in ("by", "every"):
        options += [f"--{name}", getattr(args, name)] if getattr(args, name) is not None else []
    options += ["--procedure", "by"] if args.procedure == "by" else []
    options += given_options(args)
    command = shlex.join(["hld", "test", args.model, args.table, *options, "--report", args.report])
    names: dict[str, Any] = {
        "batch_name": batch,
        "model_name": pathlib.Path(args.model).name,
        "commands": [command],
        "digest": digest,
    }
    with step(f"writing {args.report}"):
        text = (batch_report if args.by is None else segments_report)(detector, result, **names)
        write_page(text, args.report)
