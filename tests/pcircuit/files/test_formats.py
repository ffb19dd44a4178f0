"""Formats of other programs: round trips over the zoo, published values, and one sentence for every damage."""
import contextlib
import itertools
import pickle
import subprocess
import sys

import naive
import numpy as np
import pytest
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pcircuit
from pcircuit import StructureError, VTree
from pcircuit.files.graph import Graph, circuit_of_graph
from pcircuit.files.unpickled import Named, read_pickle

ZOO = {**zoo.circuits(), **{f"unnormalized {k}": c for k, c in zoo.unnormalized_circuits().items()}}
WRITERS = {"jpc": (pcircuit.write_jpc, pcircuit.read_jpc), "spn": (pcircuit.write_spn, pcircuit.read_spn)}


def states(circuit):
    return np.array(list(itertools.product(*(range(c) for c in circuit.num_categories))))


def same_values(circuit, other):
    """Both have the same value for every state and for every pattern of holes in the first states."""
    rows = states(circuit)
    holes = np.where(np.random.default_rng(0).random(rows.shape) < 0.4, -1, rows)
    for table in (rows, holes):
        expected = np.exp(naive.log_likelihood(circuit, table))
        np.testing.assert_allclose(np.exp(naive.log_likelihood(other, table)), expected, rtol=1e-12, atol=1e-300)


# -- round trips ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", ZOO)
def test_what_is_written_is_read_again(name, form, tmp_path):
    write, read = WRITERS[form]
    write(ZOO[name], tmp_path / "a")
    same_values(ZOO[name], read(tmp_path / "a"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuit=zoo.random_circuits() if hasattr(zoo, "random_circuits") else st.sampled_from(list(ZOO.values())))
def test_random_circuits_survive_jpc(circuit, tmp_path):
    pcircuit.write_jpc(circuit, tmp_path / "a")
    same_values(circuit, pcircuit.read_jpc(tmp_path / "a"))


def binary_circuit(seed, num_variables=6, K=3):
    """HCLT-like circuit of binary variables on a random binary v-tree, with certain inputs among its units."""
    rng = np.random.default_rng(seed)
    tree, regions = VTree.random(num_variables, rng=seed), []
    for r, v in enumerate(tree.variables.tolist()):
        if v >= 0:
            p = rng.random(K)
            p[0] = rng.integers(0, 2)
            regions.append(pcircuit.InputRegion(v, np.stack([1 - p, p], axis=1)))
        else:
            weights = rng.dirichlet(np.ones(5), 1 if r == tree.root else K)
            regions.append(pcircuit.InnerRegion(rng.integers(0, K, (5, 2)), weights))
    return pcircuit.Circuit(tree, regions)


@pytest.mark.parametrize("seed", range(10))
def test_psdd_round_trip_keeps_the_v_tree(seed, tmp_path):
    circuit = binary_circuit(seed)
    pcircuit.write_psdd(circuit, tmp_path / "a.psdd", tmp_path / "a.vtree")
    again = pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
    assert again.vtree == circuit.vtree
    same_values(circuit, again)
    same_values(circuit, pcircuit.read_psdd(tmp_path / "a.psdd"))


@pytest.mark.parametrize("tree", [VTree([-1], [0]), VTree.balanced(7), VTree.right_linear(5), VTree.random(20, rng=3)])
def test_v_trees_come_back(tree, tmp_path):
    pcircuit.write_vtree(tree, tmp_path / "a")
    assert pcircuit.read_vtree(tmp_path / "a") == tree


# -- values that others published ------------------------------------------------------------------------------


def test_published_values_of_a_small_psdd(data_folder):
    circuits = data_folder / "circuits"
    circuit = pcircuit.read_psdd(circuits / "little_4var.psdd", circuits / "little_4var.vtree")
    rows = [[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, -1], [-1, 1, 0, -1], [0, -1, -1, -1]]
    expected = [0.07, 0.03, 0.14, 0.35, 0.1, 0.8]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "vtree", "data", "expected"), [
    ("nltcs", "nltcs", "nltcs", (-5.972738, -6.044764)),
    ("nltcs.clt", "nltcs", "nltcs", (-6.718532, -6.759045)),
    ("kdd-6k", "kdd-6k", "kdd", (-2.405075, -2.169212)),
])
def test_learned_psdds_have_the_log_likelihoods_given_with_them(name, vtree, data, expected, data_folder):
    circuits = data_folder / "circuits"
    circuit = pcircuit.read_psdd(circuits / f"{name}.psdd", circuits / f"{vtree}.vtree")
    with np.load(data_folder / "binary" / f"{data}.npz") as file:
        tables = [file[part].astype(np.int8) for part in ("valid", "test")]
    found = [pcircuit.log_likelihood(circuit, table).mean() for table in tables]
    assert found == pytest.approx(expected, abs=5.1e-7)
    assert circuit.is_normalized


# -- single constructs -----------------------------------------------------------------------------------------


def read_text(tmp_path, text, reader, name="a"):
    path = tmp_path / name
    path.write_text(text)
    return reader(path)


def test_every_kind_of_jpc_line(tmp_path):
    text = ("c a comment\njpc 9\nL 0 0 -1\nL 1 0 1\nI 2 1 2 2\nB 3 1 2 2 -0.6931471805599453\nC 4 1 2 -inf 0.0 -inf\n"
            "P 5 2 2 0 2\nP 6 2 2 1 3\nP 7 2 2 1 4\n"
            f"S 8 2 3 5 {np.log(0.25)} 6 {np.log(0.25)} 7 {np.log(0.5)}\n")
    circuit = read_text(tmp_path, text, pcircuit.read_jpc)
    assert circuit.num_categories == (2, 3)
    found = np.exp(pcircuit.log_likelihood(circuit, states(circuit))).reshape(2, 3)
    np.testing.assert_allclose(found, [[0, 0, 0.25], [0.0625, 0.125 + 0.5, 0.0625]], rtol=1e-14)


def test_sums_of_sums_and_products_of_products_are_multiplied_out():
    graph = Graph()
    a, b, c = ([graph.add_input(f"{v}{k}", v, np.eye(2)[k]) for k in (0, 1)] for v in range(3))
    pairs = [graph.add_product("pair", (a[i], b[j])) for i, j in ((0, 0), (1, 1), (0, 1))]
    low = graph.add_sum("low", pairs[:2], (0.5, 0.5))
    high = graph.add_sum("high", (low, pairs[2]), (0.6, 0.4))
    flat = graph.add_product("flat", (a[1], b[0], c[0]))  # three factors where the v-tree has two children
    root = graph.add_sum("root", (graph.add_product("top", (high, c[1])), flat), (0.9, 0.1))
    circuit = circuit_of_graph(graph, root)
    values = np.exp(naive.log_likelihood(circuit, states(circuit))).reshape(2, 2, 2)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 1], expected[1, 1, 1], expected[0, 1, 1], expected[1, 0, 0] = 0.27, 0.27, 0.36, 0.1
    np.testing.assert_allclose(values, expected, atol=1e-15)


def test_a_chain_of_sums_that_would_explode_is_refused():
    graph = Graph()
    coin, table = graph.add_input("a", 0, np.full(2, 0.5)), np.eye(3000)
    units = [graph.add_product(str(k), (coin, graph.add_input(f"b{k}", 1, table[k]))) for k in range(3000)]
    total = units[0]
    for unit in units[1:]:
        total = graph.add_sum("chain", (total, unit), (0.5, 0.5))
    with pytest.raises(StructureError, match="far more weights multiplied out"):
        circuit_of_graph(graph, total)


def test_logic_counts_models(tmp_path):
    text = "jlc 6\nL 0 0 1\nL 1 0 -1\nL 2 1 2\nL 3 2 3\nA 4 3 3 1 2 3\nO 5 3 2 0 4\n"  # x1 or (not x1 and x2 and x3)
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    rows = states(circuit)
    expected = [float(x or (y and z)) for x, y, z in rows.tolist()]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, atol=1e-15)
    assert np.exp(pcircuit.log_likelihood(circuit, [[-1, -1, -1]])) == pytest.approx(5)


def test_constants_of_logic_disappear(tmp_path):
    text = "jlc 7\nF 0\nT 1\nL 2 0 1\nL 3 1 2\nA 4 2 3 2 1 3\nA 5 2 2 0 2\nO 6 2 2 4 5\n"  # x1 and x2
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, states(circuit))), [0, 0, 0, 1], atol=0)


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_of_conditional_tables_is_its_joint_distribution(seed, tmp_path):
    rng = np.random.default_rng(seed)
    categories, parents = rng.integers(1, 4, 5), [-1, 0, 0, -1, 3]
    tables = [rng.dirichlet(np.ones(categories[v]), 1 if p < 0 else categories[p]) for v, p in enumerate(parents)]
    words = ["BAYES", 5, *categories, 5]
    for v, p in enumerate(parents):
        words += [1, v] if p < 0 else [2, p, v]
    for table in tables:
        words += [table.size, *(repr(float(x)) for x in table.ravel())]
    circuit = read_text(tmp_path, " ".join(map(str, words)), pcircuit.read_uai)
    rows = states(circuit)
    expected = [np.prod([tables[v][0 if p < 0 else x[p], x[v]] for v, p in enumerate(parents)]) for x in rows]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, rtol=1e-13)


# -- PyJuice ---------------------------------------------------------------------------------------------------


class Categorical:
    """Stands in for PyJuice's class: of the pickle only the name is used."""


def pyjuice_entries(K=4, size=2, C=3):
    """A small model as PyJuice saves it, with its own evaluation: two variables, block sizes over one, a tied entry."""
    rng = np.random.default_rng(0)
    params = rng.dirichlet(np.ones(C), K)
    sums = rng.dirichlet(np.ones(K), K)  # (K, K): sums over the products of the region below
    top = rng.dirichlet(np.ones(K))
    blocks = K // size
    edges = np.array([[i, j] for i in range(blocks) for j in range(blocks)]).T
    weights = np.array([sums[i * size:(i + 1) * size, j * size:(j + 1) * size] for i, j in edges.T]).astype(np.float32)
    dist = pickle.dumps(Categorical())
    ids = np.arange(blocks)[:, None]
    entries = [
        {"type": "Input", "num_node_blocks": blocks, "block_size": size, "chs": (), "scope": [0], "dist": dist,
         "params": params.ravel()},
        {"type": "Input", "num_node_blocks": blocks, "block_size": size, "chs": (), "scope": [1], "dist": dist,
         "source_node": 0},
        {"type": "Product", "num_node_blocks": blocks, "block_size": size, "chs": (0,), "edge_ids": ids},
        {"type": "Sum", "num_node_blocks": blocks, "block_size": size, "chs": (2,), "edge_ids": edges,
         "params": weights},
        {"type": "Product", "num_node_blocks": K, "block_size": 1, "chs": (3, 1),
         "edge_ids": np.stack([np.arange(K), np.arange(K)[::-1]], axis=1)},
        {"type": "Sum", "num_node_blocks": 1, "block_size": 1, "chs": (4,),
         "edge_ids": np.stack([np.zeros(K, int), np.arange(K)]), "params": top[:, None, None]},
    ]
    matrix = weights.astype(float).reshape(blocks, blocks, size, size).transpose(0, 2, 1, 3).reshape(K, K)
    left = matrix @ params
    return entries, np.einsum("k,kx,ky->xy", top, left, params[::-1])


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pyjuice_files_have_the_values_of_their_tensors(protocol, tmp_path):
    entries, expected = pyjuice_entries()
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(entries, protocol))
    circuit = pcircuit.read_jpc(tmp_path / "a.jpc")
    found = np.exp(pcircuit.log_likelihood(circuit, states(circuit))).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_older_names_of_pyjuice_are_read(tmp_path):
    entries, expected = pyjuice_entries()
    for entry in entries:
        entry["num_node_groups"], entry["group_size"] = entry.pop("num_node_blocks"), entry.pop("block_size")
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(entries))
    circuit = pcircuit.read_jpc(tmp_path / "a.jpc")
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, [[1, 2]])), [expected[1, 2]], rtol=1e-12)


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_in_a_pickle_is_executed(tmp_path):
    trap = tmp_path / "trap"
    (tmp_path / "a.jpc").write_bytes(pickle.dumps([Hostile(trap)]))
    with pytest.raises(ValueError, match="as a file of PyJuice"):
        pcircuit.read_jpc(tmp_path / "a.jpc")
    assert not trap.exists()
    assert isinstance(read_pickle(pickle.dumps(Hostile(trap))), Named)
    assert not trap.exists()


@settings(max_examples=300)
@given(st.data())
def test_damaged_pickles_raise_value_errors_only(data):
    good = bytearray(pickle.dumps(pyjuice_entries()[0]))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        read_pickle(bytes(good[:data.draw(st.integers(1, len(good)))]))


# -- damage ----------------------------------------------------------------------------------------------------

BAD = [
    (pcircuit.read_psdd, "", "has no nodes"),
    (pcircuit.read_psdd, "sdd 1\n", "expected a first line 'psdd COUNT', found 'sdd'"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 0\n", "the literal must be a variable or minus a variable"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0\n", "a literal takes 4 words, found 3"),
    (pcircuit.read_psdd, "psdd 1\nT 0 0 1 0.5\n", "the probability must be at most 1"),
    (pcircuit.read_psdd, "psdd 1\nT 0 0 1 nan\n", "must be the logarithm of a finite number, found nan"),
    (pcircuit.read_psdd, "psdd 1\nX 0 0 1\n", "a node is an L, T or D line, found 'X'"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 0 0 -1\n", "id 0 is defined a second time"),
    (pcircuit.read_psdd, "psdd 1\nD 0 0 1 1 2 0.0\n", "id 1 is used before it is defined"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 1 0 2\nD 2 0 2 0 1 0.0\n", "a decision node of 2 elements takes 10 words"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 1 0 -1\nD 2 0 1 0 1 0.0\n", "is not decomposable"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 1 0 2\nL 3 0 3\nD 4 0 2 0 1 -1 0 3 -1\n", "is not smooth"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 3\n", "variables must be numbered without gaps"),
    (pcircuit.read_jpc, "jpc 1\nL 0 0 999999999\n", "the literal must be a whole number"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 99999999999\n", "the literal must be a whole number"),
    (pcircuit.read_vtree, "vtree 1\nL 0 2\n", "cannot read"),
    (pcircuit.read_vtree, "vtree 3\nL 0 1\nL 1 2\n", "promises 3 nodes, found 2"),
    (pcircuit.read_vtree, "vtree 3\nL 0 1\nL 1 2\nI 2 0 0\n", "one parent"),
    (pcircuit.read_vtree, "vtree 2\nL 0 1\nL 1 2\n", "not below the last one"),
    (pcircuit.read_vtree, "L 0 1\n", "expected a first line 'vtree COUNT'"),
    (pcircuit.read_jpc, "jpc 1\nG 0 0 1 0.0 1.0\n", "continuous inputs are not read"),
    (pcircuit.read_jpc, "jpc 1\nI 0 0 1 999999999\n", "the value must be a whole number from 0 to"),
    (pcircuit.read_jpc, "jpc 1\nL 0 0 1\nS 1 0 1 0 1e9\n", "must be the logarithm of a finite number"),
    (pcircuit.read_jpc, "jpc 1\nC 0 0 1\n", "at least one log-probability"),
    (pcircuit.read_jpc, "jpc 1\nP 0 0 0\n", "the number of children must be a whole number from 1"),
    (pcircuit.read_spn, "2 2\n", "expected a first line with the numbers of categories"),
    (pcircuit.read_spn, "(2)\nv 1 0\nEOF\n", "the variable must be a whole number from 0 to 0"),
    (pcircuit.read_spn, "(2)\nv 0 0\n+ 0\nEOF\n", "'\\+ CHILD LOGPROB"),
    (pcircuit.read_spn, "(2)\nEOF\n", "it has no units"),
    (pcircuit.read_jlc, "jlc 1\nT 0\n", "its last node, the root, is a constant or missing"),
    (pcircuit.read_uai, "MARKOV 1", "only Bayesian networks are read"),
    (pcircuit.read_uai, "BAYES 3 2 2 2 3 1 0 1 1 3 0 1 2", "a variable has 2 parents"),
    (pcircuit.read_uai, "BAYES 2 2 2 2 2 1 0 2 0 1 4 1 1 1 1 4 1 1 1 1", "form a cycle"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5", "the file ends where the entry of a table is expected"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 -1", "at least 0, found '-1'"),
]


@pytest.mark.parametrize(("reader", "text", "message"), BAD, ids=range(len(BAD)))
def test_damage_gets_one_sentence_with_the_name_of_the_file(reader, text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_text(tmp_path, text, reader, "damaged")
    assert "damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_overlapping_scopes_have_no_v_tree(tmp_path):
    text = ("jpc 9\nL 0 0 1\nL 1 0 2\nL 2 0 3\nP 3 0 2 0 1\nP 4 0 2 1 2\nP 5 0 2 3 2\nP 6 0 2 0 4\n"
            "S 7 0 2 5 -0.7 6 -0.7\n")
    with pytest.raises(StructureError, match=r"not structured-decomposable: the scopes of 3 .* and 4 .* overlap"):
        read_text(tmp_path, text, pcircuit.read_jpc)


def test_a_v_tree_that_the_circuit_does_not_follow(tmp_path):
    pcircuit.write_psdd(binary_circuit(0), tmp_path / "a.psdd", tmp_path / "a.vtree")
    pcircuit.write_vtree(VTree.random(6, rng=99), tmp_path / "b.vtree")
    with pytest.raises(StructureError, match="does not follow the v-tree"):
        pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "b.vtree")


@pytest.mark.parametrize("reader", [pcircuit.read_psdd, pcircuit.read_vtree, pcircuit.read_jpc, pcircuit.read_spn,
                                    pcircuit.read_jlc, pcircuit.read_uai])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="psdvtrejlcnBAYESLTDICPOF 0123456789-.()*+\n", max_size=120), raw=st.binary(max_size=40))
def test_any_text_raises_value_errors_only(reader, text, raw, tmp_path):
    header = {"read_psdd": "psdd 1\n", "read_vtree": "vtree 1\n", "read_jpc": "jpc 1\n", "read_spn": "(2 2)\n",
              "read_jlc": "jlc 1\n", "read_uai": "BAYES "}[reader.__name__]
    for content in (text.encode(), (header + text).encode(), raw):
        (tmp_path / "any").write_bytes(content)
        with contextlib.suppress(ValueError):
            reader(tmp_path / "any")


# -- what cannot be written --------------------------------------------------------------------------------------


def test_psdd_needs_binary_variables_a_distribution_and_a_binary_v_tree(tmp_path):
    paths = tmp_path / "a.psdd", tmp_path / "a.vtree"
    with pytest.raises(StructureError, match="a variable with 3 categories"):
        pcircuit.write_psdd(pcircuit.rat_spn([2, 3], num_units=1, depth=1, rng=0), *paths)
    coin = pcircuit.InputRegion(0, [[0.5, 0.7]])
    with pytest.raises(StructureError, match="not normalised"):
        pcircuit.write_psdd(pcircuit.Circuit(VTree([-1], [0]), [coin]), *paths)
    with pytest.raises(ValueError, match="two children only"):
        pcircuit.write_vtree(VTree.from_nested([0, 1, 2]), paths[1])
    assert list(tmp_path.iterdir()) == []


def test_dot_is_what_graphviz_expects(tmp_path):
    circuit = binary_circuit(1, num_variables=3)
    pcircuit.write_dot(circuit, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text.count("[shape=") == circuit.num_nodes
    assert text.count("{") == text.count("}")
    assert text.count("subgraph") == len(circuit.regions)


# -- the command -------------------------------------------------------------------------------------------------


def test_convert_from_the_shell(tmp_path):
    root = __file__.rsplit("/tests/", 1)[0]
    circuit = binary_circuit(2)
    pcircuit.save(circuit, tmp_path / "a.pc")
    steps = [("a.pc", "b.jpc"), ("b.jpc", "c.spn"), ("c.spn", "d.psdd"), ("d.psdd", "e.pc"), ("e.pc", "f.dot")]
    for source, target in steps:
        run = subprocess.run([sys.executable, "-m", "pcircuit", "convert", tmp_path / source, tmp_path / target],
                             cwd=root, capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stderr) == (0, "")
    same_values(circuit, pcircuit.load(tmp_path / "e.pc"))
    run = subprocess.run([sys.executable, "-m", "pcircuit", "convert", tmp_path / "a.pc", tmp_path / "a.xyz"],
                         cwd=root, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "has the ending '.xyz', expected one of" in run.stderr
