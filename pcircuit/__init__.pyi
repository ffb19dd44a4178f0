"""Public names of the package, and where they are: for editors, type checkers, and the first use of each."""

from pcircuit import leaves as leaves
from pcircuit.circuit import Circuit as Circuit
from pcircuit.circuit import Mixture as Mixture
from pcircuit.inference.flows import Flows as Flows
from pcircuit.inference.flows import expected_flows as expected_flows
from pcircuit.inference.likelihood import log_likelihood as log_likelihood
from pcircuit.inference.sampling import sample as sample
from pcircuit.inference.scores import mean_score as mean_score
from pcircuit.inference.scores import scores as scores
from pcircuit.inference.unit_likelihoods import (
    mean_node_likelihoods as mean_node_likelihoods,
)
from pcircuit.inference.unit_likelihoods import (
    node_likelihoods as node_likelihoods,
)
from pcircuit.inference.unit_likelihoods import (
    select_nodes as select_nodes,
)
from pcircuit.io.circuit_file import (
    load as load,
)
from pcircuit.io.circuit_file import (
    load_mixture as load_mixture,
)
from pcircuit.io.circuit_file import (
    save as save,
)
from pcircuit.io.circuit_file import (
    save_mixture as save_mixture,
)
from pcircuit.io.dot import write_dot as write_dot
from pcircuit.io.jpc import read_jpc as read_jpc
from pcircuit.io.jpc import write_jpc as write_jpc
from pcircuit.io.logic import read_jlc as read_jlc
from pcircuit.io.psdd import read_psdd as read_psdd
from pcircuit.io.psdd import write_psdd as write_psdd
from pcircuit.io.spn import read_spn as read_spn
from pcircuit.io.spn import write_spn as write_spn
from pcircuit.io.uai import read_uai as read_uai
from pcircuit.io.vtree_file import read_vtree as read_vtree
from pcircuit.io.vtree_file import write_vtree as write_vtree
from pcircuit.kernels.engine import warm_up as warm_up
from pcircuit.learning.choosing.learn import learn as learn
from pcircuit.learning.choosing.search import LearnSearch as LearnSearch
from pcircuit.learning.chow_liu import (
    chow_liu_circuit as chow_liu_circuit,
)
from pcircuit.learning.chow_liu import (
    chow_liu_tree as chow_liu_tree,
)
from pcircuit.learning.em import (
    EMSteps as EMSteps,
)
from pcircuit.learning.em import (
    fit_em as fit_em,
)
from pcircuit.learning.em import (
    fit_mixture as fit_mixture,
)
from pcircuit.learning.em import (
    maximize as maximize,
)
from pcircuit.learning.start_circuits import (
    hclt as hclt,
)
from pcircuit.learning.start_circuits import (
    hmm as hmm,
)
from pcircuit.learning.start_circuits import (
    rat_spn as rat_spn,
)
from pcircuit.moments.expected_units import (
    expected_node_likelihoods as expected_node_likelihoods,
)
from pcircuit.moments.moments import Moments as Moments
from pcircuit.moments.moments import exact_moments as exact_moments
from pcircuit.operations.conditions import (
    condition as condition,
)
from pcircuit.operations.conditions import (
    log_probability as log_probability,
)
from pcircuit.operations.conditions import (
    normalize as normalize,
)
from pcircuit.operations.entropy import (
    cross_entropy as cross_entropy,
)
from pcircuit.operations.entropy import (
    entropy as entropy,
)
from pcircuit.operations.entropy import (
    kl_divergence as kl_divergence,
)
from pcircuit.operations.entropy import (
    mutual_information as mutual_information,
)
from pcircuit.operations.explanations import (
    latent_posterior as latent_posterior,
)
from pcircuit.operations.explanations import (
    shapley_values as shapley_values,
)
from pcircuit.operations.functions import (
    covariance as covariance,
)
from pcircuit.operations.functions import (
    expectation as expectation,
)
from pcircuit.operations.functions import (
    linear_moments as linear_moments,
)
from pcircuit.operations.functions import (
    sum_distribution as sum_distribution,
)
from pcircuit.operations.functions import (
    sum_indicator as sum_indicator,
)
from pcircuit.operations.functions import (
    variance as variance,
)
from pcircuit.operations.marginals import (
    marginal_tables as marginal_tables,
)
from pcircuit.operations.marginals import (
    marginalize as marginalize,
)
from pcircuit.operations.marginals import (
    pairwise_tables as pairwise_tables,
)
from pcircuit.operations.marginals import (
    subcircuit as subcircuit,
)
from pcircuit.operations.most_probable import most_probable_state as most_probable_state
from pcircuit.operations.products import (
    mixture as mixture,
)
from pcircuit.operations.products import (
    multiply as multiply,
)
from pcircuit.operations.products import (
    overlap as overlap,
)
from pcircuit.operations.products import (
    power as power,
)
from pcircuit.operations.properties import properties as properties
from pcircuit.operations.properties import prune as prune
from pcircuit.pictures.circuits import (
    plot_circuit as plot_circuit,
)
from pcircuit.pictures.circuits import (
    plot_vtree as plot_vtree,
)
from pcircuit.pictures.circuits import (
    write_html as write_html,
)
from pcircuit.pictures.description import describe as describe
from pcircuit.pictures.learning import (
    plot_learning as plot_learning,
)
from pcircuit.pictures.learning import (
    write_learning_html as write_learning_html,
)
from pcircuit.pictures.moments import (
    plot_covariance as plot_covariance,
)
from pcircuit.pictures.moments import (
    plot_eigenvalues as plot_eigenvalues,
)
from pcircuit.regions import (
    InnerRegion as InnerRegion,
)
from pcircuit.regions import (
    InputRegion as InputRegion,
)
from pcircuit.regions import (
    StructureError as StructureError,
)
from pcircuit.vtree import VTree as VTree

__all__: list[str]
__version__: str
