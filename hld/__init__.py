"""Does a batch of data still follow the distribution that a probabilistic circuit learned?

Names are loaded when they are first used, so ``import hld`` costs little more than NumPy.
"""
import importlib

_HOME = {
    "select_nodes": "selection", "likelihood_vectors": "vectors",
    "exact_moments": "moments", "Moments": "moments", "distance": "distances",
    "HLDTest": "goodness_of_fit", "test_batches": "batches", "BatchesResult": "batches", "HLDResult": "result",
    "HLDDetector": "detector", "Monitor": "monitor", "MonitorResult": "monitor",
    "MMDTest": "mmd", "MMDResult": "mmd", "mmd_squared": "mmd",
    "TableEncoder": "encoding", "fit_encoder": "encoding", "load": "files", "save": "files",
}
_MODULES = ("baselines", "gchi2", "plots")
__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"hld.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hld' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"hld.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME, *_MODULES])
