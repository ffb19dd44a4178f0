"""The numbers on the page README.md: blocks between marks, written from the stored results.

    <!-- begin NAME: python -m benchmarks.paper report -->
    ...
    <!-- end NAME -->

`BLOCKS` maps names to what stands there.  Everything else on the page is prose without measured numbers, and
`tests/test_paper_claims.py` checks that each block is what the stored results say.
"""

from __future__ import annotations

import pathlib
import re

from . import datasets
from . import paper_values as paper
from .claims import all_claims, claims_table, summary_table
from .findings import Findings, short, span
from .rates import mean_rate, rates, run_means
from .settings import NODE_SETS
from .tables import NAMES

PAGE = pathlib.Path(__file__).parent / "README.md"
MARK = re.compile(
    r"(<!-- begin (\w+): python -m benchmarks\.paper report -->\n\n)(.*?)(\n<!-- end \2 -->)",
    re.DOTALL,
)
VARIANT_DATA = ("adult", "connect4", "sensorless")
KINDS = {"model": "FPR_model", "data": "FPR_data", "ood": "detection"}
SIZES = (1, 10, 50, 100, 200, 500, 1000)
LONG_SIZES = (1000, 1500, 2000, 2500)


def write_page(findings: Findings, path=PAGE) -> None:
    """Write all blocks of the page anew."""
    path.write_text(filled(path.read_text(), findings))


def filled(text, findings) -> str:
    """The page with its blocks filled in."""
    return MARK.sub(lambda match: match[1] + BLOCKS[match[2]](findings) + match[4], text)


def main_rows(findings, dataset, methods) -> str:
    """Rates by T, paper above ours, of a main table."""
    rows = []
    for kind, title in KINDS.items():
        for method in methods:
            printed = paper.MAIN.get(dataset, {}).get(kind)
            if printed:
                rows.append(
                    [f"{title}, {method}, paper", *[short(printed[T][method][0]) for T in SIZES]]
                )
            rows.append(
                [
                    f"{title}, {method}, ours",
                    *[short(findings.value(dataset, kind, method, T)) for T in SIZES],
                ]
            )
    return _table(["T", *SIZES], rows)


def tabular(findings) -> str:
    """HLD and MMD at all sizes, and HLD without Sensorless, whose single circuit decides the means."""
    others = [result for result in findings.of("tabular") if result["dataset"] != "sensorless"]
    rows = [
        f"| FPR_data, {name} without Sensorless, ours | "
        + " | ".join(
            short(mean_rate(rates(others, "data", method, T), "datasets").mean) for T in SIZES
        )
        + " |"
        for name, method in (
            ("HLD", "HLD"),
            ("MMD", "MMD"),
            ("HLD exact null, 1 + T/n,", "HLD exact, 1+T/n"),
        )
    ]
    means = [
        findings.mean("tabular", kind, method, T)
        for kind in KINDS
        for method in ("HLD", "MMD")
        for T in SIZES
    ]
    return (
        main_rows(findings, "tabular", ("HLD", "MMD"))
        + "\n".join(rows)
        + f"\n\nStandard errors are at most {short(max(m.error for m in means))}, those of splits and starts of "
        "Sensorless among them.\n"
    )


def repetitions(findings) -> str:
    """FPR_data on Sensorless over splits and starts."""
    results = findings.of("sensorless")
    rows = []
    for method in ("HLD", "HLD exact, 1+T/n", "MMD", "RootLL", "Typicality", "TDI"):
        runs = [run_means(results, "data", method, T) for T in (100, 200, 500, 1000)]
        rows.append([method, *[f"{short(sum(r) / len(r))} ({span(r)})" for r in runs]])
    return _table(
        [f"FPR_data, {len(results)} splits and starts: mean (range)", 100, 200, 500, 1000], rows
    )


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
    return _table(["node set", *[f"T = {T}" for T in paper.ABLATION_SIZES]], rows)


def levels(findings) -> str:
    """FPR_data at the other levels and large T."""
    without = [result for result in findings.of("tabular") if result["dataset"] != "sensorless"]
    rows = []
    for alpha in (0.01, 0.1):
        for method in ("HLD", "MMD", "RootLL"):
            printed = [paper.ALPHA[alpha, "model"][T][method][0] for T in LONG_SIZES]
            ours = [findings.value("tabular", "data", method, T, alpha) for T in LONG_SIZES]
            rest = [
                mean_rate(rates(without, "data", method, T, alpha), "datasets").mean
                for T in LONG_SIZES
            ]
            rows += [
                [alpha, f"{method}, paper", *map(short, printed)],
                ["", "ours", *map(short, ours)],
                ["", "ours without Sensorless", *map(short, rest)],
            ]
    return _table(["alpha", "FPR_data", *[f"T = {T}" for T in LONG_SIZES]], rows)


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
    return _table(
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
    return _table(
        ["threshold", *[f"{KINDS[kind]}, {method}, T = {T}" for kind, method, T in wanted]],
        [*rows, ["paper", *printed]],
    )


def codes(findings) -> str:
    """MMD on one-hot rows and on category codes, data set by data set."""
    part = Findings(findings.variants.get("mmd-codes", []), {})
    rows = []
    for kind, T in (("ood", 10), ("ood", 50), ("data", 500), ("data", 1000)):
        for name, source in (("one-hot", findings), ("codes", part)):
            rows.append(
                [
                    f"{KINDS[kind]}, T = {T}, {name}",
                    *[short(source.value(dataset, kind, "MMD", T)) for dataset in datasets.TABULAR],
                ]
            )
    return _table(["MMD", *[NAMES[dataset] for dataset in datasets.TABULAR]], rows)


def _variants(findings, names) -> dict:
    """Variants that have results of all these data sets, or of some."""
    found = {}
    for name, results in findings.variants.items():
        kept = [result for result in results if result["dataset"] in names]
        if kept and name != "mmd-codes":
            found[name] = Findings(kept, {})
    return found


def cost(findings) -> str:
    """CPU seconds by part of the study."""
    parts = {
        "tabular circuits, 21 pairs, T to 2500": findings.of("tabular"),
        "MNIST 7 x 7, 90 pairs": findings.of("mnist7"),
        "MNIST 28 x 28, 90 pairs": findings.of("mnist28"),
        "sweep circuits": [r for r in findings.results if r["architecture"] != "hclt-4"],
        "variants": [r for results in findings.variants.values() for r in results],
    }
    rows = []
    for name, results in parts.items():
        if results:
            seconds = sum(r["cpu_seconds"] for r in results)
            wall = sum(sum(r["seconds"].values()) for r in results)
            share = sum(r["seconds"].get("MMD", 0) for r in results) / wall
            rows.append([f"{len(results)} {name}", f"{seconds:,.0f}", f"{share:.0%}"])
    return _table(["part", "CPU seconds", "MMD"], rows)


BLOCKS = {
    "summary": lambda findings: summary_table(all_claims(findings)),
    "tabular": tabular,
    "repetitions": repetitions,
    "nodes": node_sets,
    "levels": levels,
    "variants": variants,
    "pixels": pixels,
    "codes": codes,
    "cost": cost,
    "mnist7": lambda findings: main_rows(findings, "mnist7", ("HLD", "MMD")),
    "mnist28": lambda findings: main_rows(
        findings, "mnist28", (*paper.METHODS, "HLD exact, 1+T/n")
    ),
    "claims": lambda findings: claims_table(all_claims(findings)),
}


def _table(header, rows) -> str:
    """Markdown, first column to the left."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "| --- |" + " ---: |" * (len(header) - 1), *lines[1:]]) + "\n"


__all__ = ["BLOCKS", "PAGE", "filled", "write_page"]
