"""Learning circuits of densities in one call: size and smoothing by rows that EM does not see, then many models.

1. *Size.*  Hidden Chow-Liu trees with K = 4, 8, 16, ... states, until the validation rows gain nothing.
2. *Smoothing.*  The same K with other weights of the columns' own means and variances.
3. *Many models.*  The same on bootstrap samples of the rows, whose trees and start values differ.  Their average has
   the higher likelihood, since they err in different ways; as long as one more helps, it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit, Mixture
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.learning.choosing.fits import Rows, Size, fitted_from
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.start_circuits import hclt
from pcircuit.leaves.choice import families_of

SIZES = (4, 8, 16, 32)
SMOOTHING = (1.0, 10.0, 0.1)
PATIENCE = 3  # models that do not help before no more are tried


def learned_densities(
    table: Floats,
    held: Floats,
    leaves: Any,
    search: LearnSearch,
    generator: np.random.Generator,
    n_jobs: int | None,
    note: Callable[[Trial], float],
) -> tuple[Circuit, Mixture | None]:
    """The best circuit, and the average of many where that is better.

    Shapes: table (N, V), held (M, V).
    """
    families = families_of(leaves, np.concatenate([table, held]))

    def fitted(rows: Floats, size: Size, name: str) -> tuple[Circuit, Trial]:
        seed = int(generator.integers(2**32))
        start = hclt(rows, size.num_latents, leaves=families, rng=seed)
        nothing = np.zeros(0, dtype=np.int64)
        given = Rows(rows, rows, np.ones(len(rows)), held, nothing, nothing, n_jobs)
        found = fitted_from(given, start, size, search, name)
        note(found[1])
        return found

    sizes = SIZES if search.num_latents == LearnSearch().num_latents else search.num_latents
    smoothing = (
        SMOOTHING if search.pseudocounts == LearnSearch().pseudocounts else search.pseudocounts
    )
    best = fitted(table, Size(sizes[0], smoothing[0]), "size")
    for num_latents in sizes[1:]:
        larger = fitted(table, Size(num_latents, smoothing[0]), "size")
        if not larger[1].best > best[1].best + search.tolerance:
            break
        best = larger
    for pseudocount in smoothing[1:]:
        other = fitted(table, Size(best[1].num_latents, pseudocount), "smoothing")
        best = other if other[1].best > best[1].best + search.tolerance else best
    size = Size(best[1].num_latents, best[1].pseudocount)
    models, logs = [best[0]], log_likelihood(best[0], held, n_jobs=n_jobs)
    total, misses = logs, 0
    for _ in range(search.num_trees - 1):
        drawn = table[generator.integers(len(table), size=len(table))]
        circuit, _ = fitted(drawn, size, "bootstrap")
        more = np.logaddexp(total, log_likelihood(circuit, held, n_jobs=n_jobs))
        gain = (more - np.log(len(models) + 1)).mean() - (total - np.log(len(models))).mean()
        misses = 0 if gain > search.tolerance else misses + 1
        if gain > 0:
            models, total = [*models, circuit], more
        if misses >= PATIENCE:
            break
    return best[0], Mixture(models) if len(models) > 1 else None
