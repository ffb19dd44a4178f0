"""Results to Markdown and figures: ``results/<group>-report/``.

    opening.md     the claims that a reader asks for first, and why they come out as they do; also printed
    tables.md      rates of all methods by T in the layout of its main tables, with their errors, and the circuits
    *.png          training curve, real against sampled digits, localisation maps

The report of the whole study also writes the numbers on the pages (`page`).
"""

import pathlib

from . import datasets, figures, page, store, tables
from . import paper_values as paper
from .claims_rows import num_pairs
from .findings import Findings

INTRODUCTION = """# Experiments of the HLD paper, run again

Made by `python -m benchmarks.paper report{option}` from `benchmarks/results/{group}`.  A cell reads
`ours ± standard deviation over pairs [standard error] (paper ± its standard deviation)`.  The error is that of the
trials and of the threshold where that is drawn, and over splits and starts for circuits that were repeated.  HLD is the
paper's closed-form threshold; "HLD exact" the generalised chi-square, "HLD exact, 1+T/n" the same with the estimation
error of the circuit (n training rows); "TDI variation" the relative uncertainty as score.  {trials} trials per
cell{mmd}, seed {seed}, batches {replacement} replacement.
"""


def write_report(group="study", folder=None) -> str:
    """Write the report of a group of results; returns where it is."""
    results = store.read_group(group, folder)
    if not results:
        raise SystemExit(
            f"there are no results in group {group!r}: run `python -m benchmarks.paper` first"
        )
    target = (store.FOLDER if folder is None else pathlib.Path(folder)) / f"{group}-report"
    target.mkdir(parents=True, exist_ok=True)
    findings = Findings.stored(group, folder)
    is_whole = any(1000 in result["settings"]["batch_sizes"] for result in results)
    table = page.opening(findings) if is_whole else ""
    (target / "opening.md").write_text(table)
    (target / "tables.md").write_text(_tables(results, group, findings.smoothed))
    main = [result for result in results if result["architecture"] == "hclt-4"]
    figures.draw_all([result for result in main if result["run"] == 0], target)
    if group == "study" and folder is None:
        page.write_pages(findings)
        figures.overview(findings, page.ROOT / "benchmarks" / "figures" / "paper.png")
    return f"{table}\n{target}"


def _tables(results, group, smoothed) -> str:
    """The text of tables.md."""
    main = {
        name: [r for r in results if r["dataset"] == name and r["architecture"] == "hclt-4"]
        for name in (*datasets.TABULAR, *datasets.IMAGES)
    }
    tabular = [result for name in datasets.TABULAR for result in main[name]]
    settings = (tabular or results)[0]["settings"]
    parts = [
        INTRODUCTION.format(
            option=" --quick" if group == "quick" else "",
            group=group,
            trials=settings["trials"],
            mmd=_mmd_text(settings),
            seed=settings["seed"],
            replacement="with" if settings["replacement"] else "without",
        )
    ]
    remarks = sorted(
        {f"{tables.NAMES[r['dataset']]}: {r['remark']}." for r in results if r["remark"]}
    )
    parts.append("\n".join(remarks) + "\n")
    if tabular:
        parts += [
            f"## Tabular data sets, {num_pairs(tabular)} pairs, alpha = 0.05, mean over pairs\n",
            tables.detection_table(tabular, printed=paper.MAIN["tabular"]),
            "## The same, mean over data sets\n",
            tables.detection_table(
                tabular, printed=paper.MAIN["tabular"], over="datasets", methods=paper.METHODS
            ),
        ]
    for name, found in main.items():
        if found:
            parts += [
                f"## {tables.NAMES[name]}, {num_pairs(found)} pairs, alpha = 0.05\n",
                tables.detection_table(found, printed=paper.MAIN.get(name)),
            ]
    for name in ("tabular", "mnist7"):
        if smoothed.of(name):
            parts += [
                f"## {'Tabular data sets' if name == 'tabular' else tables.NAMES[name]}, the pseudocount added in each "
                "step of mini-batch EM\n",
                tables.detection_table(
                    smoothed.of(name), printed=paper.MAIN[name], methods=paper.METHODS
                ),
            ]
    parts += ["## Circuits and seconds\n", tables.model_table(results)]
    return "\n".join(parts)


def _mmd_text(settings) -> str:
    """In how far MMD has other numbers of trials."""
    trials, short, long = settings["trials"], settings["mmd_trials"], settings["mmd_long_trials"]
    return (
        "" if trials == short == long else f" (MMD {short}; at T of 1500 and more {long or 'none'})"
    )
