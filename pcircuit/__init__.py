"""Probabilistic circuits over discrete variables, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy.
"""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see
    from pcircuit.arguments import check_choice as check_choice
    from pcircuit.arguments import check_flag as check_flag
    from pcircuit.arguments import check_fraction as check_fraction
    from pcircuit.arguments import check_generator as check_generator
    from pcircuit.arguments import check_number as check_number
    from pcircuit.arguments import check_seed as check_seed
    from pcircuit.arguments import check_whole_number as check_whole_number
    from pcircuit.arrays import check_integers as check_integers
    from pcircuit.arrays import check_numbers as check_numbers
    from pcircuit.circuit import Circuit as Circuit
    from pcircuit.circuit import check_distribution as check_distribution
    from pcircuit.circuit_mixture import Mixture as Mixture
    from pcircuit.engine import engine_is_numpy as engine_is_numpy
    from pcircuit.evidence import check_evidence as check_evidence
    from pcircuit.files.archive import check_header as check_header
    from pcircuit.files.archive import read_archive as read_archive
    from pcircuit.files.archive import read_object as read_object
    from pcircuit.files.archive import write_archive as write_archive
    from pcircuit.files.circuit_file import from_arrays as from_arrays
    from pcircuit.files.circuit_file import load as load
    from pcircuit.files.circuit_file import save as save
    from pcircuit.files.circuit_file import to_arrays as to_arrays
    from pcircuit.files.contents import check_names as check_names
    from pcircuit.files.contents import finite_array as finite_array
    from pcircuit.files.contents import saved_count as saved_count
    from pcircuit.files.contents import saved_number as saved_number
    from pcircuit.files.contents import under_prefix as under_prefix
    from pcircuit.files.contents import with_prefix as with_prefix
    from pcircuit.files.mixture_file import load_mixture as load_mixture
    from pcircuit.files.mixture_file import save_mixture as save_mixture
    from pcircuit.files.whole_file import replace_file as replace_file
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
    from pcircuit.inference.node_selection import check_kinds as check_kinds
    from pcircuit.inference.node_selection import check_node_weights as check_node_weights
    from pcircuit.inference.node_selection import check_nodes as check_nodes
    from pcircuit.inference.node_selection import select_nodes as select_nodes
    from pcircuit.inference.sampling import sample as sample
    from pcircuit.inference.scores import mean_score as mean_score
    from pcircuit.inference.scores import scores as scores
    from pcircuit.inference.unit_likelihoods import mean_node_likelihoods as mean_node_likelihoods
    from pcircuit.inference.unit_likelihoods import node_likelihoods as node_likelihoods
    from pcircuit.learning.choosing.learn import learn as learn
    from pcircuit.learning.choosing.learned import Learned as Learned
    from pcircuit.learning.choosing.search import LearnSearch as LearnSearch
    from pcircuit.learning.chow_liu import chow_liu_circuit as chow_liu_circuit
    from pcircuit.learning.chow_liu import chow_liu_tree as chow_liu_tree
    from pcircuit.learning.em import fit_em as fit_em
    from pcircuit.learning.em_options import EMSteps as EMSteps
    from pcircuit.learning.em_options import EMWatch as EMWatch
    from pcircuit.learning.hidden_chow_liu import hclt as hclt
    from pcircuit.learning.m_step import maximize as maximize
    from pcircuit.learning.mixture_em import fit_mixture as fit_mixture
    from pcircuit.learning.random_tensorized import rat_spn as rat_spn
    from pcircuit.moments.expected_units import (
        expected_node_likelihoods as expected_node_likelihoods,
    )
    from pcircuit.moments.means import means_cost as means_cost
    from pcircuit.moments.means import unit_means as unit_means
    from pcircuit.moments.moments import Moments as Moments
    from pcircuit.moments.moments import exact_moments as exact_moments
    from pcircuit.moments.rounding import rounding_errors as rounding_errors
    from pcircuit.moments.rounding import without_rounding as without_rounding
    from pcircuit.operations.conditions import condition as condition
    from pcircuit.operations.conditions import log_probability as log_probability
    from pcircuit.operations.conditions import normalize as normalize
    from pcircuit.operations.entropy import Estimate as Estimate
    from pcircuit.operations.entropy import cross_entropy as cross_entropy
    from pcircuit.operations.entropy import entropy as entropy
    from pcircuit.operations.entropy import kl_divergence as kl_divergence
    from pcircuit.operations.entropy import mutual_information as mutual_information
    from pcircuit.operations.explanations import latent_posterior as latent_posterior
    from pcircuit.operations.explanations import shapley_values as shapley_values
    from pcircuit.operations.functions import covariance as covariance
    from pcircuit.operations.functions import expectation as expectation
    from pcircuit.operations.functions import sum_indicator as sum_indicator
    from pcircuit.operations.functions import variance as variance
    from pcircuit.operations.linear_functions import linear_moments as linear_moments
    from pcircuit.operations.linear_functions import sum_distribution as sum_distribution
    from pcircuit.operations.marginals import marginalize as marginalize
    from pcircuit.operations.mixtures import mixture as mixture
    from pcircuit.operations.mixtures import power as power
    from pcircuit.operations.most_probable import MostProbableState as MostProbableState
    from pcircuit.operations.most_probable import most_probable_state as most_probable_state
    from pcircuit.operations.products import multiply as multiply
    from pcircuit.operations.products import overlap as overlap
    from pcircuit.operations.properties import Properties as Properties
    from pcircuit.operations.properties import properties as properties
    from pcircuit.operations.properties import prune as prune
    from pcircuit.operations.tables import marginal_tables as marginal_tables
    from pcircuit.operations.tables import pairwise_tables as pairwise_tables
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
    from pcircuit.startup.warm_up import compile_kernel as compile_kernel
    from pcircuit.startup.warm_up import warm_up as warm_up
    from pcircuit.vtree import VTree as VTree

_HOME = {
    "Circuit": "circuit",
    "check_distribution": "circuit",
    "Mixture": "circuit_mixture",
    "InputRegion": "regions",
    "InnerRegion": "regions",
    "StructureError": "regions",
    "VTree": "vtree",
    "check_choice": "arguments",
    "check_flag": "arguments",
    "check_fraction": "arguments",
    "check_generator": "arguments",
    "check_seed": "arguments",
    "check_integers": "arrays",
    "check_number": "arguments",
    "check_numbers": "arrays",
    "check_whole_number": "arguments",
    "check_evidence": "evidence",
    "engine_is_numpy": "engine",
    "check_kinds": "inference.node_selection",
    "check_node_weights": "inference.node_selection",
    "check_nodes": "inference.node_selection",
    "select_nodes": "inference.node_selection",
    "rounding_errors": "moments.rounding",
    "without_rounding": "moments.rounding",
    "compile_kernel": "startup.warm_up",
    "warm_up": "startup.warm_up",
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
    "Learned": "learning.choosing.learned",
    "LearnSearch": "learning.choosing.search",
    "fit_mixture": "learning.mixture_em",
    "maximize": "learning.m_step",
    "rat_spn": "learning.random_tensorized",
    "fit_em": "learning.em",
    "EMSteps": "learning.em_options",
    "EMWatch": "learning.em_options",
    "means_cost": "moments.means",
    "unit_means": "moments.means",
    "Moments": "moments.moments",
    "exact_moments": "moments.moments",
    "unit_masses": "inference.masses",
    "check_header": "files.archive",
    "read_archive": "files.archive",
    "read_object": "files.archive",
    "write_archive": "files.archive",
    "check_names": "files.contents",
    "finite_array": "files.contents",
    "saved_count": "files.contents",
    "saved_number": "files.contents",
    "under_prefix": "files.contents",
    "with_prefix": "files.contents",
    "from_arrays": "files.circuit_file",
    "load": "files.circuit_file",
    "save": "files.circuit_file",
    "to_arrays": "files.circuit_file",
    "replace_file": "files.whole_file",
    "save_mixture": "files.mixture_file",
    "load_mixture": "files.mixture_file",
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
    "marginal_tables": "operations.tables",
    "pairwise_tables": "operations.tables",
    "covariance": "operations.functions",
    "expectation": "operations.functions",
    "sum_indicator": "operations.functions",
    "variance": "operations.functions",
    "linear_moments": "operations.linear_functions",
    "sum_distribution": "operations.linear_functions",
    "Properties": "operations.properties",
    "properties": "operations.properties",
    "prune": "operations.properties",
    "Estimate": "operations.entropy",
    "cross_entropy": "operations.entropy",
    "entropy": "operations.entropy",
    "kl_divergence": "operations.entropy",
    "mutual_information": "operations.entropy",
    "mixture": "operations.mixtures",
    "power": "operations.mixtures",
    "MostProbableState": "operations.most_probable",
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
        if (
            "pcircuit.circuit" in sys.modules
        ):  # no name that has to do with circuits can be had without it
            importlib.import_module("pcircuit.startup.methods").attach()
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
