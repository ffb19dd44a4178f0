"""``hld plan``: what a model will find, before it is deployed."""

from __future__ import annotations

from typing import Any


def plan(args: Any) -> int:
    """What a model will find with a given number of rows a day, and when."""
    from hld.command.console.output import print_result
    from hld.model_files import load
    from hld.planning.of_tables import plan as planned

    found = planned(load(args.model), args.rows_per_day, args.edit or [], args.power, args.alpha)
    print_result(found, args.json)
    return 0
