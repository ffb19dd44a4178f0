"""Groups as reference: means at every number of rows, with the covariance of means of so many; groups to learn from."""

import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.references.groups import (
    GroupReference,
    filled_rows,
    group_reference,
    mean_of,
    no_features,
    split_groups,
)

CIRCUIT = zoo.circuits()["hclt_like"]
VECTORS = hld.HLDTest(CIRCUIT).vectors
FILL = np.linspace(0.1, 0.9, VECTORS.size)


def rows_of(G, n):
    """(G, n, V)."""
    return pcircuit.sample(CIRCUIT, G * n, rng=0).reshape(G, n, -1)


def reference_of(rows):
    """Of G groups of n rows each."""
    G, n, V = rows.shape
    return group_reference(
        VECTORS, rows.reshape(-1, V), np.repeat(np.arange(G), n), FILL, np.random.default_rng(0)
    )


def test_kept_means_are_means_of_the_first_rows_of_a_group():
    rows = rows_of(3, 21)
    groups = reference_of(rows)
    assert groups.means.shape[:2] == (4, 3)  # 1, 4, 16 and all 21 rows
    whole = np.array([VECTORS.mean(one) for one in rows])
    np.testing.assert_allclose(groups.at(21), whole, atol=1e-14)
    # a random order: else the first rows, next to one another in time, would be compared with those of a batch
    assert not np.allclose(groups.at(1), VECTORS.rows(rows[:, 0]))
    np.testing.assert_allclose(groups.at(1000), whole, atol=1e-14)
    singles = VECTORS.rows(rows.reshape(63, -1)).reshape(3, 21, -1)
    for g in range(3):
        assert np.abs(singles[g] - groups.at(1)[g]).max(axis=1).min() < 1e-14
    np.testing.assert_allclose(groups.within, singles.var(axis=1, ddof=1).mean(axis=0), atol=1e-14)


@pytest.mark.parametrize("T", [1, 4, 6, 7, 13, 16, 19, 21])
def test_means_between_two_sizes_have_the_covariance_of_so_many_rows(T):
    """The weights of the single rows in M_g(T), by linearity: they sum to 1 and their squares to 1 / T."""
    n = 21
    ends = [1, 4, 16, 21]
    means = np.array([np.where(np.arange(n) < end, 1 / end, 0.0) for end in ends])[:, None]
    weights = GroupReference(np.array([n]), means, np.zeros(n), np.zeros(n)).at(T)[0]
    assert weights.sum() == pytest.approx(1)
    assert (weights**2).sum() == pytest.approx(1 / T)


def test_learning_has_groups_of_its_own():
    for G in (0, 1, 2):
        with pytest.raises(ValueError, match=f"`groups` names {G} group.*, expected at least 3"):
            split_groups(np.arange(G), np.random.default_rng(0))
    for G in (3, 12, 20, 40, 101):
        labels = np.random.default_rng(G).permutation(np.repeat(np.arange(G), 4))
        learned, kept = split_groups(labels, np.random.default_rng(0))
        assert not set(labels[learned]) & set(labels[kept])
        assert len(set(labels[kept])) == max(-(-G // 2), min(19, G - 1))
        assert sorted([*learned, *kept]) == list(range(4 * G))


def uneven():
    """Three groups of 1, 3 and 20 rows, mixed, some with holes; and which rows are whose."""
    rng = np.random.default_rng(1)
    rows, labels = rows_of(1, 24)[0].astype(int), rng.permutation(np.repeat([2, 0, 1], [1, 3, 20]))
    rows[::5, 1] = -1
    return rows, labels


def test_groups_of_other_sizes_give_means_of_at_most_their_rows():
    rows, labels = uneven()
    groups = group_reference(VECTORS, rows, labels, FILL, np.random.default_rng(0))
    values = np.where(VECTORS.seen(rows), VECTORS.rows(rows), FILL)
    assert (groups.counts.tolist(), groups.num_groups, len(groups.means)) == ([3, 20, 1], 3, 4)
    whole = np.array([values[labels == g].mean(axis=0) for g in range(3)])
    np.testing.assert_allclose(groups.at(20), whole, atol=1e-14)
    for T in (4, 5, 8, 16, 19):
        np.testing.assert_allclose(groups.at(T)[[0, 2]], whole[[0, 2]], atol=1e-14)
        assert np.abs(groups.at(T)[1] - whole[1]).max() > 1e-6
    squares = sum(((values[labels == g] - whole[g]) ** 2).sum(axis=0) for g in range(3))
    np.testing.assert_allclose(groups.within, squares / (2 + 19 + 0), atol=1e-14)
    np.testing.assert_allclose(groups.covariance_at(20).covariance(), np.cov(whole.T), atol=1e-13)


def test_rows_are_read_some_groups_at_a_time_and_change_nothing(monkeypatch):
    rows, labels = uneven()
    groups, again = (
        group_reference(VECTORS, rows, labels, FILL, np.random.default_rng(0)) for _ in range(2)
    )
    monkeypatch.setattr("hld.references.groups.BLOCK_VALUES", 4 * VECTORS.size)
    parts = group_reference(VECTORS, rows, labels, FILL, np.random.default_rng(0))
    for name, array in groups.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
        np.testing.assert_allclose(parts.to_arrays()[name], array, atol=1e-14)
    np.testing.assert_allclose(
        mean_of(VECTORS, rows, FILL, no_features),
        filled_rows(VECTORS, rows, FILL).mean(axis=0),
        atol=1e-14,
    )


def test_of_too_many_groups_some_are_kept(monkeypatch):
    rows = rows_of(12, 5)
    whole = reference_of(rows).at(5)
    monkeypatch.setattr(
        "hld.references.groups.MOST_BYTES", 8 * VECTORS.size * 3 * 7
    )  # at 1, 4 and 5 rows
    kept = reference_of(rows)
    assert kept.num_groups == 7
    places = [int(np.abs(whole - mean).sum(axis=1).argmin()) for mean in kept.at(5)]
    np.testing.assert_allclose(kept.at(5), whole[places], atol=1e-14)
    assert places == sorted(set(places))
    assert places != list(range(7))  # chance, not the order of time, says which


def test_a_file_gives_back_the_groups_and_no_others():
    groups, bounds = reference_of(rows_of(4, 6)), np.ones(VECTORS.size)
    arrays = groups.to_arrays()
    again = GroupReference.from_arrays(arrays, bounds)
    np.testing.assert_array_equal(again.at(3), groups.at(3))
    one = {**arrays, "counts": arrays["counts"][:1], "means": arrays["means"][:, :1]}
    with pytest.raises(
        ValueError, match="the groups of the test must be two or more, of one row or more each"
    ):
        GroupReference.from_arrays(one, bounds)
    for name, bad in (
        ("counts", arrays["counts"] * 0),
        ("counts", arrays["counts"] * 100),
        ("within", -arrays["within"]),
        ("means", arrays["means"] + 2),
        ("fill", arrays["fill"][:-1]),
        ("within", arrays["within"] + 3),
    ):
        with pytest.raises(ValueError, match=r"groups|within|means|fill"):
            GroupReference.from_arrays({**arrays, name: bad}, bounds)
