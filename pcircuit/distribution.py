"""What queries about probabilities need: a circuit whose weights sum to one."""
from __future__ import annotations

from pcircuit.circuit import Circuit
from pcircuit.regions import StructureError


def check_distribution(circuit: Circuit, name: str = "circuit") -> Circuit:
    """Return `circuit` after checking that it is a circuit and a distribution.

    Parameters
    ----------
    circuit : Circuit
    name : str
        Name of the argument in error messages.

    Returns
    -------
    Circuit
        `circuit` itself.

    Raises
    ------
    TypeError
        If it is not a circuit.
    StructureError
        If it is not normalised.

    Notes
    -----
    `Circuit.is_normalized` is computed once for each circuit.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.4, 0.6]])])
    >>> check_distribution(coin) is coin
    True
    """
    if not isinstance(circuit, Circuit):
        raise TypeError(f"`{name}` must be a pcircuit.Circuit, found {type(circuit).__name__}")
    if not circuit.is_normalized:
        raise StructureError(f"`{name}` is not normalised, so it is not a distribution: "
                             f"`pcircuit.normalize({name})` makes it one")
    return circuit
