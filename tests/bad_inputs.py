"""Bad inputs to every public function, and what each is told: the list behind tests/test_bad_inputs.py and the page.

A case is a call in Python in which one argument is bad: the call that `GOOD` lists for the function, with one argument
replaced by a bad one of its kind (`KINDS`).  Every case must end in a TypeError or a ValueError, or for names of files
in an OSError, of one sentence that names the argument.

    python tests/bad_inputs.py > docs/bad-inputs.md         writes the page
"""

import functools
import inspect
import os
from typing import NamedTuple

import numpy as np

import hld
import pcircuit

HUGE = "2**64 - 1"
KINDS = {
    "circuit": ["None", "[[0.5, 0.5]]", "coins.vtree"],
    "distribution": ["None", "[[0.5, 0.5]]", "weights_of_three"],
    "evidence": [
        "[[0, 2]]",
        "[[0, -2]]",
        "[[0.5, 0]]",
        "[[inf, 0]]",
        f"[[{HUGE}, 0]]",
        f"np.array([[{HUGE}, 0]], 'u8')",
        "[['0', '1']]",
        "[[0, 1j]]",
        "[[0, 1, 1]]",
        "[0, 1]",
        "[[0, 1], [0]]",
        "sparse([[0, 9]])",
        "None",
        "np.array([['2020-01-01', 'NaT']], 'M8[D]')",
    ],
    "evidence or none": ["[[0, 2]]", "[[0.5, 0]]", "[[0, 1, 1]]", "np.empty((0, 2))"],
    "rows to learn from": [
        "[[0, -2]]",
        "[[0.5, 0]]",
        "[[inf, 0]]",
        "[[2**63 - 1, 0], [0, 1]]",
        f"np.array([[{HUGE}, 0]], 'u8')",
        "[['a', 'b']]",
        "[[0, 1j]]",
        "[0, 1]",
        "[]",
        "[[0, 1], [0]]",
        "np.empty((0, 2))",
        "sparse([[0, -2]])",
        "None",
    ],
    "complete rows": ["[[0, -1]]", "[[0, nan]]", "masked([[0, 1]])"],
    "one row": ["[[0, 1], [1, 1]]", "[0, 2]", "[0, 0.5]", "['0', '1']", "[0]"],
    "count": ["0", "-1", "2.5", "'3'", "True", "nan", "None", "[3]"],
    "count or none": ["0", "-1", "2.5", "'3'", "True", "nan", "[3]"],
    "size": ["-1", "2.5", "'3'", "True", "nan", "[3]"],
    "positive": ["0", "-1", "nan", "inf", "'a'", "None", "1j", "[0.1]"],
    "not negative": ["-0.1", "nan", "inf", "'a'", "None", "1j", "True"],
    "level": ["0", "1", "-0.1", "nan", "'0.05'", "None", "[0.05]", "True"],
    "share": ["0", "1.5", "nan", "'a'", "[0.1]"],
    "flag": ["'yes'", "None", "1", "[]"],
    "seed": ["'a'", "1.5", "-1", "nan", "True"],
    "name": ["'foo'", "None", "3", "['exact']"],
    "nodes": ["[99]", "[-1]", "[0.0]", "[True, False]", "'input'", "[[0, 1]]", "masked([0, 1])"],
    "selection": [
        "[99]",
        "[-1]",
        "[0.0]",
        "[True, False]",
        "[[0, 1]]",
        "[0, 0]",
        "[]",
        "masked([0, 1])",
    ],
    "kinds": ["'leaf'", "'foo'", "[]", "None", "[0]", "['sum', 'sum']"],
    "node weights": [
        "[1.0]",
        "[1, 1, 1, 1, 0]",
        "[1, 1, 1, 1, -1]",
        "[1, 1, 1, 1, nan]",
        "[1, 1, 1, 1, inf]",
        "['1'] * 5",
        "masked([1.0] * 5)",
        "[1j] * 5",
    ],
    "row weights": [
        "[1.0]",
        "[1.0, -1.0]",
        "[1.0, nan]",
        "[1.0, inf]",
        "[1.0, 1e200]",
        "['1', '2']",
        "[1, 1j]",
        "masked([1.0, 1.0])",
    ],
    "categories": [
        "0",
        "[2]",
        "[2, 2, 2]",
        "[2, 2.5]",
        "['2', '2']",
        "[2, -1]",
        "[2, 2**40]",
        "masked([2, 2])",
    ],
    "tree": [
        "[-1]",
        "[1, 0]",
        "[-1, -1]",
        "[-1, 2]",
        "[-1.0, 0.0]",
        "['a', 'b']",
        "masked([-1, 0])",
    ],
    "variables": ["[2]", "[-1]", "[0, 0]", "[0.5]", "[True, False]", "'0'", "0", "masked([0])"],
    "table of numbers": [
        "[[0.5, -0.5]]",
        "[[0.5, nan]]",
        "[[0.5, inf]]",
        "[['0.5', '0.5']]",
        "[[0.5, 0.5j]]",
        "[0.5, 0.5]",
        "[[]]",
        "[[0.5], [0.5, 0.5]]",
        "masked([[0.5, 0.5]])",
        "None",
    ],
    "products": [
        "[[0.0, 0.0]]",
        "[[0, -1]]",
        f"np.array([[{HUGE}, 0]], 'u8')",
        "[0, 0]",
        "[[]]",
        "[['0', '0']]",
        "masked([[0, 0]])",
        "None",
    ],
    "table": [
        "[1, 2]",
        "[]",
        "[[]]",
        "[[1, 2], [3]]",
        "None",
        "[[{}, 1]]",
        "[[1j, 1]]",
        "np.zeros((0, 2))",
        "sparse([[0, 1]])",
        "twice",
    ],
    "batch of a table": [
        "[[0, 1, 2]]",
        "[0, 1]",
        "[['a', 0]]",
        "[[{}, 1]]",
        "None",
        "sparse([[0, 1]])",
    ],
    "path": ["None", "'no-such-folder/file'"],
    "mean": [
        "[0.5]",
        "[nan] * 5",
        "[inf] * 5",
        "[-0.5] * 5",
        "['0.5'] * 5",
        "[0.5j] * 5",
        "masked([0.5] * 5)",
        "None",
    ],
    "weights of a law": [
        "[]",
        "[[1.0]]",
        "[-1.0]",
        "[nan]",
        "[inf]",
        "['1']",
        "[1j]",
        "masked([1.0])",
        "None",
    ],
    "quantile": ["'a'", "1j", "None", "masked([1.0])"],
    "probability": ["-0.1", "1.1", "'a'", "1j", "None", "masked([0.5])"],
    "event": ["None", "{2: 0}", "{0: 2}", "{0: []}", "{'a': 0}", "{0: 0.5}", "[0, 1]"],
    "functions": [
        "None",
        "[[0, 1]]",
        "[[0, 1], [0, 1, 2]]",
        "[[0, nan], [0, 1]]",
        "[['a', 'b'], [0, 1]]",
        "[[0, 1j], [0, 1]]",
    ],
    "circuits": ["[]", "[None]", "None", "coins"],
    "names": ["'ab'", "3", "np.array('a')", "['a']", "['a', 'a']", "['a', 2]"],
    "columns": ["'a'", "3", "np.array('a')", "['z']", "[7]", "[0.5]", "[True, False]"],
    "vtree": ["None", "[0, 1]"],
}


def good():
    """Function -> its arguments in a call that works, and the kinds of those that are made bad, one after the other."""
    jobs, rng, data = ("None", "count or none"), ("0", "seed"), ("rows", "evidence")
    circuit, dist = ("coins", "circuit"), ("coins", "distribution")
    learn, weights = ("rows", "rows to learn from"), ("None", "row weights")
    draws = ("9", "count")
    drawn, axes = (
        ("None", ["'ab'", "3", "['a']"]),
        ("new_axes()", ["3", "np.array([new_axes()])", "new_axes().figure"]),
    )
    chosen = ("None", ["[9]", "[-1]", "[0.5]", "[True, False]", "'all'", "3", "[[0]]"])
    functions = {
        "pcircuit.VTree.from_nested": {
            "nested": (
                "[0, 1]",
                ["[0, 2]", "[0, 0]", "[0, []]", "[0, 1.0]", "[0, '1']", "[0, True]", "None"],
            )
        },
        "pcircuit.VTree.from_tree": {
            "parent": (
                "[-1, 0]",
                [
                    "[-1, -1]",
                    "[1, 0]",
                    "[-1, 2]",
                    "[]",
                    "[-1.0, 0.0]",
                    f"np.array([{HUGE}, 0], 'u8')",
                    "masked([-1, 0])",
                ],
            )
        },
        "pcircuit.VTree.balanced": {"num_variables": ("2", "count")},
        "pcircuit.VTree.right_linear": {"num_variables": ("2", "count")},
        "pcircuit.VTree.random": {"num_variables": ("2", "count"), "rng": rng},
        "pcircuit.VTree": {
            "parents": (
                "[2, 2, -1]",
                ["[2, 2, 0]", "[2.0, 2.0, -1.0]", "[]", "masked([2, 2, -1])"],
            ),
            "variables": ("[0, 1, -1]", ["[0, 0, -1]", "[0, 1]", "[0.0, 1.0, -1.0]", "None"]),
        },
        "pcircuit.InputRegion": {
            "variable": ("0", ["-1", "0.0", "'0'", "None", "True"]),
            "probs": ("[[0.5, 0.5]]", "table of numbers"),
        },
        "pcircuit.InnerRegion": {
            "products": ("[[0, 0]]", "products"),
            "weights": ("[[1.0]]", "table of numbers"),
        },
        "pcircuit.Circuit": {
            "vtree": ("coins.vtree", "vtree"),
            "regions": ("coins.regions", ["None", "[]", "coins.regions[:2]"]),
        },
        "hld.two_sample": {
            "model": ("coins", ["None", "3", "hld.HLDDetector()"]),
            "first": data,
            "second": data,
            "alpha": ("0.05", "level"),
            "num_permutations": ("9", "count"),
            "rng": rng,
        },
        "hld.distances": {
            "model": ("coins", ["None", "3"]),
            "batches": ("[rows, rows]", ["None", "[]", "[rows]", "'ab'", "[rows, [[0, 2]]]"]),
        },
        "hld.plan": {
            "detector": ("detector", ["None", "3"]),
            "rows_per_day": ("20", "count"),
            "edits": ("[]", ["None", "'x0=1:0.1'", "['x0']", "[3]", "[{'column': 0}]"]),
            "power": ("0.9", "level"),
            "alpha": ("0.05", "level"),
        },
        "hld.audit": {
            "detectors": ("detector", ["None", "{'a': 3}", "{}"]),
            "held_out": ("rows", ["None", "'rows'", "3", "{'a': 3}", "np.array(3)", "dict"]),
            "sizes": ("[2]", ["2", "[0]", "[1.5]", "[]", "[99]", "'2'"]),
            "edits": ("[]", ["'x0=1:0.1'", "['x0']", "[3]"]),
            "alpha": ("0.05", "level"),
            "num_batches": ("3", "count"),
            "rng": rng,
            "groups": ("0", ["9", "'x9'", "[0]", "[None, 1]", "True"]),
            "order": ("'time'", ["3", "'date'"]),
        },
        "test.summarize": {
            "rows": data,
            "epsilon": ("1.0", ["0", "-1", "nan", "inf", "'a'", "1j"]),
            "delta": ("0.1", "level"),
        },
        "test.power": {
            "alternative": (
                "coins",
                ["None", "'coins'", "{'column': 0}", "weights_of_three", "[[0, 1]]"],
            ),
            "T": ("9", "count"),
            "alpha": ("0.05", "level"),
        },
        "pcircuit.log_likelihood": {"circuit": circuit, "data": data, "n_jobs": jobs},
        "pcircuit.node_likelihoods": {
            "circuit": circuit,
            "data": data,
            "nodes": ("None", "nodes"),
            "n_jobs": jobs,
        },
        "pcircuit.mean_node_likelihoods": {
            "circuit": circuit,
            "data": data,
            "nodes": ("None", "nodes"),
            "n_jobs": jobs,
        },
        "pcircuit.expected_node_likelihoods": {
            "circuit": dist,
            "data": data,
            "given": ("[True, False]", ["None", "[True]", "[0]", "[1, 0]", "'x0'"]),
            "nodes": ("None", "nodes"),
            "n_jobs": jobs,
        },
        "pcircuit.expected_flows": {
            "circuit": circuit,
            "data": data,
            "weights": weights,
            "n_jobs": jobs,
        },
        "pcircuit.mean_score": {"circuit": circuit, "data": data, "n_jobs": jobs},
        "pcircuit.scores": {
            "circuit": circuit,
            "data": data,
            "directions": ("None", ["[[1.0]]", "[0.5]", "'all'"]),
        },
        "pcircuit.sample": {"circuit": dist, "num_samples": ("3", "size"), "rng": rng},
        "pcircuit.sample ": {"circuit": dist, "evidence": ("rows", "evidence")},
        "pcircuit.unit_masses": {"circuit": circuit},
        "pcircuit.unit_means": {"circuit": circuit},
        "pcircuit.select_nodes": {"circuit": circuit, "kinds": ("'sum'", "kinds")},
        "pcircuit.multiply": {"a": circuit, "b": circuit},
        "pcircuit.overlap": {"a": circuit, "b": circuit, "log": ("False", "flag")},
        "pcircuit.marginalize": {"circuit": circuit, "variables": ("[0]", "variables")},
        "pcircuit.marginalize ": {"circuit": circuit, "keep": ("[0]", "variables")},
        "pcircuit.condition": {
            "circuit": circuit,
            "event": ("{0: 1}", "event"),
            "keep_known": ("False", "flag"),
        },
        "pcircuit.log_probability": {"circuit": circuit, "event": ("{0: 1}", "event")},
        "pcircuit.entropy": {"circuit": dist, "num_samples": ("10", "count"), "rng": rng},
        "pcircuit.cross_entropy": {
            "p": dist,
            "q": dist,
            "num_samples": ("10", "count"),
            "rng": rng,
        },
        "pcircuit.kl_divergence": {
            "p": dist,
            "q": dist,
            "num_samples": ("10", "count"),
            "rng": rng,
        },
        "pcircuit.mutual_information": {
            "circuit": dist,
            "first": ("[0]", "variables"),
            "second": ("[1]", "variables"),
            "num_samples": ("10", "count"),
            "rng": rng,
        },
        "pcircuit.latent_posterior": {"circuit": circuit, "row": ("[0, 1]", "one row")},
        "pcircuit.shapley_values": {
            "circuit": circuit,
            "row": ("[0, 1]", "one row"),
            "num_orders": ("10", "count"),
            "rng": rng,
        },
        "pcircuit.linear_moments": {
            "circuit": dist,
            "functions": ("[[0, 1], [0, 1]]", "functions"),
        },
        "pcircuit.sum_distribution": {
            "circuit": dist,
            "functions": ("[[0, 1], [0, 1]]", "functions"),
        },
        "pcircuit.marginal_tables": {"circuit": circuit},
        "pcircuit.pairwise_tables": {
            "circuit": circuit,
            "pairs": ("[(0, 1)]", ["[(0, 0)]", "[(0, 2)]", "[(0,)]", "[0]", "[(0.0, 1.0)]", "3"]),
        },
        "pcircuit.mixture": {
            "circuits": ("[coins, coins]", "circuits"),
            "weights": (
                "None",
                [
                    "[1.0]",
                    "[1.0, -1.0]",
                    "[1.0, nan]",
                    "['1', '2']",
                    "[1, 1j]",
                    "masked([1.0, 1.0])",
                ],
            ),
        },
        "pcircuit.power": {"circuit": circuit, "exponent": ("2", "count")},
        "pcircuit.most_probable_state": {
            "circuit": circuit,
            "evidence": ("None", "one row"),
            "max_evaluations": ("10", "count"),
            "must_be_exact": ("False", "flag"),
        },
        "pcircuit.normalize": {"circuit": circuit},
        "pcircuit.expectation": {"circuit": dist, "f": circuit},
        "pcircuit.variance": {"circuit": dist, "f": circuit},
        "pcircuit.covariance": {"circuit": dist, "f": circuit, "g": circuit},
        "pcircuit.sum_indicator": {
            "vtree": ("coins.vtree", ["None", "[0, 1]", "coins"]),
            "functions": (
                "[[0, 1], [0, 1]]",
                ["None", "[[0, 1]]", "[[0, 1], []]", "[[0, 0.5], [0, 1]]", "[['a', 'b'], [0, 1]]"],
            ),
            "values": ("[1]", ["None", "5", "0.5", "[[]]", "['a', 1]", "[0.5]", "[nan]"]),
        },
        "pcircuit.plot_vtree": {
            "vtree": ("coins.vtree", ["None", "[0, 1]", "coins"]),
            "names": drawn,
            "ax": axes,
        },
        "pcircuit.describe": {"circuit": circuit, "max_regions": ("None", "size")},
        "pcircuit.plot_circuit": {
            "circuit": circuit,
            "row": ("None", "one row"),
            "names": drawn,
            "detail": ("'auto'", "name"),
            "ax": axes,
        },
        "pcircuit.write_html": {
            "circuit": circuit,
            "path": ("'coins.html'", "path"),
            "row": ("None", "one row"),
            "names": drawn,
            "detail": ("'auto'", "name"),
        },
        "pcircuit.plot_learning": {
            "circuits": ("[coins, coins]", "circuits"),
            "data": data,
            "ax": axes,
        },
        "pcircuit.write_learning_html": {
            "circuits": ("[coins, coins]", "circuits"),
            "path": ("'em.html'", "path"),
            "data": ("None", "evidence or none"),
            "row": ("None", "one row"),
            "names": drawn,
        },
        "pcircuit.plot_covariance": {
            "moments": ("pcircuit.exact_moments(coins)", ["None", "[1.0]"]),
            "ax": axes,
        },
        "pcircuit.plot_eigenvalues": {
            "moments": ("pcircuit.exact_moments(coins)", ["None", "[1.0]"]),
            "ax": axes,
        },
        "pcircuit.prune": {"circuit": circuit},
        "pcircuit.properties": {"circuit": circuit},
        "pcircuit.exact_moments": {
            "circuit": dist,
            "nodes": ("None", "selection"),
            "node_weights": ("None", "node weights"),
        },
        "pcircuit.exact_moments(coins).covariance": {
            "nodes": ("None", "selection"),
            "max_bytes": ("2**31", "size"),
        },
        "pcircuit.exact_moments(coins).eigenvalues": {
            "k": ("None", ["0", "6", "2.5", "'2'", "True"])
        },
        "pcircuit.chow_liu_tree": {
            "data": learn,
            "num_categories": ("None", "categories"),
            "pseudocount": ("0.1", "not negative"),
            "weights": weights,
        },
        "pcircuit.chow_liu_circuit": {
            "data": learn,
            "num_categories": ("None", "categories"),
            "pseudocount": ("0.1", "not negative"),
            "tree": ("None", "tree"),
        },
        "pcircuit.hclt": {
            "data": learn,
            "num_latents": ("2", "count"),
            "num_categories": ("None", "categories"),
            "pseudocount": ("0.1", "not negative"),
            "rng": rng,
            "tree": ("None", "tree"),
        },
        "pcircuit.rat_spn": {
            "num_categories": (
                "[2, 2]",
                ["[]", "2", "[2, 0]", "[2.0, 2.0]", "['2']", "masked([2, 2])", "None"],
            ),
            "num_units": ("2", "count"),
            "depth": ("1", "size"),
            "rng": rng,
        },
        "pcircuit.fit_em": {
            "circuit": dist,
            "data": data,
            "num_epochs": ("1", "size"),
            "pseudocount": ("0.1", "not negative"),
            "batch_size": ("None", "count or none"),
            "step_size": ("None", "share"),
            "weights": weights,
            "tolerance": ("0.0", "not negative"),
            "callback": ("None", ["3", "'f'"]),
            "progress": ("False", "flag"),
            "n_jobs": jobs,
            "rng": rng,
            "steps": ("None", ["3", "{'batch_size': 2}"]),
            "watch": ("None", ["3", "{}"]),
        },
        "pcircuit.fit_mixture": {
            "mixture": ("mixed", ["None", "coins"]),
            "data": data,
            "num_epochs": ("1", "size"),
            "pseudocount": ("0.1", "not negative"),
            "weights": weights,
            "n_jobs": jobs,
        },
        "pcircuit.maximize": {
            "circuit": dist,
            "flows": ("flows", ["None", "rows", "flows_of_one"]),
            "pseudocount": ("0.1", "not negative"),
        },
        "pcircuit.learn": {
            "data": learn,
            "validation": ("rows", ["[[0, -2]]", "[[0.5, 0]]", "[[0, 1, 1]]", "[]"]),
            "search": ("quick", ["3", "{}", "'fast'"]),
            "rng": rng,
            "progress": ("False", "flag"),
            "n_jobs": jobs,
        },
        "pcircuit.LearnSearch": {
            "num_latents": (
                "[2]",
                ["2", "[]", "'2'", "[0]", "[2.5]", "['2']", "np.array(2)", "np.array([[2]])"],
            ),
            "pseudocounts": ("[0.1]", ["0.1", "[]", "[-1]", "[nan]", "['a']"]),
            "num_parts": ("[4]", ["4", "[1]", "[2.5]", "'4'"]),
            "bandwidths": ("[0.1]", ["0.1", "[0]", "[1.5]", "[nan]", "['a']"]),
            "num_trees": ("1", "count"),
            "num_epochs": ("1", "count"),
            "joint": ("True", "flag"),
            "num_points": ("0", "size"),
            "tolerance": ("0.1", "not negative"),
            "grow": ("False", "flag"),
            "max_work": ("1e9", "positive"),
            "max_parameters": ("1e9", "positive"),
        },
        "pcircuit.Mixture": {
            "circuits": ("[coins]", ["None", "[]", "[None]", "coins", "[weights_of_three]"]),
            "weights": ("[1.0]", ["[0.5]", "[1.0, 0.0]", "[nan]", "[-1.0]", "['1']"]),
        },
        "pcircuit.save_mixture": {
            "mixture": ("mixed", ["None", "coins"]),
            "path": ("'coins.pcm'", "path"),
            "provenance": ("None", ["'a'", "[]", "3", "coins"]),
        },
        "pcircuit.load_mixture": {"path": ("'coins.pcm'", "path")},
        "pcircuit.save": {"circuit": circuit, "path": ("'coins.pc'", "path")},
        "pcircuit.load": {"path": ("'coins.pc'", "path")},
        "pcircuit.write_spn": {"circuit": circuit, "path": ("'coins.spn'", "path")},
        "pcircuit.write_jpc": {"circuit": circuit, "path": ("'coins.jpc'", "path")},
        "pcircuit.write_dot": {
            "circuit": circuit,
            "path": ("'coins.dot'", "path"),
            "digits": ("3", ["0", "18", "2.5", "'3'", "None"]),
        },
        "pcircuit.write_vtree": {
            "vtree": ("coins.vtree", ["None", "[0, 1]", "coins"]),
            "path": ("'coins.vtree'", "path"),
        },
        "pcircuit.write_psdd": {
            "circuit": circuit,
            "psdd": ("'coins.psdd'", "path"),
            "vtree": ("'coins.vtree'", ["None", "'coins.psdd'"]),
        },
        **{
            f"pcircuit.{read}": {"path": (f"'coins.{read[5:]}'", "path")}
            for read in ("read_spn", "read_jpc", "read_jlc", "read_uai", "read_vtree")
        },
        "pcircuit.read_psdd": {"psdd": ("'coins.psdd'", "path")},
        "hld.fit_encoder": {
            "table": ("[[0, 1], [1, 0]]", "table"),
            "num_bins": ("8", ["1", "2.5", "'3'", "True", "None"]),
            "max_categories": ("64", ["1", "2.5", "'3'", "True", "None", "2**40"]),
            "categorical": ("None", "columns"),
            "continuous": ("None", "columns"),
            "names": ("None", "names"),
            "rows": chosen,
        },
        "hld.learn_schema": {
            "table": ("[[0, 1], [1, 0]]", "table"),
            "num_bins": ("8", ["1", "2.5", "'3'", "True", "None"]),
            "max_categories": ("64", ["1", "2.5", "'3'", "True", "None", "2**40"]),
            "categorical": ("None", "columns"),
            "continuous": ("None", "columns"),
            "names": ("None", "names"),
            "rows": chosen,
            "given": ("None", ["{}", "3", "encoder"]),
        },
        "hld.calendar_columns": {
            "source": ("'when'", ["3", "None", "['when']"]),
            "parts": ("['hour']", ["'hour'", "[]", "['minute']", "[['hour']]", "None", "3"]),
            "keep": ("False", "flag"),
        },
        "hld.judge_chunks": {
            "detector": ("detector", ["None", "coins"]),
            "chunks": ("[[[0, 1]]]", ["[]", "None", "3"]),
            "alpha": ("0.05", "level"),
        },
        "encoder.encode": {"table": ("[[0, 1]]", "batch of a table")},
        "encoder.decode": {
            "codes": (
                "[[0, 1]]",
                [
                    "[[0, 9]]",
                    "[[-2, 0]]",
                    "[[0.0, 1.0]]",
                    "[0, 1]",
                    "[['0', '1']]",
                    "masked([[0, 1]])",
                    "None",
                ],
            )
        },
        "hld.likelihood_vectors": {
            "circuit": circuit,
            "data": data,
            "nodes": ("None", "nodes"),
            "n_jobs": jobs,
        },
        "hld.distance": {
            "circuit": circuit,
            "first": data,
            "second": ("rows", "evidence or none"),
            "nodes": ("None", "selection"),
            "node_weights": ("None", "node weights"),
        },
        "hld.HLDTest": {
            "circuit": dist,
            "nodes": ("None", "selection"),
            "metric": (
                "'euclidean'",
                [
                    "'foo'",
                    "None",
                    "3",
                    "['euclidean', 'foo']",
                    "['whitened', 'whitened']",
                    "[1.0]",
                    "[nan] * 5",
                    "[0.0] * 5",
                    "['1'] * 5",
                    "[1e-300] * 5",
                    "[1e200] * 5",
                    "masked([1.0] * 5)",
                ],
            ),
            "null": ("'exact'", "name"),
            "reference": ("'circuit'", ["'foo'", "None", "3", "['exact']", "rows"]),
            "ordered": ("None", ["[9]", "[-1]", "[0.5]", "'all'", "3", "test"]),
            "num_train": ("None", "count or none"),
            "training_data": ("None", ["rows"]),
            "rng": rng,
            "ridge": ("0.003", "positive"),
            "num_resamples": draws,
            "tolerance": ("0.0", "not negative"),
            "missing": ("'complete'", ["'foo'", "3", "['exact']"]),
        },
        "test": {"batch": ("rows", "evidence"), "alpha": ("0.05", "level")},
        "test ": {"batch": ("rows", ["np.empty((0, 2))"])},
        "test.judge": {
            "mean": ("[0.5] * 5", "mean"),
            "num_samples": ("10", ["0", "2.9", "'5'", "nan", "True", "3j"]),
            "alpha": ("0.05", "level"),
            "num_missing": ("0", "size"),
        },
        "result.localize": {"top": ("3", "count or none")},
        "hld.test_batches": {
            "test": ("test", ["None", "3"]),
            "batches": ("[rows]", ["[]", "None", "3"]),
            "alpha": ("0.05", "level"),
        },
        "hld.MMDTest": {
            "circuit": dist,
            "kernel": ("'hamming'", "name"),
            "bandwidth": ("None", ["0", "-1", "nan", "inf", "'a'", "1j", "True"]),
            "null": ("'monte-carlo'", "name"),
            "rng": rng,
            "num_resamples": draws,
        },
        "hld.MMDTest(coins)": {"batch": ("rows", "evidence"), "alpha": ("0.05", "level")},
        "hld.mmd_squared": {
            "circuit": dist,
            "data": data,
            "kernel": ("'hamming'", "name"),
            "bandwidth": ("None", ["0", "-1", "nan", "inf", "'a'", "1j", "True"]),
            "rng": rng,
        },
        "hld.mmd_squared ": {"circuit": dist, "data": ("rows", "complete rows")},
        "hld.Monitor": {
            "circuit": dist,
            "alpha": ("0.05", "level"),
            "nodes": ("None", "selection"),
            "margin": ("0.0", "not negative"),
            "rng": rng,
        },
        "monitor.update": {
            "rows": (
                "rows",
                [
                    "[[0, 2]]",
                    "[[0, -2]]",
                    "[[0.5, 0]]",
                    f"np.array([[{HUGE}, 0]], 'u8')",
                    "[['0', '1']]",
                    "[[0, 1j]]",
                    "[[0, 1, 1]]",
                    "[0, 1, 1]",
                    "None",
                ],
            )
        },
        "hld.baselines.root_likelihood_test": {"circuit": dist, "num_resamples": draws, "rng": rng},
        "hld.baselines.typicality_test": {
            "circuit": dist,
            "entropy": ("None", ["nan", "inf", "'a'", "1j"]),
            "num_resamples": draws,
            "rng": rng,
        },
        "hld.baselines.dropout_test": {
            "circuit": dist,
            "rate": ("0.1", ["-0.1", "1", "nan", "'a'", "None"]),
            "score": ("'log_std'", "name"),
            "num_resamples": draws,
            "rng": rng,
        },
        "hld.baselines.mmd_test": {
            "circuit": dist,
            "bandwidth": ("None", ["0", "-1", "nan", "'a'", "1j"]),
            "num_resamples": draws,
            "rng": rng,
        },
        "hld.baselines.root_likelihood_test(coins, num_resamples=9)": {
            "batch": ("rows", "evidence"),
            "alpha": ("0.05", "level"),
        },
        "hld.baselines.mmd_test(coins, num_resamples=9)": {"batch": ("rows", "complete rows")},
        "hld.baselines.dropout_scores": {
            "circuit": dist,
            "data": data,
            "rate": ("0.1", ["-0.1", "1", "nan", "'a'"]),
            "score": ("'log_std'", "name"),
        },
        "hld.baselines.mmd_squared": {
            "first": ("rows", ["[0, 1]", "[[nan, 0]]", "[['a', 'b']]", "masked([[0, 1]])", "None"]),
            "second": ("rows", ["[[0, 1, 1]]", "[[inf, 0]]", "[[0, 1j]]"]),
            "bandwidth": ("1.0", "positive"),
        },
        "hld.baselines.median_bandwidth": {
            "rows": (
                "rows",
                [
                    "[0, 1]",
                    "[[0, 1]]",
                    "[[nan, 0], [1, 1]]",
                    "[['a'], ['b']]",
                    "masked([[0, 1], [1, 1]])",
                ],
            )
        },
        "hld.baselines.mean_difference": {
            "reference": ("[0.5, 1.0]", ["[]", "[nan]", "['a']", "[1j]", "masked([1.0])"]),
            "batch": ("[0.5]", ["[]", "[nan]", "['a']", "None"]),
        },
        "hld.baselines.typicality": {
            "log_likelihoods": ("[-1.0]", ["[]", "[nan]", "['a']", "[1j]", "masked([1.0])"]),
            "entropy": ("1.0", ["nan", "'a'", "None", "1j"]),
        },
        "hld.baselines.rejection_threshold": {
            "null": ("[1.0] * 99", ["[]", "[nan]", "['a']", "[1j]"]),
            "alpha": ("0.05", "level"),
        },
        "hld.gchi2.prepare": {
            "weights": ("[1.0]", "weights of a law"),
            "multiplicities": ("None", ["[0.0]", "[-1.0]", "[nan]", "['1']", "[1.0, 1.0]", "[1j]"]),
        },
        "hld.HLDDetector(num_epochs=1).fit": {
            "table": ("[[0, 1], [1, 0]] * 20", "table"),
            "progress": ("False", "flag"),
            "groups": ("None", ["'z'", "7", "[0]", "[0] * 40", "[nan] * 40"]),
            "order": ("None", ["'month'", "True", "3", "[0] * 40", "np.zeros(40)"]),
            "learner": ("None", ["'em'", "''", "3", "[]", "coins"]),
        },
        "hld.arrow_summarizer": {"detector": ("detector", ["None", "coins", "hld.HLDDetector()"])},
        "hld.monitor_of": {
            "test": ("test", ["None", "coins", "hld.HLDDetector()"]),
            "alpha": ("0.05", "level"),
            "margin": ("None", ["-1.0", "nan", "'a'", "''", "[]", "rows"]),
        },
        "hld.StreamMonitor": {
            "detector": ("detector", ["None", "coins", "hld.HLDDetector()"]),
            "reference": ("[[0, 1]] * 40", ["None", "[[0, 1]]", "[0, 1]", "[[{}, 1]] * 40"]),
            "alpha": ("0.05", "level"),
            "groups": ("None", ["'z'", "[0]", "[0] * 40"]),
            "seed": ("0", ["'a'", "1.5", "-1", "None"]),
        },
        "hld.label_shift": {
            "detector": ("detector", ["None", "coins", "hld.HLDDetector()"]),
            "table": (
                "[[0, 1]]",
                ["[[0, 1, 2]]", "[0, 1]", "[[{}, 1]]", "None", "sparse([[0, 1]])"],
            ),
            "label": ("0", ["'z'", "7", "None", "0.5"]),
            "confidence": ("0.95", "level"),
        },
        "detector.test": {
            "batch": (
                "[[0, 1]]",
                ["[[0, 1, 2]]", "[0, 1]", "[[{}, 1]]", "None", "sparse([[0, 1]])"],
            ),
            "alpha": ("0.05", "level"),
        },
        "detector.score_samples": {"table": ("[[0, 1]]", "batch of a table")},
        "detector.sample": {"num_samples": ("3", "size"), "rng": rng},
        "hld.plots.training_curve": {
            "history": ("[-2.0]", ["[]", "3", "'a'", "[['a']]", "None"]),
            "ax": axes,
        },
        "hld.plots.images": {
            "rows": ("[[0, 1]]", ["[]", "[0, 1]", "[['a', 'b']]", "None"]),
            "shape": ("(1, 2)", ["3", "(1,)", "(0, 2)", "(1.5, 2)", "'ab'", "None"]),
            "ax": axes,
        },
        "hld.plots.localisation_map": {
            "localisation": ("result.localize()", ["None", "result", "[0.5]"]),
            "shape": ("(1, 2)", ["3", "(1, 3)"]),
            "ax": axes,
        },
        "hld.plots.variable_shares": {
            "localisation": ("result.localize()", ["None", "result"]),
            "names": ("['a', 'b']", ["3", "'ab'", "['a']", "None"]),
            "ax": axes,
        },
        "hld.plots.pvalues_over_time": {
            "pvalues": ("[0.5]", ["[1.5]", "[nan]", "['a']", "3", "None"]),
            "alpha": ("0.05", "level"),
            "ax": axes,
        },
        "hld.plots.null_law": {
            "test": ("test", ["None", "coins", "detector"]),
            "result": ("result", ["None", "test"]),
            "ax": axes,
        },
        "hld.save": {"detector": ("detector", ["None", "coins"]), "path": ("'model.hld'", "path")},
        "hld.load": {"path": ("'model.hld'", "path")},
    }
    for name, kind in (
        ("cdf", "quantile"),
        ("sf", "quantile"),
        ("logsf", "quantile"),
        ("sf_with_error", "quantile"),
    ):
        functions[f"hld.gchi2.{name}"] = {
            "q": ("1.0", kind),
            "weights": ("[1.0]", "weights of a law"),
        }
    for name in ("ppf", "isf"):
        functions[f"hld.gchi2.{name}"] = {
            "p": ("0.5", "probability"),
            "weights": ("[1.0]", "weights of a law"),
        }
    for option, bad in DETECTOR.items():
        functions[f"HLDDetector {option}"] = {option: (None, bad)}
    return functions


DETECTOR = {  # options of the detector, which are looked at when it is fitted, before anything is learned
    "num_latents": "count",
    "num_epochs": "size",
    "pseudocount": "not negative",
    "num_bins": ["1", "2.5", "'3'", "True"],
    "max_categories": ["1", "2.5", "'3'", "True"],
    "categorical": "columns",
    "continuous": "columns",
    "covariates": "columns",
    "schema": ["3", "{}", "'a'"],
    "missingness": "flag",
    "kinds": "kinds",
    "metric": ["'foo'", "None", "3", "['euclidean', 'foo']", "[nan]"],
    "null": "name",
    "reference": "name",
    "estimation_error": "flag",
    "tolerance": "not negative",
    "num_resamples": "count",
    "rng": "seed",
}


@functools.cache
def namespace():
    """The names that occur in the calls, none of which changes anything."""
    import scipy.sparse
    from matplotlib.figure import Figure

    coins = pcircuit.Circuit(
        pcircuit.VTree.from_nested([0, 1]),
        [
            pcircuit.InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]),
            pcircuit.InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
            pcircuit.InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]]),
        ],
    )
    three = pcircuit.Circuit(
        coins.vtree, [*coins.regions[:2], pcircuit.InnerRegion([[0, 0], [1, 1]], [[1.0, 2.0]])]
    )
    one = pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[0.5, 0.5]])])
    rows = np.array([[0, 1], [1, 1]])
    test = hld.HLDTest(coins)
    encoder = hld.fit_encoder([[0, 1], [1, 0]])

    def masked(values):
        array = np.array(values)
        mask = np.zeros(array.shape, dtype=bool)
        mask.flat[0] = True
        return np.ma.array(array, mask=mask)

    class Twice:
        """A data frame with one name twice."""

        columns = ("a", "a")

    detector = hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=9).fit(
        [[0, 1], [1, 0], [1, 1]] * 10
    )
    return {
        "np": np,
        "pcircuit": pcircuit,
        "hld": hld,
        "nan": float("nan"),
        "inf": float("inf"),
        "coins": coins,
        "weights_of_three": three,
        "rows": rows,
        "masked": masked,
        "mixed": pcircuit.Mixture([coins]),
        "flows": pcircuit.expected_flows(coins, rows),
        "flows_of_one": pcircuit.expected_flows(one, rows[:, :1]),
        "quick": pcircuit.LearnSearch(num_latents=[1], num_trees=1, num_epochs=1),
        "sparse": scipy.sparse.csr_array,
        "test": test,
        "result": test(rows),
        "monitor": hld.Monitor(coins),
        "encoder": encoder,
        "twice": Twice(),
        "new_axes": lambda: Figure().add_subplot(),
        "detector": detector,
    }


class Case(NamedTuple):
    """A call in which one argument is bad."""

    function: str
    argument: str
    kind: str  # of KINDS, empty where the bad values are the function's own
    value: str
    call: str


@functools.cache
def cases():
    """All cases, in order."""
    return tuple(_cases())


def _cases():
    names = namespace()
    for function, arguments in good().items():
        options = function.startswith("HLDDetector ")
        function = "hld.HLDDetector.fit" if options else function.strip()
        needed = set() if options else required(function, names)
        for bad, (_, kind) in arguments.items():
            for value in KINDS[kind] if isinstance(kind, str) else kind:
                given = {
                    name: value if name == bad else ok
                    for name, (ok, _) in arguments.items()
                    if name == bad or name in needed or (name in WITH and ok != "None")
                }
                listed = ", ".join(f"{name}={text}" for name, text in given.items())
                call = (
                    f"hld.HLDDetector({listed}).fit([[0, 1], [1, 0]] * 20)"
                    if options
                    else f"{function}({listed})"
                )
                yield Case(function, bad, kind if isinstance(kind, str) else "", value, call)


WITH = ("variables", "keep", "evidence", "num_samples")  # given although they have defaults


def required(function, names):
    """The arguments of a function that have no default."""
    signature = inspect.signature(eval(function, dict(names)))
    return {
        name for name, one in signature.parameters.items() if one.default is inspect.Parameter.empty
    }


def outcome(call, names):
    """The exception that a call ends in; None if it ends well."""
    try:
        eval(call, dict(names))
    except Exception as error:
        return error
    return None


def page():
    """The text of docs/bad-inputs.md."""
    names, lines, every = namespace(), [HEAD], list(cases())
    for kind in KINDS:
        same = [case for case in every if case.kind == kind]
        users = {}
        for case in same:
            users.setdefault((case.function, case.argument), {})[case.value] = case
        first, rest = list(next(iter(users.values())).values()), list(users)[1:]
        others = ", ".join(f"`{argument}` of `{function}`" for function, argument in rest)
        lines += [
            "",
            f"## {kind.capitalize()}",
            "",
            f"`{first[0].argument}` of `{first[0].function}`"
            + (f"; in the same words {others}" if others else "")
            + ".",
            "",
            *table(first, "value", names),
        ]
    lines += [
        "",
        "## Arguments of one function",
        "",
        *table([case for case in every if not case.kind], "call", names),
    ]
    return "\n".join(lines) + "\n"


def table(listed, column, names):
    """Lines of a table of cases and what they end in."""
    yield from (f"| {column} | error |", "| --- | --- |")
    for case in listed:
        error = outcome(case.call, names)
        found = f"{type(error).__name__}: {error}".replace("|", "\\|").replace(os.getcwd(), "...")
        yield f"| `{getattr(case, column)}` | {found} |"


HEAD = """# Bad inputs and what they are told

Written by `python tests/bad_inputs.py > docs/bad-inputs.md` from the list in `tests/bad_inputs.py`, every entry of
which is a test; do not edit.

Nothing is cast silently to another value.  An argument that cannot be used ends in a `TypeError` (it is of the wrong
kind) or a `ValueError` (of the right kind, and out of range), one sentence that names the argument, before any work is
done.  A file that cannot be read or written ends in the operating system's `OSError`.

The tables show values, each given as the argument of the function named first.  In them `coins` is a circuit over two
binary variables with five input and sum units, `weights_of_three` one whose weights do not sum to one, `rows` two rows
of evidence, `masked(x)` the array x with its first entry masked, `sparse` a `scipy.sparse.csr_array`, `test` an
`HLDTest` of `coins`, `result` a result of it, `monitor` a `Monitor`, `encoder` and `detector` fitted to a table of two
columns of whole numbers, `twice` a data frame with a name that occurs twice, `mixed` a `Mixture` of `coins`, `flows`
and `flows_of_one` the flows of rows of `coins` and of another circuit, and `quick` a `LearnSearch`."""


if __name__ == "__main__":
    print(page(), end="")
