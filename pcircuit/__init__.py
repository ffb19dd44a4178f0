"""Probabilistic circuits over discrete variables, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy.
"""
import importlib

_HOME = {
    "VTree": "vtree",
    "InputRegion": "circuit", "InnerRegion": "circuit", "Circuit": "circuit", "StructureError": "circuit",
    "chow_liu_tree": "chow_liu", "chow_liu_circuit": "chow_liu",
    "hclt": "hidden_chow_liu", "rat_spn": "random_tensorized",
    "fit_em": "em", "expected_flows": "flow", "Flows": "flow",
    "log_likelihood": "likelihood", "node_likelihoods": "unit_values",
    "mean_node_likelihoods": "unit_values", "check_evidence": "evidence",
    "sample": "sampling", "multiply": "product", "overlap": "product", "marginalize": "marginal",
    "save": "files", "load": "files", "to_arrays": "files", "from_arrays": "files",
    "write_archive": "archive", "read_archive": "archive", "warm_up": "engine",
}
__all__ = sorted(_HOME)
__version__ = "0.1.0"


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'pcircuit' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"pcircuit.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
