"""Counts of rows with the covariates of a batch: what they are, that they keep the level, and what they find."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_most

import hld
import pcircuit
from hld.answers.table_facts import held_of
from hld.tables.schemas.counts import KeptValues, compare_missing, compare_new
from hld.testing.conditional.conditional_test import ConditionalTest
from hld.testing.conditional.covariates import choose_functions, event_sums, row_events

OPTIONS = {"num_latents": 2, "num_epochs": 10, "num_resamples": 99, "rng": 0}


def table(rng, n, shares=(0.4, 0.3, 0.2, 0.1)):
    """What is missing, how the levels are and how far numbers go depends on the kind, which may move."""
    kind = rng.choice(list("abcd"), n, p=shares)
    size = rng.normal(size=n) * np.where(kind == "a", 3, 1)
    level = np.where(rng.random(n) < 0.5, kind, rng.choice(list("pqr"), n))
    level[(rng.random(n) < 0.02) & (kind == "d")] = "rare"
    return pd.DataFrame(
        {
            "kind": kind,
            "size": np.where(rng.random(n) < np.where(kind == "a", 0.3, 0.05), np.nan, size),
            "weight": size + rng.normal(size=n),
            "level": level,
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**OPTIONS, covariates=["kind"]).fit(
        table(np.random.default_rng(0), 2000)
    )


def test_counts_are_those_of_a_table_that_is_stratified_by_the_covariate(detector):
    rng = np.random.default_rng(1)
    codes = detector.encoder_.encode(table(rng, 150, (0.1, 0.1, 0.4, 0.4)))[0]
    held, profile = held_of(detector, codes), detector.profile_
    batch, pair = np.bincount(codes[:, 0], minlength=5)[:4] / 150, profile.pairs
    own = profile.counts[0][:4]
    assert held.counts.num_rows == round(1 / float((batch**2 / own).sum()))
    edges = profile.edges.tolist()
    v = next(max(edge) for edge in edges if 0 in edge)
    by_kind = pair[edges.index([0, v])][:4]
    hole = own - by_kind.sum(axis=1)  # rows of each kind that do not show the column
    expected = held.counts.num_rows * (batch / own) @ np.column_stack([by_kind, hole])
    assert np.abs(held.counts.counts[v] - expected).max() <= 1
    assert held.counts.counts[v].sum() == held.counts.num_rows
    assert held.counts.counts[0].sum() == 0
    assert held.missing[0][0] == 0 < held.missing[0][1]


@pytest.mark.parametrize("moved", [(0.4, 0.3, 0.2, 0.1), (0.1, 0.1, 0.2, 0.6)])
def test_counts_of_events_keep_the_level_whatever_the_covariates_do(moved):
    """The reference is drawn anew in each trial: it is part of what is exchangeable."""
    rng, trials, given = np.random.default_rng(2), 400, np.array([True, False])
    circuit = pcircuit.rat_spn([4, 2], num_units=1, depth=1, rng=0)
    found = np.zeros((trials, 2))

    def rows(n, shares):
        kind = rng.choice(4, n, p=shares)
        event = rng.random(n) < np.array([0.01, 0.01, 0.01, 0.3])[kind]
        codes = np.column_stack([kind, rng.random(n) < 0.2 + 0.2 * kind]).astype(int)
        return codes, np.column_stack([event & False, event]).astype(np.uint8)

    for trial in range(trials):
        (codes, marks), (batch, new) = rows(500, (0.4, 0.3, 0.2, 0.1)), rows(120, moved)
        functions = choose_functions(codes, given, (4, 2), 50)
        phi = functions(codes)
        events = row_events(codes, marks, np.zeros((500, 0), int))
        parts = SimpleNamespace(
            functions=functions,
            inverse=np.linalg.pinv(phi.T @ phi, rcond=1e-9, hermitian=True),
            events=event_sums(circuit, codes, given, phi, events),
            inner=SimpleNamespace(circuit=circuit),
            given=given,
            num_rows=500,
        )
        n, counts, number, odd = ConditionalTest.held(parts, batch)
        assert odd.shape == (0, 66)
        kept = KeptValues(np.array([0, n]), number)
        found[trial, 0] = compare_new(kept, np.full(2, 120), new.sum(axis=0)).pvalue
        own = np.array([0, (batch[:, 1] == 1).sum()])
        found[trial, 1] = compare_missing([0, n], [0, counts[1][1]], 120, own).pvalue
    for level in (0.01, 0.05):
        assert ((found <= level).sum(axis=0) <= at_most(trials, level)).all()
    assert (found[:, 1] <= 0.5).mean() > 0.2


@pytest.mark.parametrize(
    ("column", "change", "witness"),
    [
        ("weight", lambda x: x.mask(np.arange(len(x)) % 5 == 0), "missing"),
        ("level", lambda x: x.mask(np.arange(len(x)) % 20 == 0, "new"), "new"),
        ("weight", lambda x: x.mask(np.arange(len(x)) % 50 == 0, 1e4), "magnitude"),
        ("weight", lambda x: x * 0 + 0.1, "largest_count"),
    ],
)
def test_what_breaks_given_the_covariates_is_heard_and_named(detector, column, change, witness):
    batch = table(np.random.default_rng(3), 200, (0.2, 0.3, 0.3, 0.2))
    found = detector.test(batch.assign(**{column: change(batch[column])}))
    assert found.reject
    assert found.context.moved in ("conditional", "both")
    assert found.columns[0].name == column
    quality = {"missing": "missingness", "new": "new_values"}
    heard = (
        getattr(found.data_quality, quality[witness])
        if witness in quality
        else found.witnesses[witness]
    )
    assert heard.pvalue <= 0.01
    assert found.not_heard == ("largest_dependence",)
    halves = hld.judge_chunks(detector, [batch[:80], batch[80:]])
    assert halves.to_dict() == detector.test(batch).to_dict()
