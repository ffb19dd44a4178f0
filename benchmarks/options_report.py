"""The results of `benchmarks.options` as Markdown: rates at every T for each option, and what they come to.

Means over circuits leave out cells whose pool has fewer than 2 T rows, where batches had to be drawn with replacement.
"Worst loss" is the largest amount by which the power of an option is below the paper's test on any data set (mean over
its pairs), at the nominal level, and for calibrated tests also at equal size: the paper's test, whose normal threshold
is too low, is then given the level at which it rejects held-out rows as often as the option does, interpolated between
the levels of the run.
"""

from __future__ import annotations

import numpy as np

CALIBRATED = (
    "exact",
    "auto",
    "standardized",
    "marginals",
    "whitened",
    "combined",
    "training",
    "default",
)


def report(run: dict) -> str:
    """All tables of a run."""
    lines = []
    for alpha in run["alphas"]:
        lines += _rates(run, alpha, "model", "Rejections of circuit samples")
        lines += _rates(run, alpha, "held-out", "Rejections of held-out rows")
        if alpha == 0.05:
            lines += _rates(run, alpha, None, "Power")
    return "\n".join([*lines, *_losses(run), *_by_circuit(run), *_by_pair(run)])


def _rate(run, cell, option, key, T, alpha) -> float:
    """One rejection rate."""
    trials, *counts = cell["counts"][option][key][str(T)]
    return counts[run["alphas"].index(alpha)] / trials


def _pairs(cell) -> list:
    """Shifted populations of a circuit."""
    return [key for key in cell["pools"] if key not in ("model", "held-out")]


def _rates(run, alpha, population, title):
    """Mean rates at one level: of one population over circuits, or of all pairs."""
    options = list(run["cells"][0]["counts"])
    digits = 4 if alpha < 0.01 else 3
    lines = [
        f"\n{title} at level {alpha}, mean over {'circuits' if population else 'pairs'}\n",
        "| T | circuits | " + " | ".join(options) + " |",
        "|---" * (len(options) + 2) + "|",
    ]
    for T in run["sizes"]:
        cells = [cell for cell in run["cells"] if cell["pools"].get(population, np.inf) >= 2 * T]
        shown = [
            np.mean(
                [
                    _rate(run, cell, option, key, T, alpha)
                    for cell in cells
                    for key in ([population] if population else _pairs(cell))
                ]
            )
            for option in options
        ]
        lines.append(
            f"| {T} | {len(cells)} | " + " | ".join(f"{rate:.{digits}f}" for rate in shown) + " |"
        )
    return lines


def _losses(run):
    """Worst loss of power against the paper's test over data sets, at the nominal level and at equal size."""
    lines = [
        "\nWorst loss of power against the paper's test over data sets, level 0.05: nominal / at equal size\n",
        "| T | " + " | ".join(CALIBRATED) + " |",
        "|---" * (len(CALIBRATED) + 1) + "|",
    ]
    for T in run["sizes"]:
        shown = []
        for option in CALIBRATED:
            nominal, equal = _dataset_differences(run, option, T)
            shown.append(
                " / ".join(
                    f"{min(values.values()):+.3f} {min(values, key=values.get)}"
                    for values in (nominal, equal)
                )
            )
        lines.append(f"| {T} | " + " | ".join(shown) + " |")
    return lines


def _dataset_differences(run, option, T):
    """{data set: power of the option - power of the paper's test}, nominal and at equal size."""
    nominal, equal = {}, {}
    for cell in run["cells"]:
        name = cell["class"] if cell["dataset"] == "binary" else cell["dataset"]
        size = _rate(run, cell, option, "held-out", T, 0.05)
        levels = sorted(run["alphas"])
        sizes = [_rate(run, cell, "paper", "held-out", T, level) for level in levels]
        for key in _pairs(cell):
            power = _rate(run, cell, option, key, T, 0.05)
            of_paper = [_rate(run, cell, "paper", key, T, level) for level in levels]
            nominal.setdefault(name, []).append(power - of_paper[levels.index(0.05)])
            equal.setdefault(name, []).append(power - float(np.interp(size, sizes, of_paper)))
    return tuple(
        {name: float(np.mean(values)) for name, values in part.items()} for part in (nominal, equal)
    )


def _by_circuit(run):
    """False alarms on held-out rows, circuit by circuit."""
    options, T = ("paper", "combined", "training", "default"), (200, 1000)
    sizes = [size for size in T if size in run["sizes"]]
    lines = [
        f"\nRejections of held-out rows at level 0.05 and T = {' / '.join(map(str, sizes))}, by circuit\n",
        "| data, ID class | training rows | nodes | pool | " + " | ".join(options) + " |",
        "|---" * 8 + "|",
    ]
    for cell in run["cells"]:
        shown = [
            " / ".join(f"{_rate(run, cell, o, 'held-out', size, 0.05):.3f}" for size in sizes)
            for o in options
        ]
        kept = (
            "" if cell["learned"] == cell["train"] else f" ({cell['train'] - cell['learned']} kept)"
        )
        about = [
            f"{cell['dataset']}, {cell['class']}",
            f"{cell['train']}{kept}",
            str(cell["nodes"]),
            str(cell["pool"]),
        ]
        lines.append("| " + " | ".join(about + shown) + " |")
    return lines


def _by_pair(run):
    """Power of every option on every pair."""
    options = list(run["cells"][0]["counts"])
    sizes = [size for size in (10, 50) if size in run["sizes"]]
    lines = [
        f"\nPower at level 0.05 and T = {' / '.join(map(str, sizes))}, by pair\n",
        "| data, ID class | shift | " + " | ".join(options) + " |",
        "|---" * (len(options) + 2) + "|",
    ]
    for cell in run["cells"]:
        for key in _pairs(cell):
            shown = [
                " / ".join(f"{_rate(run, cell, o, key, size, 0.05):.2f}" for size in sizes)
                for o in options
            ]
            lines.append(
                f"| {cell['dataset']}, {cell['class']} | {key} | " + " | ".join(shown) + " |"
            )
    return lines
