"""Laws of distances of counts: those of the rows' features, holes among them, their tails, and merged categories."""

import numpy as np
import pytest
from scipy.stats import chi2

import hld
from hld.answers.profile import profile_of
from hld.witnesses import count_law
from hld.witnesses.count_law import (
    FLOOR,
    count_laws,
    law_tail,
    merged_codes,
    merged_counts,
    shares,
    with_laws,
)

NO_EDGES = np.zeros((0, 2), dtype=int)


def test_the_law_is_that_of_the_rows():
    rng = np.random.default_rng(5)
    hidden = rng.integers(2, size=4000)
    rows = np.where(rng.random((4000, 5)) < 0.8, hidden[:, None], rng.integers(2, size=(4000, 5)))
    profile = profile_of(rows, [2] * 5, [[0, 1], [1, 2]])
    tables = [shares(one[:-1]) for one in profile.counts], [shares(one) for one in profile.pairs]
    laws = count_laws(rows, tables, profile.edges)
    for i, cells in enumerate(
        (
            np.eye(2)[rows].reshape(4000, -1),
            np.concatenate([np.eye(4)[2 * rows[:, u] + rows[:, v]] for u, v in profile.edges], 1),
        )
    ):
        p = np.concatenate([one.ravel() for one in tables[i]])
        features = (cells - p) / np.sqrt(p + 0.01)
        S = features.T @ features / len(rows)
        first, second, largest, fourth = laws[i]
        assert first == pytest.approx(np.trace(S), rel=1e-9)
        assert (
            (S**2).sum() * 0.97 < second < (S**2).sum() * 1.1
        )  # one standard error of 800 rows is 3 %
        assert np.linalg.eigvalsh(S)[-1] * 0.97 < largest < np.linalg.eigvalsh(S)[-1] * 1.1
        assert fourth == pytest.approx(((features**2).sum(axis=1) ** 2).mean(), rel=0.1)


NO_EDGES = np.zeros((0, 2), dtype=int)


def test_columns_that_never_vary_and_columns_that_nobody_shows_have_no_law():
    rows = np.column_stack([np.zeros(10, int), np.full(10, -1)])
    profile = profile_of(rows, [1, 2], NO_EDGES)
    laws = count_laws(rows, ([shares(one[:-1]) for one in profile.counts], []), NO_EDGES)
    np.testing.assert_array_equal(laws, np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("weights", "squared"), [([1.0], 3.0), ([2.0, 2.0], 9.0), ([0.5] * 10, 12.0)]
)
def test_the_tail_of_equal_weights_is_that_of_a_chi_square(weights, squared):
    w = np.array(weights)
    law = np.array(
        [w.sum(), (w**2).sum(), w[0], w.sum() ** 2 + 2 * (w**2).sum()]
    )  # of normal features
    for T, n in ((5, None), (5, 7), (10**6, 10)):
        assert law_tail(law, squared, T, n) == pytest.approx(
            chi2.sf(squared / w[0], len(w)), rel=1e-6
        )


def test_heavy_tails_of_rows_widen_the_tail_where_rows_are_few():
    law = np.array([2.0, 2.0, 1.0, 80.0])
    few, both, many, exact = (
        law_tail(law, 12.0, T, n) for T, n in ((3, None), (6, 6), (10**7, 10**7), (10**7, None))
    )
    assert few > both > 1.1 * many
    assert many == pytest.approx(exact, rel=1e-3)
    assert law_tail(law, 12.0, 3, 10**9) == pytest.approx(few, rel=1e-3)
    assert law_tail(law, 12.0, 3, 7) == pytest.approx(law_tail(law, 12.0, 7, 3))


def test_a_profile_gets_the_laws_of_its_rows_and_none_of_too_few():
    rows = np.random.default_rng(0).integers(0, 3, size=(50, 2))
    encoder, edges = hld.fit_encoder(rows), np.array([[0, 1]])
    codes = encoder.encode(rows)[0]
    profile = profile_of(codes, encoder.num_categories, edges)
    found = with_laws(profile, encoder.columns, codes)
    singles, pairs = merged_counts(encoder.columns, profile)
    expected = count_laws(
        merged_codes(encoder.columns, codes),
        ([*map(shares, singles)], [*map(shares, pairs)]),
        edges,
    )
    np.testing.assert_allclose(found.laws, expected)
    assert (found.counts, found.pairs) == (profile.counts, profile.pairs)
    with pytest.raises(ValueError, match="read-only"):
        found.laws[0] = 0
    assert with_laws(profile, encoder.columns, None) is profile
    assert with_laws(profile, encoder.columns, codes[:2]).laws is None


def test_counts_of_merged_codes_are_merged_counts():
    """Rare and unseen levels are one category, in columns and in both directions of pairs; holes stay."""
    rng = np.random.default_rng(1)
    table = [
        [f"u{int(a)}", f"v{int(b)}"] for a, b in np.minimum(rng.exponential(3, size=(300, 2)), 30)
    ]
    encoder = hld.fit_encoder(table, max_categories=4)
    assert all(column.rare for column in encoder.columns)
    codes = encoder.encode([*table, ["u0", "new"], ["new", "v0"], [None, "v1"]])[0]
    edges = np.array([[0, 1]])
    singles, pairs = merged_counts(
        encoder.columns, profile_of(codes, encoder.num_categories, edges)
    )
    merged = profile_of(
        merged_codes(encoder.columns, codes), [C - 1 for C in encoder.num_categories], edges
    )
    assert [one.tolist() for one in singles] == [one[:-1].tolist() for one in merged.counts]
    assert pairs[0].tolist() == merged.pairs[0].tolist()
    assert merged.counts[0][-1] == 1


def test_second_is_the_mean_over_pairs_of_different_rows_and_a_standard_error():
    p, rows = np.array([0.5, 0.3, 0.2]), np.array([[0], [0], [1], [2], [0], [1], [2]])
    features = ((np.eye(3) - p) / np.sqrt(p + FLOOR))[rows[:, 0]]
    squared = (features @ features.T) ** 2
    by_row = np.array([(squared[i].sum() - squared[i, i]) / 6 for i in range(7)])
    second = count_laws(rows, ([p], []), NO_EDGES)[0, 1]
    assert second == pytest.approx(
        by_row.mean() + 2 * by_row.std(ddof=1) / 7**0.5
    )  # each row is in both of a pair


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_products_are_those_of_features(missing):
    """Against the features as the module defines them."""
    rng = np.random.default_rng(3)
    sizes, m = (1, 2, 5), 40
    codes = np.column_stack([rng.integers(0, C, m) for C in sizes])
    codes[rng.random(codes.shape) < missing] = -1
    tables = [rng.dirichlet(np.ones(C)) for C in sizes]
    phi = np.zeros((m, 0))
    for own, p in zip(codes.T, tables, strict=True):
        shown = (own >= 0)[:, None]
        unit = np.where(shown, own[:, None] == np.arange(len(p)), 0.0) - np.where(shown, p, 0.0)
        phi = np.column_stack([phi, unit * np.sqrt(m / max(shown.sum(), 1) / (p + FLOOR))])
    found = count_laws(codes, (tables, []), np.zeros((0, 2), int))[0]
    products = phi @ phi.T
    assert found[3] == pytest.approx((np.diag(products) ** 2).mean(), abs=1e-12)
    assert found[2] <= np.linalg.eigvalsh(products)[-1] / m + 1e-12
    np.fill_diagonal(products, 0.0)
    assert found[1] >= (products**2).sum() / (m * (m - 1)) * (1 - 1e-12)
    np.testing.assert_allclose(count_law._products(list(codes.T), tables), phi @ phi.T, atol=1e-10)
