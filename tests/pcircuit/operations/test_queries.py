"""Queries against each other, and the page that lists them."""

import pathlib
import re

import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

import pcircuit


@given(st.integers(0, 2**32 - 1))
def test_queries_agree_with_each_other(seed):
    rng = np.random.default_rng(seed)
    circuit = zoo.random_circuit(rng, num_variables=4, max_units=3)
    tables = pcircuit.pairwise_tables(circuit)
    marginals = pcircuit.marginal_tables(circuit)
    for (u, v), table in tables.items():
        np.testing.assert_allclose(table.sum(axis=1), marginals[u], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(table.sum(axis=0), marginals[v], rtol=1e-10, atol=1e-14)
    c = int(marginals[0].argmax())
    assert np.exp(pcircuit.log_probability(circuit, {0: c})) == pytest.approx(
        marginals[0][c], rel=1e-11
    )
    given_c = pcircuit.condition(circuit, {0: c})
    np.testing.assert_allclose(
        pcircuit.marginal_tables(given_c)[0],
        tables[0, 1][c] / marginals[0][c],
        rtol=1e-9,
        atol=1e-13,
    )


def test_the_table_of_queries_names_functions_that_there_are():
    page = pathlib.Path(__file__).parents[3] / "docs" / "queries.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    assert len(named) > 20
    assert all(callable(getattr(pcircuit, name)) for name in named)
