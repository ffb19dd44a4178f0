"""Markdown tables in the paper's layout, the paper's number beside ours.

A cell reads ``ours ± sd [error] (paper ± sd)``: mean rejection rate, its standard deviation over pairs, its standard
error as `rates` has it; then, where the paper has one, its value.
"""

from __future__ import annotations

from . import paper_values as paper
from .rates import ADDED, circuits, mean_rate, ood_classes

POPULATIONS = {"model": "FPR_model", "data": "FPR_data", "ood": "Detection rate"}
OURS = (*paper.METHODS, *ADDED, "TDI variation")
NAMES = {
    "adult": "Adult",
    "connect4": "Connect-4",
    "covertype": "Covertype",
    "census": "Census-KDD",
    "sensorless": "Sensorless",
    "mnist7": "MNIST 7 x 7",
    "mnist28": "MNIST 28 x 28",
}


def markdown(header, rows) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return (
        "\n".join([lines[0], "| " + " | ".join(["---:"] * len(header)) + " |", *lines[1:]]) + "\n"
    )


def cell_text(ours, theirs=None) -> str:
    """``.716 ± .07 [.003] (.716 ± .07)``; a dash where nothing was measured."""
    text = "-" if ours is None else f"{_short(ours.mean)} ± {ours.sd:.2f} [{_short(ours.error)}]"
    if theirs is None:
        return text
    mean, sd = theirs
    return f"{text} ({_short(mean)}{'' if sd is None else f' ± {sd:.2f}'})"


def detection_table(results, printed=None, over="pairs", methods=OURS) -> str:
    """The paper's table of detection results: three populations, batch sizes down, methods across."""
    parts = []
    for kind, title in POPULATIONS.items():
        sizes = sorted(
            {
                T
                for result in results
                for name, sizes in result["batch_sizes"].items()
                for T in sizes
                if (name == kind or (kind == "ood" and name not in POPULATIONS)) and T <= 1000
            }
        )
        rows = [
            [
                T,
                *[
                    cell_text(
                        mean_rate(results, kind, method, T, over=over),
                        ((printed or {}).get(kind, {}).get(T) or {}).get(method),
                    )
                    for method in methods
                ],
            ]
            for T in sizes
        ]
        parts.append(f"**{title}**\n\n" + markdown(["T", *methods], rows))
    return "\n".join(parts)


def alpha_table(results, kind, alpha, printed) -> str:
    """False-positive rates at all T up to 2500, mean over data sets."""
    rows = [
        [
            T,
            *[
                cell_text(
                    mean_rate(results, kind, method, T, alpha, "datasets"),
                    printed[T][method],
                )
                for method in paper.ALPHA_METHODS
            ],
        ]
        for T in printed
    ]
    return markdown(["T", *paper.ALPHA_METHODS], rows)


def ablation_table(results, printed, over="pairs") -> str:
    """Detection rates of HLD with the paper's closed-form threshold, by node set."""
    rows = []
    for name in results[0]["dims"]:
        dims = sorted({result["dims"][name] for result in results})  # of all circuits and runs
        paper_dim, paper_rates = printed.get(name, ("-", {}))
        cells = [
            cell_text(
                mean_rate(results, "ood", f"HLD/{name}/normal", T, over=over),
                paper_rates.get(T),
            )
            for T in paper.ABLATION_SIZES
        ]
        rows.append([name, f"{'/'.join(map(str, dims))} ({paper_dim})", *cells])
    return markdown(["node set", "dim (paper)", *[f"T={T}" for T in paper.ABLATION_SIZES]], rows)


def sweep_table(results, printed) -> str:
    """Units, log-likelihood and detection rates of the architectures on Adult, for each ID class, over all runs."""
    rows = []
    for architecture, (units, log_likelihood, detection) in printed.items():
        same = [r for r in results if r["architecture"] == architecture and r["dataset"] == "adult"]
        for runs in circuits(same).values():
            for nodes in ("leaf+sum", "leaf+sum+prod"):
                cells = [
                    cell_text(
                        mean_rate(runs, "ood", f"HLD/{nodes}/normal", T),
                        (detection[T], None),
                    )
                    for T in paper.SWEEP_SIZES
                ]
                rows.append(
                    [
                        architecture,
                        _code(runs[0]["id_class"]),
                        nodes,
                        f"{_range([sum(r['units'].values()) for r in runs], 0)} ({units})",
                        f"{_range([r['history'][-1] for r in runs], 2)} ({log_likelihood:.2f})",
                        *cells,
                    ]
                )
    header = [
        "circuit",
        "ID class",
        "node set",
        "units (paper)",
        "LL (paper)",
        *[f"T={T}" for T in paper.SWEEP_SIZES],
    ]
    return markdown(header, rows)


def composition_table(results) -> str:
    """The pairs with their numbers of rows."""
    rows = []
    for result in [runs[0] for runs in circuits(results).values()]:
        count = result["rows"]
        pool = count["train"] + count["data"]
        rows += [
            [
                NAMES[result["dataset"]],
                _code(result["id_class"]),
                _code(name),
                result["num_variables"],
                f"{pool:,}",
                f"{count['train']:,}",
                f"{count['data']:,}",
                f"{count[name]:,}",
            ]
            for name in ood_classes(result)
        ]
    return markdown(["data set", "ID class", "OOD class", "V", "N_ID", "N_A", "N_B", "N_OOD"], rows)


def model_table(results) -> str:
    """Fit and cost of each circuit."""
    rows = []
    for result in results:
        means, seconds = result["mean_log_likelihood"], result["seconds"]
        ood = [value for name, value in means.items() if name not in ("model", "data")]
        rows.append(
            [
                NAMES[result["dataset"]],
                _code(result["id_class"]),
                result["architecture"],
                result["run"],
                sum(result["units"].values()),
                result["dims"]["leaf+sum"],
                f"{result['history'][-1]:.2f}",
                f"{means['data']:.2f}",
                f"{means['model']:.2f}",
                f"{min(ood):.2f} to {max(ood):.2f}",
                f"{seconds['fit']:.1f}",
                f"{seconds.get('MMD', 0):.0f}",
                f"{sum(seconds.values()):.0f}",
            ]
        )
    header = [
        "data set",
        "ID class",
        "circuit",
        "run",
        "units",
        "HLV dim",
        "LL train",
        "LL held out",
        "LL own samples",
        "LL OOD",
        "fit, s",
        "MMD, s",
        "all, s",
    ]
    return markdown(header, rows)


def _range(values, digits) -> str:
    """Smallest to largest."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _short(value) -> str:
    """Three digits without the leading zero, the same however the last bits of a mean were rounded."""
    return f"{round(float(value), 12):.3f}".removeprefix("0")


def _code(text) -> str:
    """A class name that Markdown leaves alone."""
    return f"`{text}`"
