"""``hld plan``: what a model will find, before it is deployed."""

from __future__ import annotations

from typing import Any


def plan(args: Any) -> int:
    """What a model will find with a given number of rows a day, and when."""
    from hld.command.console.output import print_result
    from hld.command.console.reading import check_edits, load_model
    from hld.planning.of_tables import plan as planned

    detector = load_model(args.model)
    edits = check_edits(args.edit, detector)
    found = planned(detector, args.rows_per_day, edits, args.power, args.alpha)
    print_result(found, args.json)
    return 0
