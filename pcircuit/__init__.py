"""Probabilistic circuits over categories, numbers and counts, exact and fast on a CPU.

Names are loaded when they are first used, so ``import pcircuit`` costs little more than NumPy.
"""

import ast
import importlib
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # read by editors and type checkers, and at the first use of a name
    # isort: off
    from pcircuit import leaves as leaves
    from pcircuit.circuit import Circuit as Circuit, Mixture as Mixture
    from pcircuit.io.circuit_file import (
        load as load,
        load_mixture as load_mixture,
        save as save,
        save_mixture as save_mixture,
    )
    from pcircuit.io.dot import write_dot as write_dot
    from pcircuit.io.jpc import read_jpc as read_jpc, write_jpc as write_jpc
    from pcircuit.io.logic import read_jlc as read_jlc
    from pcircuit.io.psdd import read_psdd as read_psdd, write_psdd as write_psdd
    from pcircuit.io.spn import read_spn as read_spn, write_spn as write_spn
    from pcircuit.io.uai import read_uai as read_uai
    from pcircuit.io.vtree_file import read_vtree as read_vtree, write_vtree as write_vtree
    from pcircuit.inference.flows import Flows as Flows, expected_flows as expected_flows
    from pcircuit.inference.likelihood import log_likelihood as log_likelihood
    from pcircuit.inference.unit_likelihoods import (
        mean_node_likelihoods as mean_node_likelihoods,
        node_likelihoods as node_likelihoods,
        select_nodes as select_nodes,
    )
    from pcircuit.inference.sampling import sample as sample
    from pcircuit.inference.scores import mean_score as mean_score, scores as scores
    from pcircuit.learning.choosing.learn import learn as learn
    from pcircuit.learning.choosing.search import LearnSearch as LearnSearch
    from pcircuit.learning.chow_liu import (
        chow_liu_circuit as chow_liu_circuit,
        chow_liu_tree as chow_liu_tree,
    )
    from pcircuit.learning.em import (
        fit_em as fit_em,
        fit_mixture as fit_mixture,
        maximize as maximize,
    )
    from pcircuit.learning.start_circuits import (
        hclt as hclt,
        hmm as hmm,
        rat_spn as rat_spn,
    )
    from pcircuit.moments.expected_units import (
        expected_node_likelihoods as expected_node_likelihoods,
    )
    from pcircuit.moments.moments import Moments as Moments, exact_moments as exact_moments
    from pcircuit.operations.conditions import (
        condition as condition,
        log_probability as log_probability,
        normalize as normalize,
    )
    from pcircuit.operations.entropy import (
        cross_entropy as cross_entropy,
        entropy as entropy,
        kl_divergence as kl_divergence,
        mutual_information as mutual_information,
    )
    from pcircuit.operations.explanations import (
        latent_posterior as latent_posterior,
        shapley_values as shapley_values,
    )
    from pcircuit.operations.functions import (
        covariance as covariance,
        expectation as expectation,
        linear_moments as linear_moments,
        sum_distribution as sum_distribution,
        sum_indicator as sum_indicator,
        variance as variance,
    )
    from pcircuit.operations.marginals import (
        marginal_tables as marginal_tables,
        marginalize as marginalize,
        pairwise_tables as pairwise_tables,
        subcircuit as subcircuit,
    )
    from pcircuit.operations.most_probable import most_probable_state as most_probable_state
    from pcircuit.operations.products import (
        mixture as mixture,
        multiply as multiply,
        overlap as overlap,
        power as power,
    )
    from pcircuit.operations.properties import properties as properties, prune as prune
    from pcircuit.pictures.circuits import (
        plot_circuit as plot_circuit,
        plot_vtree as plot_vtree,
        write_html as write_html,
    )
    from pcircuit.pictures.description import describe as describe
    from pcircuit.pictures.learning import (
        plot_learning as plot_learning,
        write_learning_html as write_learning_html,
    )
    from pcircuit.pictures.moments import (
        plot_covariance as plot_covariance,
        plot_eigenvalues as plot_eigenvalues,
    )
    from pcircuit.regions import (
        InnerRegion as InnerRegion,
        InputRegion as InputRegion,
        StructureError as StructureError,
    )
    from pcircuit.kernels.engine import warm_up as warm_up
    from pcircuit.vtree import VTree as VTree


def homes_of(init_file: str) -> dict[str, str]:
    """Public name -> module, as an ``__init__`` file imports it where it says ``if TYPE_CHECKING``."""
    tree = ast.parse(pathlib.Path(init_file).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def loaded(package: str, name: str, homes: dict[str, str], modules: tuple[str, ...]) -> object:
    """The thing, or the module, of a public name of a package."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if name in modules:
        return importlib.import_module(f"{homes[name]}.{name}")
    return getattr(importlib.import_module(homes[name]), name)


_HOME = homes_of(__file__)
_MODULES = ("leaves",)
__all__ = sorted(_HOME)
__version__ = "0.1.0"


if not TYPE_CHECKING:  # who checks types would believe in any name

    def __getattr__(name: str) -> object:
        globals()[name] = value = loaded("pcircuit", name, _HOME, _MODULES)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
