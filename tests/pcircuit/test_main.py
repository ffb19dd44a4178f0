"""``python -m pcircuit``."""

import itertools
import os
import runpy
import sys

import naive
import numpy as np
import pytest
from format_files import binary_circuit, same_values

import pcircuit
from pcircuit.__main__ import main


def converted(folder, *names):
    """Convert by the command, in this process; each file from the one before it."""
    for source, target in itertools.pairwise(names):
        assert main(["convert", str(folder / source), str(folder / target)]) == 0


def test_a_circuit_keeps_its_values_through_all_formats(tmp_path, capsys):
    circuit = binary_circuit(2)
    pcircuit.save(circuit, tmp_path / "a.pc")
    converted(tmp_path, "a.pc", "b.jpc", "c.spn", "d.psdd", "e.pc")
    same_values(circuit, pcircuit.load(tmp_path / "e.pc"))
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"{pcircuit.load(tmp_path / 'e.pc')!r} -> {tmp_path / 'e.pc'}"
    )


def test_the_tree_of_a_psdd_file_lies_where_it_is_asked_for_and_is_found_there(tmp_path, capsys):
    circuit, tree = binary_circuit(2), tmp_path / "mine.vtree"
    pcircuit.save(circuit, tmp_path / "a.pc")
    assert (
        main(["convert", str(tmp_path / "a.pc"), str(tmp_path / "b.psdd"), "--vtree", str(tree)])
        == 0
    )
    assert not (tmp_path / "b.vtree").exists()
    assert (
        main(["convert", str(tmp_path / "b.psdd"), str(tmp_path / "c.pc"), "--vtree", str(tree)])
        == 0
    )
    same_values(circuit, pcircuit.load(tmp_path / "c.pc"))


def test_the_tree_of_the_source_is_read_and_never_replaced(tmp_path, capsys):
    """A file with ids in another order than ours stays as it is, and a name that leads nowhere is an error."""
    text = "vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n"
    (tmp_path / "a.vtree").write_text(text)
    (tmp_path / "a.psdd").write_text("psdd 3\nL 0 0 1\nL 1 2 -2\nD 2 1 1 0 1 0.0\n")
    source, tree = str(tmp_path / "a.psdd"), str(tmp_path / "a.vtree")
    assert main(["convert", source, str(tmp_path / "b.psdd"), "--vtree", tree]) == 0
    assert (tmp_path / "a.vtree").read_text() == text
    same_values(
        pcircuit.read_psdd(source, tree),
        pcircuit.read_psdd(tmp_path / "b.psdd", tmp_path / "b.vtree"),
    )
    (tmp_path / "folder").mkdir()
    os.rename(source, tmp_path / "folder" / "a.psdd")
    for target, vtree, message in (
        ("a.psdd", tree, "is the v-tree file of the source and would be replaced"),
        ("c.pc", str(tmp_path / "none.vtree"), "No such file"),
    ):
        assert (
            main(
                [
                    "convert",
                    str(tmp_path / "folder" / "a.psdd"),
                    str(tmp_path / target),
                    "--vtree",
                    vtree,
                ]
            )
            == 2
        )
        assert message in capsys.readouterr().err
        assert not (tmp_path / target).exists()
    assert (tmp_path / "a.vtree").read_text() == text


@pytest.mark.parametrize(
    ("name", "text", "rows", "expected"),
    [
        ("a.jlc", "jlc 3\nL 0 0 1\nL 1 0 2\nA 2 2 2 0 1\n", [[1, 1], [1, 0]], [1.0, 0.0]),
        ("a.uai", "BAYES 1 2 1 1 0 2 0.25 0.75", [[0], [1]], [0.25, 0.75]),
    ],
)
def test_formats_that_are_only_read(name, text, rows, expected, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    converted(tmp_path, name, "b.pc")
    found = np.exp(naive.log_likelihood(pcircuit.load(tmp_path / "b.pc"), np.array(rows)))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (
            "a.pc",
            "b.uai",
            "has the ending '.uai', expected one of .pc, .jpc, .spn, .dot, .vtree, .psdd",
        ),
        (
            "a.dot",
            "b.pc",
            "has the ending '.dot', expected one of .pc, .psdd, .jpc, .spn, .jlc, .uai",
        ),
        ("none.pc", "b.pc", "No such file"),
    ],
)
def test_what_cannot_be_converted_is_said_in_one_line(source, target, message, tmp_path, capsys):
    pcircuit.save(binary_circuit(0), tmp_path / "a.pc")
    assert main(["convert", str(tmp_path / source), str(tmp_path / target)]) == 2
    found = capsys.readouterr()
    assert found.err.startswith("error: ")
    assert message in found.err
    assert (found.err.count("\n"), found.out) == (1, "")
    assert not (tmp_path / target).exists()


def test_the_module_takes_its_arguments_from_the_process(tmp_path, monkeypatch, capsys):
    pcircuit.save(binary_circuit(0), tmp_path / "a.pc")
    monkeypatch.setattr(
        sys, "argv", ["pcircuit", "convert", str(tmp_path / "a.pc"), str(tmp_path / "b.spn")]
    )
    monkeypatch.delitem(
        sys.modules, "pcircuit.__main__"
    )  # runpy warns of a module that is there already
    with pytest.raises(SystemExit) as end:
        runpy.run_module("pcircuit", run_name="__main__")
    assert end.value.code == 0
    same_values(binary_circuit(0), pcircuit.read_spn(tmp_path / "b.spn"))
