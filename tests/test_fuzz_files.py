"""A fixed part of the files of `fuzz_files`, and that its oracles notice what is wrong."""

import io

import numpy as np
import pytest
from fuzz_checks import (
    KINDS,
    check_detector,
    read_detector,
)
from fuzz_files import crafted, damaged, members_of, outcome, pack, run


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PCIRCUIT_ENGINE", "numpy")
        yield KINDS[request.param]()


@pytest.mark.thorough
def test_nobody_s_files_are_refused_or_right(kind):
    many = 120 if kind.name == "detector" else 400  # a detector takes ten times as long to judge
    counts = run([kind], 0, many, report=print)
    assert not [key for key in counts if key[2] == "FAILED"]
    assert counts[kind.name, "crafted", "accepted"] >= many / 50
    assert counts[kind.name, "crafted", "refused"] >= many / 5
    assert counts[kind.name, "damaged", "refused"] >= many / 5


@pytest.mark.thorough
def test_files_as_they_were_written_are_accepted(kind):
    for parts in kind.parts:
        assert outcome(kind, pack(members_of(*parts)), np.random.default_rng(0)) == "accepted"


def test_equal_numbers_give_equal_files(kind):
    for change in (crafted, damaged):
        first, second = (
            change(np.random.default_rng(7), kind.parts[0], kind.parts) for _ in range(2)
        )
        assert first == second


def test_wrong_pvalues_are_noticed(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    detector = read_detector(io.BytesIO(pack(members_of(*KINDS["detector"]().parts[4]))))
    check_detector(detector, np.random.default_rng(0))
    law = type(detector.test_.calibration.null)
    right = law.pvalue

    def wrong(self, squared, T):
        found = right(self, squared, T)
        return found._replace(value=found.value * 0.99, each=(found.value * 0.99,))

    monkeypatch.setattr(law, "pvalue", wrong)
    with pytest.raises(AssertionError):
        check_detector(detector, np.random.default_rng(0))
