"""PSDD files: round trips, published values, and what they cannot hold."""

import math
import re

import numpy as np
import pytest
from format_files import binary_circuit, same_values

import pcircuit
from pcircuit import StructureError, VTree


@pytest.mark.parametrize("seed", range(10))
def test_psdd_round_trip_keeps_the_v_tree(seed, tmp_path):
    circuit = binary_circuit(seed)
    pcircuit.write_psdd(circuit, tmp_path / "a.psdd", tmp_path / "a.vtree")
    again = pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
    assert again.vtree == circuit.vtree
    same_values(circuit, again)
    same_values(circuit, pcircuit.read_psdd(tmp_path / "a.psdd"))


def test_published_values_of_a_small_psdd(data_folder):
    circuits = data_folder / "circuits"
    circuit = pcircuit.read_psdd(circuits / "little_4var.psdd", circuits / "little_4var.vtree")
    rows = [
        [0, 0, 0, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 1],
        [0, 0, 0, -1],
        [-1, 1, 0, -1],
        [0, -1, -1, -1],
    ]
    expected = [0.07, 0.03, 0.14, 0.35, 0.1, 0.8]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "vtree", "data", "expected"),
    [
        ("nltcs", "nltcs", "nltcs", (-5.972738, -6.044764)),
        ("nltcs.clt", "nltcs", "nltcs", (-6.718532, -6.759045)),
        ("kdd-6k", "kdd-6k", "kdd", (-2.405075, -2.169212)),
    ],
)
def test_learned_psdds_have_the_log_likelihoods_given_with_them(
    name, vtree, data, expected, data_folder
):
    circuits = data_folder / "circuits"
    circuit = pcircuit.read_psdd(circuits / f"{name}.psdd", circuits / f"{vtree}.vtree")
    with np.load(data_folder / "binary" / f"{data}.npz") as file:
        tables = [file[part].astype(np.int8) for part in ("valid", "test")]
    found = [pcircuit.log_likelihood(circuit, table).mean() for table in tables]
    assert found == pytest.approx(expected, abs=5.1e-7)
    assert circuit.is_normalized


def test_a_v_tree_that_the_circuit_does_not_follow(tmp_path):
    pcircuit.write_psdd(binary_circuit(0), tmp_path / "a.psdd", tmp_path / "a.vtree")
    pcircuit.write_vtree(VTree.random(6, rng=99), tmp_path / "b.vtree")
    with pytest.raises(StructureError, match="does not follow the v-tree"):
        pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "b.vtree")


def test_psdd_needs_binary_variables_a_distribution_and_a_binary_v_tree(tmp_path):
    paths = tmp_path / "a.psdd", tmp_path / "a.vtree"
    with pytest.raises(StructureError, match="a variable with 3 categories"):
        pcircuit.write_psdd(pcircuit.rat_spn([2, 3], num_units=1, depth=1, rng=0), *paths)
    coin = pcircuit.InputRegion(0, [[0.5, 0.7]])
    with pytest.raises(StructureError, match="not normalised"):
        pcircuit.write_psdd(pcircuit.Circuit(VTree([-1], [0]), [coin]), *paths)
    with pytest.raises(ValueError, match="two children only"):
        pcircuit.write_vtree(VTree.from_nested([0, 1, 2]), paths[1])
    coin = pcircuit.InputRegion(0, [[0.5, 0.5]])
    single = pcircuit.Circuit(VTree.from_nested([0]), [coin, pcircuit.InnerRegion([[0]], [[1.0]])])
    with pytest.raises(StructureError, match="a v-tree that has a node with 1 child"):
        pcircuit.write_psdd(single, *paths)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("other", ["a", "./a", "sub/../a", "link", "sub/link"])
def test_both_files_must_differ(other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("kept")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub" / "link").symlink_to("../a")
    for first, second in (("a", other), (other, "a"), (tmp_path / "a", other)):
        with pytest.raises(
            ValueError, match=r"`psdd` '.*' and `vtree` '.*' are the same file: give each"
        ):
            pcircuit.write_psdd(binary_circuit(0), first, second)
    assert (tmp_path / "a").read_text() == "kept"


@pytest.mark.parametrize("missing", ["psdd", "vtree"])
def test_neither_file_is_written_where_one_cannot_be(missing, tmp_path):
    (tmp_path / "a.psdd").write_text("kept")
    (tmp_path / "a.vtree").write_text("kept")
    paths = {"psdd": tmp_path / "a.psdd", "vtree": tmp_path / "a.vtree"} | {
        missing: tmp_path / "no-folder" / "a"
    }
    with pytest.raises(FileNotFoundError, match="no-folder"):
        pcircuit.write_psdd(binary_circuit(0), **paths)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.psdd": "kept",
        "a.vtree": "kept",
    }


SMALL = """psdd {}
L 0 0 1
L 1 0 -1
T 2 2 2 -0.5
T 3 2 2 -0.2
D 4 1 2 0 2 -0.7 1 3 -0.7
L 5 4 3
D 6 3 1 4 5 0.0
"""


@pytest.mark.parametrize(
    ("count", "whole"),
    [
        ("", (2, 3, 6)),  # without a count, these are circuits of one and of two variables
        (7, (6,)),  # lines; or lines and elements of the first two variables
        (9, ()),
        (10, ()),
    ],
)  # lines, and two or all elements
def test_files_that_are_cut_at_the_end_of_a_line_are_no_smaller_circuits(count, whole, tmp_path):
    """Without a v-tree, that of the variables that were left fitted."""
    lines = SMALL.format(count).splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        (tmp_path / "a.psdd").write_text("".join(lines[:end]))
        if end == len(lines):
            assert pcircuit.read_psdd(tmp_path / "a.psdd").num_variables == 3
        elif end not in whole:
            with pytest.raises(ValueError, match=r"cannot read '.*a.psdd': it"):
                pcircuit.read_psdd(tmp_path / "a.psdd")


PSDD = f"""c a comment
psdd 5
L 0 0 1
L 1 0 -1
T 2 1 2 {math.log(0.7)!r}
L 3 1 -2
D 4 2 2 0 2 {math.log(0.25)!r} 1 3 {math.log(0.75)!r}
"""
VTREE = "vtree 3\nL 0 1\nL 1 2\nI 2 0 1\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L 0 0 1", "L -1 0 1", "line 3: the id must be a whole number from 0"),
        ("L 0 0 1", "L 0 --0 1", "line 3: the id of a v-tree node must be a whole number"),
        ("L 0 0 1", "L 0 +0 1", "line 3: the id of a v-tree node must be a whole number"),
        ("L 0 0 1", "L 0 0.0 1", "line 3: the id of a v-tree node must be a whole number"),
        ("L 0 0 1", "L 0 0 \u0661", "line 3: the literal must be a whole number"),
        ("L 0 0 1", "L 0 0 1_0", "line 3: the literal must be a whole number"),
        ("L 0 0 1", "L 0 5 1", "line 3: the v-tree has no node 5"),
        ("D 4 2 2", "D 4 2 99999999999", "line 7: a decision node of 99999999999 elements takes"),
        ("-1.38", "-1_0.38", "line 7: the log-probability must be a number"),
        ("-1.38", "0x1.38", "line 7: the log-probability must be a number"),
        ("-1.38", "nan -1.38", "line 7: a decision node of 2 elements takes 10 words, found 11"),
        ("psdd 5", "psdd 5\npsdd 5", "line 3: the id of a v-tree node is missing"),
        ("psdd 5", "vtree 5", "line 2: expected a first line 'psdd COUNT'"),
        ("c a comment", "\x00", "line 1: expected a first line 'psdd COUNT'"),
    ],
)
def test_what_is_refused_is_refused_in_one_sentence(old, new, message, tmp_path):
    (tmp_path / "a.psdd").write_text(PSDD.replace(old, new, 1), encoding="utf-8")
    (tmp_path / "a.vtree").write_text(VTREE)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
    assert str(caught.value).startswith(f"cannot read {str(tmp_path / 'a.psdd')!r}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(3))
def test_nodes_with_many_children_become_chains_of_nodes_with_two(tmp_path, seed):
    """Chow-Liu circuits had been refused; and units that several products share are written once."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (200, 6)) * rng.integers(0, 2, (200, 1))
    tree = [-1, 0, 0, 0, 1, 1] if seed else None  # a star with branches, or the learned tree
    states = np.array(list(np.ndindex(*[2] * 6)))
    for circuit in (
        pcircuit.chow_liu_circuit(rows),
        pcircuit.hclt(rows, num_latents=3, tree=tree, rng=seed),
    ):
        expected = circuit.log_likelihood(states)
        pcircuit.write_psdd(circuit, tmp_path / "a.psdd", tmp_path / "a.vtree")
        found = pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
        np.testing.assert_allclose(found.log_likelihood(states), expected, rtol=1e-9)
        assert max(map(len, found.vtree.child_lists())) == 2
        pcircuit.write_jpc(circuit, tmp_path / "a.jpc")
        np.testing.assert_allclose(
            pcircuit.read_jpc(tmp_path / "a.jpc", tmp_path / "a.vtree").log_likelihood(states),
            expected,
            rtol=1e-9,
        )
