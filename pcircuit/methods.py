"""Methods beside functions: ``circuit.log_likelihood(data)`` is ``pcircuit.log_likelihood(circuit, data)``.

Users of a circuit look for methods; readers of the library look for one function in one place.  Both get the same
thing.  `Circuit` is in the lowest room of the package and imports nothing of the rooms above, so its line

    log_likelihood = pcircuit.log_likelihood

means the function to editors and type checkers, and a `Method` when the class is made, where `pcircuit` is `functions`.
At its first use the function's module is imported and the function itself takes the place of the `Method`: from
then on it is a plain method, with the function's docstring and signature.  So ``import pcircuit`` stays cheap, and
``help(circuit.sample)`` is ``help(pcircuit.sample)``.
"""

from __future__ import annotations

import sys
from typing import Any


class Method:
    """A public function that becomes a method of a class when it is first asked for."""

    def __init__(self, function: str) -> None:
        self.function = function

    def __set_name__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    def __get__(self, instance: Any, owner: type) -> Any:
        function = getattr(sys.modules["pcircuit"], self.function)
        setattr(self.kind, self.name, function)
        return function if instance is None else function.__get__(instance, owner)


class Functions:
    """Stands for the package while a class of it is made: each public function is a `Method`."""

    def __getattr__(self, name: str) -> Method:
        return Method(name)


functions = Functions()
