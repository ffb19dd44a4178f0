"""The monitor that belongs to a test: of its circuit and nodes, with the misfit of its reference as margin."""
from __future__ import annotations

from typing import Any

import pcircuit
from hld.monitoring.monitor import Monitor


def monitor_of(test: Any, alpha: float = 0.05, margin: float | None = None) -> Monitor:
    """A monitor of the circuit and the nodes of a test.

    Parameters
    ----------
    test : hld.HLDTest
    alpha : float
        Bound on the probability of ever raising a false alarm.
    margin : float, optional
        Distance from the circuit that is still no shift; by default the distance of its means from those of the
        test's reference, which is what the circuit does not get right.

    Examples
    --------
    >>> import hld
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> monitor_of(hld.HLDTest(circuit)).margin
    0.0
    """
    exact = Monitor(test.circuit, alpha, test.nodes, rng=0)
    margin = misfit(test.mean[:len(exact.mean)], exact.mean) if margin is None else margin
    return Monitor(test.circuit, alpha, test.nodes, margin=margin, rng=0) if margin else exact


def misfit(reference: Any, circuit: pcircuit.Circuit) -> float:
    """Distance of the means (m,) of reference rows from those of the circuit: what the circuit does not get right.

    Parameters
    ----------
    reference : (m,) float array
    circuit : (m,) float array

    Returns
    -------
    float
    """
    difference = reference - circuit
    return float((difference @ difference) ** 0.5)
