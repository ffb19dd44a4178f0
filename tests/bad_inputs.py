"""Bad arguments: what is tried on every public function, and the page of the mistakes that people make first.

A function is called with good values of the arguments that it needs, one of them replaced by a bad one.  What is good
and what is bad follows from the argument's name (`ARGUMENTS`) or, where a function means something else by it, from
`OWN`; a kind of argument has its bad values in `KINDS`.  All are Python, read with the names of `namespace`.

    python -m tests.bad_inputs > docs/bad-inputs.md         writes the page
"""

import argparse
import functools
import inspect

import numpy as np
import pandas as pd

import hld
import pcircuit

# kind of argument -> values that must be refused; None where None is no default
KINDS = {
    "circuit": ["None", "[[0.5, 0.5]]", "nan"],
    "distribution": ["None", "[[0.5, 0.5]]", "nan", "weights_of_three"],
    "rows": [
        "None",
        "[[0, 2]]",
        "[[0, -2]]",
        "[[0.5, 0]]",
        "[[inf, 0]]",
        "np.array([[2**64 - 1, 0]], 'u8')",
        "[['0', '1']]",
        "[[0, 1j]]",
        "[0, 1]",
        "[[0, 1], [0]]",
        "sparse([[0, 9]])",
        "np.array([['2020-01-01', 'NaT']], 'M8[D]')",
    ],
    "rows to learn from": ["None", "[[0, -2]]", "[[0.5, 0]]", "[[inf, 0]]", "[['a', 'b']]", "[]"],
    "complete rows": ["None", "[[0, -1]]", "[[0, nan]]", "masked([[0, 1]])", "[['a', 'b']]"],
    "row": ["[[0, 1], [1, 1]]", "[0, 2]", "[0, 0.5]", "['0', '1']", "[0]"],
    "count": ["None", "0", "2.5", "'3'", "True", "nan", "[3]"],
    "size": ["None", "-1", "2.5", "'3'", "True", "nan", "[3]"],
    "positive": ["None", "0", "nan", "inf", "'a'", "1j", "[0.1]"],
    "not negative": ["None", "-0.1", "nan", "inf", "'a'", "1j", "True"],
    "level": ["None", "0", "1", "nan", "'0.05'", "[0.05]", "True"],
    "flag": ["None", "'yes'", "1", "nan", "[]"],
    "seed": ["'a'", "1.5", "-1", "nan", "True"],
    "name": ["None", "'foo'", "3", "nan", "['exact']"],
    "nodes": ["[99]", "[-1]", "[0.0]", "[True, False]", "'input'", "[[0, 1]]", "nan"],
    "kinds": ["None", "'leaf'", "[]", "[0]", "['sum', 'sum']", "nan"],
    "node weights": ["[1.0]", "[1, 1, 1, 1, nan]", "['1'] * 5", "masked([1.0] * 5)"],
    "row weights": ["[1.0]", "[1.0, -1.0]", "[1.0, nan]", "['1', '2']", "masked([1.0, 1.0])"],
    "categories": ["0", "[2]", "[2, 2.5]", "['2', '2']", "[2, 2**40]", "masked([2, 2])"],
    "tree": ["[-1]", "[1, 0]", "[-1, -1]", "[-1.0, 0.0]", "['a', 'b']", "masked([-1, 0])"],
    "variables": ["[2]", "[-1]", "[0, 0]", "[0.5]", "[True, False]", "'0'", "nan"],
    "numbers": ["None", "[[0.5, nan]]", "[['0.5', '0.5']]", "[0.5]", "[[0.5], [0.5, 0.5]]"],
    "products": ["None", "[[0.0, 0.0]]", "[[0, -1]]", "[0, 0]", "[[]]", "[['0', '0']]"],
    "table": ["None", "[1, 2]", "[]", "[[1, 2], [3]]", "[[{}, 1]]", "[[1j, 1]]", "twice"],
    "batch": ["None", "[[0, 1, 2]]", "[0, 1]", "[[{}, 1]]", "sparse([[0, 1]])"],
    "path": ["None", "nan", "'no-such-folder/file'"],
    "law": ["None", "[]", "[[1.0]]", "[-1.0]", "[nan]", "['1']", "masked([1.0])"],
    "quantile": ["None", "'a'", "1j", "masked([1.0])"],
    "probability": ["None", "-0.1", "1.1", "'a'", "1j", "masked([0.5])"],
    "event": ["None", "{2: 0}", "{0: 2}", "{0: []}", "{'a': 0}", "{0: 0.5}", "[0, 2]", "nan"],
    "functions": ["None", "[[0, 1]]", "[[0, 1], [0, 1j]]", "[['a', 'b'], [0, 1]]"],
    "circuits": ["None", "[]", "[None]", "coins"],
    "names": ["'ab'", "3", "['a']", "nan"],
    "columns": ["'a'", "3", "['z']", "[7]", "[0.5]", "[True, False]"],
    "vtree": ["None", "[0, 1]", "nan"],
    "axes": ["3", "new_axes().figure", "nan"],
    "sample": ["None", "[]", "[nan]", "['a']"],
    "edits": ["None", "'x0=1:0.1'", "['x0']", "[3]"],
    "detector": ["None", "3", "coins"],
    "test": ["None", "coins", "nan"],
    "model": ["None", "3", "nan"],
}

# name of an argument -> a good value and its kind; no kind: not tried here
ARGUMENTS = {
    "circuit": ("coins", "circuit"),
    "a": ("coins", "circuit"),
    "b": ("coins", "circuit"),
    "f": ("coins", "circuit"),
    "g": ("coins", "circuit"),
    "data": ("rows", "rows"),
    "path": ("'file'", "path"),
    "rng": ("0", "seed"),
    "weights": ("[1.0, 1.0]", "row weights"),
    "ax": ("new_axes()", "axes"),
    "n_jobs": ("1", "count"),
    "nodes": ("[0]", "nodes"),
    "names": ("['a', 'b']", "names"),
    "vtree": ("coins.vtree", "vtree"),
    "alpha": ("0.05", "level"),
    "pseudocount": ("0.1", "not negative"),
    "num_categories": ("[2, 2]", "categories"),
    "num_samples": ("3", "count"),
    "row": ("[0, 1]", "row"),
    "detector": ("detector", "detector"),
    "num_resamples": ("9", "count"),
    "node_weights": ("[1.0] * 5", "node weights"),
    "functions": ("[[0, 1], [0, 1]]", "functions"),
    "circuits": ("[coins, coins]", "circuits"),
    "bandwidth": ("1.0", "positive"),
    "table": ("[[0, 1], [1, 0]] * 20", "table"),
    "test": ("test", "test"),
    "tree": ("[-1, 0]", "tree"),
    "event": ("{0: 1}", "event"),
    "num_epochs": ("1", "size"),
    "keep": ("[0]", "variables"),
    "evidence": ("[0, 1]", "row"),
    "detail": ("'auto'", "name"),
    "dtype": ("'float64'", "name"),
    "kinds": ("'sum'", "kinds"),
    "edits": ("[]", "edits"),
    "score": ("'log_std'", "name"),
    "model": ("coins", "model"),
    "batches": ("[rows, rows]", ["None", "[]", "'ab'", "[rows, [[0, 2]]]"]),
    "num_bins": ("8", ["1", "2.5", "'3'", "True", "nan"]),
    "max_categories": ("64", ["1", "2.5", "'3'", "True", "nan"]),
    "categorical": ("[0]", "columns"),
    "continuous": ("[0]", "columns"),
    "shape": ("(1, 2)", ["None", "3", "(1,)", "(1, 3)"]),
    "localisation": ("result.localize()", ["None", "result"]),
    "keep_known": ("False", "flag"),
    "max_regions": ("3", "size"),
    "num_latents": ("2", "count"),
    "progress": ("False", "flag"),
    "variables": ("[0]", "variables"),
    "flows": ("flows", ["None", "flows_of_one", "[1.0]"]),
    "max_evaluations": ("10", "count"),
    "must_be_exact": ("False", "flag"),
    "log": ("False", "flag"),
    "pairs": ("[(0, 1)]", ["[(0, 0)]", "[(0, 2)]", "[(0,)]", "[0]", "3"]),
    "exponent": ("2", "count"),
    "num_units": ("2", "count"),
    "depth": ("1", "size"),
    "directions": ("None", ["[[1.0]]", "[0.5]", "'all'"]),
    "num_orders": ("10", "count"),
    "values": ("[1]", ["None", "0.5", "['a', 1]", "[nan]"]),
    "digits": ("3", ["-1", "2.5", "'3'", "nan"]),
    "sizes": ("[2]", ["2", "[0]", "[1.5]", "[]", "'2'"]),
    "num_batches": ("3", "count"),
    "num_permutations": ("9", "count"),
    "multiplicities": ("[1.0]", ["[0.0]", "[nan]", "['1']", "[1.0, 1.0]"]),
    "chunks": ("[[[0, 1]]]", ["None", "[]", "3"]),
    "label": ("0", ["'z'", "7", "None", "0.5"]),
    "confidence": ("0.95", "level"),
    "kernel": ("'hamming'", "name"),
    "margin": ("1.0", ["-1.0", "nan", "'a'", "[]"]),
    "rows_per_day": ("20", "count"),
    "power": ("0.9", "level"),
    "pvalues": ("[0.5]", ["None", "[1.5]", "[nan]", "['a']", "3"]),
    "history": ("[-2.0]", ["None", "[]", "3", "[['a']]"]),
    "top": ("3", "count"),
    "result": ("result", ["None", "test"]),
    "tolerance": ("0.0", "not negative"),
    "ridge": ("0.003", "positive"),
    "null": ("'exact'", "name"),
    "reference": ("'circuit'", "name"),
    "metric": ("'euclidean'", ["'foo'", "None", "3", "[nan]"]),
    "missingness": ("True", "flag"),
    "estimation_error": ("True", "flag"),
    "covariates": ("[0]", "columns"),
    "schema": ("None", ["3", "{}", "'a'"]),
    "groups": ("None", ["'z'", "[0]", "[0] * 40", "[nan] * 40"]),
    "order": ("None", ["'month'", "True", "3"]),
    "T": ("9", "count"),
    "leaves": ("None", ["3", "'foo'", "['gaussian']"]),
    "tied": ("False", ["None", "3", "[[0, 99]]", "[[0, 0]]", "'a'"]),
}

UNKNOWN = (None, None)

# what a function means by an argument of another name's kind; also methods, and functions that take further options
LEARNT = {"data": ("rows", "rows to learn from")}
DISTRIBUTION = {"circuit": ("coins", "distribution")}
TWO = {"p": ("coins", "distribution"), "q": ("coins", "distribution")}
LAW = {"weights": ("[1.0]", "law"), "q": ("1.0", "quantile"), "p": ("0.5", "probability")}
EM = {
    "batch_size": ("2", "count"),
    "step_size": ("0.5", ["0", "1.5", "nan", "'a'", "[0.1]"]),
    "pseudocount_per": ("'step'", ["'batch'", "None", "1"]),
    "tolerance": ARGUMENTS["tolerance"],
}
OWN = {
    "pcircuit.VTree.from_tree": {"parent": ("[-1, 0]", ["None", "[]", "[1, 0]", "[-1.0, 0.0]"])},
    "pcircuit.VTree.balanced": {"num_variables": ("2", "count")},
    "pcircuit.VTree.right_linear": {"num_variables": ("2", "count")},
    "pcircuit.VTree.random": {"num_variables": ("2", "count")},
    "pcircuit.VTree": {
        "parents": ("[2, 2, -1]", ["[2, 2, 0]", "[2.0, 2.0, -1.0]", "[]"]),
        "variables": ("[0, 1, -1]", ["None", "[0, 0, -1]", "[0, 1]"]),
    },
    "pcircuit.InputRegion": {
        "variable": ("0", ["None", "-1", "0.0", "'0'", "True"]),
        "leaves": ("[[0.5, 0.5]]", "numbers"),
    },
    "pcircuit.InnerRegion": {
        "products": ("[[0, 0]]", "products"),
        "weights": ("[[1.0]]", "numbers"),
    },
    "pcircuit.Circuit": {"regions": ("coins.regions", ["None", "[]", "coins.regions[:2]"])},
    "pcircuit.Mixture": {
        "circuits": ("[coins]", ["None", "[]", "[None]"]),
        "weights": ("[1.0]", ["None", "[0.5, 0.5]", "[nan]", "['1']"]),
    },
    "pcircuit.LearnSearch": {
        "num_latents": ("[2]", ["None", "[0]", "[2.5]", "'a'"]),
        "num_trees": ("1", "count"),
        "num_epochs": ("1", "count"),
        "tolerance": ("0.1", "not negative"),
        "max_work": ("1e9", "positive"),
        "joint": ("True", "flag"),
    },
    "pcircuit.expected_node_likelihoods": DISTRIBUTION
    | {"given": ("[True, False]", ["None", "[True]", "[0]", "'x0'"])},
    "pcircuit.hmm": {
        "length": ("3", "count"),
        "num_states": ("2", "count"),
        "leaves": (
            "[[0.5, 0.5], [0.1, 0.9]]",
            ["None", "3", "'a'", "[0.5, 0.5]", "[[nan, 1]] * 2"],
        ),
        "start": ("None", ["3", "[1.0]", "'a'", "[nan, 1]"]),
        "transitions": ("None", ["3", "[[1.0]]", "'a'", "[[nan, 1]] * 2"]),
    },
    "pcircuit.subcircuit": {
        "unit": ("0", ["None", "-1", "99", "0.5", "'a'"]),
        "region": ("None", ["-1", "99", "0.5", "'a'"]),
    },
    "pcircuit.sample": DISTRIBUTION | {"num_samples": ("3", "size"), "given": UNKNOWN},
    "pcircuit.entropy": DISTRIBUTION,
    "pcircuit.cross_entropy": TWO,
    "pcircuit.kl_divergence": TWO,
    "pcircuit.mutual_information": DISTRIBUTION
    | {"first": ("[0]", "variables"), "second": ("[1]", "variables")},
    "pcircuit.overlap": {"c": UNKNOWN},
    "pcircuit.mixture": {"weights": ("[1.0, 1.0]", ["[1.0]", "[1.0, -1.0]", "[1.0, nan]"])},
    "pcircuit.expectation": DISTRIBUTION,
    "pcircuit.plot_covariance": {"moments": ("pcircuit.exact_moments(coins)", "model")},
    "pcircuit.plot_eigenvalues": {"moments": ("pcircuit.exact_moments(coins)", "model")},
    "pcircuit.chow_liu_tree": LEARNT,
    "pcircuit.chow_liu_circuit": LEARNT,
    "pcircuit.hclt": LEARNT,
    "pcircuit.learn": LEARNT
    | {"validation": ("rows", ["[[0, 1, 1]]"]), "search": ("quick", ["3", "'a'"])},
    "pcircuit.rat_spn": {"num_categories": ("[2, 2]", ["None", "[]", "[0]", "[2.5]", "'ab'"])},
    "pcircuit.fit_em": DISTRIBUTION
    | EM
    | {
        "callback": ("None", ["3", "'a'"]),
        "rng": ARGUMENTS["rng"],
    },
    "pcircuit.fit_mixture": {"mixture": ("mixed", "model")},
    "pcircuit.save_mixture": {"mixture": ("mixed", "model"), "provenance": UNKNOWN},
    "pcircuit.save": {"provenance": UNKNOWN},
    "pcircuit.maximize": DISTRIBUTION,
    "pcircuit.read_jlc": {"vtree": UNKNOWN},
    "pcircuit.read_jpc": {"vtree": UNKNOWN},
    "pcircuit.read_psdd": {"psdd": ("'file'", "path"), "vtree": UNKNOWN},
    "pcircuit.write_psdd": {"psdd": ("'file'", "path"), "vtree": ("'vtree'", ["None", "nan"])},
    "hld.fit_encoder": {"rows": UNKNOWN},
    "hld.learn_schema": {"rows": UNKNOWN, "given": UNKNOWN},
    "hld.calendar_columns": {
        "source": ("'when'", ["None", "nan"]),
        "parts": ("['hour']", ["None", "[]", "['foo']", "3"]),
        "keep": ("False", "flag"),
    },
    "hld.distance": {"first": ("rows", "rows"), "second": ("rows", ["[[0, 2]]", "[[0.5, 0]]"])},
    "hld.two_sample": {"first": ("rows", "rows"), "second": ("rows", "rows")},
    "hld.audit": {
        "detectors": ("detector", ["None", "{'a': 3}", "{}"]),
        "held_out": ("rows", ["None", "'rows'", "3"]),
        "train": UNKNOWN,
        "fitting": UNKNOWN,
    },
    "hld.mmd_squared": DISTRIBUTION | {"data": ("rows", "complete rows")},
    "hld.baselines.root_likelihood_test": DISTRIBUTION,
    "hld.baselines.mmd_test": DISTRIBUTION,
    "hld.baselines.typicality_test": DISTRIBUTION | {"entropy": ("1.0", ["nan", "'a'", "1j"])},
    "hld.baselines.dropout_test": DISTRIBUTION | {"rate": ("0.1", ["None", "1", "nan", "'a'"])},
    "hld.baselines.dropout_scores": DISTRIBUTION | {"rate": ("0.1", ["None", "1", "nan", "'a'"])},
    "hld.baselines.mmd_squared": {
        "first": ("rows", ["None", "[]", "[0, 1]", "[['a', 'b']]"]),
        "second": ("rows", ["None", "[]", "[0, 1]", "[['a', 'b']]"]),
    },
    "hld.baselines.median_bandwidth": {"rows": ("rows", ["None", "[]", "[['a', 'b']]"])},
    **{f"hld.gchi2.{name}": LAW for name in ("prepare", "cdf", "sf", "logsf", "sf_with_error")},
    "hld.gchi2.isf": LAW,
    "hld.gchi2.ppf": LAW,
    "hld.plots.images": {
        "rows": ("[[0, 1]]", ["None", "[]", "[0, 1]", "[['a', 'b']]"]),
        "shape": ("(1, 2)", ["None", "3", "(1,)", "(0, 2)", "(1.5, 2)", "'ab'"]),
        "num_columns": UNKNOWN,
    },
    "hld.plots.new_figure": {"size": UNKNOWN},
    "hld.HLDTest": DISTRIBUTION
    | {
        "ordered": UNKNOWN,
        "num_train": ("10", "count"),
        "training_data": UNKNOWN,
        "missing": ("'complete'", "name"),
        "reference": ("'circuit'", ["'foo'", "3"]),
    },
    "hld.MMDTest": DISTRIBUTION,
    "hld.Monitor": {
        "model": ("detector", ["None", "[[0, 1]]"]),
        "reference": ("[[0, 1]] * 40", ["[[0, 1]]", "[0, 1]"]),
        "seed": ("0", ["None", "'a'", "1.5", "-1"]),
    },
    "test": {"batch": ("rows", "rows")},
    "test.summarize": {"rows": ("rows", "rows"), "rng": UNKNOWN},
    "test.power": {"alternative": ("coins", ["None", "'coins'", "weights_of_three", "[[0, 1]]"])},
    "monitor.update": {"table": ("rows", ["None", "[[0, 2]]", "[['a', 'b']]"])},
    "encoder.encode": {"table": ("[[0, 1]]", "batch")},
    "detector.test": {"batch": ("[[0, 1]]", "batch")},
    "detector.score_samples": {"table": ("[[0, 1]]", "batch")},
    "detector.sample": {"num_samples": ("3", "size"), "given": UNKNOWN, "where": UNKNOWN},
    "hld.HLDDetector(num_epochs=1).fit": {"learner": ("None", ["'em'", "3", "[]"])},
}
DETECTOR = {  # options of the detector, which are looked at before anything is learned
    "kinds": ARGUMENTS["kinds"][1],
    **{
        name: ARGUMENTS[name][1]
        for name in inspect.signature(hld.HLDDetector).parameters
        if name in ARGUMENTS
    },
}

# what people do first, and how; the page has what each is told
MISTAKES = [
    ("a file name in place of a table", "hld.HLDDetector().fit('train.csv')"),
    ("a table without rows", "hld.HLDDetector().fit(np.zeros((0, 2)))"),
    ("rows of different lengths", "hld.HLDDetector().fit([[0, 1], [1]])"),
    ("two columns of one name", "hld.HLDDetector().fit(twice)"),
    ("a column that is not there", "hld.HLDDetector(categorical=['z']).fit(table)"),
    ("groups that are not there", "hld.HLDDetector().fit(table, groups='z')"),
    ("testing before fitting", "hld.HLDDetector().test(table)"),
    ("a batch of other columns", "detector.test([[0, 1, 2]])"),
    ("one row that is not in a list", "detector.test([0, 1])"),
    ("a level in percent", "detector.test(table, alpha=5)"),
    ("a misspelt option", "hld.HLDDetector(metric='euclidian').fit(table)"),
    ("a null that fits no reference", "hld.HLDDetector(null='monte-carlo').fit(table)"),
    ("a file that is not there", "hld.load('model.hld')"),
    ("text where codes are expected", "coins.log_likelihood([['a', 'b']])"),
    ("a category that a circuit does not know", "coins.log_likelihood([[0, 2]])"),
    ("numbers that are no category", "coins.log_likelihood([[0.5, 0]])"),
    ("a variable that a circuit does not have", "coins.condition({2: 0})"),
    ("weights that do not sum to one", "weights_of_three.sample(3)"),
    ("no hidden states", "pcircuit.hclt(rows, num_latents=0)"),
    ("a seed that is text", "coins.sample(3, rng='a')"),
]
HEAD = """# The mistakes that people make first

This page shows twenty mistakes, and the sentence that each of them gets. Do not edit it:
`python -m tests.bad_inputs > docs/bad-inputs.md` writes it.

```python
import hld

try:
    hld.HLDDetector().fit([[0, 1], [1]])
except ValueError as error:
    print(error)
```

prints

```
`table` has rows of different lengths, expected as many cells in each
```

Nothing is cast silently to another value. An argument that cannot be used ends in a `TypeError` (of the wrong kind) or
a `ValueError` (out of range) of one sentence that names it, before any work is done. A file that cannot be read or
written ends in the operating system's `OSError`. Tests try this on every public function.

Below, `table` has two columns of whole numbers, `detector` was fitted to it, `twice` is a data frame with a name
that occurs twice, `coins` a circuit over two binary variables, `weights_of_three` one whose weights sum to three.

| mistake | written | answer |
| --- | --- | --- |"""


@functools.cache
def namespace():
    """The names that occur in the calls, none of which changes anything."""
    import scipy.sparse
    from matplotlib.figure import Figure

    vtree = pcircuit.VTree.from_nested([0, 1])
    leaves = [
        pcircuit.InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]),
        pcircuit.InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ]
    products = [[0, 0], [1, 1]]
    coins, three = (
        pcircuit.Circuit(vtree, [*leaves, pcircuit.InnerRegion(products, weights)])
        for weights in ([[0.25, 0.75]], [[1.0, 2.0]])
    )
    one = pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[0.5, 0.5]])])
    rows, table = np.array([[0, 1], [1, 1]]), [[0, 1], [1, 0], [1, 1]] * 10
    test = hld.HLDTest(coins)

    def masked(values):
        array = np.array(values)
        mask = np.zeros(array.shape, dtype=bool)
        mask.flat[0] = True
        return np.ma.array(array, mask=mask)

    return {
        "np": np,
        "pcircuit": pcircuit,
        "hld": hld,
        "nan": float("nan"),
        "inf": float("inf"),
        "coins": coins,
        "weights_of_three": three,
        "rows": rows,
        "table": table,
        "masked": masked,
        "mixed": pcircuit.Mixture([coins]),
        "flows": pcircuit.expected_flows(coins, rows),
        "flows_of_one": pcircuit.expected_flows(one, rows[:, :1]),
        "quick": pcircuit.LearnSearch(num_latents=[1], num_trees=1, num_epochs=1),
        "sparse": scipy.sparse.csr_array,
        "test": test,
        "result": test(rows),
        "monitor": hld.Monitor(coins),
        "encoder": hld.fit_encoder([[0, 1], [1, 0]]),
        "twice": pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]),
        "new_axes": lambda: Figure().add_subplot(),
        "detector": hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=9).fit(table),
    }


def calls(function):
    """(argument, kind, call) for each bad value of each argument of a function, by its signature."""
    thing, own = eval(function, namespace()), OWN.get(function, {})
    signature = inspect.signature(thing).parameters
    further = any(one.kind is one.VAR_KEYWORD for one in signature.values())
    names = signature.keys() | own.keys() if further else signature
    known = {name: own.get(name) or ARGUMENTS.get(name, UNKNOWN) for name in names}
    needed = {
        name: known[name][0]
        for name, one in signature.items()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    for name, (_, kind) in known.items():
        for value in kind if isinstance(kind, list) else KINDS.get(kind, ()):
            if value != "None" or name in needed:
                given = ", ".join(f"{k}={v}" for k, v in (needed | {name: value}).items())
                yield (
                    name,
                    kind if isinstance(kind, str) else "of one function",
                    (f"{function}({given})"),
                )


def outcome(call):
    """The exception that a call ends in; None if it ends well."""
    try:
        eval(call, namespace())
    except Exception as error:
        return error
    return None


def page():
    """The text of docs/bad-inputs.md."""
    lines = [HEAD]
    for mistake, call in MISTAKES:
        error = outcome(call)
        said = f"{type(error).__name__}: {error}".replace("|", "\\|")
        lines.append(f"| {mistake} | `{call}` | {said} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    print(page(), end="")
