"""What a test says of itself: every part that was asked for has its line."""

import zoo

import hld

CIRCUIT = zoo.circuits()["hclt_like"]


def test_tolerance_and_the_estimation_error_are_named_where_they_are_used():
    plain = hld.HLDTest(CIRCUIT).describe()
    assert "tolerance" not in plain
    assert "estimation error: ignored (no num_train)" in plain.splitlines()
    lines = hld.HLDTest(CIRCUIT, tolerance=0.125, num_train=500).describe().splitlines()
    assert lines[-1] == "tolerance: drifts of up to 0.125 typical single-row distances are accepted"
    assert "estimation error: null scaled by 1 + T / 500" in lines
