"""Can the likelihoods of a circuit be too large for doubles?

Those of a distribution cannot: all its units lie in [0, 1].  A circuit that is not normalised may hold weights of
1e300, and then the linear-domain passes, which guard only against small values, would overflow.  Bottom-up, with t_r
the largest row sum of region r,

    log2 of a unit of r  <=  c_r = max(0, log2 t_r) + sum over its children of c_child,

and the partial products of a region obey the same bound.  Circuits whose bound exceeds the range of doubles are
evaluated in the log domain (`inference.log_domain`), row by row, as `inference.likelihood` does for suspect rows.
"""

from __future__ import annotations

import numpy as np

from pcircuit.circuit import Circuit, InputRegion, derived

HIGHEST = 960.0  # log2; doubles end at 1024


def may_overflow(circuit: Circuit) -> bool:
    """Whether a likelihood of some unit may exceed the range of the linear-domain passes; kept with the circuit.

    O(number of parameters), once.
    """
    return derived(
        circuit, "may_overflow", lambda: not circuit.is_normalized and _ceiling(circuit) > HIGHEST
    )


def _ceiling(circuit: Circuit) -> float:
    """The bound c of the root, which is the largest of all regions."""
    ceilings: list[float] = []
    for r, region in enumerate(circuit.regions):
        table = region.probs if isinstance(region, InputRegion) else region.weights
        with np.errstate(over="ignore", divide="ignore"):
            largest = float(np.log2(np.asarray(table.sum(axis=1)).max()))
        ceilings.append(
            max(0.0, largest) + sum(ceilings[c] for c in circuit.vtree.children(r).tolist())
        )
    return ceilings[-1]
