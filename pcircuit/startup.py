"""What a process does once: functions become methods of circuits, and kernels are made ready before they are needed.

Users of a circuit look for methods; readers of the library look for one function in one place.  Both get the same
thing: ``circuit.log_likelihood(data)`` is ``pcircuit.log_likelihood(circuit, data)``.  `Circuit` is in the lowest room
of the package and knows nothing of the rooms above, so this file, in the top room, attaches the functions to the class.
`Circuit` names them for editors and type checkers only.  A `Mixture` has those that take one, so that what
`pcircuit.learn` chose can be asked without looking which of the two it is.

Each name is first a `Method`.  At its first use the function's module is imported and the function
itself takes the place of the `Method`: from then on it is a plain method, with the function's docstring and signature.
So ``import pcircuit`` stays cheap, and ``help(circuit.sample)`` is ``help(pcircuit.sample)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pcircuit
from pcircuit.arguments import check_flag, shown
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture
from pcircuit.engine import engine_is_numpy

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


def warm_up(*, moments: bool = False, report: Callable[[str], object] | None = None) -> None:
    """Compile, or load from the on-disk cache, the kernels that likelihoods, EM and sampling need.

    For processes that must not compile later: workers of a service, or the build of a container, where ``hld warm-up``
    does this and more.  Does nothing with ``PCIRCUIT_ENGINE=numpy``.

    Parameters
    ----------
    moments : bool
        Also the kernels of exact moments, of likelihoods expected given a part of a row, and of scores row by row.
    report : callable, optional
        Called with a few words before each step.

    Raises
    ------
    TypeError
        If `moments` is not true or false, or `report` cannot be called.
    ModuleNotFoundError
        If Numba is not installed.

    Notes
    -----
    Seconds with an empty cache, tenths of one after.  Without it kernels are compiled at the first large call.

    Examples
    --------
    >>> import pcircuit
    >>> pcircuit.warm_up()
    """
    with_moments = check_flag(moments, "moments")
    if report is not None and not callable(report):
        raise TypeError(f"`report` must be a function or None, found {shown(report)}")
    if engine_is_numpy():
        return
    from pcircuit.inference.likelihood import EVALUATION
    from pcircuit.inference.scores import SCORES
    from pcircuit.learning.em import EM
    from pcircuit.moments.expected_units import EXPECTATIONS
    from pcircuit.moments.routes import MOMENTS

    for kernels in (EVALUATION, EM, MOMENTS, EXPECTATIONS, SCORES)[: 5 if with_moments else 2]:
        if report is not None:
            report(kernels.name)
        kernels.make_ready()


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled by Numba at its first call, for packages with kernels of their own; see `compiled.jit`."""
    from pcircuit.compiled.jit import compile_kernel as compiled

    return compiled(function)
