"""Probabilistic circuits over discrete variables, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see
    from pcircuit.circuit import Circuit as Circuit
    from pcircuit.circuit_mixture import Mixture as Mixture
    from pcircuit.files.circuit_file import load as load
    from pcircuit.files.circuit_file import load_mixture as load_mixture
    from pcircuit.files.circuit_file import save as save
    from pcircuit.files.circuit_file import save_mixture as save_mixture
    from pcircuit.formats.dot import write_dot as write_dot
    from pcircuit.formats.jpc import read_jpc as read_jpc
    from pcircuit.formats.jpc import write_jpc as write_jpc
    from pcircuit.formats.logic import read_jlc as read_jlc
    from pcircuit.formats.psdd import read_psdd as read_psdd
    from pcircuit.formats.psdd import write_psdd as write_psdd
    from pcircuit.formats.spn import read_spn as read_spn
    from pcircuit.formats.spn import write_spn as write_spn
    from pcircuit.formats.uai import read_uai as read_uai
    from pcircuit.formats.vtree_file import read_vtree as read_vtree
    from pcircuit.formats.vtree_file import write_vtree as write_vtree
    from pcircuit.inference.flows import Flows as Flows
    from pcircuit.inference.flows import expected_flows as expected_flows
    from pcircuit.inference.likelihood import log_likelihood as log_likelihood
    from pcircuit.inference.masses import unit_masses as unit_masses
    from pcircuit.inference.node_selection import select_nodes as select_nodes
    from pcircuit.inference.sampling import sample as sample
    from pcircuit.inference.scores import mean_score as mean_score
    from pcircuit.inference.scores import scores as scores
    from pcircuit.inference.unit_likelihoods import mean_node_likelihoods as mean_node_likelihoods
    from pcircuit.inference.unit_likelihoods import node_likelihoods as node_likelihoods
    from pcircuit.learning.choosing.learn import learn as learn
    from pcircuit.learning.choosing.search import LearnSearch as LearnSearch
    from pcircuit.learning.chow_liu import chow_liu_circuit as chow_liu_circuit
    from pcircuit.learning.chow_liu import chow_liu_tree as chow_liu_tree
    from pcircuit.learning.em import fit_em as fit_em
    from pcircuit.learning.em import maximize as maximize
    from pcircuit.learning.em_options import EMSteps as EMSteps
    from pcircuit.learning.em_options import EMWatch as EMWatch
    from pcircuit.learning.hidden_chow_liu import hclt as hclt
    from pcircuit.learning.mixture_em import fit_mixture as fit_mixture
    from pcircuit.learning.random_tensorized import rat_spn as rat_spn
    from pcircuit.moments.expected_units import (
        expected_node_likelihoods as expected_node_likelihoods,
    )
    from pcircuit.moments.means import unit_means as unit_means
    from pcircuit.moments.moments import Moments as Moments
    from pcircuit.moments.moments import exact_moments as exact_moments
    from pcircuit.operations.conditions import condition as condition
    from pcircuit.operations.conditions import log_probability as log_probability
    from pcircuit.operations.conditions import normalize as normalize
    from pcircuit.operations.entropy import cross_entropy as cross_entropy
    from pcircuit.operations.entropy import entropy as entropy
    from pcircuit.operations.entropy import kl_divergence as kl_divergence
    from pcircuit.operations.entropy import mutual_information as mutual_information
    from pcircuit.operations.explanations import latent_posterior as latent_posterior
    from pcircuit.operations.explanations import shapley_values as shapley_values
    from pcircuit.operations.functions import covariance as covariance
    from pcircuit.operations.functions import expectation as expectation
    from pcircuit.operations.functions import linear_moments as linear_moments
    from pcircuit.operations.functions import sum_distribution as sum_distribution
    from pcircuit.operations.functions import sum_indicator as sum_indicator
    from pcircuit.operations.functions import variance as variance
    from pcircuit.operations.marginals import marginal_tables as marginal_tables
    from pcircuit.operations.marginals import marginalize as marginalize
    from pcircuit.operations.marginals import pairwise_tables as pairwise_tables
    from pcircuit.operations.most_probable import most_probable_state as most_probable_state
    from pcircuit.operations.products import mixture as mixture
    from pcircuit.operations.products import multiply as multiply
    from pcircuit.operations.products import overlap as overlap
    from pcircuit.operations.products import power as power
    from pcircuit.operations.properties import properties as properties
    from pcircuit.operations.properties import prune as prune
    from pcircuit.pictures.circuits import plot_circuit as plot_circuit
    from pcircuit.pictures.circuits import write_html as write_html
    from pcircuit.pictures.description import describe as describe
    from pcircuit.pictures.learning import plot_learning as plot_learning
    from pcircuit.pictures.learning import write_learning_html as write_learning_html
    from pcircuit.pictures.moments import plot_covariance as plot_covariance
    from pcircuit.pictures.moments import plot_eigenvalues as plot_eigenvalues
    from pcircuit.pictures.vtrees import plot_vtree as plot_vtree
    from pcircuit.regions import InnerRegion as InnerRegion
    from pcircuit.regions import InputRegion as InputRegion
    from pcircuit.regions import StructureError as StructureError
    from pcircuit.startup import warm_up as warm_up
    from pcircuit.vtree import VTree as VTree

_HOME = {
    "Circuit": "circuit",
    "Mixture": "circuit_mixture",
    "InputRegion": "regions",
    "InnerRegion": "regions",
    "StructureError": "regions",
    "VTree": "vtree",
    "select_nodes": "inference.node_selection",
    "warm_up": "startup",
    "log_likelihood": "inference.likelihood",
    "mean_node_likelihoods": "inference.unit_likelihoods",
    "node_likelihoods": "inference.unit_likelihoods",
    "expected_node_likelihoods": "moments.expected_units",
    "Flows": "inference.flows",
    "expected_flows": "inference.flows",
    "mean_score": "inference.scores",
    "scores": "inference.scores",
    "sample": "inference.sampling",
    "multiply": "operations.products",
    "overlap": "operations.products",
    "marginalize": "operations.marginals",
    "chow_liu_circuit": "learning.chow_liu",
    "chow_liu_tree": "learning.chow_liu",
    "hclt": "learning.hidden_chow_liu",
    "learn": "learning.choosing.learn",
    "LearnSearch": "learning.choosing.search",
    "fit_mixture": "learning.mixture_em",
    "maximize": "learning.em",
    "rat_spn": "learning.random_tensorized",
    "fit_em": "learning.em",
    "EMSteps": "learning.em_options",
    "EMWatch": "learning.em_options",
    "unit_means": "moments.means",
    "Moments": "moments.moments",
    "exact_moments": "moments.moments",
    "unit_masses": "inference.masses",
    "load": "files.circuit_file",
    "save": "files.circuit_file",
    "save_mixture": "files.circuit_file",
    "load_mixture": "files.circuit_file",
    "read_psdd": "formats.psdd",
    "write_psdd": "formats.psdd",
    "read_vtree": "formats.vtree_file",
    "write_vtree": "formats.vtree_file",
    "read_jpc": "formats.jpc",
    "write_jpc": "formats.jpc",
    "read_spn": "formats.spn",
    "write_spn": "formats.spn",
    "read_jlc": "formats.logic",
    "read_uai": "formats.uai",
    "write_dot": "formats.dot",
    "describe": "pictures.description",
    "plot_circuit": "pictures.circuits",
    "write_html": "pictures.circuits",
    "plot_learning": "pictures.learning",
    "write_learning_html": "pictures.learning",
    "plot_covariance": "pictures.moments",
    "plot_eigenvalues": "pictures.moments",
    "plot_vtree": "pictures.vtrees",
    "condition": "operations.conditions",
    "log_probability": "operations.conditions",
    "normalize": "operations.conditions",
    "marginal_tables": "operations.marginals",
    "pairwise_tables": "operations.marginals",
    "covariance": "operations.functions",
    "expectation": "operations.functions",
    "sum_indicator": "operations.functions",
    "variance": "operations.functions",
    "linear_moments": "operations.functions",
    "sum_distribution": "operations.functions",
    "properties": "operations.properties",
    "prune": "operations.properties",
    "cross_entropy": "operations.entropy",
    "entropy": "operations.entropy",
    "kl_divergence": "operations.entropy",
    "mutual_information": "operations.entropy",
    "mixture": "operations.products",
    "power": "operations.products",
    "most_probable_state": "operations.most_probable",
    "latent_posterior": "operations.explanations",
    "shapley_values": "operations.explanations",
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
