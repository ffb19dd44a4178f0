"""Every row of the paper's printed tables beside ours.

A row of rates has the numbers of all its columns; it agrees as `claims.agreement` says.  Means are taken as `findings`
has them: over data sets for false positives, over pairs for detection.  The two pairs of alpha tables have the
captions that fit their numbers; the paper's are exchanged.
"""

from . import datasets
from . import paper_values as paper
from .claims import AGREES, DIFFERS, NOT_DONE, Claim, agreement
from .findings import listed, short, span
from .rates import circuits, mean_rate, ood_classes
from .tables import NAMES

KINDS = {"model": "FPR_model", "data": "FPR_data", "ood": "detection"}
COMPOSITION = {  # columns, rows of the ID class, of its halves
    ("adult", "<=50K"): (14, 37_155, 18_577, 18_578),
    ("adult", ">50K"): (14, 11_687, 5_843, 5_844),
    ("connect4", "win"): (42, 44_473, 22_236, 22_237),
    ("connect4", "loss"): (42, 16_635, 8_317, 8_318),
    ("covertype", "lodgepole"): (54, 283_301, 141_650, 141_651),
    ("covertype", "ponderosa"): (54, 35_754, 17_877, 17_877),
    ("census", "<50K"): (40, 280_717, 140_358, 140_359),
    ("census", ">=50K"): (40, 18_568, 9_284, 9_284),
    ("sensorless", "healthy"): (48, 5_319, 2_659, 2_660),
}


def row_claims(findings) -> dict:
    """{heading: claims}, one claim for each printed row."""
    groups = {
        "Rows of the table of pairs: columns; rows of the ID class, of its halves": _composition(
            findings
        )
    }
    columns = " ".join(paper.METHODS)
    for dataset, name in (("tabular", "table 1, tabular data"), ("mnist7", "table 2, MNIST 7 x 7")):
        groups[f"Rows of {name}, alpha = 0.05: {columns}"] = [
            _rates_row(findings, dataset, kind, T, printed, paper.METHODS, 0.05)
            for kind, table in paper.MAIN[dataset].items()
            for T, printed in table.items()
        ]
    sizes = ", ".join(map(str, paper.MAIN["tabular"]["model"]))
    for dataset, name in (("tabular", "table 1"), ("mnist7", "table 2")):
        heading = f"Columns of standard deviations over pairs in {name}: T = {sizes}"
        groups[heading] = _deviations(findings, dataset)
    for alpha in (0.01, 0.1):
        rows = [
            _rates_row(findings, "tabular", kind, T, printed, paper.ALPHA_METHODS, alpha)
            for kind, caption in (("model", "data"), ("data", "model"))
            for T, printed in paper.ALPHA[alpha, caption].items()
        ]
        groups[f"Rows of the tables at alpha = {alpha}: {' '.join(paper.ALPHA_METHODS)}"] = rows
    sizes = ", ".join(map(str, paper.ABLATION_SIZES))
    groups[f"Rows of the tables of node sets, detection: dimension; T = {sizes}"] = [
        *_node_rows(findings, "mean"),
        *(row for dataset in datasets.TABULAR for row in _node_rows(findings, dataset)),
    ]
    sizes = ", ".join(map(str, paper.SWEEP_SIZES))
    groups[
        f"Rows of the sweeps on Adult, ID class >50K: units; log-likelihood; detection at T = {sizes}"
    ] = [
        _sweep_row(findings, key, row)
        for table in (paper.CAPACITY, paper.RAT)
        for key, row in table.items()
    ]
    return groups


def _composition(findings) -> list:
    """Numbers of columns and rows, data set by data set."""
    claims = []
    for (dataset, id_class), printed in COMPOSITION.items():
        results = findings.of(dataset, id_class=id_class)
        if not results:
            continue
        rows = results[0]["rows"]
        ours = (
            results[0]["num_variables"],
            rows["train"] + rows["data"],
            rows["train"],
            rows["data"],
        )
        detail = "" if ours[0] == printed[0] else "rows; columns by the unit counts"
        same = ours[1:] == printed[1:]
        remark = f" ({results[0]['remark']})" if results[0]["remark"] else ""
        claims.append(
            Claim(
                f"{NAMES[dataset]}, `{id_class}`",
                _counts(printed),
                _counts(ours) + remark,
                AGREES if same and not detail else "in part" if same else DIFFERS,
                detail,
            )
        )
    return claims


def _counts(numbers) -> str:
    """Columns; rows."""
    return f"{numbers[0]}; " + ", ".join(f"{number:,}" for number in numbers[1:])


def _rates_row(findings, dataset, kind, T, printed, methods, alpha) -> Claim:
    """A row of a table of all methods."""
    theirs = [printed[method][0] for method in methods]
    ours = [findings.mean(dataset, kind, method, T, alpha) for method in methods]
    verdict, detail = agreement(methods, theirs, _ranges(ours), kind)
    text = _means(ours)
    if alpha == 0.05 and findings.smoothed.of(dataset):  # the second full column
        step = [findings.smoothed.mean(dataset, kind, method, T) for method in methods]
        text += f"; smoothed per step: {_means(step)}"
    return Claim(f"{KINDS[kind]}, T = {T}", listed(theirs), text, verdict, detail)


def _node_rows(findings, dataset) -> list:
    """The rows of a table of node sets: of one data set, or of the "mean" over data sets."""
    results = findings.of("tabular" if dataset == "mean" else dataset)
    claims = []
    for name, (dim, printed) in paper.ABLATION[dataset].items():
        theirs = [printed[T][0] for T in paper.ABLATION_SIZES]
        ours = [
            mean_rate(results, "ood", f"HLD/{name}/normal", T, over="datasets")
            for T in paper.ABLATION_SIZES
        ]
        verdict, detail = agreement(
            [f"T = {T}" for T in paper.ABLATION_SIZES], theirs, _ranges(ours), "ood"
        )
        dims = [result["dims"][name] for result in results] if results else [0]
        if dataset == "mean":
            by_set = [
                [r["dims"][name] for r in results if r["dataset"] == d] for d in datasets.TABULAR
            ]
            shown = f"{sum(max(dims, default=0) for dims in by_set) / len(by_set):.0f}"
        else:
            shown = span(dims, 0)
        title = "mean over data sets" if dataset == "mean" else NAMES[dataset]
        claims.append(
            Claim(
                f"{title}, {name}",
                f"{dim}; {listed(theirs)}",
                f"{shown}; {_means(ours)}",
                verdict,
                detail,
            )
        )
    return claims


def _sweep_row(findings, architecture, row) -> Claim:
    """A row of the sweep over capacities or over random structures; the log-likelihood over its runs."""
    units, log_likelihood, detection = row
    results = findings.of("adult", architecture, ">50K")
    theirs = [detection[T] for T in paper.SWEEP_SIZES]
    ours = [findings.sweep(architecture, ">50K", T) for T in paper.SWEEP_SIZES]
    if not results:
        return Claim(
            architecture, f"{units}; {log_likelihood:.2f}; {listed(theirs)}", "-", NOT_DONE
        )
    verdict, detail = agreement(
        [f"T = {T}" for T in paper.SWEEP_SIZES], theirs, _ranges(ours), "ood"
    )
    found = span([sum(result["units"].values()) for result in results], 0)
    fits = span([result["history"][-1] for result in results], 2)
    return Claim(
        architecture,
        f"{units}; {log_likelihood:.2f}; {listed(theirs)}",
        f"{found}; {fits}; {_means(ours)}",
        verdict,
        detail,
    )


def _deviations(findings, dataset) -> list:
    """The columns of standard deviations over pairs of a main table, one claim for each method."""
    claims = []
    for kind, table in paper.MAIN[dataset].items():
        for method in paper.METHODS:
            theirs = [printed[method][1] for printed in table.values()]
            found = [findings.mean(dataset, kind, method, T, over="pairs") for T in table]
            spans = [None if mean is None else mean.sd_range for mean in found]
            verdict, detail = agreement([f"T = {T}" for T in table], theirs, spans, kind)
            ours = ", ".join("-" if part is None else span(part, 2) for part in spans)
            claims.append(
                Claim(f"{KINDS[kind]}, {method}", listed(theirs, 2), ours, verdict, detail)
            )
    return claims


def _ranges(means) -> list:
    """Their ranges over splits and starts."""
    return [None if mean is None else mean.range for mean in means]


def _means(means) -> str:
    """Means alone."""
    return ", ".join("-" if mean is None else short(mean.mean) for mean in means)


def num_pairs(results) -> int:
    """Pairs of all circuits."""
    return sum(len(ood_classes(runs[0])) for runs in circuits(results).values())
