"""Methods beside functions: ``circuit.log_likelihood(data)`` is ``pcircuit.log_likelihood(circuit, data)``.

Users of a circuit look for methods; readers of the library look for one function in one place.  Both get the same
thing.  `Circuit` is in the lowest room of the package and knows nothing of the rooms above, so this file, in the top
room, attaches the functions to the class.  `Circuit` names them for editors and type checkers only.  A `Mixture` has
those that take one, so that what `pcircuit.learn` chose can be asked without looking which of the two it is.

Each name is first a `Method`.  At its first use the function's module is imported and the function
itself takes the place of the `Method`: from then on it is a plain method, with the function's docstring and signature.
So ``import pcircuit`` stays cheap, and ``help(circuit.sample)`` is ``help(pcircuit.sample)``.
"""

from __future__ import annotations

from typing import Any

import pcircuit
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture

SAME_NAME = (
    "log_likelihood",
    "node_likelihoods",
    "latent_posterior",
    "shapley_values",
    "sample",
    "most_probable_state",
    "condition",
    "marginalize",
    "normalize",
    "prune",
    "multiply",
    "power",
    "overlap",
    "expectation",
    "variance",
    "covariance",
    "log_probability",
    "marginal_tables",
    "pairwise_tables",
    "linear_moments",
    "sum_distribution",
    "entropy",
    "mutual_information",
    "properties",
    "expected_flows",
    "fit_em",
    "exact_moments",
    "save",
    "describe",
    "write_html",
)
METHODS = {name: name for name in SAME_NAME} | {"plot": "plot_circuit"}
OF_MIXTURES = {"log_likelihood": "log_likelihood", "sample": "sample", "save": "save_mixture"}


class Method:
    """A public function that becomes a method of a class when it is first asked for."""

    def __init__(self, kind: type, name: str, function: str) -> None:
        self.kind, self.name, self.function = kind, name, function

    def __get__(self, instance: Any, owner: type) -> Any:
        function = getattr(pcircuit, self.function)
        setattr(self.kind, self.name, function)
        return function if instance is None else function.__get__(instance, owner)


def attach() -> None:
    """Give both classes their methods; done when a public name that needs circuits is first looked up."""
    for kind, functions in ((Circuit, METHODS), (Mixture, OF_MIXTURES)):
        for name, function in functions.items():
            if name not in vars(kind):
                setattr(kind, name, Method(kind, name, function))
