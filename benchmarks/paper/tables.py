"""Markdown tables in the paper's layout, the paper's number beside ours.

A cell reads ``ours ± sd [error] (paper ± sd)``: mean rejection rate, its standard deviation over pairs, its standard
error as `rates` has it; then, where the paper has one, its value.
"""

from ..measure import markdown
from . import paper_values as paper
from .findings import short
from .rates import ADDED, mean_rate

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


def cell_text(ours, theirs=None) -> str:
    """``.716 ± .07 [.003] (.716 ± .07)``; a dash where nothing was measured."""
    text = "-" if ours is None else f"{short(ours.mean)} ± {ours.sd:.2f} [{short(ours.error)}]"
    if theirs is None:
        return text
    mean, sd = theirs
    return f"{text} ({short(mean)}{'' if sd is None else f' ± {sd:.2f}'})"


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


def model_table(results) -> str:
    """Fit and cost of each circuit."""
    rows = []
    for result in results:
        means, seconds = result["mean_log_likelihood"], result["seconds"]
        ood = [value for name, value in means.items() if name not in ("model", "data")]
        rows.append(
            [
                NAMES[result["dataset"]],
                f"`{result['id_class']}`",
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
