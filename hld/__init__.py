"""Does a batch of data still follow the distribution that a probabilistic circuit learned?

Names are loaded when they are first used, so ``import hld`` costs little more than NumPy; ``__init__.pyi`` lists them.
"""

import pcircuit
from pcircuit.public_names import homes_of, loaded

_HOME = homes_of(__file__)
_MODULES = ("baselines", "gchi2", "plots")
__all__ = sorted(_HOME)
__version__ = pcircuit.__version__


def __getattr__(name: str) -> object:
    globals()[name] = value = loaded("hld", name, _HOME, _MODULES)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
