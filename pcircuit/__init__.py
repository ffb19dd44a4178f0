"""Probabilistic circuits over categories, numbers and counts, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy; ``__init__.pyi`` lists
them.
"""

from pcircuit.public_names import homes_of, loaded

_HOME = homes_of(__file__)
_MODULES = ("leaves",)
__all__ = sorted(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    globals()[name] = value = loaded("pcircuit", name, _HOME, _MODULES)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
