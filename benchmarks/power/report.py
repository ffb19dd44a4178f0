"""Tables of a run of `benchmarks.power`."""

import numpy as np


def report(cells) -> str:
    """Markdown: mean power by kind and batch size, the worst cells of the default, and nominal sizes."""
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    sizes = sorted({cell["T"] for cell in cells})
    power = {
        (cell["table"], cell["kind"], cell["column"], cell["T"], cell["method"]): cell["power"]
        for cell in cells
    }
    places = [
        key
        for key in dict.fromkeys(key[:4] for key in power)
        if all((*key, method) in power for method in methods)
    ]
    kinds = list(dict.fromkeys(place[1] for place in places))
    lines = [
        f"Mean power at equal size, level 0.05, T = {' / '.join(map(str, sizes))} "
        f"({len({place[0] for place in places})} data sets, {len(places)} cells)",
        "",
        "| shift (cells) | " + " | ".join(methods) + " |",
        "|---" * (1 + len(methods)) + "|",
    ]
    for kind in [*kinds, "all"]:
        chosen = [place for place in places if kind in (place[1], "all")]
        columns = [
            " / ".join(
                _mean([power[(*place, method)] for place in chosen if place[3] == T]) for T in sizes
            )
            for method in methods
        ]
        lines.append(f"| {kind} ({len(chosen)}) | " + " | ".join(columns) + " |")
    lines += [
        "",
        "Nominal size on unshifted batches, mean over data sets (largest)",
        "",
        "| T | " + " | ".join(methods) + " |",
        "|---" * (1 + len(methods)) + "|",
    ]
    for T in sizes:
        lines.append(
            f"| {T} | " + " | ".join(_sizes(cells, method, T) for method in methods) + " |"
        )
    if "default" in methods and len(methods) > 1:
        lines += ["", *_worst(places, power, methods)]
    return "\n".join(lines)


def _mean(values) -> str:
    """A mean with two digits."""
    return f"{np.mean(values):.2f}".replace("0.", ".", 1) if values else "-"


def _sizes(cells, method, T) -> str:
    """Mean and largest size of a method over the data sets."""
    found = {
        cell["table"]: cell["size"] for cell in cells if cell["method"] == method and cell["T"] == T
    }
    values = [value for value in found.values() if value is not None]
    return f"{np.mean(values):.3f} ({max(values):.3f})" if values else "exact"


def _worst(places, power, methods) -> list:
    """Cells in which the default is farthest behind the best of the others."""
    rivals = [
        method for method in methods if method not in ("default", "with score", "score", "before")
    ]
    if not rivals:
        return []
    behind = sorted(
        (
            (max(power[(*place, rival)] for rival in rivals) - power[(*place, "default")], place)
            for place in places
        ),
        key=lambda one: -one[0],
    )
    lines = [
        "Cells in which the default is farthest behind the best of the others",
        "",
        "| table | shift | column | T | behind | best |",
        "|---|---|---|---|---|---|",
    ]
    for gap, place in behind[:10]:
        best = max(rivals, key=lambda rival, place=place: power[(*place, rival)])
        lines.append(f"| {' | '.join(map(str, place))} | {gap:.2f} | {best} |")
    return lines
