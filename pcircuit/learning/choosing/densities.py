r"""Learning circuits of densities in one call: what each model says of rows that it did not see decides.

The rows are divided into five parts.  A *way* to learn, such as a tree with 8 states, is fitted five times, each time
without one of the parts, which stops its EM and tells how good it is: every row is judged by a model that did not see
it.  So few rows are enough to learn from and to choose by.

1. *Trees.*  Hidden Chow-Liu trees with K = 4, 8, 16, ... states, until the rows gain nothing; then other weights of
   the columns' own means and variances.
2. *Blocks.*  Mixtures of multivariate normal distributions (`pcircuit.learning.normal_blocks`) with 1, 2, 4, ...
   products, until the rows gain nothing; then other weights of the covariance of all rows.  In *wide* blocks rounded
   columns with heaps are normal, too: atoms say more of one column, covariances more of two.  Each has the tree of the
   same rows beside it, with a hundredth of the weight: a row with an outlier, which correlated normal distributions
   rule out, is left to the tree, also while they are learned.
3. *Together.*  The mixture of all these models: those of one way have equal weights, and the weights q of the ways
   maximise what the rows say, by EM (Smyth and Wolpert 1999),

.. math:: \sum_n \ln \sum_w q_w \, p_w(x_n), \qquad p_w \text{ without the part of row } n .

4. *Again.*  New divisions make more models of the ways that count.  Models of one way err in different ways, so that
   their average has the higher likelihood; as long as that helps there are more.

With many rows one part judges, and only ways that count are fitted without another one as well.

Log-likelihoods are sums over columns, and so is what counts as a gain: `LearnSearch.tolerance` for each column.

References
----------
Smyth and Wolpert (1999), Linearly combining density estimators via stacking, Machine Learning 36.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints
from pcircuit.circuit import Circuit, Mixture
from pcircuit.learning.choosing.averages import best_weights, flat
from pcircuit.learning.choosing.fits import (
    Rows,
    Size,
    fitted_from,
    until_worse,
)
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.em import fit_em
from pcircuit.learning.normal_blocks import BESIDE, BlockSteps
from pcircuit.learning.start_circuits import hclt
from pcircuit.leaves import Atoms, Gaussian, Tailed
from pcircuit.leaves.choice import families_of
from pcircuit.leaves.columns import rounding_unit
from pcircuit.regions import LeafFamily

SIZES, SMOOTHING = (4, 8, 16, 32), (1.0, 10.0, 0.1)
PRODUCTS, PRIOR_ROWS = (1, 2, 4, 8, 16, 32), (0.3, 0.1, 1.0)  # the latter for each column
PARTS = 5
MANY_ROWS = 2000  # from which on one part judges
BLOCK_EPOCHS = 4  # of EM between looks
LEAST_WEIGHT = 0.05  # of a way that is fitted again
WEIGHT_TOLERANCE = 0.1  # of weights of ways, relative to that of the search


class Way(NamedTuple):
    """How models are made: the kind, and its size and smoothing."""

    kind: str
    size: Size


class Found(NamedTuple):
    """What a way has made: its models, and ln of what judging rows say of it, those of each division."""

    models: list[Any]
    logs: list[Floats]
    epochs: list[int]

    @property
    def mean_logs(self) -> Floats:
        """(n,) ln of the mean over divisions of the likelihood of each row under the model that did not see it."""
        return np.logaddexp.reduce(self.logs, axis=0) - np.log(len(self.logs))


class _Division:
    """Rows divided into parts, and the fits without one of them."""

    def __init__(
        self,
        table: Floats,
        held: Floats | None,
        families: Any,
        search: LearnSearch,
        generator: np.random.Generator,
        n_jobs: int | None,
        note: Callable[[Trial], float],
    ) -> None:
        self.table, self.held, self.families, self.search = table, held, families, search
        self.generator, self.n_jobs, self.note = generator, n_jobs, note
        self.trees: dict[int, Circuit] = {}  # without each part, the last one
        self.in_blocks = _in_blocks(families, table)
        self.parts: Ints = generator.permutation(len(table)) % min(PARTS, len(table))

    def judging(self, number: int) -> Floats:
        """The rows that judge the fit without one part."""
        return self.table[self.parts == number] if self.held is None else self.held

    def fitted(self, way: Way, number: int) -> tuple[Any, Trial]:
        """A model of a way, without one part."""
        table, size, search = self.table[self.parts != number], way.size, self.search
        nothing = np.zeros(0, dtype=np.int64)
        rows = Rows(
            table, table, np.ones(len(table)), self.judging(number), nothing, nothing, self.n_jobs
        )
        if way.kind in self.in_blocks:
            tree = self.trees[number]
            beside = tree.log_likelihood(table, n_jobs=self.n_jobs) + np.log(BESIDE)
            is_normal = self.in_blocks[way.kind]
            blocks = BlockSteps(
                table,
                self.families,
                is_normal,
                size.num_latents,
                size.pseudocount * int(is_normal.sum()),
                self.generator,
                beside,
            )

            def step(_: Any, epochs: int) -> tuple[Any, Floats]:
                history = [blocks.step() for _ in range(epochs)]
                both: list[Any] = [tree, blocks.model]
                return Mixture(both, [BESIDE, 1 - BESIDE]), np.array(history)

            found = until_worse(None, step, rows, search, BLOCK_EPOCHS, (way.kind, *size))
        else:
            seed = int(self.generator.integers(2**32))
            start = hclt(table, size.num_latents, leaves=self.families, rng=seed)
            found = fitted_from(rows, start, size, search, way.kind)
            self.trees[number] = found[0]
        self.note(found[1])
        return found

    def found(self, way: Way, numbers: range) -> Found:
        """Models of a way without each of some parts, and what the rows of these say."""
        fits = [self.fitted(way, number) for number in numbers]
        models = [model for model, _ in fits]
        logs = [
            model.log_likelihood(self.judging(number), n_jobs=self.n_jobs)
            for number, model in zip(numbers, models, strict=True)
        ]
        if self.held is not None:
            judged = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
        else:
            judged = np.empty(len(self.table))
            for number, own in zip(numbers, logs, strict=True):
                judged[self.parts == number] = own
            judged = judged[self.parts < len(numbers)]
        epochs = [int(trial.epochs[np.argmax(trial.validation)]) for _, trial in fits]
        return Found(models, [judged], epochs)


def _in_blocks(families: list[LeafFamily], table: Floats) -> dict[str, Bools]:
    """(V,) which columns are normal in each kind of blocks: numbers without heaps, or rounded ones as well."""
    numbers = np.array([isinstance(family, (Gaussian, Tailed)) for family in families])
    heaped = [
        isinstance(family, Atoms) and rounding_unit(column[~np.isnan(column)]) > 0
        for family, column in zip(families, table.T, strict=True)
    ]
    kinds = {"blocks": numbers, "wide blocks": numbers | heaped}
    return {
        kind: columns
        for kind, columns in kinds.items()
        if columns.sum() > 1 and (kind == "blocks" or any(heaped))
    }


def learned_densities(
    table: Floats,
    held: Floats | None,
    leaves: Any,
    search: LearnSearch,
    generator: np.random.Generator,
    n_jobs: int | None,
    note: Callable[[Trial], float],
) -> tuple[Circuit, Mixture | None, Floats]:
    """The best tree, learned from all rows; the mixture where that is better; and what judging rows say of the latter.

    Shapes: table (N, V), held (M, V).
    """
    families = families_of(leaves, table if held is None else np.concatenate([table, held]))

    def divided() -> _Division:
        return _Division(table, held, families, search, generator, n_jobs, note)

    usual = LearnSearch()
    search = replace(search, tolerance=search.tolerance * table.shape[1])
    division = divided()
    numbers = range(PARTS if len(table) < MANY_ROWS else 1)
    found: dict[Way, Found] = {}

    def stacked(ways: dict[Way, Found]) -> tuple[dict[Way, float], float]:
        logs = np.array([own.mean_logs for own in ways.values()])
        weights, value = best_weights(logs, WEIGHT_TOLERANCE * search.tolerance)
        return dict(zip(ways, weights.tolist(), strict=True)), value

    def score(way: Way) -> float:
        if way not in found:
            found[way] = division.found(way, numbers)
        return float(found[way].logs[0].mean())

    def best(kind: str, sizes: Any, smoothing: Any) -> Way:
        way = Way(kind, Size(sizes[0], smoothing[0]))
        for num_latents in sizes[1:]:
            larger = Way(kind, Size(num_latents, smoothing[0]))
            if not score(larger) > score(way) + search.tolerance:
                break
            way = larger
        for pseudocount in smoothing[1:]:
            other = Way(kind, Size(way.size.num_latents, pseudocount))
            way = other if score(other) > score(way) + search.tolerance else way
        score(way)
        return way

    tree = best(
        "tree",
        SIZES if search.num_latents == usual.num_latents else search.num_latents,
        SMOOTHING if search.pseudocounts == usual.pseudocounts else search.pseudocounts,
    )
    start = hclt(table, tree.size.num_latents, leaves=families, rng=generator)
    epochs = int(np.median(found[tree].epochs))
    circuit, _ = fit_em(
        start, table, num_epochs=epochs, pseudocount=tree.size.pseudocount, n_jobs=n_jobs
    )
    if search.num_trees == 1:
        return circuit, None, found[tree].logs[0]
    for kind in division.in_blocks:
        best(kind, [m for m in PRODUCTS if m == 1 or m * PARTS <= len(table)], PRIOR_ROWS)
    weights, value = stacked(found)
    kept = {way: own for way, own in found.items() if weights[way] >= LEAST_WEIGHT or way == tree}
    if len(numbers) < PARTS:
        for way, own in kept.items():
            own.models.extend(division.found(way, range(1, 2)).models)
    for _ in range(search.num_trees // PARTS - 1 if len(numbers) == PARTS else 0):
        division = divided()
        for way, own in kept.items():
            more = division.found(way, numbers)
            own.models.extend(more.models)
            own.logs.extend(more.logs)
        before, (weights, value) = value, stacked(kept)
        if not value > before + search.tolerance:
            break
    weights, value = stacked(kept)
    if not value > found[tree].logs[0].mean() + search.tolerance:
        return circuit, None, found[tree].logs[0]
    models = [model for own in kept.values() for model in own.models]
    shares = [weights[way] / len(own.models) for way, own in kept.items() for _ in own.models]
    with np.errstate(divide="ignore"):
        logs = [np.log(weights[way]) + own.mean_logs for way, own in kept.items()]
    return circuit, flat(models, shares), np.logaddexp.reduce(logs, axis=0)
