"""The numbers on the study's pages: blocks between marks, written from the stored results.

    <!-- begin NAME: python -m benchmarks.paper report -->
    ...
    <!-- end NAME -->

`BLOCKS` maps names to what stands there.  `tests/test_paper_claims.py` checks that each block is what the stored
results say.
"""

import pathlib
import re

import numpy as np

from ..measure import markdown
from . import datasets
from . import paper_values as paper
from .claims import WHY, all_claims, claims_table, summary_table, verdict_text
from .findings import Findings, listed, short, span
from .rates import ADDED, circuits, mean_rate, run_means
from .settings import NODE_SETS
from .tables import NAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / name for name in ("benchmarks/paper/README.md", "docs/paper.md", "docs/findings.md")
]
MARK = re.compile(
    r"(<!-- begin (\w+): python -m benchmarks\.paper report -->\n\n)(.*?)(\n<!-- end \2 -->)",
    re.DOTALL,
)
VARIANT_DATA = ("adult", "connect4", "sensorless")
KINDS = {"model": "FPR_model", "data": "FPR_data", "ood": "detection"}
SIZES = (1, 10, 50, 100, 200, 500, 1000)
LONG_SIZES = (1000, 1500, 2000, 2500)
SCALAR_SCORES = ("RootLL", "Typicality", "TDI")
NORMS = {"normal": "plain norm", "whitened": "whitened"}


def write_pages(findings: Findings) -> None:
    """Write all blocks of the pages anew."""
    for path in PAGES:
        path.write_text(filled(path.read_text(), findings))


def filled(text, findings) -> str:
    """The page with its blocks filled in."""
    return MARK.sub(lambda match: match[1] + BLOCKS[match[2]](findings) + match[4], text)


def main_rows(findings, dataset, methods, kinds=tuple(KINDS)) -> str:
    """Rates by T of a main table: paper; ours; their range over splits and starts; ours with smoothing per step."""
    rows, runs = [], circuits(findings.of(dataset)).values()
    is_repeated = bool(runs) and min(map(len, runs)) > 1
    for kind in kinds:
        for method in methods:
            title = f"{KINDS[kind]}, {method}"
            printed = paper.MAIN.get(dataset, {}).get(kind, {})
            ours = [findings.mean(dataset, kind, method, T) for T in SIZES]
            if printed and method in paper.METHODS:
                rows.append([f"{title}, paper", *[short(printed[T][method][0]) for T in SIZES]])
            rows.append([f"{title}, ours", *["-" if m is None else short(m.mean) for m in ours]])
            if is_repeated and method != "panel":  # which was run with one split
                rows.append(["range", *["-" if m is None else span(m.range) for m in ours]])
            step = [findings.smoothed.value(dataset, kind, method, T) for T in SIZES]
            if method in paper.METHODS and any(value == value for value in step):
                rows.append([f"{title}, smoothed per step", *map(short, step)])
    return markdown(["T", *SIZES], rows)


def tabular(findings) -> str:
    """HLD and MMD at all sizes, and false alarms without Sensorless, whose single circuit decides the means."""
    others = Findings([r for r in findings.of("tabular") if r["dataset"] != "sensorless"])
    rest = main_rows(others, "tabular", ("HLD", "MMD", "HLD exact, 1+T/n"), ("data",))
    ours = "".join(line for line in rest.splitlines(keepends=True) if ", paper |" not in line)
    table = main_rows(findings, "tabular", ("HLD", "MMD"))
    return f"{table}\nOurs without Sensorless:\n\n{ours}"


def node_sets(findings) -> str:
    """Detection by node set, mean over data sets, ours (paper's, where missing the mean of its five single tables)."""
    rows = []
    for name in NODE_SETS:
        single = [paper.ABLATION[dataset][name][1] for dataset in datasets.TABULAR]
        cells = []
        for T in paper.ABLATION_SIZES:
            mean = sum(table[T][0] for table in single) / len(single)
            theirs = (
                paper.ABLATION["mean"][name][1][T][0] if name in paper.ABLATION["mean"] else mean
            )
            ours = findings.mean("tabular", "ood", f"HLD/{name}/normal", T, over="datasets")
            cells.append(f"{short(ours.mean)} ({short(theirs)})")
        rows.append([name, *cells])
    return markdown(["node set", *[f"T = {T}" for T in paper.ABLATION_SIZES]], rows)


def levels(findings) -> str:
    """FPR_data at the other levels and large T."""
    without = [result for result in findings.of("tabular") if result["dataset"] != "sensorless"]
    rows = []
    for alpha in (0.01, 0.1):
        for method in ("HLD", "MMD", "RootLL"):
            printed = [paper.ALPHA[alpha, "model"][T][method][0] for T in LONG_SIZES]
            ours = [findings.value("tabular", "data", method, T, alpha) for T in LONG_SIZES]
            rest = [
                mean_rate(without, "data", method, T, alpha, "datasets").mean for T in LONG_SIZES
            ]
            rows += [
                [alpha, f"{method}, paper", *map(short, printed)],
                ["", "ours", *map(short, ours)],
                ["", "ours without Sensorless", *map(short, rest)],
            ]
    return markdown(["alpha", "FPR_data", *[f"T = {T}" for T in LONG_SIZES]], rows)


def additions(findings) -> str:
    """What the project adds, as rows of the main table; the panel is no test of the circuit's own distribution."""
    of_circuit = list(ADDED)[:4]
    blocks = [
        main_rows(findings, "tabular", of_circuit, ("model",)),
        main_rows(findings, "tabular", list(ADDED), ("data",)),
        main_rows(findings, "tabular", list(ADDED), ("ood",)),
    ]
    return "\n".join(blocks)


def splits(findings) -> str:
    """What another split and start change, circuit by circuit: mean (range)."""
    wanted = [("data", name, 1000) for name in paper.METHODS]
    wanted += [("ood", "HLD", 10), ("ood", "HLD/sum/normal", 10)]
    rows = []
    for runs in circuits(findings.of("tabular")).values():
        title = f"{NAMES[runs[0]['dataset']]}, `{runs[0]['id_class']}`"
        units = span([sum(run["units"].values()) for run in runs], 0)
        found = [run_means(runs, kind, method, T) for kind, method, T in wanted]
        rows.append([title, len(runs), units, *map(_mean_and_range, found)])
    titles = [
        f"{KINDS[kind]}, {method.partition('/normal')[0]}, T = {T}" for kind, method, T in wanted
    ]
    return markdown(["circuit", "runs", "units", *titles], rows)


def spectra(findings) -> str:
    """The true levels of the closed form, from the spectrum of S over leaf and sum units."""
    rows = []
    for runs in circuits(findings.of("tabular")).values():
        found = [run["spectra"]["leaf+sum"] for run in runs if run.get("spectra")]
        if not found:
            continue
        alphas = runs[0]["settings"]["alphas"]
        places = [alphas.index(0.05), alphas.index(0.01)]
        measured = [
            np.mean([mean_rate(runs, "model", "HLD", T, alpha).mean for T in SIZES[2:]])
            for alpha in (0.05, 0.01)
        ]
        rows.append(
            [
                f"{NAMES[runs[0]['dataset']]}, `{runs[0]['id_class']}`",
                span([run["dims"]["leaf+sum"] for run in runs], 0),
                span([one["leading"] for one in found], 2),
                span([one["effective"] for one in found], 1),
                *[
                    text
                    for place, rate in zip(places, measured, strict=True)
                    for text in (span([one["levels"][place] for one in found]), short(rate))
                ],
            ]
        )
    titles = ["level at .05", "measured", "level at .01", "measured"]
    return markdown(["circuit", "units", "leading share", "effective number", *titles], rows)


def products(findings) -> str:
    """Why products add nothing: shares of the trace, ranks, and how much of them leaf and sum units explain."""
    rows = []
    for runs in circuits(findings.of("tabular")).values():
        found = [run["spectra"] for run in runs if run.get("spectra")]
        if not found:
            continue
        shares = np.mean([one["products"]["trace shares"] for one in found], axis=0)
        ranks = [[one[name]["rank"] for one in found] for name in ("leaf+sum", "leaf+sum+prod")]
        gains = [every - both for both, every in zip(*ranks, strict=True)]
        rates = [
            f"{short(mean_rate(runs, 'ood', f'HLD/leaf+sum/{law}', 50).mean)} to "
            f"{short(mean_rate(runs, 'ood', f'HLD/leaf+sum+prod/{law}', 50).mean)}"
            for law in ("normal", "whitened")
        ]
        rows.append(
            [
                f"{NAMES[runs[0]['dataset']]}, `{runs[0]['id_class']}`",
                listed(shares),
                span(ranks[0], 0),
                f"+{span(gains, 0)}",
                span([one["products"]["R2 below the root"] for one in found]),
                *rates,
            ]
        )
    titles = [
        "trace, leaf / sum / product",
        "rank, leaf+sum",
        "with products",
        "R^2 below the root",
    ]
    return markdown(["circuit", *titles, "power, plain norm", "power, whitened"], rows)


def losses(findings) -> str:
    """What products cost in the means over data sets, by node set and T."""
    rows = []
    for law in ("normal", "whitened"):
        for before, after in (
            ("leaf", "leaf+prod"),
            ("sum", "sum+prod"),
            ("leaf+sum", "leaf+sum+prod"),
        ):
            power = [
                [
                    findings.mean("tabular", "ood", f"HLD/{name}/{law}", T, over="datasets")
                    for T in paper.ABLATION_SIZES
                ]
                for name in (before, after)
            ]
            if None not in power[0]:
                change = [f"{b.mean - a.mean:+.4f}" for a, b in zip(*power, strict=True)]
                rows.append([f"{before} to {after}, {NORMS[law]}", *change])
    return markdown(["change of the mean", *[f"T = {T}" for T in paper.ABLATION_SIZES]], rows)


def steps(findings) -> str:
    """FPR_data at T = 1000 by the rows of a step of EM, with the pseudocount per step and, the control, per epoch."""
    names = {"all rows in each step": "default"} | {
        f"per {per}, B = {size}": f"per-{per}-{size}"
        for per in ("step", "epoch")
        for size in (64, 128, 256, 512)
    }
    rows = []
    for title, name in names.items():
        part = Findings(findings.variants.get(name, []))
        cells = [
            " / ".join(short(part.value(name, "data", method, 1000)) for name in VARIANT_DATA)
            for method in ("HLD", *SCALAR_SCORES)
        ]
        rows.append([title, *cells])
    return markdown(["pseudocount 0.1", "HLD", *SCALAR_SCORES], rows)


def opening(findings) -> str:
    """The claims that a reader of the paper asks for first, and why they come out as they do."""
    found = {claim.claim: claim for claims in all_claims(findings).values() for claim in claims}
    rows = [
        [claim, found[claim].paper, found[claim].ours, verdict_text(found[claim]), why]
        for claim, why in WHY.items()
        if claim in found
    ]
    lines = ["| claim | paper | ours | verdict | why |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _mean_and_range(values) -> str:
    """The mean and, of several, the range."""
    if not values:
        return "-"
    mean = short(np.mean(values))
    return mean if len(values) == 1 else f"{mean} ({span(values)})"


def variants(findings) -> str:
    """One choice changed at a time; in each cell Adult / Connect-4 / Sensorless."""
    wanted = (
        ("ood", "HLD", 10),
        ("ood", "HLD", 100),
        ("data", "HLD", 1000),
        ("data", "RootLL", 1000),
        ("data", "Typicality", 1000),
    )
    rows = []
    for name, part in _variants(findings, VARIANT_DATA).items():
        cells = [
            " / ".join(short(part.value(dataset, kind, method, T)) for dataset in VARIANT_DATA)
            for kind, method, T in wanted
        ]
        rows.append([name, *cells])
    return markdown(
        ["variant", *[f"{KINDS[kind]}, {method}, T = {T}" for kind, method, T in wanted]], rows
    )


def pixels(findings) -> str:
    """Thresholds of the pixels at 7 x 7."""
    wanted = (
        ("ood", "HLD", 10),
        ("ood", "RootLL", 10),
        ("ood", "Typicality", 10),
        ("data", "HLD", 1000),
        ("data", "RootLL", 1000),
    )
    rows = [
        [
            f"{part.results[0]['settings']['choices']['pixel_threshold']:g}",
            *[short(part.value("mnist7", kind, method, T)) for kind, method, T in wanted],
        ]
        for part in _variants(findings, ("mnist7",)).values()
    ]
    rows.sort(key=lambda row: float(row[0]))
    printed = [short(paper.MAIN["mnist7"][kind][T][method][0]) for kind, method, T in wanted]
    return markdown(
        ["threshold", *[f"{KINDS[kind]}, {method}, T = {T}" for kind, method, T in wanted]],
        [*rows, ["paper", *printed]],
    )


def codes(findings) -> str:
    """MMD on one-hot rows and on category codes, data set by data set."""
    part = Findings(findings.variants.get("mmd-codes", []))
    rows = []
    for kind, T in (("ood", 10), ("ood", 50), ("data", 500), ("data", 1000)):
        for name, source in (("one-hot", findings), ("codes", part)):
            rows.append(
                [
                    f"{KINDS[kind]}, T = {T}, {name}",
                    *[short(source.value(dataset, kind, "MMD", T)) for dataset in datasets.TABULAR],
                ]
            )
    return markdown(["MMD", *[NAMES[dataset] for dataset in datasets.TABULAR]], rows)


def _variants(findings, names) -> dict:
    """Variants that have results of all these data sets, or of some."""
    found = {}
    for name, results in findings.variants.items():
        kept = [result for result in results if result["dataset"] in names]
        if kept and name != "mmd-codes" and not name.startswith("per-"):
            found[name] = Findings(kept)
    return found


BLOCKS = {
    "summary": lambda findings: summary_table(all_claims(findings)),
    "tabular": tabular,
    "nodes": node_sets,
    "levels": levels,
    "variants": variants,
    "pixels": pixels,
    "codes": codes,
    "mnist7": lambda findings: main_rows(findings, "mnist7", paper.METHODS),
    "mnist28": lambda findings: main_rows(
        findings, "mnist28", (*paper.METHODS, "HLD exact, 1+T/n")
    ),
    "claims": lambda findings: claims_table(all_claims(findings)),
    "opening": opening,
    "scalars": lambda findings: main_rows(findings, "tabular", SCALAR_SCORES, ("data", "ood")),
    "additions": additions,
    "splits": splits,
    "spectra": spectra,
    "products": products,
    "losses": losses,
    "steps": steps,
}


__all__ = ["BLOCKS", "PAGES", "filled", "opening", "write_pages"]
