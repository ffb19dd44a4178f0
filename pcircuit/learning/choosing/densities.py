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

4. *Again.*  New divisions and starts make more models of the ways that count.  Models of one way err in different
   ways, so that their average has the higher likelihood; as long as that helps there are more.

With many rows one part judges, and where there are rows to choose by these do.

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
from pcircuit.learning.choosing.fits import EPOCHS_BETWEEN_LOOKS, Size, em_steps, until_worse
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.em import fit_em
from pcircuit.learning.normal_blocks import BlockSteps
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
    """What a way has made: its models, their epochs, and ln of what judging rows say, for each division."""

    models: list[Any]
    epochs: list[int]
    logs: list[Floats]

    @property
    def mean_logs(self) -> Floats:
        """(n,) ln of the mean over divisions of the likelihood of each row under the model that did not see it."""
        return np.logaddexp.reduce(self.logs, axis=0) - np.log(len(self.logs))


class _Learning:
    """Rows divided into parts, and fits without those of them that judge."""

    def __init__(
        self,
        rows: Floats,
        judging: Bools | None,
        families: list[LeafFamily],
        search: LearnSearch,
        generator: np.random.Generator,
        n_jobs: int | None,
        note: Callable[[Trial], float],
    ) -> None:
        """Rows (N, V); which of them judge all models (N,), or None where each part does in turn."""
        self.rows, self.judging, self.families, self.search = rows, judging, families, search
        self.generator, self.n_jobs, self.note = generator, n_jobs, note
        self.in_blocks = _in_blocks(families, rows)
        self.numbers = range(min(PARTS, len(rows)) if judging is None else 1)
        self.divide()

    def divide(self) -> None:
        """Divide the rows anew, where each part judges."""
        self.trees: dict[int, Circuit] = {}  # without each part, the last one
        N = len(self.rows)
        if self.judging is None:
            self.parts: Ints = self.generator.permutation(N) % len(self.numbers)
        else:
            self.parts = np.where(self.judging, 0, 1)

    def judge(self, way: Way, found: Found) -> None:
        """Fit the way without each of the parts that judge, and add what these say."""
        judged = np.empty(len(self.rows))
        for number in self.numbers:
            places = self.parts == number
            model, trial = self._fitted(way, number, self.rows[places])
            self.note(trial)
            found.models.append(model)
            found.epochs.append(int(trial.epochs[np.argmax(trial.validation)]))
            judged[places] = model.log_likelihood(self.rows[places], n_jobs=self.n_jobs)
        found.logs.append(judged[self.parts < len(self.numbers)])

    def _fitted(self, way: Way, number: int, judging: Floats) -> tuple[Any, Trial]:
        """A model of a way, without one part; shapes judging (n, V)."""
        table, (K, pseudocount) = self.rows[self.parts != number], way.size
        start: Any
        step: Any
        if way.kind in self.in_blocks:
            normal, start, between = self.in_blocks[way.kind], self.trees[number], BLOCK_EPOCHS
            prior_rows = pseudocount * int(normal.sum())
            step = BlockSteps(
                table, self.families, normal, K, prior_rows, self.generator, start
            ).steps
        else:
            start = hclt(table, K, leaves=self.families, rng=self.generator)
            between = EPOCHS_BETWEEN_LOOKS
            step = em_steps(table, None, pseudocount, self.n_jobs)
        what = (way.kind, *way.size)
        found = until_worse(start, step, judging, self.n_jobs, self.search, between, what)
        if way.kind == "tree":
            self.trees[number] = found[0]
        return found


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
    rows = table if held is None else np.concatenate([table, held])
    families, judging = families_of(leaves, rows), None
    if held is not None:
        judging = np.arange(len(rows)) >= len(table)
    elif len(table) >= MANY_ROWS:
        judging = generator.permutation(len(table)) % PARTS == 0
    usual = LearnSearch()
    search = replace(search, tolerance=search.tolerance * table.shape[1])
    learning = _Learning(rows, judging, families, search, generator, n_jobs, note)
    found: dict[Way, Found] = {}

    def stacked(ways: dict[Way, Found]) -> tuple[dict[Way, float], float]:
        logs = np.array([own.mean_logs for own in ways.values()])
        weights, value = best_weights(logs, WEIGHT_TOLERANCE * search.tolerance)
        return dict(zip(ways, weights.tolist(), strict=True)), value

    def score(way: Way) -> float:
        if way not in found:
            found[way] = Found([], [], [])
            learning.judge(way, found[way])
        return float(found[way].logs[0].mean())

    def best(kind: str, sizes: Any, smoothing: Any) -> Way:
        way = Way(kind, Size(sizes[0], smoothing[0]))
        highest = score(way)
        for num_latents in sizes[1:]:
            larger = Way(kind, Size(num_latents, smoothing[0]))
            if not score(larger) > highest + search.tolerance:
                break
            way, highest = larger, score(larger)
        for pseudocount in smoothing[1:]:
            other = Way(kind, Size(way.size.num_latents, pseudocount))
            way = other if score(other) > score(way) + search.tolerance else way
        return way

    tree = best(
        "tree",
        SIZES if search.num_latents == usual.num_latents else search.num_latents,
        SMOOTHING if search.pseudocounts == usual.pseudocounts else search.pseudocounts,
    )
    of_tree = found[tree].logs[0]
    circuit, _ = fit_em(
        hclt(table, tree.size.num_latents, leaves=families, rng=generator),
        table,
        num_epochs=int(np.median(found[tree].epochs)),
        pseudocount=tree.size.pseudocount,
        n_jobs=n_jobs,
    )
    if search.num_trees == 1:
        return circuit, None, of_tree
    for kind in learning.in_blocks:
        best(kind, [m for m in PRODUCTS if m == 1 or m * PARTS <= len(table)], PRIOR_ROWS)
    weights, value = stacked(found)
    kept = {way: own for way, own in found.items() if weights[way] >= LEAST_WEIGHT or way == tree}
    for _ in range(search.num_trees // len(learning.numbers) - 1):
        learning.divide()
        for way, own in kept.items():
            learning.judge(way, own)
        before, (weights, value) = value, stacked(kept)
        if not value > before + search.tolerance:
            break
    weights, value = stacked(kept)
    if not value > of_tree.mean() + search.tolerance:
        return circuit, None, of_tree
    models = [model for own in kept.values() for model in own.models]
    shares = [weights[way] / len(own.models) for way, own in kept.items() for _ in own.models]
    with np.errstate(divide="ignore"):
        logs = [np.log(weights[way]) + own.mean_logs for way, own in kept.items()]
    return circuit, flat(models, shares), np.logaddexp.reduce(logs, axis=0)
