"""All formats alike: what is written is read again, and what is damaged is refused in one sentence."""
import contextlib

import pytest
import zoo
from format_files import read_text, same_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pcircuit

ZOO = zoo.all_circuits()
WRITERS = {"jpc": (pcircuit.write_jpc, pcircuit.read_jpc), "spn": (pcircuit.write_spn, pcircuit.read_spn)}


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
    (pcircuit.read_jlc, "psdd 1\n", "expected a first line 'jlc COUNT', found 'psdd'"),
    (pcircuit.read_jlc, "jlc 1\nX 0\n", "a node is an F, T, L, A or O line, found 'X'"),
    (pcircuit.read_jlc, "jlc 3\nL 0 0 1\nT 1\nO 2 0 2 0 1\n", "true beside other children of an 'or'"),
    (pcircuit.read_jlc, "jlc 3\nF 0\nF 1\nO 2 0 2 0 1\n", "its last node, the root, is a constant"),
    (pcircuit.read_jlc, "jlc 3\nT 0\nT 1\nO 2 0 1 0\n", "its last node, the root, is a constant"),
    (pcircuit.read_jlc, "jlc 3\nL 0 0 1\nL 1 0 1\nA 2 0 2 0 1\n", "is not decomposable"),
    (pcircuit.read_uai, "BAYES 2 2 2 1", "has one table for each variable"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 3 0.5 0.5 0", "the table of variable 0 must have 2 entries"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 half", "a finite number of at least 0, found 'half'"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 0.5 1 2", "2 words follow the last table"),
    (pcircuit.read_uai, "BAYES 2 2 2 2 1 0 1 0", "variable 0 has two tables, or is its own parent"),
    (pcircuit.read_uai, "BAYES 2 2 2 2 2 0 0 1 1", "variable 0 has two tables, or is its own parent"),
    (pcircuit.read_uai, "MARKOV 1", "only Bayesian networks are read"),
    (pcircuit.read_uai, "BAYES 3 2 2 2 3 1 0 1 1 3 0 1 2", "a variable has 2 parents"),
    (pcircuit.read_uai, "BAYES 2 2 2 2 2 1 0 2 0 1 4 1 1 1 1 4 1 1 1 1", "form a cycle"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5", "the file ends where the entry of a table is expected"),
    (pcircuit.read_uai, "BAYES 1 2 1 1 0 2 0.5 -1", "at least 0, found '-1'"),
    (pcircuit.read_jpc, "jpc 1\nL 0 0 1\nS 1 0 1 0 1.0.0\n", "the log-probability must be a number, found '1.0.0'"),
]


@pytest.mark.parametrize(("reader", "text", "message"), BAD, ids=range(len(BAD)))
def test_damage_gets_one_sentence_with_the_name_of_the_file(reader, text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_text(tmp_path, text, reader, "damaged")
    assert "damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", [pcircuit.read_uai, pcircuit.read_psdd])
def test_what_is_no_text_is_refused(reader, tmp_path):
    (tmp_path / "damaged").write_bytes(b"\xff\xfe\x80\x81")
    with pytest.raises(ValueError, match="damaged"):
        reader(tmp_path / "damaged")


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
