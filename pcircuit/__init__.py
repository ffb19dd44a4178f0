"""Probabilistic circuits over discrete variables, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy.
"""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see
    from pcircuit.circuit import Circuit as Circuit
    from pcircuit.evidence import check_evidence as check_evidence
    from pcircuit.files.archive import read_archive as read_archive
    from pcircuit.files.archive import write_archive as write_archive
    from pcircuit.files.circuit_file import from_arrays as from_arrays
    from pcircuit.files.circuit_file import load as load
    from pcircuit.files.circuit_file import save as save
    from pcircuit.files.circuit_file import to_arrays as to_arrays
    from pcircuit.inference.flows import Flows as Flows
    from pcircuit.inference.flows import expected_flows as expected_flows
    from pcircuit.inference.likelihood import log_likelihood as log_likelihood
    from pcircuit.inference.masses import unit_masses as unit_masses
    from pcircuit.inference.sampling import sample as sample
    from pcircuit.inference.unit_likelihoods import mean_node_likelihoods as mean_node_likelihoods
    from pcircuit.inference.unit_likelihoods import node_likelihoods as node_likelihoods
    from pcircuit.learning.chow_liu import chow_liu_circuit as chow_liu_circuit
    from pcircuit.learning.chow_liu import chow_liu_tree as chow_liu_tree
    from pcircuit.learning.em import fit_em as fit_em
    from pcircuit.learning.em_options import EMSteps as EMSteps
    from pcircuit.learning.em_options import EMWatch as EMWatch
    from pcircuit.learning.hidden_chow_liu import hclt as hclt
    from pcircuit.learning.random_tensorized import rat_spn as rat_spn
    from pcircuit.moments.moments import Moments as Moments
    from pcircuit.moments.moments import exact_moments as exact_moments
    from pcircuit.node_selection import check_node_weights as check_node_weights
    from pcircuit.node_selection import check_nodes as check_nodes
    from pcircuit.node_selection import select_nodes as select_nodes
    from pcircuit.operations.marginals import marginalize as marginalize
    from pcircuit.operations.products import multiply as multiply
    from pcircuit.operations.products import overlap as overlap
    from pcircuit.regions import InnerRegion as InnerRegion
    from pcircuit.regions import InputRegion as InputRegion
    from pcircuit.regions import StructureError as StructureError
    from pcircuit.startup import compile_kernel as compile_kernel
    from pcircuit.startup import warm_up as warm_up
    from pcircuit.vtree import VTree as VTree

_HOME = {
    "Circuit": "circuit",
    "InputRegion": "regions", "InnerRegion": "regions", "StructureError": "regions",
    "VTree": "vtree",
    "check_evidence": "evidence",
    "check_node_weights": "node_selection", "check_nodes": "node_selection", "select_nodes": "node_selection",
    "compile_kernel": "startup", "warm_up": "startup",
    "log_likelihood": "inference.likelihood",
    "mean_node_likelihoods": "inference.unit_likelihoods", "node_likelihoods": "inference.unit_likelihoods",
    "Flows": "inference.flows", "expected_flows": "inference.flows",
    "sample": "inference.sampling",
    "multiply": "operations.products", "overlap": "operations.products",
    "marginalize": "operations.marginals",
    "chow_liu_circuit": "learning.chow_liu", "chow_liu_tree": "learning.chow_liu",
    "hclt": "learning.hidden_chow_liu",
    "rat_spn": "learning.random_tensorized",
    "fit_em": "learning.em", "EMSteps": "learning.em_options", "EMWatch": "learning.em_options",
    "Moments": "moments.moments", "exact_moments": "moments.moments",
    "unit_masses": "inference.masses",
    "read_archive": "files.archive", "write_archive": "files.archive",
    "from_arrays": "files.circuit_file", "load": "files.circuit_file", "save": "files.circuit_file",
    "to_arrays": "files.circuit_file",
}
__all__ = sorted(_HOME)
__version__ = "0.1.0"

if not TYPE_CHECKING:  # who checks types would believe in any name
    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'pcircuit' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"pcircuit.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
