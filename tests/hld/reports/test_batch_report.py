"""The page of a batch says where its p-value comes from, in words, and draws what it says."""
import re

import numpy as np

import hld
from hld.reports.batch_report import batch_report


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
