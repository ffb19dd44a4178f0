"""The same circuit in files as other programs and editors leave them behind, and what is refused in one sentence."""

import math
import re

import numpy as np
import pytest

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

CIRCUIT = Circuit(
    VTree.from_nested([0, 1]),
    [
        InputRegion(0, [[0, 1], [1, 0]]),
        InputRegion(1, [[0.3, 0.7], [1, 0]]),
        InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]]),
    ],
)
PSDD = f"""c a comment
psdd 5
L 0 0 1
L 1 0 -1
T 2 1 2 {math.log(0.7)!r}
L 3 1 -2
D 4 2 2 0 2 {math.log(0.25)!r} 1 3 {math.log(0.75)!r}
"""
VTREE = "vtree 3\nL 0 1\nL 1 2\nI 2 0 1\n"
STATES = [[0, 0], [0, 1], [1, 0], [1, 1]]

SHAPES = {
    "as it is": lambda text: text.encode(),
    "line ends of DOS": lambda text: text.replace("\n", "\r\n").encode(),
    "line ends of old Macs": lambda text: text.replace("\n", "\r").encode(),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "blank lines and comments": lambda text: (
        text.replace("\n", "\n\nc word\n  \t\n").encode() + b"c\n\n"
    ),
    "tabs": lambda text: text.replace(" ", "\t").encode(),
    "spaces at both ends": lambda text: text.replace("\n", " \n  ").encode(),
    "no last line end": lambda text: text.rstrip("\n").encode(),
    "a comment in Latin-1": lambda text: b"c caf\xe9\n" + text.encode(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_files_are_read_in_every_shape(shape, tmp_path):
    (tmp_path / "a.psdd").write_bytes(SHAPES[shape](PSDD))
    (tmp_path / "a.vtree").write_bytes(SHAPES[shape](VTREE))
    found = pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(found, STATES)),
        np.exp(pcircuit.log_likelihood(CIRCUIT, STATES)),
        rtol=1e-14,
    )


def test_ids_may_be_any_numbers(tmp_path):
    psdd = (
        PSDD.replace("L 0 0 1", "L 90 10 1")
        .replace("L 1 0 -1", "L 7 10 -1")
        .replace("0 2 -1.38", "90 2 -1.38")
    )
    psdd = psdd.replace("D 4 2 2", "D 4 30 2").replace(" 1 3 -0.28", " 7 3 -0.28")
    (tmp_path / "a.psdd").write_text(psdd)
    (tmp_path / "a.vtree").write_text("vtree 3\nL 10 1\nL 1 2\nI 30 10 1\n")
    found = pcircuit.read_psdd(tmp_path / "a.psdd", tmp_path / "a.vtree")
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(found, STATES)),
        np.exp(pcircuit.log_likelihood(CIRCUIT, STATES)),
        rtol=1e-14,
    )


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
