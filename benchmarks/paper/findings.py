"""What the stored results say, in the words that tables and claims are made of.

`Findings` picks results by data set and takes means as the paper's captions have them: false-positive rates belong to
circuits, and their means go over data sets; detection rates belong to pairs, and theirs go over pairs.
"""

import functools
import pathlib
from dataclasses import dataclass, field

from . import datasets, store
from .rates import Mean, circuits, mean_rate, rates

MAIN_CIRCUIT = "hclt-4"
OVER = {"model": "datasets", "data": "datasets", "ood": "pairs"}


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of a study, of its variants by name, and those with a pseudocount per step of mini-batch EM."""

    results: list
    variants: dict = field(default_factory=dict)
    step_results: tuple = ()

    @classmethod
    def stored(cls, group="study", folder=None) -> "Findings":
        """What a folder of results holds."""
        root = store.FOLDER if folder is None else pathlib.Path(folder)
        variants = sorted((root / "variants").glob("*")) if group == "study" else ()
        return cls(
            store.read_group(group, folder),
            {path.name: store.read_group(f"variants/{path.name}", folder) for path in variants},
            tuple(store.read_group(f"{group}-step", folder)),
        )

    @functools.cached_property
    def smoothed(self) -> "Findings":
        """Those with a pseudocount per step, to be asked in the same way."""
        return Findings(list(self.step_results))

    def of(self, dataset, architecture=MAIN_CIRCUIT, id_class=None) -> list:
        """Results of a data set, or of all "tabular" ones."""
        names = datasets.TABULAR if dataset == "tabular" else (dataset,)
        return [
            result
            for result in self.results
            if result["dataset"] in names
            and result["architecture"] == architecture
            and id_class in (None, result["id_class"])
        ]

    @functools.cache  # noqa: B019 - of few instances, asked again and again
    def mean(self, dataset, kind, method, T, alpha=0.05, over=None) -> Mean | None:
        """Mean rate of a data set; None where nothing was measured."""
        return mean_rate(self.of(dataset), kind, method, T, alpha, over or OVER[kind])

    def value(self, dataset, kind, method, T, alpha=0.05) -> float:
        """The mean alone; NaN where nothing was measured."""
        mean = self.mean(dataset, kind, method, T, alpha)
        return float("nan") if mean is None else mean.mean

    def values(self, dataset, kind, methods, T, alpha=0.05) -> list:
        """The same for several methods."""
        return [self.value(dataset, kind, method, T, alpha) for method in methods]

    def spreads(self, dataset, kind, methods, T) -> list:
        """Standard deviations over pairs, which is what the paper prints beside its means."""
        return [self.mean(dataset, kind, method, T, over="pairs").sd for method in methods]

    def true_levels(self, alpha) -> list:
        """Levels of the closed form on the tabular circuits, by the spectra of S over leaf and sum units."""
        return [
            result["spectra"]["leaf+sum"]["levels"][result["settings"]["alphas"].index(alpha)]
            for result in self.of("tabular")
            if result.get("spectra")
        ]

    def sweep(self, architecture, id_class, T) -> Mean | None:
        """Detection rate of HLD on Adult with another circuit, mean over its runs."""
        results = self.of("adult", architecture, id_class)
        return mean_rate(results, "ood", "HLD/leaf+sum/normal", T)

    def pairs(self, dataset, T, methods) -> list:
        """Detection rates of the methods, pair by pair."""
        tables = [rates(self.of(dataset), "ood", method, T) for method in methods]
        return [[rate.value for rate in row] for row in zip(*tables, strict=True)]

    def per_circuit(self, dataset, kind, method, T) -> dict:
        """Rates of the circuits of a data set: {ID class: mean over pairs and runs}."""
        return {
            runs[0]["id_class"]: mean_rate(runs, kind, method, T).mean
            for runs in circuits(self.of(dataset)).values()
        }


def training_share(result, epoch) -> float:
    """Share of the gain in training log-likelihood that is reached after an epoch."""
    history = result["history"]
    return (history[min(epoch, len(history) - 1)] - history[0]) / (history[-1] - history[0])


def short(value, digits=3) -> str:
    """`.284`, `1.000`; a dash for NaN."""
    if value != value:
        return "-"
    return f"{round(float(value), 12):.{digits}f}".removeprefix(
        "0"
    )  # a tie is one, however a mean was rounded


def listed(values, digits=3) -> str:
    """Several of them."""
    return ", ".join(short(value, digits) for value in values)


def span(values, digits=3) -> str:
    """The smallest and the largest."""
    low, high = short(min(values), digits), short(max(values), digits)
    return low if low == high else f"{low} to {high}"
