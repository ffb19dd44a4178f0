"""Dependences that changed: the z-score of each region, by its definition."""

import numpy as np
import pytest
import zoo

import pcircuit
from hld.results.dependences import localize_dependences
from hld.vectors.score_features import FLOOR, parameter_slices, sampled_scores

CIRCUIT = zoo.circuits()["hclt_like"]


def test_zscores_are_distances_in_standard_deviations_of_their_limit_law():
    """T |mean of T rows|^2 tends to sum_j lambda_j chi2_1, of mean tr S and variance 2 tr S^2."""
    scores = pcircuit.mean_score(CIRCUIT, pcircuit.sample(CIRCUIT, 50, rng=1))
    drawn = sampled_scores(CIRCUIT)
    found = {shift.region: shift for shift in localize_dependences(CIRCUIT, scores, 50, top=None)}
    for r, part in enumerate(parameter_slices(CIRCUIT)):
        scale = np.sqrt((drawn[:, part] ** 2).mean(axis=0) + FLOOR)
        values = np.linalg.svd(drawn[:, part] / scale, compute_uv=False) ** 2 / len(drawn)
        statistic = 50 * ((scores[part] / scale) ** 2).sum()
        assert found[r].statistic == pytest.approx(statistic, rel=1e-9)
        deviation = np.sqrt(2 * (values**2).sum())
        assert found[r].zscore == pytest.approx(
            (statistic - values.sum()) / (deviation + FLOOR), rel=1e-6, abs=1e-9
        )
    zscores = [shift.zscore for shift in localize_dependences(CIRCUIT, scores, 50, top=None)]
    assert zscores == sorted(zscores, reverse=True)
