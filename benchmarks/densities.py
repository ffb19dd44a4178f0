"""Circuits of densities beside circuits of bins: test nats a row, and what a test of batches finds.

    python -m benchmarks.densities nats           likelihoods of fresh rows, beside other programs
    python -m benchmarks.densities level          of the exact null, for rows drawn from the circuit
    python -m benchmarks.densities power          of `HLDDetector` with bins and with densities
    python -m benchmarks.densities speed          rows per CPU second of one thread, beside libcirkit and SPFlow

Tables: covertype's ten quantitative columns, sensorless's 48 and adult's fourteen, eight of which are categories
(`HLD_DATA`); breast cancer, diabetes, wine, digits and iris of scikit-learn; and any file of comma-separated values by
its path (`.dat`: one without a head).  Of a file, rows with a missing value and columns of more than 50 words are left
out, and words are categories.  Half of the rows, at most 3,000, are to learn from, the others fresh.

One measure for all models.  A column whose values are multiples of a unit u, or categories with u = 1, is dequantised:
to every number is added a uniform one from (-u/2, u/2), for all models the same.  What a model says of one value, be it
a category or an atom, is spread evenly over the cell of this value.  Then densities are those of columns divided by the
standard deviations of the training rows.  A bin has the density of its share over its width, the outer ones reach one
deviation beyond the training rows, and what lies further counts as their end.

Other programs: scikit-learn's mixtures of normal distributions, with 1 to 32 of them as a tenth of the rows chooses, on
the dequantised rows; adversarial random forests (`arfpy`, left out where it is not installed), whose leaves are the
products of normal distributions and of shares of categories.
"""

import argparse
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as bundled
from sklearn.mixture import GaussianMixture

import hld
import pcircuit
from pcircuit.inference.densities import at_rows, block_rows
from pcircuit.learning.normal_blocks import NormalBlocks
from pcircuit.learning.product_mixtures import product_circuit
from pcircuit.leaves import Atoms, Categorical, Gaussian, Histogram, LeafFamily
from pcircuit.leaves.columns import heaped_values, rounding_unit

from .measure import markdown, median_time, show
from .paper import datasets
from .peers import best_rate

MOST_ROWS, EPOCHS, NUM_LATENTS = 3_000, 100, 12
MOST_WORDS = 50  # of a column of categories in a file
MOST_CELLS = 500_000  # rows times columns for `speed`
SETTINGS = ((50, 4), (50, 16), (500, 4), (2_000, 4))  # V, K
TABLES = ("breast", "diabetes", "wine", "digits", "covertype", "sensorless", "adult")
SMALLEST_SPREAD = 1e-3  # of a leaf of a forest, in deviations of its column


def load(name):
    """(N, V) numbers of a table in random order, and which columns are categories."""
    if name.endswith((".csv", ".dat")):
        rows, are_categories = of_file(name)
    elif name in ("covertype", "sensorless", "adult"):
        table = datasets.load_table(name)
        kept = table.is_numeric | (name == "adult")
        rows, are_categories = table.values[:, kept].astype(float), ~table.is_numeric[kept]
    else:
        loader = getattr(bundled, f"load_{'breast_cancer' if name == 'breast' else name}")
        rows = loader().data.astype(float)
        are_categories = np.zeros(rows.shape[1], dtype=bool)
    varies = rows.std(axis=0) > 0
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order][:, varies], are_categories[varies]


def of_file(path):
    """(N, V) numbers of a file, words by their place in the alphabet, and which columns are words."""
    import pandas

    head = None if path.endswith(".dat") else "infer"
    frame = pandas.read_csv(
        path, header=head, comment="@", skipinitialspace=True, na_values=["?", "<null>"]
    ).dropna()
    is_number = np.array([pandas.api.types.is_numeric_dtype(kind) for kind in frame.dtypes])
    kept = is_number | (frame.nunique() <= MOST_WORDS).to_numpy()
    columns = [
        frame[name] if number else pandas.factorize(frame[name], sort=True)[0]
        for name, number in zip(frame.columns[kept], is_number[kept], strict=True)
    ]
    return np.column_stack(columns).astype(float), ~is_number[kept]


class Parts(NamedTuple):
    """Training rows and fresh ones, as they are and dequantised; what columns are."""

    train: np.ndarray
    smooth: np.ndarray
    fresh: np.ndarray  # dequantised
    units: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    are_categories: np.ndarray
    num_trees: int = 32  # of `learn`

    def standardized(self, rows):
        """Rows in deviations from the mean of the training rows."""
        return (rows - self.mean) / self.std


def split(rows, are_categories):
    """The parts of a table."""
    n = min(len(rows) // 2, MOST_ROWS)
    units = np.array([_unit(column) for column in rows.T])
    units[are_categories] = 1.0
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, (2 * n, rows.shape[1])) * units
    train, smooth = rows[:n], rows[: 2 * n] + noise
    std = np.maximum(train.std(axis=0), 1e-9)
    return Parts(train, smooth[:n], smooth[n:], units, train.mean(axis=0), std, are_categories)


def _unit(column):
    """The unit of a rounded column; where single values are heaped, the smallest gap."""
    unit = rounding_unit(column)
    return np.diff(np.unique(column)).min() if not unit and len(heaped_values(column)) else unit


def of_bins(parts, num_bins):
    """A hidden Chow-Liu tree of equal-frequency bins as densities; the outer bins reach one deviation further."""
    edges = []
    for v, column in enumerate(parts.smooth.T):
        if parts.are_categories[v]:
            edges.append(np.arange(parts.train[:, v].max() + 2) - 0.5)
            continue
        cuts = np.quantile(column, np.arange(1, num_bins) / num_bins)
        ends = column.min() - parts.std[v], column.max() + parts.std[v]
        edges.append(np.unique([*ends, *cuts]))
    columns = zip(edges, parts.smooth.T, strict=True)
    codes = np.stack([np.searchsorted(e[1:-1], column) for e, column in columns], axis=1)
    start = pcircuit.hclt(codes, NUM_LATENTS, num_categories=[max(len(e) - 1, 2) for e in edges])
    circuit, _ = start.fit_em(codes, num_epochs=EPOCHS, pseudocount=1.0)
    bins = zip(edges, circuit.inputs, strict=True)
    leaves = [Histogram(e, region.probs[:, : len(e) - 1]) for e, region in bins]
    inside = np.clip(parts.fresh, [e[0] for e in edges], [e[-1] for e in edges])
    return with_leaves(circuit, dict(enumerate(leaves))).log_likelihood(inside)


def with_leaves(circuit, leaves):
    """A circuit with leaves of other families at some variables."""
    regions = list(circuit.regions)
    for v, r in enumerate(circuit.vtree.leaf_of().tolist()):
        regions[r] = pcircuit.InputRegion(v, leaves.get(v, circuit.inputs[v].leaves))
    return pcircuit.Circuit(circuit.vtree, regions)


@dataclass(frozen=True, eq=False, repr=False)
class Spread(LeafFamily):
    """Atoms whose probabilities are spread over the cells of width `unit` around them."""

    base: Atoms
    unit: Any
    shared = ("unit",)

    def log_density(self, x):
        """(N, K) ln of the densities."""
        base = self.base
        cells = np.abs(np.asarray(x)[:, None] - base.values) <= self.unit / 2
        with np.errstate(divide="ignore"):
            rest = np.log(base.share) + base.rest.log_density(x)
            return np.logaddexp(rest, np.log(cells @ base.probs.T / self.unit))


def spread(model, units):
    """A model of rounded rows as one of dequantised rows."""
    if isinstance(model, pcircuit.Mixture):
        return pcircuit.Mixture([spread(one, units) for one in model.circuits], model.weights)
    if isinstance(model, NormalBlocks):
        return NormalBlocks(spread(model.products, units), model.correlations)
    leaves = {}
    for v, region in enumerate(model.inputs):
        own = region.leaves
        if isinstance(own, Categorical):
            leaves[v] = Histogram(np.arange(own.num_categories + 1) - 0.5, own.probs)
        elif isinstance(own, Atoms):
            leaves[v] = Spread(own, units[v])
    return with_leaves(model, leaves)


def normal_mixture(parts, kind):
    """scikit-learn's mixture, its number of components chosen by a tenth of the rows."""
    rows, held = parts.standardized(parts.smooth), len(parts.smooth) // 10

    def fitted(count, some):
        model = GaussianMixture(count, covariance_type=kind, random_state=0, reg_covar=1e-4)
        return model.fit(some)

    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= len(rows) - held]
    scores = [fitted(count, rows[held:]).score(rows[:held]) for count in counts]
    best = fitted(counts[int(np.argmax(scores))], rows)
    return best.score_samples(parts.standardized(parts.fresh)) - np.log(parts.std).sum()


def random_forest(parts):
    """An adversarial random forest: for each tree the mixture of its leaves, and the mean over trees."""
    import pandas
    from arfpy.arf import arf

    rows = np.where(parts.are_categories, parts.train, parts.smooth)
    away = rows - parts.mean
    frame = pandas.DataFrame(rows, columns=[f"x{v}" for v in range(rows.shape[1])])
    for name in frame.columns[parts.are_categories]:
        frame[name] = frame[name].astype(int).astype("category")
    forest, trees = arf(frame, verbose=False, random_state=0).clf, []
    for name in frame.columns[parts.are_categories]:
        frame[name] = frame[name].cat.codes
    for places in forest.apply(frame).T:
        shares = np.eye(places.max() + 1)[places]
        shares = shares[:, shares.any(axis=0)]
        counts = shares.sum(axis=0)[:, None]
        mean = shares.T @ away / counts
        variance = (shares.T @ away**2 - counts * mean**2) / np.maximum(counts - 1, 1)
        std = np.sqrt(np.maximum(variance, (SMALLEST_SPREAD * parts.std) ** 2))
        std = np.where(counts > 1, std, parts.std)
        units = [Gaussian(*one) for one in zip((parts.mean + mean).T, std.T, strict=True)]
        for v in np.flatnonzero(parts.are_categories):
            table = Categorical(np.ones((len(counts), int(parts.train[:, v].max()) + 1)))
            units[v] = table.maximize(table.statistics(rows[:, v], shares), 1.0)
        trees.append(product_circuit(units, shares.sum(axis=0)))
    return spread(pcircuit.Mixture(trees), parts.units).log_likelihood(parts.fresh)


def tree(parts, kind):
    """A hidden Chow-Liu tree with leaves of a kind in the columns of numbers."""
    leaves = ["categorical" if is_one else kind for is_one in parts.are_categories]
    is_smooth = (kind == "gaussian") & ~parts.are_categories
    rows = np.where(is_smooth, parts.smooth, parts.train)
    start = pcircuit.hclt(rows, NUM_LATENTS, leaves=leaves)
    circuit, _ = start.fit_em(rows, num_epochs=EPOCHS, pseudocount=1.0)
    return spread(circuit, parts.units).log_likelihood(parts.fresh)


def learned(parts):
    """What `learn` makes of the rows."""
    leaves = ["categorical" if is_one else "auto" for is_one in parts.are_categories]
    search = pcircuit.LearnSearch(num_trees=parts.num_trees)
    model = pcircuit.learn(parts.train, leaves=leaves, search=search).model
    return spread(model, parts.units).log_likelihood(parts.fresh)


MODELS = {  # ln of the densities of fresh rows
    "8 bins": lambda parts: of_bins(parts, 8),
    "32 bins": lambda parts: of_bins(parts, 32),
    "Gaussian": lambda parts: tree(parts, "gaussian"),
    "auto": lambda parts: tree(parts, "auto"),
    "learn": learned,
    "mixture diag": lambda parts: normal_mixture(parts, "diag"),
    "mixture full": lambda parts: normal_mixture(parts, "full"),
    "forest": random_forest,
}


def nats(names, models, num_trees):
    """A table of mean log-likelihoods of fresh rows; adversarial random forests where `arfpy` is installed."""
    models = [model for model in models if model != "forest" or find_spec("arfpy")]
    print(markdown(["table", "V, n", *models]), end="")
    for name in names:
        parts = split(*load(name))._replace(num_trees=num_trees)
        print(
            f"| {Path(name).stem} | {parts.train.shape[1]}, {len(parts.train)} |",
            end="",
            flush=True,
        )
        for model in models:
            found = MODELS[model](parts).mean() + np.log(parts.std).sum()
            print(f" {found:.2f} |", end="", flush=True)
        print(flush=True)


def level(names, trials):
    """Shares of batches drawn from a circuit that its own test rejects at 5 % and at 1 %."""
    print(markdown(["table", "T", "5 %", "1 %"]), end="")
    for name in names:
        parts = split(*load(name))
        leaves = ["categorical" if is_one else "auto" for is_one in parts.are_categories]
        start = pcircuit.hclt(parts.train, 4, leaves=leaves)
        circuit, _ = start.fit_em(parts.train, num_epochs=50, pseudocount=1.0)
        test = hld.HLDTest(circuit)
        for T in (10, 50, 200):
            rows = circuit.sample(T * trials, rng=T).reshape(trials, T, -1)
            pvalues = np.array([test(batch).pvalue for batch in rows])
            show(name, T, *(f"{(pvalues <= alpha).mean():.3f}" for alpha in (0.05, 0.01)))


SHIFTS = {
    "none": lambda rows, rng: rows,
    "one mean": lambda rows, rng: rows + np.eye(rows.shape[1])[0] * 0.5,
    "all means": lambda rows, rng: rows + 0.25,
    "one variance": lambda rows, rng: rows * (1 + 0.5 * np.eye(rows.shape[1])[0]),
    "permuted": lambda rows, rng: np.column_stack([rng.permutation(rows[:, 0]), rows[:, 1:]]),
    "one outlier": lambda rows, rng: np.concatenate([rows[1:], rows[:1] + 20.0]),
}


def power(names, trials):
    """Shares of batches that detectors of bins and of densities reject at the 5 % level."""
    print(markdown(["table", "T", "model", *SHIFTS], left=3), end="")
    for name in names:
        parts = split(*load(name))
        train, fresh = (parts.standardized(rows) for rows in (parts.smooth, parts.fresh))
        densities = hld.HLDDetector(rng=0, leaves="auto").fit(train)
        tests = {
            "bins": hld.HLDDetector(rng=0).fit(train).test,
            "densities": densities.test,
            "densities, circuit": hld.HLDTest(densities.densities_, rng=0),
        }
        for T in (10, 50, 200):
            for model, judge in tests.items():
                shares = []
                for shift in SHIFTS.values():
                    rng = np.random.default_rng(2)
                    batches = [fresh[rng.integers(len(fresh), size=T)] for _ in range(trials)]
                    shares.append(np.mean([judge(shift(batch, rng)).reject for batch in batches]))
                show(name, T, model, *(f"{x:.2f}" for x in shares))


def speed(settings):
    """A table of rates of Gaussian hidden Chow-Liu trees for (V, K), with the same circuit in other libraries."""
    heads = ["V", "K", "rows a second", "fill", "epoch", "libcirkit", "SPFlow", "over the best"]
    print(markdown(heads, left=0), end="")
    rng = np.random.default_rng(0)
    for V, K in settings:
        rows = rng.standard_normal((MOST_CELLS // V, V)) + rng.standard_normal((MOST_CELLS // V, 1))
        start = pcircuit.hclt(rows[:2000], K, leaves="gaussian")
        circuit, _ = start.fit_em(rows[:2000], num_epochs=2)
        whole, fill, one, five = times(circuit, rows)
        rates = [of_peer(name, circuit, rows) for name in ("libcirkit", "spflow")]
        cells = [f"{rate:,.0f}" if rate else "-" for rate in rates]
        best = max((rate for rate in rates if rate), default=np.inf)
        cells.append(f"{len(rows) / whole / best:.1f}")
        epoch = (five - one) / 4 / whole
        show(
            f"{V:,}", K, f"{len(rows) / whole:,.0f}", f"{fill / whole:.2f}", f"{epoch:.1f}", *cells
        )
    print(
        "\nFill (of leaf tables) and an epoch of EM in units of an evaluation.  A dash: not installed, or rows too "
        "unlikely for it."
    )


def times(circuit, rows):
    """CPU seconds of an evaluation, of filling its leaf tables, and of one and of five epochs of EM."""
    step = block_rows(circuit)
    circuit.log_likelihood(rows, n_jobs=1)  # compiled, and with memory to work in

    def fill():
        for start in range(0, len(rows), step):
            at_rows(circuit, rows, slice(start, start + step))

    return [
        median_time(function, 5, clock=time.process_time)
        for function in (
            lambda: circuit.log_likelihood(rows, n_jobs=1),
            fill,
            lambda: circuit.fit_em(rows, num_epochs=1, n_jobs=1),
            lambda: circuit.fit_em(rows, num_epochs=5, n_jobs=1),
        )
    ]


def of_peer(name, circuit, rows):
    """Rows per CPU second of the same circuit in another library at its best batch size; None where it cannot."""
    if find_spec({"libcirkit": "cirkit", "spflow": "spflow"}[name]) is None:
        return None
    peer, few = import_module(f"benchmarks.peer_{name}"), rows[:100]
    evaluate, want = peer.evaluator(circuit), circuit.log_likelihood(few)
    if want.min() < peer.LOWEST:
        return None
    np.testing.assert_allclose(evaluate(peer.as_input(few)), want, rtol=1e-4, atol=1e-3)
    return best_rate(evaluate, rows, True, as_input=peer.as_input)


def main():
    """One of the four tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("nats", "level", "power", "speed"))
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--trials", type=int, default=50, help="batches (default 50)")
    parser.add_argument("--trees", type=int, default=32, help="`num_trees` of `learn` (default 32)")
    given = parser.parse_args()
    if given.what == "nats":
        nats(given.tables, given.models, given.trees)
    elif given.what == "speed":
        speed(SETTINGS)
    else:
        {"level": level, "power": power}[given.what](given.tables, given.trials)


if __name__ == "__main__":
    main()
