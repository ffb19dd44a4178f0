"""The M-step alone: parameters from flows, wherever these were computed.

Expected flows add up over rows, so EM does not need all rows in one place: each machine computes the flows of its own
rows (`expected_flows`), their sum comes here, and the new circuit goes back.  `fit_em` does the same in one place.
"""

from __future__ import annotations

import numpy as np

from pcircuit.arguments import check_number
from pcircuit.array_types import Floats
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, check_distribution
from pcircuit.evidence import MOST_WEIGHT
from pcircuit.inference.flows import Flows


def maximize(circuit: Circuit, flows: Flows, *, pseudocount: float = 0.1) -> Circuit:
    """The circuit whose parameters are the normalised flows.

    ``weights[k, p] = (n_kp + pseudocount / P_k) / (n_k + pseudocount)``, n_k = sum_p n_kp, and the same for the
    categories of input units; a unit that no flow reaches keeps its parameters where `pseudocount` is 0.

    Parameters
    ----------
    circuit : Circuit
        The circuit under which the flows were computed; normalised.
    flows : Flows
        The sum of `expected_flows` over all rows.
    pseudocount : float
        Spread evenly over the edges or categories of each unit, stored ones where weights are CSR.

    Returns
    -------
    Circuit
        On the same structure.

    Raises
    ------
    TypeError, ValueError
        If `flows` are not those of this circuit, or `pseudocount` is out of range.

    Notes
    -----
    O(number of parameters).  With all rows in each step, `fit_em` takes this step in each epoch.

    References
    ----------
    Dempster, Laird and Rubin (1977), J. Royal Statistical Society B 39.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree, expected_flows
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> counted = expected_flows(coin, [[0], [1]]) + expected_flows(coin, [[1], [1]])      # of two machines
    >>> maximize(coin, counted, pseudocount=0).regions[0].probs
    array([[0.25, 0.75]])
    """
    check_distribution(circuit)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    if not isinstance(flows, Flows):
        raise TypeError(f"`flows` must be pcircuit.Flows, found {type(flows).__name__}")
    expected = (
        sum(region.num_weights for region in circuit.regions if isinstance(region, InnerRegion)),
        sum(region.probs.size for region in circuit.regions if isinstance(region, InputRegion)),
    )
    if (len(flows.edges), len(flows.inputs)) != expected:
        raise ValueError(
            f"`flows` must be those of this circuit, with {expected[0]} edges and {expected[1]} inputs, "
            f"found {len(flows.edges)} and {len(flows.inputs)}"
        )
    return Circuit(
        circuit.vtree,
        [
            _region(region, flow, pseudocount)
            for region, flow in zip(circuit.regions, flows.by_region(circuit), strict=True)
        ],
    )


def _region(
    region: InputRegion | InnerRegion, flow: Floats, pseudocount: float
) -> InputRegion | InnerRegion:
    """A region with new parameters."""
    if isinstance(region, InputRegion):
        return InputRegion(region.variable, _shares(flow, region.probs, pseudocount))
    if not region.is_sparse:
        return InnerRegion(region.products, _shares(flow, region.weights, pseudocount))
    weights = region.weights.copy()
    ends = weights.indptr
    for k in range(region.num_units):
        part = slice(ends[k], ends[k + 1])
        weights.data[part] = _shares(
            flow[None, part], region.weights.data[None, part], pseudocount
        )[0]
    return InnerRegion(region.products, weights)


def _shares(flow: Floats, old: Floats, pseudocount: float) -> Floats:
    """Rows of flows as shares of their sums; rows that nothing reaches as they were."""
    total = flow.sum(axis=1, keepdims=True) + pseudocount
    share = (flow + pseudocount / flow.shape[1]) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, share, old)
