"""``hld diff``: how far apart two models are, column by column."""

from __future__ import annotations

import argparse


def diff(args: argparse.Namespace) -> int:
    """Compare two model files."""
    from hld.answers.column_shifts import percent
    from hld.answers.models import compare_models
    from hld.command.console.output import print_json, print_table, print_text
    from hld.command.console.reading import load_model

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
