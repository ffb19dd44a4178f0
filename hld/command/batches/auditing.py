"""``hld audit``: does a model keep its level on rows that it has not seen, and what does it find?"""

from __future__ import annotations

import pathlib
import shlex
from types import SimpleNamespace
from typing import Any


def audit(args: Any) -> int:
    """Measure level, power and drift."""
    from hld.auditing.audit import audit as audited
    from hld.command.batches.judging import read_inputs
    from hld.command.console.output import check_output, print_result
    from hld.command.console.reading import check_edits, given_options
    from hld.reports.audit_report import audit_report
    from hld.reports.page import write_page

    if args.report is not None:
        check_output(args.report, (args.model, args.table))
    detector, table = read_inputs(args)
    named = check_edits(args.edit, detector)
    name = pathlib.Path(args.model).name
    at_alpha = SimpleNamespace(
        test=lambda batch: detector.test(batch, args.alpha),
        judge_=detector.judge_,
        encoder_=detector.encoder_,
    )
    groups = _group_column(detector, args.groups)
    result = audited(
        {name: at_alpha},
        table,
        args.sizes,
        named,
        args.alpha,
        num_batches=args.num_batches,
        rng=args.seed,
        groups=groups,
    )
    if args.report is not None:
        edits = [part for edit in named for part in ("--edit", edit)]
        edits += [] if groups is None else ["--groups", groups]
        sizes = ",".join(map(str, args.sizes))
        command = shlex.join(
            [
                "hld",
                "audit",
                args.model,
                args.table,
                "--alpha",
                str(args.alpha),
                "--sizes",
                sizes,
                "--num-batches",
                str(args.num_batches),
                "--seed",
                str(args.seed),
                *edits,
                *given_options(args),
            ]
        )
        write_page(
            audit_report(result, table_name=pathlib.Path(args.table).name, commands=[command]),
            args.report,
        )
    print_result(result, args.json)
    return 0 if all(result.keeps_level.values()) else 1


def _group_column(detector: Any, given: str | None) -> str | None:
    """The column of whole groups: the one that is given, else that of the fit; None if groups are not asked for."""
    from hld.auditing.whole_groups import kind_of
    from hld.schemas.schema import GROUPING

    known = [column.name for column in detector.schema_.left_out if column.note == GROUPING]
    if given is None and kind_of(detector) == "groups":
        if not known:
            raise ValueError(
                "--groups is missing: the model was fitted with groups, and only whole groups tell its "
                "level, so name the column that has them"
            )
        return known[0]
    return given
