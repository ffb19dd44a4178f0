"""Leaf families: the distributions of single variables that circuits are made of, one file each.

`pcircuit.regions` says what a family has to offer, and holds the one that needs nothing else, `Categorical`.
"""

from pcircuit.leaves.atoms import Atoms
from pcircuit.leaves.counts import Counts
from pcircuit.leaves.gaussian import Gaussian
from pcircuit.leaves.histogram import Histogram
from pcircuit.leaves.negative_binomial import NegativeBinomial
from pcircuit.leaves.poisson import Poisson
from pcircuit.leaves.rescaled import Rescaled
from pcircuit.leaves.tailed import Tailed
from pcircuit.leaves.truncated import Truncated
from pcircuit.regions import Categorical, LeafError, LeafFamily

__all__ = [
    "Atoms",
    "Categorical",
    "Counts",
    "Gaussian",
    "Histogram",
    "LeafError",
    "LeafFamily",
    "NegativeBinomial",
    "Poisson",
    "Rescaled",
    "Tailed",
    "Truncated",
]
