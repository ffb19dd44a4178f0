"""All formats alike: what is written is read again, and what is damaged is refused in one sentence."""

import contextlib
import pathlib
import tracemalloc

import naive
import numpy as np
import pytest
import zoo
from format_files import binary_circuit, read_text, same_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pcircuit
from pcircuit import VTree
from pcircuit.io.graph import MOST_ENTRIES, SPARE_ENTRIES

ZOO = zoo.all_circuits()
WRITERS = {
    "jpc": (pcircuit.write_jpc, pcircuit.read_jpc),
    "spn": (pcircuit.write_spn, pcircuit.read_spn),
}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", ZOO)
def test_what_is_written_is_read_again(name, form, tmp_path):
    write, read = WRITERS[form]
    write(ZOO[name], tmp_path / "a")
    same_values(ZOO[name], read(tmp_path / "a"))


BAD = [
    (pcircuit.read_psdd, "", "has no nodes"),
    (pcircuit.read_psdd, "sdd 1\n", "expected a first line 'psdd COUNT', found 'sdd'"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 0\n", "the literal must be a variable or minus a variable"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0\n", "a literal takes 4 words, found 3"),
    (pcircuit.read_psdd, "psdd 1\nT 0 0 1 0.5\n", "the probability must be at most 1"),
    (
        pcircuit.read_psdd,
        "psdd 1\nT 0 0 1 nan\n",
        "must be the logarithm of a finite number, found nan",
    ),
    (pcircuit.read_psdd, "psdd 1\nX 0 0 1\n", "a node is an L, T or D line, found 'X'"),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 0 0 -1\n", "id 0 is defined a second time"),
    (pcircuit.read_psdd, "psdd 1\nD 0 0 1 1 2 0.0\n", "id 1 is used before it is defined"),
    (
        pcircuit.read_psdd,
        "psdd 1\nL 0 0 1\nL 1 0 2\nD 2 0 2 0 1 0.0\n",
        "a decision node of 2 elements takes 10 words",
    ),
    (pcircuit.read_psdd, "psdd 1\nL 0 0 1\nL 1 0 -1\nD 2 0 1 0 1 0.0\n", "is not decomposable"),
    (
        pcircuit.read_psdd,
        "psdd 1\nL 0 0 1\nL 1 0 2\nL 3 0 3\nD 4 0 2 0 1 -1 0 3 -1\n",
        "is not smooth",
    ),
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
    (
        pcircuit.read_jpc,
        "jpc 1\nL 0 0 1\nS 1 0 1 0 1e9\n",
        "must be the logarithm of a finite number",
    ),
    (pcircuit.read_jpc, "jpc 1\nC 0 0 1\n", "at least one log-probability"),
    (pcircuit.read_jpc, "jpc 1\nP 0 0 0\n", "the number of children must be a whole number from 1"),
    (pcircuit.read_spn, "2 2\n", "expected a first line with the numbers of categories"),
    (pcircuit.read_spn, "(2)\nv 1 0\nEOF\n", "the variable must be a whole number from 0 to 0"),
    (pcircuit.read_spn, "(2)\nv 0 0\n+ 0\nEOF\n", "'\\+ CHILD LOGPROB"),
    (pcircuit.read_spn, "(2)\nEOF\n", "it has no units"),
    (
        pcircuit.read_spn,
        "(2 2 3)\nv 0 0\nv 1 1\n* 0 1\nEOF\n",
        "first line has 3 variables, and its root is over the",
    ),
    (pcircuit.read_jlc, "jlc 1\nT 0\n", "its last node, the root, is a constant"),
    (pcircuit.read_jlc, "psdd 1\n", "expected a first line 'jlc COUNT', found 'psdd'"),
    (pcircuit.read_jlc, "jlc 1\nX 0\n", "a node is an F, T, L, A or O line, found 'X'"),
    (
        pcircuit.read_jlc,
        "jlc 3\nL 0 0 1\nT 1\nO 2 0 2 0 1\n",
        "true beside other children of an 'or'",
    ),
    (pcircuit.read_jlc, "jlc 3\nF 0\nF 1\nO 2 0 2 0 1\n", "its last node, the root, is a constant"),
    (pcircuit.read_jlc, "jlc 3\nT 0\nT 1\nO 2 0 1 0\n", "its last node, the root, is a constant"),
    (pcircuit.read_jlc, "jlc 3\nL 0 0 1\nL 1 0 1\nA 2 0 2 0 1\n", "is not decomposable"),
    (pcircuit.read_uai, "BAYES 2 2 2 1", "has one table for each variable"),
    (
        pcircuit.read_uai,
        "BAYES 1 2 1 1 0 3 0.5 0.5 0",
        "the table of variable 0 must have 2 entries",
    ),
    (
        pcircuit.read_uai,
        "BAYES 1 2 1 1 0 2 0.5 half",
        "the entry of a table must be a number, found 'half'",
    ),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 0.5 1 2", "2 words follow the last table"),
    (pcircuit.read_uai, "BAYES 2 2 2 2 1 0 1 0", "variable 0 has two tables, or is its own parent"),
    (
        pcircuit.read_uai,
        "BAYES 2 2 2 2 2 0 0 1 1",
        "variable 0 has two tables, or is its own parent",
    ),
    (pcircuit.read_uai, "MARKOV 1", "only Bayesian networks are read"),
    (pcircuit.read_uai, "BAYES 3 2 2 2 3 1 0 1 1 3 0 0 2", "or is its own parent"),
    (
        pcircuit.read_uai,
        "BAYES 3 300 300 2 3 1 0 1 1 3 0 1 2"
        + " 300" * 0
        + " 300"
        + " 0.0033333333" * 300
        + " 300"
        + " 0.0033333333" * 300
        + " 180000"
        + " 0.5" * 180000,
        "variable 2 is joined with 2 others, which have more than 65536 states together",
    ),
    (pcircuit.read_uai, "BAYES 2 2 2 2 2 1 0 2 0 1 4 1 1 1 1 4 1 1 1 1", "form a cycle"),
    (
        pcircuit.read_uai,
        "BAYES 1 2 1 1 0 2 0.5",
        "the entry of a table is missing",
    ),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 -1", "at least 0, found -1.0"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 1_0 0.5", "must be a number, found '1_0'"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 \u0661 0.5", "must be a number, found '\u0661'"),
    (
        pcircuit.read_uai,
        "BAYES 1 \u0662 1 1 0 2 0.5 0.5",
        "a whole number from 1 to 1048576, found '\u0662'",
    ),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 inf 0.5", "a finite number of at least 0, found inf"),
    (
        pcircuit.read_jpc,
        "jpc 1\nL 0 0 1\nS 1 0 1 0 709.7827128934\n",
        "the logarithm of a finite number",
    ),
    (
        pcircuit.read_jpc,
        "jpc 2\nC 0 0 1 709 709\nS 1 0 1 0 709\n",
        "array of finite numbers of at least 0, found inf",
    ),
    (
        pcircuit.read_jpc,
        "jpc 2\nL 0 0 1\nS 1 0 2 0 709.7 0 709.7\n",
        "of finite numbers of at least 0, found inf",
    ),
    (pcircuit.read_jpc, "jpc 1\nL 0 0 1 L 1 0 -1\n", "line 2: a literal takes 4 words, found 8"),
    (pcircuit.read_jpc, "jpc 1\nI 0 0 1 1 0\n", "line 2: an indicator takes 5 words, found 6"),
    (
        pcircuit.read_jpc,
        "jpc 1\nB 0 0 1 3 -1 -2\n",
        "line 2: a binomial input takes 6 words, found 7",
    ),
    (
        pcircuit.read_jpc,
        "jpc 1\nB 0 0 1 3 5\n",
        "line 2: the probability must be at most 1, found 148.413",
    ),
    (pcircuit.read_jlc, "jlc 1\nL 0 0 1 -1\n", "line 2: a literal takes 4 words, found 5"),
    (pcircuit.read_jlc, "jlc 1\nT 0 1\n", "line 2: a constant takes 2 words, found 3"),
    (
        pcircuit.read_spn,
        "(2 2)\nv 0 0\nv 1 0\n* 0 1\n",
        "its last line is not EOF, so that it may have lost units",
    ),
    (
        pcircuit.read_spn,
        "(2 2)\nv 0 0\nv 1 0\n* 0 1\nEOF\nv 0 1\n",
        "line 6: nothing may follow the line EOF",
    ),
    (pcircuit.read_jpc, "jpc\nL 0 0 1\n", "line 1: the number of nodes is missing"),
    (
        pcircuit.read_jlc,
        "jlc many\nL 0 0 1\n",
        "line 1: the number of nodes must be a whole number",
    ),
    (
        pcircuit.read_jpc,
        "jpc 1\nL 0 0 1\nS 1 0 1 0 1.0.0\n",
        "the log-probability must be a number, found '1.0.0'",
    ),
]


@pytest.mark.parametrize(("reader", "text", "message"), BAD, ids=range(len(BAD)))
def test_damage_gets_one_sentence_with_the_name_of_the_file(reader, text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_text(tmp_path, text, reader, "damaged")
    assert "damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


CUT = {
    "jpc": (
        pcircuit.read_jpc,
        "jpc 4\nC 0 0 1 -0.5 -1\nC 1 0 1 -1 -0.5\nS 2 0 2 0 -0.7 1 -0.7\nS 3 0 1 2 0.0\n",
    ),
    "jlc": (pcircuit.read_jlc, "jlc 5\nL 0 0 1\nL 1 0 -1\nL 2 1 2\nA 3 2 2 1 2\nO 4 2 2 0 3\n"),
    "spn": (pcircuit.read_spn, "(2)\nv 0 0\nv 0 1\n+ 0 -0.7 1 -0.7\n+ 2 0.0\nEOF\n"),
    "vtree": (pcircuit.read_vtree, "vtree 5\nL 0 1\nL 1 2\nI 2 0 1\nL 3 3\nI 4 2 3\n"),
    "uai": (pcircuit.read_uai, "BAYES\n2\n2 2\n2\n1 0\n1 1\n2 0.4 0.6\n2 0.1 0.9\n"),
}


@pytest.mark.parametrize("form", CUT)
def test_files_that_are_cut_at_the_end_of_a_line_are_no_smaller_circuits(form, tmp_path):
    reader, text = CUT[form]
    lines = text.splitlines(keepends=True)
    read_text(tmp_path, text, reader)
    for end in range(1, len(lines)):
        with pytest.raises(ValueError, match=r"cannot read '.*a'"):
            read_text(tmp_path, "".join(lines[:end]), reader)


@pytest.mark.parametrize("reader", [pcircuit.read_uai, pcircuit.read_psdd])
def test_what_is_no_text_is_refused(reader, tmp_path):
    (tmp_path / "damaged").write_bytes(b"\xff\xfe\x80\x81")
    with pytest.raises(ValueError, match="damaged"):
        reader(tmp_path / "damaged")


@pytest.mark.parametrize(
    "reader",
    [
        pcircuit.read_psdd,
        pcircuit.read_vtree,
        pcircuit.read_jpc,
        pcircuit.read_spn,
        pcircuit.read_jlc,
        pcircuit.read_uai,
    ],
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet="psdvtrejlcnBAYESLTDICPOF 0123456789-.()*+\n", max_size=120),
    raw=st.binary(max_size=40),
)
def test_any_text_raises_value_errors_only(reader, text, raw, tmp_path):
    header = {
        "read_psdd": "psdd 1\n",
        "read_vtree": "vtree 1\n",
        "read_jpc": "jpc 1\n",
        "read_spn": "(2 2)\n",
        "read_jlc": "jlc 1\n",
        "read_uai": "BAYES ",
    }[reader.__name__]
    for content in (text.encode(), (header + text).encode(), raw):
        (tmp_path / "any").write_bytes(content)
        with contextlib.suppress(ValueError):
            reader(tmp_path / "any")


def in_products(lines, first, count):
    """Text of a .jpc file: the sum of products of input number `first` + 2 k with one of another variable."""
    products = [f"P {first + 2 * k + 1} 0 2 0 {first + 2 * k}" for k in range(count)]
    nodes = [line for pair in zip(lines, products, strict=True) for line in pair]
    terms = " ".join(f"{first + 2 * k + 1} -1" for k in range(count))
    return (
        "\n".join(
            [
                "jpc 1",
                "L 0 0 2",
                "I 1 0 1 1048575",
                *nodes,
                "P 99998 0 2 0 1",
                f"S 99999 0 {count + 1} 99998 -1 {terms}",
            ]
        )
        + "\n"
    )


MANY = range(400)
WIDE = 2**20
IMPLIED = {
    "indicators": (
        pcircuit.read_jpc,
        in_products([f"I {2 * k + 2} 0 1 {WIDE - 2 - k}" for k in MANY], 2, 400),
    ),
    "short tables": (
        pcircuit.read_jpc,
        in_products([f"C {2 * k + 2} 0 1 -0.{k + 1}" for k in MANY], 2, 400),
    ),
    "binomials": (
        pcircuit.read_jpc,
        in_products([f"B {2 * k + 2} 0 1 {WIDE - 1} -0.{k + 1}" for k in MANY], 2, 400),
    ),
    "values": (
        pcircuit.read_spn,
        f"({WIDE} 2)\nv 1 0\n"
        + "".join(f"v 0 {k}\n* 0 {2 * k + 1}\n" for k in MANY)
        + "+ "
        + " ".join(f"{2 * k + 2} -1" for k in MANY)
        + "\nEOF\n",
    ),
    "sums of values": (
        pcircuit.read_spn,
        f"({WIDE} 2)\nv 1 0\nv 0 5\n"
        + "".join(f"+ 1 -{k}\n* 0 {2 * k + 2}\n" for k in MANY)
        + "+ "
        + " ".join(f"{2 * k + 3} -1" for k in MANY)
        + "\nEOF\n",
    ),
    "a network": (
        pcircuit.read_uai,
        f"BAYES 2 6000 1 2 1 0 2 0 1 6000 {'1 ' * 6000} 6000 {'1 ' * 6000}",
    ),
}


def peak_of(call):
    """What a call gives, and the most bytes it had in use."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", IMPLIED)
def test_small_files_that_stand_for_large_tables_are_refused_before_these_are_made(name, tmp_path):
    reader, text = IMPLIED[name]
    path = tmp_path / "damaged"
    path.write_text(text)
    (
        pcircuit.VTree.balanced(2),
        pcircuit.read_jpc(written(tmp_path)),
    )  # what is imported on the way does not count

    def refused():
        with pytest.raises(ValueError, match="such a circuit is not read") as caught:
            reader(path)
        return str(caught.value)

    message, peak = peak_of(refused)
    allowed = MOST_ENTRIES * len(text) + SPARE_ENTRIES
    assert message == (
        f"cannot read {str(path)!r}: its tables and sums would have more than {allowed} entries that "
        f"the file of {len(text)} bytes does not write out: such a circuit is not read"
    )
    assert peak < 24 * allowed + 2**26  # the last term: what one binomial takes while it is made


def written(tmp_path):
    """A small file that uses all that is imported late."""
    path = tmp_path / "small.jpc"
    path.write_text("jpc 1\nB 0 0 1 2 -0.5\nL 1 0 2\nP 2 0 2 0 1\n")
    return path


def test_indicators_of_many_categories_take_no_table_each(tmp_path):
    text = (
        f"({WIDE})\n"
        + "".join(f"v 0 {k}\n" for k in MANY)
        + "+ "
        + " ".join(f"{k} -1" for k in MANY)
        + "\nEOF\n"
    )
    circuit, peak = peak_of(lambda: read_text(tmp_path, text, pcircuit.read_spn))
    assert circuit.num_categories == (WIDE,)
    np.testing.assert_allclose(
        circuit.regions[0].probs[0, [0, 399, 400]], [np.exp(-1), np.exp(-1), 0]
    )
    assert peak < 4 * 8 * WIDE


@pytest.mark.parametrize("reader", [pcircuit.read_jpc, pcircuit.read_jlc])
def test_a_flat_product_is_read_with_a_deep_v_tree(reader, tmp_path):
    V, (head, kind) = 1200, {"read_jpc": ("jpc", "P"), "read_jlc": ("jlc", "A")}[reader.__name__]
    lines = [
        f"{head} 1",
        *(f"L {v} 0 {v + 1}" for v in range(V)),
        f"{kind} {V} 0 {V} {' '.join(map(str, range(V)))}",
    ]
    (tmp_path / "a").write_text("\n".join(lines) + "\n")
    tree = pcircuit.VTree.right_linear(V)
    pcircuit.write_vtree(tree, tmp_path / "deep.vtree")
    circuit = reader(tmp_path / "a", tmp_path / "deep.vtree")
    assert circuit.vtree == tree
    assert circuit.log_likelihood([[1] * V, [1] * (V - 1) + [0]]).tolist() == [0, -np.inf]


COINS = zoo.two_coins()
WRONG = [
    *(
        (
            lambda path, write=write: write(5, path),
            TypeError,
            "`circuit` must be a pcircuit.Circuit, found int",
        )
        for write in (
            pcircuit.write_spn,
            pcircuit.write_jpc,
            pcircuit.write_dot,
            lambda circuit, path: pcircuit.write_psdd(circuit, path, path / "v"),
        )
    ),
    (
        lambda path: pcircuit.write_vtree(5, path),
        TypeError,
        "`vtree` must be a pcircuit.VTree, found int: a circuit has it as `.vtree`",
    ),
    *(
        (
            lambda path, call=call, value=value: call(value),
            TypeError,
            f"`{name}` must be a non-empty str or os.PathLike, found {value!r}",
        )
        for value in (5, None, "", b"a")
        for name, call in (
            ("path", pcircuit.read_spn),
            ("path", pcircuit.read_jpc),
            ("path", pcircuit.read_uai),
            ("path", pcircuit.read_jlc),
            ("path", pcircuit.read_vtree),
            ("psdd", pcircuit.read_psdd),
            ("path", lambda path: pcircuit.write_spn(COINS, path)),
            ("path", lambda path: pcircuit.write_jpc(COINS, path)),
            ("path", lambda path: pcircuit.write_dot(COINS, path)),
            ("path", lambda path: pcircuit.write_vtree(COINS.vtree, path)),
            ("psdd", lambda path: pcircuit.write_psdd(COINS, path, "v")),
            ("vtree", lambda path: pcircuit.write_psdd(COINS, "p", path)),
        )
    ),
    *(
        (
            lambda path, read=read: read(path, 5),
            TypeError,
            "`vtree` must be a non-empty str or os.PathLike, found 5",
        )
        for read in (pcircuit.read_jpc, pcircuit.read_jlc, pcircuit.read_psdd)
    ),
    *(
        (
            lambda path, value=value: pcircuit.write_dot(COINS, path, digits=value),
            wrong,
            f"`digits` must be a whole number of at least 1 and at most 17, found {value!r}",
        )
        for value, wrong in ((0, ValueError), (18, ValueError), ("3", TypeError))
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_named_before_anything_is_written(
    call, error, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        call(pathlib.Path("a"))
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_dot_is_what_graphviz_expects(tmp_path):
    circuit = binary_circuit(1, num_variables=3)
    pcircuit.write_dot(circuit, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text.count("[shape=") == circuit.num_nodes
    assert text.count("{") == text.count("}")
    assert text.count("subgraph") == len(circuit.regions)


@pytest.mark.parametrize(
    "tree", [VTree([-1], [0]), VTree.balanced(7), VTree.right_linear(5), VTree.random(20, rng=3)]
)
def test_v_trees_come_back(tree, tmp_path):
    pcircuit.write_vtree(tree, tmp_path / "a")
    assert pcircuit.read_vtree(tmp_path / "a") == tree


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_of_conditional_tables_is_its_joint_distribution(seed, tmp_path):
    rng = np.random.default_rng(seed)
    categories, parents = rng.integers(1, 4, 5), [-1, 0, 0, -1, 3]
    tables = [
        rng.dirichlet(np.ones(categories[v]), 1 if p < 0 else categories[p])
        for v, p in enumerate(parents)
    ]
    words = ["BAYES", 5, *categories, 5]
    for v, p in enumerate(parents):
        words += [1, v] if p < 0 else [2, p, v]
    for table in tables:
        words += [table.size, *(repr(float(x)) for x in table.ravel())]
    circuit = read_text(tmp_path, " ".join(map(str, words)), pcircuit.read_uai)
    rows = naive.states(circuit)
    expected = [
        np.prod([tables[v][0 if p < 0 else x[p], x[v]] for v, p in enumerate(parents)])
        for x in rows
    ]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, rtol=1e-13)


def test_every_kind_of_line(tmp_path):
    """0.25 of (0, 1), and 0.75 of x_0 = 1 with two values of x_1; the last product is not below the root."""
    text = (
        "(2 3)\nv 0 0\nv 0 1\nv 1 1\nv 1 0\nv 1 2\n"
        f"+ 3 {np.log(0.4)} 4 {np.log(0.6)}\n* 0 2\n* 5 1\n* 0 3\n+ 6 {np.log(0.25)} 7 {np.log(0.75)}\nEOF\n"
    )
    circuit = read_text(tmp_path, text, pcircuit.read_spn)
    assert circuit.num_categories == (2, 3)
    np.testing.assert_allclose(
        naive.values(circuit).reshape(2, 3), [[0, 0.25, 0], [0.3, 0, 0.45]], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "()\nv 0 0\nEOF\n",
            r"line 1: expected a first line with the numbers of categories in parentheses, like \(2 2 3",
        ),
        (
            "( )\nEOF\n",
            "line 1: expected a first line with the numbers of categories in parentheses",
        ),
        ("(\nEOF\n", "line 1: expected a first line with the numbers of categories in parentheses"),
        (
            "(2 0)\nv 0 0\nEOF\n",
            "line 1: the number of categories must be a whole number from 1 to 1048576, found '0'",
        ),
        (
            "(2 two)\nv 0 0\nEOF\n",
            "line 1: the number of categories must be a whole number from 1 to 1048576, found 'tw",
        ),
        (
            "(2)\n* 0\nEOF\n",
            "line 2: the first unit must be a value 'v VARIABLE VALUE': children come before parents",
        ),
        ("(2)\n+ 0 0.0\nEOF\n", "line 2: the first unit must be a value"),
        (
            "(2)\nv 0 0\n* 1\nEOF\n",
            "line 3: the number of a child must be a whole number from 0 to 0, found '1'",
        ),
        (
            "(2)\nv 0 0\n* -1\nEOF\n",
            "line 3: the number of a child must be a whole number from 0 to 0, found '-1'",
        ),
        ("(2)\nv 0 2\nEOF\n", "line 2: the value must be a whole number from 0 to 1, found '2'"),
        ("(2)\nv 0\nEOF\n", "line 2: a value takes 3 words, found 2"),
        ("(2)\nv 0 0\n+\nEOF\n", r"line 3: expected .* found '\+' and 0 numbers"),
        ("(2)\nv 0 0\n* \nEOF\n", r"line 3: expected .* found '\*' and 0 numbers"),
        ("(2)\nv 0 0\nx 0\nEOF\n", "line 3: expected .* found 'x' and 1 numbers"),
        (
            "(2)\nv 0 0\n+ 0 nan\nEOF\n",
            "line 3: the log-probability must be the logarithm of a finite number, found nan",
        ),
        ("", "it has no units"),
        ("(2)\n", "it has no units"),
    ],
)
def test_damage_is_told_with_its_line(text, message, tmp_path):
    with pytest.raises(ValueError, match=f"^cannot read '.*a'(, |: ){message}"):
        read_text(tmp_path, text, pcircuit.read_spn)


def test_logic_counts_models(tmp_path):
    text = "jlc 6\nL 0 0 1\nL 1 0 -1\nL 2 1 2\nL 3 2 3\nA 4 3 3 1 2 3\nO 5 3 2 0 4\n"  # x1 or (not x1 and x2 and x3)
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    rows = naive.states(circuit)
    expected = [float(x or (y and z)) for x, y, z in rows.tolist()]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, atol=1e-15)
    assert np.exp(pcircuit.log_likelihood(circuit, [[-1, -1, -1]])) == pytest.approx(5)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("jlc 4\nL 0 0 1\nL 1 0 2\nL 2 0 3\nA 3 0 2 0 1\n", lambda x, y, z: x and y),
        ("jlc 4\nL 0 0 1\nL 1 0 2\nL 2 0 3\nA 3 0 2 0 2\n", lambda x, y, z: x and z),
        ("jlc 6\nF 0\nL 1 0 1\nL 2 0 -2\nL 3 0 3\nA 4 0 3 0 2 3\nO 5 0 2 1 4\n", lambda x, y, z: x),
    ],
)
def test_variables_that_the_root_does_not_depend_on_are_free(text, formula, tmp_path):
    """The last ones had been left out without a word, so that x1 and x2 of three had one model in place of two."""
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    rows = naive.states(circuit)
    expected = [float(formula(*row)) for row in rows.tolist()]
    np.testing.assert_array_equal(np.exp(pcircuit.log_likelihood(circuit, rows)), expected)
    assert circuit.num_variables == 3


def test_inputs_that_smoothing_adds_are_bounded_by_the_size_of_the_file(monkeypatch, tmp_path):
    V, ors = 100, 50
    lines = [
        "jlc 1",
        *(f"L {v} 0 {v + 1}" for v in range(V)),
        f"A {V} 0 {V} {' '.join(map(str, range(V)))}",
        *(f"O {V + 1 + i} 0 2 0 {V}" for i in range(ors)),
    ]
    assert read_text(tmp_path, "\n".join(lines), pcircuit.read_jlc).num_variables == V
    monkeypatch.setattr("pcircuit.io.graph.MOST_ENTRIES", 0)
    monkeypatch.setattr("pcircuit.io.graph.SPARE_ENTRIES", 1000)  # each "or" adds 99 inputs
    with pytest.raises(ValueError, match="sums would have more than 1000 entries"):
        read_text(tmp_path, "\n".join(lines), pcircuit.read_jlc)


@pytest.mark.parametrize("seed", range(4))
def test_networks_whose_variables_have_two_parents_are_read(tmp_path, seed):
    """By the product of all tables in every state."""
    rng, V = np.random.default_rng(seed), 6
    sizes, order = rng.integers(2, 4, V), rng.permutation(V).tolist()
    parents = {
        v: order[:i] if i < 3 else rng.permutation(order[:i])[:2].tolist()
        for i, v in enumerate(order)
    }
    tables = {v: rng.dirichlet(np.ones(sizes[v]), sizes[above]) for v, above in parents.items()}
    words = ["BAYES", V, *sizes, V]
    for v, above in parents.items():
        words += [len(above) + 1, *above, v]
    for table in tables.values():
        words += [table.size, *table.ravel().tolist()]
    circuit = read_text(tmp_path, " ".join(map(str, words)), pcircuit.read_uai)
    states = np.array(list(np.ndindex(*sizes)))
    expected = np.prod(
        [tables[v][tuple(states[:, [*above, v]].T)] for v, above in parents.items()], axis=0
    )
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(states)), expected, rtol=1e-9)
    assert circuit.is_normalized
