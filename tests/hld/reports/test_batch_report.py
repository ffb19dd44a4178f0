"""The page of a batch says where its p-value comes from, in words, and draws what it says."""
import re

import numpy as np

import hld
from hld.metrics.named import METRICS
from hld.reports.batch_report import batch_report
from hld.reports.pictures import PLAIN, null_curve
from hld.testing.null_curves import NullCurve


def test_every_metric_has_a_name_in_words():
    assert set(METRICS) <= set(PLAIN)


def test_the_tail_begins_at_the_curve():
    curve = NullCurve("euclidean", np.array([0.0, 0.5, 0.9, 1.1, 1.5]), np.array([0.0, 1.0, 0.6, 0.2, 0.0]), 0.4, 0.9)
    first, second = re.search(r'class="tail" points="(\S+) (\S+)', null_curve(curve, 0.05)).groups()
    (x, base), (same, top) = (map(float, point.split(",")) for point in (first, second))
    assert same == x
    assert abs((base - top) / 78 - 0.4) < 1e-3  # halfway between 0.6 and 0.2


def test_a_shift_of_one_column_among_many_is_not_said_to_come_from_the_distances():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 40))
    batch = rng.normal(size=(200, 40))
    batch[:, 5] += 3
    detector = hld.HLDDetector(num_latents=1, num_epochs=2).fit(rows)
    result = detector.test(batch)
    assert result.largest_count.pvalue < 1e-10
    text = batch_report(detector, result)
    assert re.search(r"Beside the distances these have tests of their own: single counts \(p (=|&lt;|<) ", text)
