"""Circuits of the study, and what the tests look at in a row.

    fit_cell      the circuit of a cell, fitted to the training half, with its log-likelihood by epoch
    row_scores    log-likelihood, dropout score and likelihood vector of rows, computed once for each pool

Everything runs in one thread: the study has one process for each CPU.
"""

from dataclasses import dataclass

import numpy as np

import hld
import pcircuit
from hld.baselines.peers import dropout_scores

from .settings import NODE_SETS

VECTOR_ROWS = 20_000  # rows whose likelihoods are held in double precision at a time


@dataclass(frozen=True, eq=False)
class Scored:
    """A pool of N rows: `codes` (N, V), `scores` by name (N,) each, `vectors` (N, m) float32 or None."""

    codes: np.ndarray
    scores: dict
    vectors: np.ndarray | None


def fit_cell(architecture, train, num_categories, settings):
    """The fitted circuit of an architecture "hclt-K" or "rat-D-K", and its history (epochs + 1,)."""
    kind, *numbers = architecture.split("-")
    numbers = [int(number) for number in numbers]
    if kind == "hclt":
        start = pcircuit.hclt(
            train, numbers[0], num_categories, settings.tree_pseudocount, settings.model_seed
        )
    elif kind == "rat":
        depth, num_units = numbers
        start = pcircuit.rat_spn(num_categories, num_units, depth, settings.model_seed)
    else:
        raise ValueError(f"`architecture` must be 'hclt-K' or 'rat-D-K', found {architecture!r}")
    return pcircuit.fit_em(
        start,
        train,
        num_epochs=settings.epochs,
        pseudocount=settings.pseudocount,
        batch_size=settings.em_batch_size,
        step_size=settings.em_step_size,
        pseudocount_per=settings.pseudocount_per,
        rng=settings.model_seed,
        n_jobs=1,
    )


def selected_nodes(circuit, node_sets) -> np.ndarray:
    """Node ids of all kinds that one of the node sets needs."""
    kinds = sorted({kind for name in node_sets for kind in NODE_SETS[name]})
    return hld.select_nodes(circuit, kinds)


def row_scores(circuit, codes, settings, nodes=None) -> Scored:
    """Everything that the tests need of each row; likelihood vectors for `nodes` if given."""
    scores = {"log_likelihood": pcircuit.log_likelihood(circuit, codes, n_jobs=1)}
    log_std = dropout_scores(circuit, codes, rate=settings.dropout_rate)
    scores["log_std"] = log_std
    log_p = scores["log_likelihood"]
    with np.errstate(
        invalid="ignore"
    ):  # ln c = ln std - ln p; impossible rows are infinitely uncertain
        scores["variation"] = np.where(np.isneginf(log_p), np.inf, log_std - log_p)
    return Scored(codes, scores, None if nodes is None else row_vectors(circuit, codes, nodes))


def row_vectors(circuit, codes, nodes) -> np.ndarray:
    """(N, m) float32 likelihood vectors of rows."""
    vectors = np.empty((len(codes), len(nodes)), np.float32)
    for start in range(0, len(codes), VECTOR_ROWS):
        part = slice(start, start + VECTOR_ROWS)
        vectors[part] = pcircuit.node_likelihoods(circuit, codes[part], nodes=nodes, n_jobs=1)
    return vectors
